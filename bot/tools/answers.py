"""What the questions of tools show."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.tools.mcp.questions import QuestionField


@dataclass(frozen=True, slots=True)
class AskedWindow:
    """Some fields of a tool's question, by their positions, and the values filled in so far."""

    source: str
    fields: Mapping[int, QuestionField]
    filled: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """What a person is shown of a tool's question to them. `name`: the question's name, "" if there is none to answer.
    `fields`: the number of its fields. `ready`: no required value is missing. `opens`: the question is about a page to
    open. `refused`: nothing was done, and `text` gives the reason.
    """

    text: str
    name: str = ""
    fields: int = 0
    begun: bool = False
    ready: bool = False
    opens: bool = False
    refused: bool = False
