"""Kernels: processes that load one agent project each, in its own environment, and play its sessions for the studio."""
