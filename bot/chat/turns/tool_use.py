"""How turns use tools: which there are, who allows a call, what is noted about it, and where a tool asks a person."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeAlias

from agent.asking import ASK_USER, asks
from agent.events import TurnPutAside
from agent.loop import AskPerson
from agent.messages import Elicitation, Elicited, ToolCall
from agent.ports.clock import Clock
from agent.ports.tool_audit import ToolAudit
from agent.ports.tools import Asker
from agent.progress import Progress, consent_key, decode
from agent.tool_policy import CallGate, TurnWords
from agent.toolbox.registry import Registry, Toolbox
from agent.turn import Turn, TurnLimits
from agent.turn_events import TurnInput
from agent.turn_records import Claim
from agent.turn_setup import asker_of
from bot.chat.audit import CallAudit

# How long a resumed turn waits for its tools' servers: after a restart, they are just starting, too.
SETTLE_S = 10.0


# Asks others than the asker to approve calls for which a turn is put aside; returns the event with their names.
AskOthers: TypeAlias = Callable[[TurnPutAside], Awaitable[TurnPutAside]]


class TurnPolicy(Protocol):
    @property
    def rows(self) -> Sequence[object]:
        """The rows of the policy. Without any, only tools whose effects need consent ask for it."""
        ...

    async def turn(
        self,
        claim: Claim,
        asker: Asker,
        tools: Registry,
        limits: TurnLimits,
        progress: Progress,
        words: Callable[[], TurnWords],
    ) -> tuple[Turn, CallGate]:
        """Return the claimed turn, with the consents that its asker has decided meanwhile, and the gate of its calls.
        Raises StoreError.

        `words` returns whose words the turn's context holds, which is known before the first tool call.
        """
        ...


class AskedTurns(Protocol):
    async def answers(self, claim: Claim, progress: Progress) -> Sequence[TurnInput]:
        """Return what the asker has decided meanwhile about the question for which the claimed turn was put aside; ()
        if nothing yet. Raises StoreError.
        """
        ...


class CallApprovers(Protocol):
    async def ask(self, claim: Claim, calls: Mapping[str, ToolCall], gate: CallGate) -> Mapping[str, Sequence[str]]:
        """Have others asked about those of these calls, by `consent_key`, that they approve. Returns the names of whom
        is asked about each of them, () for nobody. Raises StoreError.
        """
        ...


class ToolQuestions(Protocol):
    @property
    def waiting(self) -> Collection[int]:
        """The turns of this process of which a call waits for an answer. They take no slot."""
        ...

    async def ask(
        self, claim: Claim, call: str, question: Elicitation, shown: Callable[[], Awaitable[None]]
    ) -> Elicited:
        """Wait for the answer of the claim's asker to a question that a tool asks during a call, and return it.
        `shown` is called once they can answer. Raises StoreError.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A part that is None is switched off: no audit is written, no consent is asked for, no tool asks a person."""

    toolbox: Toolbox
    policy: TurnPolicy | None = None
    """Which calls run without confirmation; None: all that `toolbox` offers."""
    audit: ToolAudit | None = None
    questions: ToolQuestions | None = None
    """Where a tool asks the person something during a call."""
    asked: AskedTurns | None = None
    """Where the model asks the person something, for which the turn is put aside."""
    approvers: CallApprovers | None = None
    """Asks others than the asker for their approval."""

    async def prepare(
        self,
        claim: Claim,
        stopped: Callable[[], bool],
        *,
        reads_only: bool = False,
        allows: Callable[[str], bool] | None = None,
        asks_back: bool = True,
    ) -> Registry:
        """Return the tools of the claim's asker, once their servers are ready; `reads_only`, `allows`: see
        `Toolbox.registry`. If `stopped()` is true, a cancellation only ends the waiting. `asks_back`: whether the model
        may ask the person something.
        """
        if self.asked is None or not (asks_back and claim.incoming.kind.is_asked):
            allows = partial(_is_no_question, allows)
        asker = asker_of(claim.incoming)
        try:
            await self.toolbox.prepare(asker)
            if claim.progress and self._lacks(claim, asker):
                await self.toolbox.servers.settle(SETTLE_S)
        except asyncio.CancelledError:
            if not stopped():
                raise
        return self.toolbox.registry(asker, reads_only=reads_only, allows=allows)

    def _lacks(self, claim: Claim, asker: Asker) -> bool:
        """Whether a resumed turn has open calls of tools that are not available, or not yet."""
        steps = decode(claim.progress).steps
        open_ = {call.name for step in steps if not step.complete for call in step.calls}
        return bool(open_) and not open_ <= {tool.name for tool in self.toolbox.all(asker)}

    async def turn(
        self, claim: Claim, tools: Registry, limits: TurnLimits, words: Callable[[], TurnWords], clock: Clock
    ) -> tuple[Turn, CallAudit | None, AskOthers]:
        """Return the claimed turn, as far as it has come; what notes its calls, None if nothing does; and what asks
        others than the asker when it is put aside. `words`: see `TurnPolicy.turn`. Raises StoreError.
        """
        progress = decode(claim.progress)
        text = claim.incoming.text
        turn, gate = Turn(tools.check, tools.repeatable, limits, progress, question=text, asks=asks), None
        # The policy also decides what the model may ask.
        if self.policy is not None and (tools.asks or self.policy.rows or ASK_USER in tools.names):
            turn, gate = await self.policy.turn(claim, asker_of(claim.incoming), tools, limits, progress, words)
        if progress.asked and self.asked is not None:
            for event in await self.asked.answers(claim, progress):
                turn.receive(event)
        ask_others = partial(self._ask_others, claim, gate)
        if self.audit is None:
            return turn, None, ask_others
        audit = CallAudit(claim, self.audit, clock, tools, turn, gate)
        if progress.awaited or progress.asked:
            await audit.keep_decided()
        return turn, audit, ask_others

    async def _ask_others(self, claim: Claim, gate: CallGate | None, put_aside: TurnPutAside) -> TurnPutAside:
        if gate is None or self.approvers is None:
            return put_aside
        keys = {consent_key(id_, call): id_ for id_, call in put_aside.calls.items()}
        calls = {key: put_aside.calls[id_] for key, id_ in keys.items()}
        asked = await self.approvers.ask(claim, calls, gate)
        return replace(put_aside, asked={keys[key]: names for key, names in asked.items()})

    def asking(self, claim: Claim) -> AskPerson | None:
        """Return how a tool asks the claim's asker something; None if none can."""
        return None if self.questions is None else partial(self.questions.ask, claim)


def _is_no_question(allows: Callable[[str], bool] | None, name: str) -> bool:
    """Return whether a tool may be offered where nobody can be asked."""
    return name != ASK_USER and (allows is None or allows(name))
