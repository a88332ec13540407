"""Long work: a tool that takes as long as a test lets it, and a model that works with it in the background."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent import texts
from agent.messages import Json, JsonObject, Message
from agent.ports.tools import ToolContext, ToolEffect
from agent.protocol.grammar import LAST_ROUND
from agent.tools.schedule import BEGINS

ASKED = "go through the ferries and make a table"
TASK = "Count the ferries of each harbour, as a table."
ON_IT = "I am on it: you see the steps below."
RESULT = "Oslo has 3, Bergen has 4."
BESIDE = "It is noon."
BEGUN = BEGINS.partition(",")[0]


def call(name: str, **args: Json) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"


@dataclass(slots=True)
class CountingTool:
    """Counts in one harbour after the other; each call after the first `free` waits until the gate is open. `log`: a
    file with a line for each call that was begun.
    """

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    log: Path | None = None
    free: int = 0
    name: str = "count_ferries"
    description: str = "Count the ferries of a harbour."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 60.0
    counted: list[int] = field(default_factory=list[int])
    ended: int = 0

    @property
    def schema(self) -> JsonObject:
        return {"type": "object", "properties": {"harbour": {"type": "integer"}}}

    async def run(self, args: JsonObject, context: ToolContext) -> str:  # noqa: ARG002 -- it needs no context
        harbour = int(str(args["harbour"]))
        self.counted.append(harbour)
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"{harbour}\n")
        try:
            if harbour > self.free:
                await self.gate.wait()
        finally:
            self.ended += 1
        return f"Harbour {harbour}: {harbour + 2} ferries."


@dataclass(slots=True)
class Worker:
    """The model. `rounds`: the harbours that it counts in before it writes the table; `mention`: whether it was asked
    to mention the asker.
    """

    rounds: int = 2
    mention: bool = False
    silent: bool = False  # It writes no text between its calls
    asked: list[str] = field(default_factory=list[str])  # The input of each request for the work

    def __call__(self, messages: Sequence[Message]) -> str:
        read = "\n".join(message.text for message in messages)
        if texts.LONG_WORK[:40] in read:
            self.asked.append(read)
            done = sum(f"Harbour {number}:" in read for number in range(1, self.rounds + 1))
            lost = read.count("whether it took effect is unknown")
            if LAST_ROUND in messages[-1].text or done + lost >= self.rounds:
                return RESULT
            text = "" if self.silent else f"Harbour {done + lost + 1} is next.\n"
            return f"{text}{call('count_ferries', harbour=done + lost + 1)}"
        if BEGUN.format(id=1)[:15] in messages[-1].text:
            return ON_IT
        if ASKED in messages[-1].text:
            return call("background", what=TASK, mention=self.mention)
        return BESIDE
