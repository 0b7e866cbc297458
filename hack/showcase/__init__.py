"""The demo: a control plane, the operator beside it, and a story told from what the API server says."""
