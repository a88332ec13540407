"""One process that takes a question in, answers it with two tools, and kills itself at a given step.

Above: `test_crashes`, which lists all steps. A step is the moment before or after anything that lasts or costs: a
ledger write, a tool's effect, a page shown, a call of the model, a piece of its answer. Everything that the outside
could see is appended to files, so that it outlives the process.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from agent.admission_terms import Terms
from agent.appended_messages import JUST_ARRIVED
from agent.budget_days import BudgetPause
from agent.events import Outcome
from agent.incoming import Incoming
from agent.jobs import Job
from agent.machine import CLOCK
from agent.memory.audience import Place
from agent.messages import JsonObject, Message, ModelCall, NativeContent, Usage
from agent.ports.ledger import Ledger
from agent.ports.model import CallOptions, Capabilities, ProviderEvent, ResponseEnded, StopReason
from agent.ports.tools import ToolContext, ToolEffect
from agent.providers.scripted import Answer, ScriptedProvider
from agent.turn_records import Accepted, Claim, Claiming, Closing, Load, Waiting
from bot.chat.reply.surface import Limits, OutFile, PageContent, PageKey, PageRef, ReplyEnd
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from store.engine import open_store
from tests.fakes.incoming import said
from tests.fakes.runners import runner_on
from tests.patience import PATIENCE_S

FIRST, SECOND, LAST = "Let me look.", "One more thing.", "All done: the boat is blue. " * 20
# The first round in its vendor's own form, which has to come back as it was.
NATIVE = NativeContent("dying", ({"said": FIRST},))
JOINED = "Another message arrived {} times."


@dataclass
class Steps:
    """Counts what happens, and dies at `die_at` as a power cut would."""

    die_at: int | None
    names: list[str] = field(default_factory=list[str])
    """What has just happened, or is just about to, at each step so far."""

    def here(self, name: str) -> None:
        self.names.append(name)
        if len(self.names) == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)


def append(path: Path, line: object) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


@dataclass
class DyingLedger:
    inner: Ledger
    steps: Steps

    async def accept(
        self, incoming: Incoming, terms: Terms | None = None, claiming: Claiming | None = None
    ) -> Accepted:
        self.steps.here("before the question is stored")
        accepted = await self.inner.accept(incoming, terms, claiming)
        self.steps.here("the question is stored")
        return accepted

    async def record_context_message(self, incoming: Incoming) -> Accepted:
        return await self.inner.record_context_message(incoming)

    async def claim(self, claiming: Claiming) -> Claim | None:
        claim = await self.inner.claim(claiming)
        if claim is not None:
            self.steps.here("the turn is claimed")
        return claim

    async def set_text(self, claim: Claim, text: str, *, before: str | None = None) -> None:
        await self.inner.set_text(claim, text, before=before)

    async def load(self) -> Load:
        return await self.inner.load()

    async def renew(self, claim: Claim, now: datetime, lease: timedelta) -> None:
        await self.inner.renew(claim, now, lease)

    async def save(
        self,
        claim: Claim,
        *,
        progress: str | None = None,
        reply_ref: str | None = None,
        calls: Sequence[ModelCall] = (),
    ) -> None:
        what = "how far it got" if progress is not None else "which pages show it"
        self.steps.here(f"before {what} is saved")
        await self.inner.save(claim, progress=progress, reply_ref=reply_ref, calls=calls)
        self.steps.here(f"{what} is saved")

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        self.steps.here("before the reply is stored")
        others_wait = await self.inner.finish(claim, closing, now)
        self.steps.here("the reply is stored")
        return others_wait

    async def discount(self, claim: Claim) -> None:
        await self.inner.discount(claim)

    async def put_aside(self, claim: Claim, until: datetime, pause: BudgetPause | None = None) -> None:
        self.steps.here("before it is put aside")
        await self.inner.put_aside(claim, until, pause)
        self.steps.here("it is put aside")

    async def waits_for_people(self, conversation: str) -> bool:
        return await self.inner.waits_for_people(conversation)

    async def stop(self, conversation: str, *, alone: bool = False) -> list[int]:
        return await self.inner.stop(conversation, alone=alone)

    async def take_back(self, person: str, conversation: str | None) -> list[int]:
        return await self.inner.take_back(person, conversation)

    async def waiting(self, claim: Claim) -> list[Waiting]:
        self.steps.here("before it is asked what else waits")
        return await self.inner.waiting(claim)

    async def stopping(self, owner: str) -> frozenset[int]:
        return await self.inner.stopping(owner)

    async def withdrawn(self, owner: str) -> frozenset[int]:
        return await self.inner.withdrawn(owner)

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:
        return await self.inner.take_over_turns(person, family, source, now, lease)

    async def hold_place(self, source: str, until: datetime) -> bool:
        return await self.inner.hold_place(source, until)

    async def ended(self, turns: frozenset[int]) -> dict[int, Outcome | None]:
        return await self.inner.ended(turns)

    async def pages(self, turn: int) -> tuple[str, ...] | None:
        return await self.inner.pages(turn)

    async def amend(self, source: str, channel: str, message_id: str, text: str, job: Job | None = None) -> bool:
        return await self.inner.amend(source, channel, message_id, text, job)

    async def restrict_place(self, source: str, channel: str, place: Place, now: datetime) -> int:
        return await self.inner.restrict_place(source, channel, place, now)

    async def withdraw(self, source: str, channel: str, message_id: str, now: datetime) -> bool:
        return await self.inner.withdraw(source, channel, message_id, now)

    async def release(self, claim: Claim) -> None:
        await self.inner.release(claim)

    async def release_all(self) -> int:
        return await self.inner.release_all()


@dataclass
class DyingTool:
    """Has an effect in the world that must not happen twice."""

    effects: Path
    steps: Steps
    name: str
    description: str = "Change the world."
    effect: ToolEffect = ToolEffect.ACTS_OUTWARD
    timeout_s: float = 10.0

    @property
    def schema(self) -> JsonObject:
        return {"type": "object"}

    async def run(self, args: JsonObject, context: ToolContext) -> str:  # noqa: ARG002 -- the port's shape
        self.steps.here(f"before the effect of {self.name}")
        append(self.effects, self.name)
        self.steps.here(f"after the effect of {self.name}")
        return f"{self.name} is done"


@dataclass
class DyingModel:
    """The scripted model, one step a piece."""

    inner: ScriptedProvider
    steps: Steps
    name: str = "dying"
    capabilities: Capabilities = field(default_factory=Capabilities)

    async def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        self.steps.here("the model is asked")
        async for event in self.inner.stream(messages, options):
            self.steps.here("a piece of the answer arrives")
            yield event


@dataclass
class DyingSurface:
    """Pages in a file. Like a platform that keeps a nonce, it knows a page again by its key."""

    shown: Path
    steps: Steps
    limits: Limits = field(default_factory=lambda: Limits(page_chars=2_000, edit_interval_s=0.0))

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- the port's shape
        return None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        page = PageRef(f"page {key}")
        await self.edit(page, look)
        return page

    async def edit(self, page: PageRef, look: PageContent) -> None:
        self.steps.here("before a frame is shown")
        append(self.shown, [page.id, look.text, look.final])
        self.steps.here("a frame is shown")

    async def delete(self, page: PageRef) -> None:
        self.steps.here("before a page is deleted")
        append(self.shown, [page.id, None, True])

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- nothing is that long
        return ()

    async def send_ephemeral(self, text: str) -> None:
        pass

    async def show_waiting(self, turn: int) -> None:
        pass

    async def status(self, text: str) -> None:
        pass

    def begin(self, *, resumed: bool) -> None:
        pass

    def finish(self, end: ReplyEnd) -> None:
        pass


def script(messages: Sequence[Message]) -> Answer:
    """Two rounds with one tool each, then the answer; told apart by what the model can see."""
    rounds = sum(message.text.startswith("<results>") for message in messages)
    match rounds:
        case 0:
            call = '\n<execute>[{"name": "paint"', ', "args": {}}]\n</execute>'
            return [FIRST, *call, ResponseEnded(StopReason.END, Usage(1, 0, 0, 1), native=NATIVE)]
        case 1:
            assert any(message.native == NATIVE for message in messages), "what the model wrote did not come back"
            return [SECOND, '\n<execute>[{"name": "launch", "args": {}}]\n</execute>']
        case _:
            told = sum(message.text.count(JUST_ARRIVED) for message in messages)
            half = len(LAST) // 2
            return [LAST[:half], LAST[half:], *([JOINED.format(told)] if told else [])]


async def live(folder: Path, die_at: int | None, *, joins: bool) -> list[str]:
    """Take the question in (again, after a crash) and answer until nothing is left; the steps that it took.

    With `joins` another message waits behind it from the beginning.
    """
    steps = Steps(die_at)
    store = await open_store(f"sqlite:///{folder / 'bot.db'}")
    tools = [DyingTool(folder / "effects", steps, name) for name in ("paint", "launch")]
    model = DyingModel(ScriptedProvider(script), steps)
    surface = DyingSurface(folder / "shown", steps)
    ledger = DyingLedger(store.ledger, steps)
    turns = TurnWorker(
        ledger,
        replace(runner_on(store, model, CLOCK, *tools), ledger=ledger, joins=joins),
        lambda _: surface,
        store.notifier,
        CLOCK,
        owner=f"process {os.getpid()}",
        limits=TurnWorkerLimits(sweep_s=0.2),
    )
    await store.ledger.release_all()
    await turns.submit(said("What about my boat?", conversation="c", number=1))
    if joins:
        await turns.submit(said("And what about its sails?", conversation="c", number=2))
    async with turns.serving(), asyncio.timeout(PATIENCE_S):
        await turns.idle()
    await store.close()
    return steps.names


def main(folder: Path, die_at: int | None, *, joins: bool) -> None:
    steps = asyncio.run(live(folder, die_at, joins=joins))
    append(folder / "steps", steps)
