"""Names of common emoji: Slack takes names, Discord takes characters, and models write either. Pure."""

from collections.abc import Mapping
from typing import Final

# By Slack's names.
EMOJI: Final[Mapping[str, str]] = {
    "+1": "👍",
    "thumbsup": "👍",
    "-1": "👎",
    "thumbsdown": "👎",
    "white_check_mark": "✅",
    "heavy_check_mark": "✔️",
    "x": "❌",
    "eyes": "👀",
    "tada": "🎉",
    "heart": "❤️",
    "clap": "👏",
    "pray": "🙏",
    "raised_hands": "🙌",
    "wave": "👋",
    "ok_hand": "👌",
    "muscle": "💪",
    "rocket": "🚀",
    "fire": "🔥",
    "star": "⭐",
    "sparkles": "✨",
    "100": "💯",
    "warning": "⚠️",
    "question": "❓",
    "exclamation": "❗",
    "bulb": "💡",
    "bug": "🐛",
    "hourglass": "⌛",
    "calendar": "📆",
    "memo": "📝",
    "pushpin": "📌",
    "link": "🔗",
    "lock": "🔒",
    "bell": "🔔",
    "mega": "📣",
    "smile": "😄",
    "slightly_smiling_face": "🙂",
    "joy": "😂",
    "thinking_face": "🤔",
    "cry": "😢",
    "sob": "😭",
    "sunglasses": "😎",
    "partying_face": "🥳",
    "coffee": "☕",
    "pizza": "🍕",
    "one": "1️⃣",
    "two": "2️⃣",
    "three": "3️⃣",
}
_VARIATION: Final = "\ufe0f"
_NAMES: Final = {char.replace(_VARIATION, ""): name for name, char in reversed(EMOJI.items())}


def emoji_name(emoji: str) -> str:
    """Return Slack's name of an emoji, without colons; "" for a character whose name is not known here."""
    bare = emoji.strip().strip(":").casefold()
    return bare if bare.isascii() else _NAMES.get(bare.replace(_VARIATION, ""), "")


def emoji_character(emoji: str) -> str:
    """Return the character of an emoji; "" for a name that is not known here."""
    bare = emoji.strip().strip(":")
    return EMOJI.get(bare.casefold(), "") if bare.isascii() else bare
