"""Slash commands, menus of messages, and the panels that they answer with."""
