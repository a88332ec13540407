"""Whom a question speaks of without a name: "what did I say", "what did you suggest". Pure.

Above: `store.search.search`. Below: `store.search.text`.

Rule: what only asks politely ("can you tell me …") speaks of nobody.
"""

import re
from typing import Final

from store.search.text import normalised

_POLITE: Final = re.compile(
    r"\b(?:(?:can|could|would|will) you|do you (?:know|remember|recall)|(?:tell|remind|show|give|send|help|let) me)\b"
)
_ASKER: Final = re.compile(r"\b(?:i|me|my|mine|myself)\b|我|私|僕|俺")
_BOT: Final = re.compile(r"\b(?:you|your|yours|yourself)\b|你|您|あなた")


def speaks_of_asker(question: str) -> bool:
    return bool(_ASKER.search(_plain(question)))


def speaks_of_bot(question: str) -> bool:
    return bool(_BOT.search(_plain(question)))


def _plain(question: str) -> str:
    return _POLITE.sub(" ", normalised(question))
