"""The file `.env`: names and values, taken literally.

Above: `bot.settings`. Below: python-dotenv's parser.
"""

from io import StringIO
from pathlib import Path

from dotenv.parser import parse_stream

from agent.errors import SettingsError


def read_dotenv(dotenv: Path | None) -> dict[str, str]:
    """What `.env` sets, by name; nothing when there is none. Raises SettingsError with the line that cannot be read."""
    if dotenv is None or not dotenv.exists():
        return {}
    try:
        content = dotenv.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"{dotenv} cannot be read: make it a text file in UTF-8 that you may read.") from None
    written: dict[str, str] = {}
    for binding in parse_stream(StringIO(content)):
        if binding.error or (binding.key is not None and binding.value is None):
            raise SettingsError(f"{dotenv}, line {binding.original.line}: write NAME=value, or # before a comment.")
        if binding.key is not None and binding.value is not None:
            written[binding.key] = binding.value
    return written
