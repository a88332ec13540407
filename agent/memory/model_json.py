"""Reading what a model answers as JSON: whatever is not as it should be is left out, and nothing raises. Pure.

Above: `agent.memory.synthesizer`, `agent.memory.stated`. Below: nothing.
"""

import json
from collections.abc import Mapping
from typing import Final, cast

TRIES: Final = 20
"""So many opening braces may begin the object: each may be read to the end of the answer, for nothing."""


def list_in(answer: str, name: str) -> list[object] | None:
    """The list of that name in the first JSON object that has one; models write words and fences around it."""
    words = answer.rpartition("</think>")[2]
    decoder, at = json.JSONDecoder(), words.find("{")
    for _ in range(TRIES):
        if at < 0:
            break
        try:
            read: object = decoder.raw_decode(words, at)[0]
        except (ValueError, RecursionError):
            read = None
        if isinstance(listed := object_in(read).get(name), list):
            return cast("list[object]", listed)
        at = words.find("{", at + 1)
    return None


def object_in(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, dict) else {}


def text_in(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def numbers_in(value: object, most: int) -> list[int]:
    """Those of a list that count something from 1 to `most`, each once."""
    given = cast("list[object]", value) if isinstance(value, list) else []
    whole = [one for one in given if isinstance(one, int) and not isinstance(one, bool) and 1 <= one <= most]
    return list(dict.fromkeys(whole))
