"""The audit: each call of a tool as it happens, changes of the policy, what operators do about people; reading it.

Rules
  What acts is written down before it runs, and if that fails it does not run; what only reads, at its end; what could
  not run at all, such as a tool that there is not, when the next round begins. The name of such a one is the model's
  words, as the arguments are; neither is kept behind a result that may be kept for the turn only.
  A platform keeps what is shown in it, beyond the reach of forgetting: the Home tab names no argument and no place.
  `cogency audit` shows them to whoever can read the database anyway.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Final

from agent.events import CallFinished, CallStarted, IterationStarted, TurnEnded
from agent.memory.audience import label
from agent.messages import Json, ResultStatus, ToolCall, ToolResult
from agent.ports import AuditedCall, CallEnd, Clock, ToolAudit, ToolEffect
from agent.progress import Progress, RoundStep, may_quote_unkept
from agent.records import Claim
from agent.tool_policy import CallGate, DecidedBy
from agent.tools.registry import CALL_TOOL, Registry
from agent.turn import NOT_ALLOWED
from bot.exits import printable_json, printable_line
from bot.texts import tool_texts
from bot.texts.formatting import counted, literal, shortened

# Characters: what was called with can be told from them, and a file's content fills no database.
MAX_ARGUMENTS: Final = 2_000
SHOWN_ARGUMENTS: Final = 200
SHOWN_IN_HOME: Final = 10  # Calls: as many as stand on a screen
PAGE: Final = 500  # Rows in memory at once
NAME_CHARS: Final = 60


@dataclass(slots=True, eq=False)
class CallAudit:
    """Writes down the calls of one claimed turn. `gate`: None where everything runs unasked."""

    claim: Claim
    audit: ToolAudit
    clock: Clock
    tools: Registry
    progress: Callable[[], Progress]
    gate: CallGate | None
    _begun: "dict[str, _Begun]" = field(default_factory=dict[str, "_Begun"])
    _known: set[str] = field(default_factory=set[str])
    """Calls of the last round that ran, or whose end an earlier process has written down."""
    _rounds: int = 0
    """Whose calls are all written down."""

    def __post_init__(self) -> None:
        steps = self.progress().steps
        self._rounds = max(0, len(steps) - 1)
        self._known |= {
            f"{len(steps)}.{at}"
            for step in steps[-1:]
            for at, result in enumerate(step.results, 1)
            if result is not None
        }

    async def see(self, event: CallStarted | CallFinished | IterationStarted | TurnEnded) -> None:
        """Raises StoreError: then the call must not run, or its turn is somebody else's."""
        match event:
            case IterationStarted() | TurnEnded():
                await self.keep_unrun()
            case CallStarted(name, call):
                self._known.add(name)
                row = self._row(name, call, self.clock.now())
                acts = self.tools.get(call.name).effect is not ToolEffect.READS
                id_ = await self.audit.keep(row, self.claim) if acts else None
                self._begun[name] = _Begun(row, self.clock.monotonic(), id_)
            case CallFinished(name, result):
                await self._end(self._begun.pop(name), _size(result), result.status.value)

    async def keep_unrun(self) -> None:
        """Write down which calls since the last time could not run at all."""
        steps = self.progress().steps
        for number, step in enumerate(steps[self._rounds :], self._rounds + 1):
            for at, (call, result) in enumerate(zip(step.calls, step.results, strict=True), 1):
                name = f"{number}.{at}"
                lost = result is None or result.status is ResultStatus.UNKNOWN  # its row says so: it had begun
                if not lost and name not in self._known:
                    row = self._row(name, call, self.clock.now(), CallEnd.NOT_RUN, step)
                    hidden = self.gate is not None and self.gate.hides(call.name)
                    by = DecidedBy.TABLE if hidden else DecidedBy.CHECK
                    await self.audit.keep(replace(row, decision="refused", decided_by=by), self.claim)
        self._rounds = len(steps)
        self._known.clear()

    async def keep_refused(self) -> None:
        """Write down which of the last calls their asker, or the time, did not let run."""
        step, number = self.progress().steps[-1], len(self.progress().steps)
        for at, call in enumerate(step.calls):
            if step.consent(at) in NOT_ALLOWED:
                row = self._row(f"{number}.{at + 1}", call, self.clock.now(), CallEnd.NOT_RUN)
                await self.audit.keep(row, self.claim)

    async def stop(self) -> None:
        """The turn was stopped, and with it what ran."""
        while self._begun:
            _, begun = self._begun.popitem()
            await self._end(begun, 0, CallEnd.STOPPED)

    async def _end(self, begun: "_Begun", size: int, outcome: str) -> None:
        ms = round(1000 * (self.clock.monotonic() - begun.at))
        id_ = begun.id if begun.id is not None else await self.audit.keep(begun.row, self.claim)
        await self.audit.end(id_, ms, size, outcome)

    def _row(
        self, name: str, call: ToolCall, now: datetime, outcome: str = CallEnd.BEGUN, step: RoundStep | None = None
    ) -> AuditedCall:
        asked, step = self.claim.incoming, step or self.progress().steps[-1]
        number, _, place = name.partition(".")
        consent = step.consent(int(place) - 1)
        known = call.name in self.tools.names and call.name != CALL_TOOL.name
        words: Json = dict(call.args) if known else {"name": call.name, "args": dict(call.args)}
        kept = not may_quote_unkept(self.progress(), int(number))
        decision, by = "unasked", DecidedBy.EFFECT
        if self.gate is not None and known:
            decision, by = self.gate.decided_by(call, consent)
        return AuditedCall(
            time=now,
            person=asked.person.id,
            channel=asked.channel,
            audience=label(asked.place.audience),
            tool=call.name if known else tool_texts.NO_SUCH_TOOL,
            arguments=shortened(json.dumps(words, ensure_ascii=False), MAX_ARGUMENTS) if kept else "",
            effect=self.tools.get(call.name).effect.value if known else "",
            decision=decision,
            decided_by=by.value,
            outcome=outcome,
            call=name,
        )


@dataclass(frozen=True, slots=True)
class _Begun:
    """`id`: of its row; None as long as there is none."""

    row: AuditedCall
    at: float
    id: int | None


def _size(result: ToolResult) -> int:
    files = sum(len(one.data) for one in (*result.images, *result.files))
    return len(result.content.encode(errors="replace")) + files


def policy_change(now: datetime, change: str, person: str = "", channel: str = "") -> AuditedCall:
    """That somebody has changed the policy by a command, or else that its file is another one: `change` says what, in
    the words of its rows. People's ids in it stand between spaces, so that forgetting finds them.
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


# Before the name of an operator at a shell: no platform has such people, so no forgetting takes them out.
OPERATOR: Final = "operator:"
WAITS: Final = "waits"  # The outcome of what a second operator has not confirmed yet


def operator_act(
    now: datetime, operator: str, told: Mapping[str, Json], decision: str, outcome: str = CallEnd.BEGUN
) -> AuditedCall:
    """What an operator does about a person or a place: `told` has its "act" and "kind", and the id as "of"."""
    return AuditedCall(
        time=now,
        person=f"{OPERATOR}{operator}",
        channel="",
        audience="",
        tool="",
        arguments=json.dumps(told, ensure_ascii=False),
        effect="",
        decision=decision,
        decided_by=DecidedBy.OPERATOR,
        outcome=outcome,
    )


def change_words(call: AuditedCall) -> str:
    """What a row says that is of no tool: a change of the policy, or what an operator did."""
    if call.decided_by != DecidedBy.OPERATOR or not call.arguments:
        return call.arguments
    return ": ".join(_act_words(call))


def _act_words(call: AuditedCall) -> tuple[str, str]:
    """The name of what an operator did, and about whom with how much."""
    told: dict[str, Json] = json.loads(call.arguments)
    receipt, rows = told.get("receipt"), told.get("rows")
    amounts = rows if isinstance(rows, dict) else receipt.get("erased") if isinstance(receipt, dict) else None
    many = [f"{count} {kind}" for kind, count in amounts.items() if count] if isinstance(amounts, dict) else []
    return f"{told.get('act')} {told.get('kind')}", " ".join([str(told.get("of")), ", ".join(many)]).strip()


async def pages(audit: ToolAudit, since: datetime) -> AsyncGenerator[Sequence[AuditedCall], None]:
    """The rows from that time on, the oldest first, some at a time."""
    after = 0
    while rows := await audit.page(since, after=after, limit=PAGE):
        yield rows
        after = rows[-1].id


def as_line(call: AuditedCall) -> str:
    """For an operator's terminal."""
    who = _who(call)
    took = "" if call.ms is None else f"{call.ms:,} ms"
    size = "" if call.size is None else counted(call.size, "byte", "bytes")
    where = " ".join(filter(None, [call.channel, call.audience.partition(":")[0]]))
    decided = f"{call.decision} ({call.decided_by})"
    name, words = call.tool or tool_texts.POLICY, shortened(call.arguments, SHOWN_ARGUMENTS)
    if call.decided_by == DecidedBy.OPERATOR and call.arguments:
        name, words = _act_words(call)
        who = f"{who} #{call.id}"
    parts = [f"{call.time:%Y-%m-%d %H:%M:%S}", who, where, name, call.effect, decided]
    return printable_line("  ".join(filter(None, [*parts, _outcome(call), took, size, words])))


def as_json(call: AuditedCall) -> str:
    told: dict[str, Json] = asdict(call) | {"time": call.time.isoformat()}
    return printable_json(told)


def home_text(calls: Sequence[AuditedCall]) -> str:
    """The newest calls, for the operators' Home; "" for none."""
    if not calls:
        return ""
    return "\n".join([f"{tool_texts.NEWEST_CALLS}:", *map(_home_line, calls)])


def _home_line(call: AuditedCall) -> str:
    who = literal(shortened(_who(call), NAME_CHARS))
    by_operator = call.decided_by == DecidedBy.OPERATOR and call.arguments
    name = _act_words(call)[0] if by_operator else call.tool or tool_texts.POLICY
    tool = literal(shortened(name, NAME_CHARS))
    took = "" if call.ms is None else f", {call.ms:,} ms"
    return (
        f"- {call.time:%Y-%m-%d %H:%M} UTC: {tool}, {who}: {call.decision} ({call.decided_by}), {_outcome(call)}{took}"
    )


def _who(call: AuditedCall) -> str:
    """The file is changed by whoever may write it, whom nothing here knows."""
    return call.person or (tool_texts.AT_START if call.decided_by == DecidedBy.FILE else tool_texts.FORGOTTEN)


def _outcome(call: AuditedCall) -> str:
    return tool_texts.NO_END if call.outcome == CallEnd.BEGUN else call.outcome
