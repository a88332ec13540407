"""A tool that asks its asker a question during a call, as an MCP server does, and a model that calls it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.messages import Elicitation, Elicited, Json, JsonObject, Message
from agent.ports.tools import ToolContext, ToolEffect
from bot.tools.mcp.questions import checked_question

# More fields than a window of Discord can show.
BOAT: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "maxLength": 20},
        "colour": {"type": "string", "enum": ["white", "red"], "description": "of the hull"},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 4},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["oars", "sail", "anchor"]}},
        "mast": {"type": "boolean"},
        "launch": {"type": "string", "format": "date"},
    },
    "required": ["name"],
}
SMALL: Json = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
NONE: Json = {"type": "object", "properties": {}}
SAID = "Which boat is it? swordfish"
PAGE = "https://boats.example.com/pay?boat=3"


@dataclass(slots=True)
class AskingTool:
    """`answers` are the replies it received; the first of its questions takes `schema`, or is about an address."""

    schema_asked: Json = field(default_factory=lambda: SMALL)
    address: str | None = None
    name: str = "boats"
    description: str = "Book a boat."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 5.0
    answers: list[Elicited] = field(default_factory=list[Elicited])
    cancelled: int = 0

    @property
    def schema(self) -> JsonObject:
        return {"type": "object", "properties": {}}

    @property
    def question(self) -> Elicitation:
        return checked_question("harbour", SAID, self.schema_asked, self.address)

    async def run(self, args: JsonObject, context: ToolContext) -> str:  # noqa: ARG002 -- it needs no context
        try:
            answer = await context.ask(self.question)
        except BaseException:
            self.cancelled += 1
            raise
        self.answers.append(answer)
        return f"told {answer.action.value} {json.dumps(dict(answer.values))}"


def books(messages: Sequence[Message]) -> str:
    """Answer as a model that calls the tool, and then reports the result."""
    last = messages[-1].text
    if "told accept" in last:
        return "It is booked."
    return "Then not." if "told" in last else 'I look.\n<execute>[{"name": "boats", "args": {}}]</execute>'
