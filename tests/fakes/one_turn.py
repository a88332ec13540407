"""One turn of the real loop with a model and a tool, and all of its results."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from agent.events import AgentEvent, TextArrived, TurnEnded
from agent.incoming import Person
from agent.loop import Loop, Prompt, TurnCallbacks
from agent.memory.audience import PersonAudience, Place
from agent.messages import JsonObject, Message, Role
from agent.ports.model import CallOptions, Provider
from agent.ports.tools import Tool, ToolContext, ToolEffect, ToolOutput
from agent.progress import Progress
from agent.toolbox.registry import Registry
from agent.turn import Turn, TurnLimits
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

ANNA = Person("terminal:anna", "Anna")
# A turn's beginning: its first message is long, as in production.
CONTEXT = (
    Message(Role.SYSTEM, "You are a bot. " + "Be brief, exact and polite. " * 100),
    Message(Role.USER, "It is Monday."),
    Message(Role.USER, "Hello?"),
)


@dataclass(slots=True)
class Echo:
    """A tool that may not run twice. Each call waits for `meet`; `said` are the texts that it received."""

    name: str = "echo"
    description: str = "Say it back."
    effect: ToolEffect = ToolEffect.ACTS_OUTWARD
    timeout_s: float = 5.0
    meet: Callable[[], Awaitable[object]] | None = None
    said: list[str] = field(default_factory=list[str])

    @property
    def schema(self) -> JsonObject:
        return {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    async def run(self, args: JsonObject, context: ToolContext) -> str | ToolOutput:
        self.said.append(str(args["text"]))
        if self.meet:
            await self.meet()
        return f"{context.person.name} hears {args['text']}"


@dataclass(frozen=True, slots=True)
class Ran:
    ended: TurnEnded
    events: list[AgentEvent]
    progress: Progress

    @property
    def shown(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextArrived))


async def run_turn(provider: Provider, tool: Tool, context: Sequence[Message] = CONTEXT, *, rounds: int = 10) -> Ran:
    """Run until the turn ends, within PATIENCE_S."""
    events: list[AgentEvent] = []

    async def emit(event: AgentEvent) -> None:
        events.append(event)

    async def save(_: Progress) -> None:
        pass

    tools = Registry([tool])
    clock = FakeClock()
    turn = Turn(tools.check, tools.repeatable, TurnLimits(max_iterations=rounds, max_same_calls=rounds))
    asker = ToolContext(ANNA, Place(PersonAudience(ANNA.id)), "c1", 1, clock.now())
    prompt = Prompt(context, CallOptions(tools=tools.specs))
    loop = Loop(turn, prompt, provider, tools, asker, clock, TurnCallbacks(emit, save))
    async with asyncio.timeout(PATIENCE_S):
        ended = await loop.run()
    assert isinstance(ended, TurnEnded)
    return Ran(ended, events, turn.progress)


def echo_call(text: str) -> str:
    """Return one block's list, as a model writes it."""
    return f'[{{"name": "echo", "args": {{"text": "{text}"}}}}]'
