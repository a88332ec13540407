"""The code of a call, as models write it: in its argument or in one of another name, bare, in lines or fenced. Pure."""

import re
from typing import Final

from agent.messages import Json, JsonObject

NAME: Final = "code"
_FENCED: Final = re.compile(r"\s*```(?:python|py)?[ \t]*\n(?P<code>.*?)\n[ \t]*```\s*", re.DOTALL | re.IGNORECASE)


def code_of(args: JsonObject) -> str:
    """Return the code of a call with these arguments; "" if it has none. A list is read as its lines."""
    value = next(iter(args.values())) if len(args) == 1 else args.get(NAME)
    return unfenced("\n".join(map(_line, value)) if isinstance(value, list) else _line(value))


def _line(value: Json) -> str:
    return value if isinstance(value, str) else ""


def unfenced(code: str) -> str:
    """Return code without the fence of Markdown that models put around it."""
    match = _FENCED.fullmatch(code)
    return code if match is None else match["code"]
