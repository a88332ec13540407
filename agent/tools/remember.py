"""`remember`: keep a note that the person asked to be remembered.

Above: `bot.app` registers it. Below: the Memories port, `agent.memory.audience`.
Rule: the note belongs to the place where it was said, and keeps the message that it came from.
"""

from dataclasses import dataclass

from agent.memory.audience import label
from agent.messages import JsonObject
from agent.ports import Memories, ToolContext

MAX_NOTE_CHARS = 2_000
"""Notes stand in every later context; a longer text is better found again by recall."""


@dataclass(frozen=True, slots=True)
class RememberTool:
    memories: Memories
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
        note = await self.memories.remember(
            context.person.id,
            str(args["text"]),
            label(context.place.audience),
            context.now,
            context.message,
        )
        return f"Remembered: {note.text}"
