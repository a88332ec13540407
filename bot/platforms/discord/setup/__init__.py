"""What the application needs, and whether it has it."""
