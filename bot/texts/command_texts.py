"""What people read in commands, their menus, windows and help, on every platform. Pure."""

from collections.abc import Mapping

# Help


def help_text(commands: Mapping[str, str]) -> str:
    """The commands of one platform, as written there, each with what it does."""
    return "\n".join(f"- `{command}`: {what}" for command, what in commands.items())
