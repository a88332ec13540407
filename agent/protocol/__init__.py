"""The delimiter protocol: what the model writes, read and written. Pure (DESIGN.md, section 4)."""
