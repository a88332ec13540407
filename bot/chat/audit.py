"""The audit: records each tool call as it happens, changes of the policy, and what operators do about people.

Rules
  A call that has an effect is recorded before it runs, and does not run if that fails. A call that only reads is
  recorded at its end. A call that could not run at all, such as one of an unknown tool, is recorded when the next round
  begins. An unknown tool's name is the model's text, as arguments are; neither is stored after a result that may be
  kept for the turn only, because they could quote it.
  A platform stores what is shown in it, beyond the reach of forgetting: the Home tab shows no arguments and no places.
  `cogency audit` shows them, because its users can read the database anyway.
"""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Final

from agent.doors import door_of
from agent.events import CallFinished, CallStarted, IterationStarted, TurnEnded
from agent.hooks.values import HookEnd, HookUse
from agent.memory.audience import Audience, label
from agent.messages import Consent, Json, Keep, ResultStatus, ToolCall, ToolResult
from agent.ports.clock import Clock
from agent.ports.tool_audit import AuditedCall, CallEnd, ToolAudit
from agent.ports.tools import AccountTool, Tool, ToolEffect
from agent.progress import RoundStep, may_quote_unkept
from agent.tool_policy import CallGate, DecidedBy
from agent.toolbox.registry import Registry
from agent.toolbox.tool_search import CALL_TOOL
from agent.turn import NOT_ALLOWED, Turn
from agent.turn_records import Claim
from bot.chat.output import printable_json, printable_line
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, literal, shortened

# In characters: enough to recognise a call, too few to fill the database with a file's content.
MAX_ARGUMENTS: Final = 2_000
SHOWN_ARGUMENTS: Final = 200
SHOWN_IN_HOME: Final = 10  # Calls that fit on a screen
PAGE: Final = 500  # Rows in memory at once
NAME_CHARS: Final = 60


@dataclass(slots=True, eq=False)
class CallAudit:
    """Records the calls of one claimed turn. `gate`: None if all calls run without approval."""

    claim: Claim
    audit: ToolAudit
    clock: Clock
    tools: Registry
    turn: Turn
    gate: CallGate | None
    _running: "dict[str, _RunningCall]" = field(default_factory=dict[str, "_RunningCall"])
    _known: set[str] = field(default_factory=set[str])
    """Calls of the last round that ran, or whose end an earlier process has recorded."""
    _rounds: int = 0
    """The number of rounds whose calls are all recorded."""

    def __post_init__(self) -> None:
        steps = self.turn.progress.steps
        self._rounds = max(0, len(steps) - 1)
        self._known |= {
            f"{len(steps)}.{at}"
            for step in steps[-1:]
            for at, result in enumerate(step.results, 1)
            if result is not None
        } | {inner.id for step in steps[-1:] for inner in step.inner}

    async def record_event(self, event: CallStarted | CallFinished | IterationStarted | TurnEnded) -> None:
        """Record an event. Raises StoreError: the call must not run then, or another process holds the turn."""
        match event:
            case IterationStarted() | TurnEnded():
                await self.stop()  # calls of code that ended before them
                await self.keep_unrun()
            case CallStarted(name, call, within):
                self._known.add(name)
                row = self._row(name, call, self.clock.now(), within=within)
                acts = self.tools.get(call.name).effect is not ToolEffect.READS
                id_ = await self.audit.add(row, self.claim) if acts else None
                self._running[name] = _RunningCall(row, self.clock.monotonic(), id_)
            case CallFinished(name, result, _):
                await self._end(self._running.pop(name), _size(result), result.status.value)

    async def keep_unrun(self) -> None:
        """Record the calls since the last time that could not run at all."""
        steps = self.turn.progress.steps
        for number, step in enumerate(steps[self._rounds :], self._rounds + 1):
            for at, (call, result) in enumerate(zip(step.calls, step.results, strict=True), 1):
                name = f"{number}.{at}"
                lost = result is None or result.status is ResultStatus.UNKNOWN  # it has a row, because it had begun
                if not lost and name not in self._known:
                    row = self._row(name, call, self.clock.now(), CallEnd.NOT_RUN, step)
                    await self.audit.add(self._refused(row, call), self.claim)
            for inner in step.inner:
                if inner.id not in self._known:
                    row = self._row(inner.id, inner.call, self.clock.now(), CallEnd.NOT_RUN, step, within=inner.id)
                    await self.audit.add(self._refused(row, inner.call), self.claim)
        self._rounds = len(steps)
        self._known.clear()

    def _refused(self, row: AuditedCall, call: ToolCall) -> AuditedCall:
        hidden = self.gate is not None and self.gate.hides(call.name)
        by = DecidedBy.TABLE if hidden else DecidedBy.HOOK if self.turn.is_refused(call) else DecidedBy.CHECK
        return replace(row, decision="refused", decided_by=by)

    async def record_hook(self, use: HookUse) -> None:
        """Record the use of a hook. Raises StoreError."""
        incoming = self.claim.incoming
        row = hook_use(self.clock.now(), use, incoming.person.id, incoming.channel, incoming.place.audience)
        await self.audit.add(row, self.claim)

    async def keep_decided(self) -> None:
        """Record which of the last calls were refused by their asker, timed out, or were answered."""
        step, round_number = self.turn.progress.steps[-1], len(self.turn.progress.steps)
        for at, call in enumerate(step.calls):
            if step.consent(at) in NOT_ALLOWED:
                row = self._row(f"{round_number}.{at + 1}", call, self.clock.now(), CallEnd.NOT_RUN)
                await self.audit.add(row, self.claim)
            elif step.consent(at) is Consent.ASKED and step.results[at] is not None:
                row = self._row(f"{round_number}.{at + 1}", call, self.clock.now(), ResultStatus.SUCCESS)
                await self.audit.add(row, self.claim)

    async def stop(self) -> None:
        """Record that the running calls were stopped with the turn."""
        while self._running:
            _, call = self._running.popitem()
            await self._end(call, 0, CallEnd.STOPPED)

    async def _end(self, call: "_RunningCall", size: int, outcome: str) -> None:
        ms = round(1000 * (self.clock.monotonic() - call.at))
        id_ = call.id if call.id is not None else await self.audit.add(call.row, self.claim)
        await self.audit.end(id_, ms, size, outcome)

    def _row(
        self,
        name: str,
        call: ToolCall,
        now: datetime,
        outcome: str = CallEnd.BEGUN,
        step: RoundStep | None = None,
        within: str = "",
    ) -> AuditedCall:
        """`within`: the call whose code made it; nobody is asked about such a call."""
        incoming, step = self.claim.incoming, step or self.turn.progress.steps[-1]
        number, _, place = name.partition(".")
        consent = Consent.NOT_NEEDED if within else step.consent(int(place) - 1)
        known = call.name in self.tools.names and call.name != CALL_TOOL.name
        arguments: Json = dict(call.args) if known else {"name": call.name, "args": dict(call.args)}
        may_keep = not may_quote_unkept(self.turn.progress, int(number)) and not (
            within and any(inner.result.keep is Keep.TURN for inner in step.inner)
        )
        decision, by = "unasked", str(DecidedBy.EFFECT)
        if consent is Consent.ASKED:
            decision, by = "answered", str(DecidedBy.ASKER)
        elif self.gate is not None and known:
            decision, by = self.gate.decided_by(call, consent)
        return AuditedCall(
            time=now,
            person=incoming.person.id,
            channel=incoming.channel,
            audience=label(incoming.place.audience),
            tool=call.name if known else reply_texts.NO_SUCH_TOOL,
            arguments=shortened(json.dumps(arguments, ensure_ascii=False), MAX_ARGUMENTS) if may_keep else "",
            effect=self.tools.get(call.name).effect.value if known else "",
            decision=decision,
            decided_by=str(by),
            outcome=outcome,
            call=name,
            account=_account_of(self.tools.get(call.name)) if known else "",
        )


@dataclass(frozen=True, slots=True)
class _RunningCall:
    """`id`: its row's; None while there is none."""

    row: AuditedCall
    at: float
    id: int | None


def _account_of(tool: Tool) -> str:
    return tool.account.value if isinstance(tool, AccountTool) else ""


def _size(result: ToolResult) -> int:
    files = sum(len(file.data) for file in (*result.images, *result.files))
    return len(result.content.encode(errors="replace")) + files


def hook_use(now: datetime, use: HookUse, person: str, channel: str, audience: Audience) -> AuditedCall:
    """Return the row of a use of a hook."""
    return AuditedCall(
        time=now,
        person=person,
        channel=channel,
        audience=label(audience),
        tool=use.point,
        arguments="",
        effect="",
        decision=use.end,
        decided_by=DecidedBy.HOOK,
        outcome=ResultStatus.FAILURE if use.end is HookEnd.FAILED else ResultStatus.SUCCESS,
        ms=round(1000 * use.took_s),
    )


def policy_change(now: datetime, change: str, person: str = "", channel: str = "") -> AuditedCall:
    """Return the row of a change of the policy, by a person's command, or by its file. `change`: the changed rows, with
    people's ids between blanks, so that forgetting finds them.
    """
    return AuditedCall(
        time=now,
        person=person,
        channel=channel,
        audience="",
        tool="",
        arguments=shortened(change, MAX_ARGUMENTS),
        effect="",
        decision="changed",
        decided_by=DecidedBy.COMMAND if person else DecidedBy.FILE,
        outcome=ResultStatus.SUCCESS,
    )


def own_change(now: datetime, change: str, person: str) -> AuditedCall:
    """Return the row of a person's change of what is theirs: tokens for programs, connected accounts."""
    return AuditedCall(
        time=now,
        person=person,
        channel="",
        audience="",
        tool="",
        arguments=shortened(change, MAX_ARGUMENTS),
        effect="",
        decision="changed",
        decided_by=DecidedBy.OWNER,
        outcome=ResultStatus.SUCCESS,
    )


# Before an operator's name at a shell. No platform has such ids, so forgetting does not remove them.
OPERATOR: Final = "operator:"
WAITS: Final = "waits"  # The outcome while a second operator has not confirmed


def operator_act(
    now: datetime, operator: str, details: Mapping[str, Json], decision: str, outcome: str = CallEnd.BEGUN
) -> AuditedCall:
    """Return the row of an operator's action on a person or a place. `details`: "act", "kind", and the id as "of"."""
    return AuditedCall(
        time=now,
        person=f"{OPERATOR}{operator}",
        channel="",
        audience="",
        tool="",
        arguments=json.dumps(details, ensure_ascii=False),
        effect="",
        decision=decision,
        decided_by=DecidedBy.OPERATOR,
        outcome=outcome,
    )


def change_words(call: AuditedCall) -> str:
    """Return the text of a row without a tool: a change of the policy or of a token, or an operator's action."""
    if call.decided_by != DecidedBy.OPERATOR or not call.arguments:
        return call.arguments
    return ": ".join(_act_words(call))


def _act_words(call: AuditedCall) -> tuple[str, str]:
    """The name of an operator's action, and its subject with the counts."""
    details: dict[str, Json] = json.loads(call.arguments)
    receipt, rows = details.get("receipt"), details.get("rows")
    amounts = rows if isinstance(rows, dict) else receipt.get("erased") if isinstance(receipt, dict) else None
    counts = [f"{count} {kind}" for kind, count in amounts.items() if count] if isinstance(amounts, dict) else []
    return f"{details.get('act')} {details.get('kind')}", " ".join([str(details.get("of")), ", ".join(counts)]).strip()


async def pages(audit: ToolAudit, since: datetime) -> AsyncGenerator[Sequence[AuditedCall], None]:
    """Yield the rows since that time, the oldest first, in pages."""
    after = 0
    while rows := await audit.page(since, after=after, limit=PAGE):
        yield rows
        after = rows[-1].id


def as_line(call: AuditedCall) -> str:
    """Return the row as a line for an operator's terminal."""
    who = _who(call)
    duration = "" if call.ms is None else f"{call.ms:,} ms"
    size = "" if call.size is None else counted(call.size, "byte", "bytes")
    door = door_of(call.person, call.channel)
    came = "" if door is None else reply_texts.BY_DOOR.format(door=door)
    where = " ".join(filter(None, [call.channel, call.audience.partition(":")[0], came]))
    decision = decision_words(call)
    name, words = _name(call), shortened(call.arguments, SHOWN_ARGUMENTS)
    if call.decided_by == DecidedBy.OPERATOR and call.arguments:
        name, words = _act_words(call)
        who = f"{who} #{call.id}"
    parts = [f"{call.time:%Y-%m-%d %H:%M:%S}", who, where, name, call.effect, decision]
    return printable_line("  ".join(filter(None, [*parts, _outcome(call), duration, size, words])))


def decision_words(call: AuditedCall) -> str:
    """Return what was decided about a call, and by whom: "no approval needed (effect)"."""
    return f"{reply_texts.DECISIONS.get(call.decision, call.decision)} ({call.decided_by})"


def as_json(call: AuditedCall) -> str:
    row: dict[str, Json] = asdict(call) | {"time": call.time.isoformat()}
    return printable_json(row)


def home_text(calls: Sequence[AuditedCall]) -> str:
    """Return the newest calls for an operator's Home tab; "" for none."""
    if not calls:
        return ""
    return "\n".join([f"{reply_texts.NEWEST_CALLS}:", *map(_home_line, calls)])


def _home_line(call: AuditedCall) -> str:
    who = literal(shortened(printable_line(_who(call)), NAME_CHARS))
    by_operator = call.decided_by == DecidedBy.OPERATOR and call.arguments
    name = _act_words(call)[0] if by_operator else _name(call)
    tool = literal(shortened(printable_line(name), NAME_CHARS))
    took = "" if call.ms is None else f", {call.ms:,} ms"
    return f"- {call.time:%Y-%m-%d %H:%M} UTC: {tool}, {who}: {decision_words(call)}, {_outcome(call)}{took}"


_CHANGED: Final = {DecidedBy.OWNER.value: reply_texts.TOKEN, DecidedBy.FEEDBACK.value: reply_texts.FEEDBACK}


def _name(call: AuditedCall) -> str:
    """The tool, or what was changed."""
    return call.tool or _CHANGED.get(call.decided_by, reply_texts.POLICY)


def _who(call: AuditedCall) -> str:
    """Who is shown as the author: a change of the file has no known one."""
    return call.person or (reply_texts.AT_START if call.decided_by == DecidedBy.FILE else reply_texts.FORGOTTEN)


def _outcome(call: AuditedCall) -> str:
    return reply_texts.NO_END if call.outcome == CallEnd.BEGUN else call.outcome
