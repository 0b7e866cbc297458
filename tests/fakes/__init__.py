"""A small Kubernetes API server for tests: in memory, deterministic, able to fail in every way the real one can."""
