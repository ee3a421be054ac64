"""What the tool's own code says that it returns: read from its source, never run."""
