"""The delimiter protocol: what the model writes, read and written. Pure (ARCHITECTURE.md)."""
