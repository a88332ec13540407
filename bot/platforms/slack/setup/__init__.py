"""What the app needs, and whether it has it."""
