"""`remember`: keep a note that the person asked to be remembered.

Above: `bot.app` registers it. Below: the port Facts, `agent.memory.audience`, `agent.memory.secrets`.
Rules: the note belongs to the place where it was said, and keeps the message that it came from. A secret is not kept.
"""

from dataclasses import dataclass

from agent.errors import ToolError
from agent.memory.audience import label
from agent.memory.secrets import has_secret
from agent.memory.writing import NewFact, WriteRefused
from agent.messages import JsonObject
from agent.ports import Facts, ToolContext

MAX_NOTE_CHARS = 2_000
"""Notes stand in every later context; a longer text is better found again by recall."""

REFUSED = (
    "not kept: this holds a password, a key or a card number, and such things are never remembered; tell the person so"
)


@dataclass(frozen=True, slots=True)
class RememberTool:
    facts: Facts
    timeout_s: float = 10.0
    name: str = "remember"
    description: str = "Keep a note for this person's later conversations, when they ask you to remember something."
    read_only: bool = False

    @property
    def schema(self) -> JsonObject:
        return {
            "type": "object",
            "properties": {
                "text": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": MAX_NOTE_CHARS,
                    "description": "the note, as one sentence that can be understood by itself",
                }
            },
            "required": ["text"],
            "additionalProperties": False,
        }

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        text = str(args["text"])
        if has_secret(text):
            raise ToolError(REFUSED)
        new = NewFact(
            id="",
            key="",
            value=text,
            source="user",
            timestamp=context.now,
            audience=label(context.place.audience),
            person=context.person.id,
            authority=context.authority,
            source_message=context.message,
        )
        outcome = await self.facts.write(new)
        if isinstance(outcome, WriteRefused):
            raise ToolError(outcome.why)
        return f"Remembered: {outcome.fact.said}"
