"""Kernels: processes that load one agent project each, in its own environment, and play its sessions for the studio.

`kernel` is the studio's side of one process, `remote_simulation` a session that it plays, `kernel_server` what runs inside. Messages are JSON
of a versioned schema (`messages`); modules on the kernel's side may import only what stands wherever google-adk does.
"""
