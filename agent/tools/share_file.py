"""`share_file`: send a file together with the answer.

Rule. The call itself changes nothing. It is stored with the turn, and the files of its calls are sent with the answer.
So a repeated call, or a turn that another process takes over, does not send a second file.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from agent.errors import ToolError
from agent.messages import MAX_FILES, Json, JsonObject, ResultStatus, SharedFile
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.progress import Progress

NAME: Final = "share_file"
MAX_CHARS: Final = 200_000  # Below the limit of a block of calls; models do not write longer files at once
MAX_NAME_CHARS: Final = 100
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
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": _PROPERTIES,
    "required": ["name", "content"],
    "additionalProperties": False,
}


def any_text(name: str, content: bytes) -> SharedFile:
    """Return each text as a file, as it is."""
    return SharedFile(name, "text/plain", content)


@dataclass(frozen=True, slots=True)
class ShareFileTool:
    """`checked`: returns the file that people get, or why they get none, from its name and content."""

    timeout_s: float = 10.0
    checked: Callable[[str, bytes], SharedFile | str] = any_text
    name: str = NAME
    description: str = (
        "Hand the person a text file with your answer, when they ask for one or it is better had as one; "
        f"{MAX_FILES} at most."
    )
    effect: ToolEffect = ToolEffect.READS
    schema: JsonObject = field(default_factory=lambda: _SCHEMA)

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        if not str(args["content"]).strip():
            raise ToolError("the content is empty", ours=True)
        name, content = str(args["name"]), str(args["content"]).encode(errors="replace")
        file = self.checked(name, content)
        if isinstance(file, str):
            raise ToolError(file, ours=True)
        # The file of a call is read from its arguments: only another one is stored with the result, too.
        parts = () if (file.name, file.data) == (name, content) else (file,)
        return ToolOutput(DONE, parts=parts, audience=context.place.audience, read=())


def shared_files(progress: Progress) -> tuple[SharedFile, ...]:
    """Return the files of a turn's calls and of their results. The last one of each name counts."""
    files: dict[str, SharedFile] = {}
    for step in progress.steps:
        for call, result in zip(step.calls, step.results, strict=True):
            if result is None or result.status is not ResultStatus.SUCCESS:
                continue
            if call.name == NAME and not result.files:
                name, content = str(call.args.get("name", "")), str(call.args.get("content", ""))
                files[name] = SharedFile(name, "text/plain", content.encode(errors="replace"))
            files |= {file.name: file for file in result.files}
    return tuple(files.values())
