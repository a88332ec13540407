"""`ask_user`: ask the person one question, and go on with the answer.

Rule. The call never runs: the turn is put aside until the person has answered, and their answer is its result
(`agent.turn`, `agent.asking`). Where nobody can answer, the tool is not offered.
"""

from dataclasses import dataclass, field
from typing import Final

from agent.asking import MAX_OPTION_CHARS, MAX_OPTIONS, MAX_QUESTION_CHARS
from agent.errors import ToolError
from agent.messages import Json, JsonObject
from agent.ports.tools import ToolContext, ToolEffect

_PROPERTIES: Final[dict[str, Json]] = {
    "question": {"type": "string", "minLength": 1, "maxLength": MAX_QUESTION_CHARS},
    "options": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_OPTION_CHARS},
        "maxItems": MAX_OPTIONS,
    },
}
_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": _PROPERTIES,
    "required": ["question"],
    "additionalProperties": False,
}
NOBODY: Final = "nobody can be asked here: go on without an answer"


@dataclass(frozen=True, slots=True)
class AskUserTool:
    timeout_s: float = 10.0
    name: str = "ask_user"
    description: str = "Ask the person, and wait: only if you cannot go on without their decision. Never for secrets."
    effect: ToolEffect = ToolEffect.READS
    schema: JsonObject = field(default_factory=lambda: _SCHEMA)

    async def run(self, args: JsonObject, context: ToolContext) -> str:  # noqa: ARG002 -- the port's arguments
        """Raises ToolError: only a program that puts no turn aside runs it."""
        raise ToolError(NOBODY, ours=True)
