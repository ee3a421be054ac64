"""Eval-set files: reading, appending and replacing them, byte for byte where nothing was changed.

`set_writer` writes; every write is atomic and under a lock.
"""
