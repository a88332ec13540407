"""What an event, a message or a press says. Mostly pure."""
