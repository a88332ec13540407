"""What leaves for Slack: nothing in it pings anybody, and no link in it unfolds. Pure.

Above: `api`, which passes everything through here. Below: `markup`.

Rule: every text that somebody may read is made harmless, wherever it stands in a message, a stream, a view or a title.
What only a machine reads comes back as it was sent.
"""

from collections.abc import Mapping
from typing import Final

from agent.messages import Json
from bot.platforms.slack.markup import neutral

_OPAQUE: Final = frozenset(
    {"value", "private_metadata", "metadata", "action_id", "block_id", "callback_id", "external_id", "url", "id"}
)
"""Fields that nobody reads: they come back at a click, or lead somewhere."""
_TYPED: Final = frozenset({"initial_value"})
"""What a person finds in a field of a window, to be changed: shown as plain characters, and sent back by them."""

NO_UNFURL: Final[Mapping[str, Json]] = {"unfurl_links": False, "unfurl_media": False}


def harmless(value: Json) -> Json:
    """The same value with every text in it made harmless; lengths stay."""
    match value:
        case str():
            return neutral(value)
        case list():
            return [harmless(item) for item in value]
        case dict():
            return harmless_fields(value)
        case _:
            return value


def harmless_fields(fields: Mapping[str, Json]) -> dict[str, Json]:
    """The same for the fields of an object, or the arguments of a method."""
    return {name: value if name in _OPAQUE | _TYPED else harmless(value) for name, value in fields.items()}
