"""Benches of the operator on a real control plane: a herd of runs due at once, and a soak with kills (see run)."""
