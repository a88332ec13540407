"""The terminal: the chat that needs no keys and no workspace."""
