"""Slack: mentions, direct messages, commands and shortcuts, over Socket Mode."""
