"""The bot in a `World`, with a scripted model and a store that outlives its processes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic

from agent.ports.tools import Tool
from agent.ports.transcription import Transcriber
from agent.providers.scripted import Answer, Answering, ScriptedProvider
from bot.python.engine import PythonEngine
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.flows.worlds import OpenWorld, Page, W, Who
from tests.patience import PATIENCE_S

Script = Sequence[Answer | Answering] | Answering


async def hang() -> None:
    await asyncio.Event().wait()


@dataclass
class Talk(Generic[W]):
    """`host`: of the last process that ran."""

    world: W
    script: Script
    tools: Sequence[Tool] = ()
    transcriber: Transcriber | None = None
    code: PythonEngine | None = None
    store: StoreInMemory = field(default_factory=store_in_memory)
    model: ScriptedProvider = field(init=False)
    host: AnsweringHost = field(init=False)

    @asynccontextmanager
    async def running(self, script: Script | None = None) -> AsyncGenerator[None]:
        """A process, on what the ones before have left. `script`: of its model, if it differs."""
        self.model = ScriptedProvider(self.script if script is None else script, sleep=self.world.clock.sleep)
        self.host = answering_host(
            self.model, self.world.clock, self.store, self.transcriber, tools=self.tools, code=self.code
        )
        async with self.world.serving(self.host), self.host.answering():
            yield

    async def until(self, text: str, below: Page | None = None) -> Page:
        """Wait until the bot shows this in the channel; return the newest such message."""

        def showing() -> Sequence[Page]:
            return [page for page in self.world.answers(below) if page.text == text]

        await self.world.until(showing)
        return showing()[-1]

    async def asked(self, text: str = "which colour?", below: Page | None = None, who: Who = Who.ASKER) -> Page:
        """Somebody asks in the channel; return the answer, once it has ended."""
        turns = len(self.store.turns) + 1
        question = await self.world.ask(text, below, who)
        await self.ended(turns)
        return self.world.answers(below or question)[-1]

    async def ended(self, turns: int) -> None:
        """Wait until there are so many questions, and all are answered."""
        await self.world.until(
            lambda: len(self.store.turns) == turns and all(turn.state == "done" for turn in self.store.turns)
        )
        await self.idle()

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()

    async def told(self, text: str) -> None:
        """Somebody reads this, alone."""
        await self.world.until(lambda: any(page.text.startswith(text) for page in self.world.private()))

    def texts(self) -> Sequence[str]:
        """What the bot shows in the channel."""
        return [page.text for page in self.world.answers()]


@asynccontextmanager
async def talk_in(
    open_world: OpenWorld[W],
    script: Script,
    tools: Sequence[Tool] = (),
    transcriber: Transcriber | None = None,
    code: PythonEngine | None = None,
) -> AsyncGenerator[Talk[W]]:
    """No process is running yet."""
    async with open_world() as world:
        yield Talk(world, script, tools, transcriber, code)


@asynccontextmanager
async def talking(
    open_world: OpenWorld[W],
    script: Script,
    tools: Sequence[Tool] = (),
    transcriber: Transcriber | None = None,
    code: PythonEngine | None = None,
) -> AsyncGenerator[Talk[W]]:
    async with talk_in(open_world, script, tools, transcriber, code) as talk, talk.running():
        yield talk
