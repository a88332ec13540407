"""What a message or a command says, and what it refers to. Mostly pure."""
