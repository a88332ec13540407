"""What people write to the bot as `/name`: one file for each command."""
