"""The commands of `python -m simulator`, one module for each family."""
