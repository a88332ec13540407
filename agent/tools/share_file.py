"""`share_file`: hand a file over together with the answer.

Rule. The call itself changes nothing: it is kept with the turn, and whoever shows the answer hands over what the calls
name. So a call is repeated, or a turn goes on elsewhere, without a second file.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from agent.errors import ToolError
from agent.messages import Json, JsonObject, ResultStatus
from agent.ports import ToolContext
from agent.state import ActionRecord

NAME: Final = "share_file"
MAX_CHARS: Final = 200_000
"""Below what a block of calls may hold; a model writes no longer file in one go."""
MAX_NAME_CHARS: Final = 100
MAX_FILES: Final = 10
"""With one answer: as many as Discord takes with one message."""
DONE: Final = "The file will stand below your answer. Do not repeat its content there."

_PROPERTIES: Final[dict[str, Json]] = {
    "name": {
        "type": "string",
        "minLength": 1,
        "maxLength": MAX_NAME_CHARS,
        "description": "with an ending that says what it is, e.g. prices.csv",
    },
    "content": {"type": "string", "minLength": 1, "maxLength": MAX_CHARS, "description": "the whole text of the file"},
}


@dataclass(frozen=True, slots=True)
class ShareFileTool:
    timeout_s: float = 10.0
    name: str = NAME
    description: str = (
        "Hand the person a text file with your answer, when they ask for one or it is better had as one; "
        f"{MAX_FILES} at most."
    )
    read_only: bool = True

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": _PROPERTIES,
            "required": ["name", "content"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> str:  # noqa: ARG002 -- nobody's in particular
        if not str(args["content"]).strip():
            raise ToolError("the content is empty")
        return DONE


def shared_files(actions: Iterable[ActionRecord]) -> tuple[tuple[str, str], ...]:
    """The names and contents of the files that these calls handed over; the last one of a name counts."""
    files: dict[str, str] = {}
    for action in actions:
        for call, result in zip(action.calls, action.results, strict=False):
            if call.name == NAME and result.status is ResultStatus.SUCCESS:
                files[str(call.args.get("name", ""))] = str(call.args.get("content", ""))
    return tuple(files.items())
