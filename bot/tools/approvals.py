"""Which tools may run for whom: the operators' table of tools, the policy of turns, and the command `/tools`, with
which people decide about calls that wait for their consent.

Rules
  No command changes the rows of the table's file. They come first; then the rows set by command, the newest first, so
  that a change takes effect at once. A new row replaces one for the same tools, people and place. Numbers of rows are
  never reused.
  Each change is in the audit. A change of the file's rows is recorded once, by the first process that starts with them.
  A process reads the table before it answers questions, when it changes it, and every few seconds; never during a turn.
  A turn that needs its asker's consent waits in the ledger, up to a day, and any process may resume it.
  Only the asker decides, about one call at a time, shown with all its arguments. A decision holds for that call alone.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final, Self

from agent.addresses import addresses_in
from agent.approvers import Approvers
from agent.asking import asks
from agent.consents import Approval, ConsentOutcome, Undecided, is_approved, wait_until
from agent.errors import Refused, StoreError, Unexpected
from agent.memory.audience import label
from agent.messages import Consent, Provenance, ToolCall
from agent.ports.clock import Clock
from agent.ports.consents import Approvals, Consents
from agent.ports.preferences import Preferences
from agent.ports.tool_audit import ToolAudit
from agent.ports.tools import Asker, Tool, ToolEffect
from agent.progress import Progress
from agent.protocol.render import joined
from agent.tool_policy import (
    BY,
    COLUMNS,
    MAX_ROWS,
    TOO_MANY,
    CallGate,
    PolicyAnswer,
    PolicyRow,
    TurnWords,
    decide,
    read_rows,
)
from agent.toolbox.registry import Registry, Toolbox
from agent.turn import Turn, TurnLimits
from agent.turn_events import ConsentDecided
from agent.turn_records import Claim
from bot.chat.audit import policy_change
from bot.chat.logs import severity
from bot.chat.panels import TYPED_NO, TYPED_YES, Panel, PanelAction
from bot.chat.ports import WaitingDecisions
from bot.chat.texts.formatting import counted, literal, shortened
from bot.chat.unexpected import unexpected_logged
from bot.tools import texts as tool_texts
from bot.tools.approvers import ALLOW, REFUSE, ApproverService, rule_words
from bot.tools.call_text import ASKED_CHARS, argument_lines

log = logging.getLogger(__name__)

OWNER: Final = "bot"
NAME: Final = "tool_policy"
# The key of the hash of the file's rows, as a process last read them.
FILE: Final = "tool_policy_file"
# How long another process may use the old rows. A query of one row at this interval is cheap.
READ_S: Final = 10.0
TRIES: Final = 20  # A try fails only if another operator's change came between reading and writing
DIGITS: Final = 9
MAX_WORD: Final = 40  # Characters shown of a name that was meant as a mention
# The form in which Slack and Discord write people and channels.
MENTION: Final = re.compile(r"<[@#]!?(\w+)(?:\|[^<>\s]*)?>", re.ASCII)
Change = Callable[["NumberedRows"], "NumberedRows"]


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """The rows that were set by command, in their order. `last`: the highest number that any row ever had."""

    last: int = 0
    rows: Mapping[int, PolicyRow] = field(default_factory=dict[int, PolicyRow])

    def __str__(self) -> str:
        return "\n".join([str(self.last), *(f"{number} {row}" for number, row in self.rows.items())])

    @classmethod
    def read(cls, text: str | None) -> Self:
        """Parse the result of `str`. Raises ValueError for any other text."""
        if text is None:
            return cls()
        last, *lines = text.splitlines()
        rows = dict[int, PolicyRow]()
        for line in lines:
            number, _, words = line.partition(" ")
            (rows[int(number)],), _ = read_rows(words)
        return cls(int(last), rows)

    def with_row(self, row: PolicyRow) -> Self:
        others = {number: other for number, other in self.rows.items() if _row_key(other) != _row_key(row)}
        if len(others) >= MAX_ROWS:
            raise Refused(tool_texts.POLICY_FULL.format(why=TOO_MANY.format(most=MAX_ROWS).partition(";")[0]))
        return type(self)(self.last + 1, {self.last + 1: row, **others})

    def without(self, number: int) -> Self:
        if number not in self.rows:
            raise Refused(tool_texts.POLICY_NO_ROW.format(number=number))
        return type(self)(self.last, {other: row for other, row in self.rows.items() if other != number})


def _row_key(row: PolicyRow) -> tuple[str, str, str]:
    return row.tools, row.who, row.where


@dataclass(slots=True, eq=False)
class PolicyTable:
    """The table of tools. `fixed`: the file's rows. `rows`: all current rows, in one list that is updated in place."""

    preferences: Preferences
    audit: ToolAudit
    clock: Clock
    fixed: Sequence[PolicyRow] = ()
    rows: list[PolicyRow] = field(init=False)
    _set: NumberedRows = field(init=False, default_factory=NumberedRows)
    _reading: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    """Keeps a read that started before a change from overwriting the rows after it."""

    def __post_init__(self) -> None:
        self.rows = list(self.fixed)

    @property
    def numbered(self) -> Mapping[int, PolicyRow]:
        """The rows that were set by command, by number."""
        return self._set.rows

    @asynccontextmanager
    async def followed(self) -> AsyncGenerator[Self]:
        """Follow the changes of all processes until the block ends. Raises StoreError if the table cannot be read."""
        await self.read()
        await self._audit_file()
        following = asyncio.create_task(self._follow())
        try:
            yield self
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    async def _follow(self) -> None:
        while True:
            await self.clock.sleep(READ_S)
            try:
                with unexpected_logged("the tool policy"):
                    await self.read()
            except (StoreError, Unexpected) as error:
                log.log(
                    severity(error),
                    "the tool policy could not be read, so the last version still applies: %s",
                    error,
                )

    async def read(self) -> None:
        """Raises StoreError."""
        async with self._reading:
            self._apply(_read_stored(await self.preferences.all_of(OWNER)))

    async def _audit_file(self) -> None:
        """Record the file's rows in the audit, unless they are the last ones recorded. Raises StoreError."""
        rows = "\n".join(map(str, self.fixed))
        digest = hashlib.sha256(rows.encode()).hexdigest() if rows else ""
        description = tool_texts.POLICY_FILE_HAS.format(rows=" ; ".join(map(str, self.fixed)))
        change = policy_change(self.clock.now(), description if rows else tool_texts.POLICY_FILE_NONE)
        for _ in range(TRIES):
            stored = (await self.preferences.all_of(OWNER)).get(FILE)
            if digest == (stored or "") or await self.audit.keep_change(change, OWNER, FILE, stored, digest):
                return

    def _apply(self, changed: NumberedRows) -> None:
        self._set = changed
        self.rows[:] = (*self.fixed, *changed.rows.values())

    async def answer(self, asker: Asker, words: str, names: Collection[str], *, operates: bool) -> Panel:
        """Return the answer to `/tools policy` with these words. `names`: the asker's tools. `operates`: whether the
        asker is an operator. Raises StoreError.
        """
        if not operates:
            return Panel(tool_texts.POLICY_NOT_YOURS, refused=True)
        verb, *arguments = words.split() or [""]
        try:
            match verb.lower(), arguments:
                case "", _:
                    await self.read()
                    return Panel(self._list_rows())
                case "set", _:
                    return Panel(await self._set_row(asker, arguments, names))
                case "remove", [number] if number.isascii() and number.isdecimal() and len(number) <= DIGITS:
                    return Panel(await self._remove(asker, int(number)))
                case _:
                    return Panel(tool_texts.POLICY_USAGE, refused=True)
        except Refused as refusal:
            return Panel(str(refusal), refused=True)

    async def _set_row(self, asker: Asker, arguments: Sequence[str], names: Collection[str]) -> str:
        words = [MENTION.sub(r"\1", word) for word in arguments]
        if len(words) > 1:
            words[1] = _person_id(words[1], asker.person.id)
        if [word.lower() for word in words[COLUMNS:-1]] == [BY]:
            words[-1] = _person_id(words[-1], asker.person.id)
        for word in (*words[1:2], *words[COLUMNS + 1 :]):
            if word.startswith("@"):
                raise Refused(tool_texts.POLICY_NO_NAME.format(word=word[:MAX_WORD]))
        rows, faults = read_rows(" ".join(words))
        if faults or not rows:
            why = faults[0].partition(": ")[2] if faults else ""
            raise Refused(tool_texts.POLICY_NO_SENSE.format(why=why) if why else tool_texts.POLICY_USAGE)
        (row,) = rows
        await self._change(asker, lambda table: table.with_row(row), lambda _: f"set {row}")
        sentences = [tool_texts.POLICY_SET.format(number=self._set.last, row=row)]
        if self.fixed:
            sentences.append(tool_texts.POLICY_FILE_FIRST)
        if not any(fnmatchcase(name, row.tools) for name in names):
            sentences.append(tool_texts.POLICY_NO_SUCH_TOOL)
        return " ".join(sentences)

    async def _remove(self, asker: Asker, number: int) -> str:
        def describe(table: NumberedRows) -> str:
            return f"remove {number}: {table.rows[number]}"

        removed = (await self._change(asker, lambda table: table.without(number), describe)).rows[number]
        return tool_texts.POLICY_REMOVED.format(number=number, row=removed)

    async def _change(self, asker: Asker, change: Change, describe: Callable[[NumberedRows], str]) -> NumberedRows:
        """Change the table, and return it as it was before. `describe` is given that one, too. Raises Refused and
        StoreError.
        """
        async with self._reading:
            for _ in range(TRIES):
                stored = await self.preferences.all_of(OWNER)
                before = _read_stored(stored)
                after = change(before)
                entry = policy_change(self.clock.now(), describe(before), asker.person.id, asker.channel)
                if await self.audit.keep_change(entry, OWNER, NAME, stored.get(NAME), str(after)):
                    self._apply(after)
                    log.info("%s changed the tool policy: %s", asker.person.id, entry.arguments)
                    return before
        raise Refused(tool_texts.POLICY_BUSY)

    def _list_rows(self) -> str:
        if not self.rows:
            return tool_texts.POLICY_EMPTY
        fixed = [tool_texts.POLICY_FILE_ROW.format(row=row) for row in self.fixed]
        others = [tool_texts.POLICY_ROW.format(number=number, row=row) for number, row in self._set.rows.items()]
        return "\n".join([tool_texts.POLICY_HEAD, "", *fixed, *others, "", tool_texts.POLICY_HOW])


def _read_stored(preferences: Mapping[str, str]) -> NumberedRows:
    """Raises StoreError for a table that cannot be parsed. It is not taken as empty: its rows may forbid something."""
    try:
        return NumberedRows.read(preferences.get(NAME))
    except ValueError:
        raise StoreError(tool_texts.POLICY_UNREADABLE.format(owner=OWNER, name=NAME)) from None


def _person_id(word: str, asker: str) -> str:
    """Return the full id of a person whom an operator names by the platform's own id: "U2" is "slack:T1:U2" if the
    asker is "slack:T1:U1".
    """
    is_id = ":" not in word and any(map(str.isdecimal, word))
    return f"{asker.rpartition(':')[0]}:{word}" if is_id else word


# The policy of turns, by the table.


@dataclass(slots=True, eq=False)
class ApprovalPolicy:
    """Implements `agent.toolbox.registry.ToolPolicy` and `bot.chat.turns.tool_use.TurnPolicy`."""

    consents: Consents
    approvals: Approvals
    clock: Clock
    table: PolicyTable
    rows: Sequence[PolicyRow] = field(init=False)
    """The table's own list, which is updated in place."""

    def __post_init__(self) -> None:
        self.rows = self.table.rows

    def offers(self, tool: Tool, asker: Asker) -> bool:
        return decide(self.rows, tool.name, tool.effect, asker, Provenance.OWN).answer is not PolicyAnswer.NO

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
        here = (claim.incoming.conversation, asker.person.id)
        standing = await self.consents.standing(*here)
        allowed = await self.consents.standing_calls(*here) if standing else frozenset[str]()

        def effect_of(name: str) -> ToolEffect:
            return tools.get(name).effect

        asked = any(step.consents for step in progress.steps)
        by_others = await self.approvals.of(claim.turn, self.clock.now()) if asked else ()
        context = (words, lambda: turn.progress, tools.sends, tools.names_of_schema, allowed)
        asks_nobody, approved = claim.incoming.kind.asks_nobody, _deciding(by_others)
        gate = CallGate(tuple(self.rows), tools.check, effect_of, asker, standing, *context, asks_nobody, approved)
        turn = Turn(gate.check, tools.repeatable, limits, progress, gate.needs_consent, claim.incoming.text, asks)
        for decision in await self._decisions(claim, progress, gate, {each.key: each for each in by_others}):
            turn.receive(decision)
        return turn, gate

    async def _decisions(
        self, claim: Claim, progress: Progress, gate: CallGate, by_others: Mapping[str, Approval]
    ) -> list[ConsentDecided]:
        """Return the decisions about awaited calls. A call without a decision in time has expired.

        A consent counts only if it is of those whom the table names now.
        """
        awaited = progress.awaited
        if not awaited:
            return []
        decided, now = await self.consents.decided(claim.turn), self.clock.now()
        late = now >= wait_until(progress, now)
        consents = {key: decided.get(key, Consent.EXPIRED if late else Consent.AWAITED) for key in awaited}
        asker, audience = claim.incoming.person.id, label(claim.incoming.place.audience)
        decisions = list[ConsentDecided]()
        for key, stored in consents.items():
            approval = by_others.get(key)
            is_outdated = stored is Consent.GIVEN and not _is_by(gate.approvers(awaited[key]), approval, asker)
            consent = Consent.OUTDATED if is_outdated else stored
            reason = _reason(approval) if consent is Consent.REFUSED else ""
            if consent is not Consent.AWAITED:
                decisions.append(ConsentDecided(key.partition("-")[0], consent, reason, audience if reason else ""))
        return decisions


def _is_by(by: Approvers | None, approval: Approval | None, asker: str) -> bool:
    """Return whether a consent is of those whom the table names: the asker alone, if it names nobody."""
    return approval is None if by is None else is_approved(by, approval, asker)


def _reason(approval: Approval | None) -> str:
    """Return why somebody else than the asker denied the call; "" if they did not say."""
    people = () if approval is None else approval.people
    return next((each.reason for each in people if each.consent is Consent.REFUSED), "")


def _deciding(approvals: Sequence[Approval]) -> Mapping[str, Sequence[str]]:
    """Return who decided about calls in place of their asker, by `call_digest`."""
    return {
        each.key.partition("-")[2]: [one.person for one in each.people if one.consent is each.consent]
        for each in approvals
    }


# The command `/tools`. Its answer shows a waiting call first, in full, else which tools the asker may use.

# The words that decide about a call, followed by its name: "allow 12.2.1-3f09…"; and whether the consent is standing.
ALWAYS = "always"
DECISIONS: Final[Mapping[str, tuple[Consent, bool]]] = {
    ALLOW: (Consent.GIVEN, False),
    ALWAYS: (Consent.GIVEN, True),
    REFUSE: (Consent.REFUSED, False),
}
FORMS: Final = {"policy": "policy", "sign": "sign in SERVER"}  # The arguments of `/tools`, by their first word
TURN_DIGITS: Final = 9  # Of a number that every database accepts
DESCRIPTION_CHARS: Final = 120
MAX_LISTED: Final = 40  # Tools: more make a message too long to read


@dataclass(frozen=True, slots=True)
class ApprovalService:
    """Answers `/tools`. `wake`: called when a waiting turn may continue."""

    toolbox: Toolbox
    policy: ApprovalPolicy
    clock: Clock
    wake: Callable[[], None]
    approvers: ApproverService
    others: Sequence[WaitingDecisions] = ()
    """What else turns wait for, and people decide about with the same buttons."""

    async def answer(self, asker: Asker, words: str, *, operates: bool = False) -> Panel:
        """Return the answer to `/tools` with these words, shown to the asker alone. `operates`: whether the asker is an
        operator. Raises StoreError.
        """
        for other in self.others:
            if (panel := await other.answer(asker.person.id, words)) is not None:
                return panel
        await self.toolbox.prepare(asker)
        match " ".join(words.split()).split(" ", 1):
            case [word, name] if (word := word.lower()) in DECISIONS:
                if (panel := await self._decided_for_other(asker.person.id, word, name)) is not None:
                    return panel
                outcome = await self._decide(asker.person.id, word, name)
                is_stored = outcome in (ConsentOutcome.GOES_ON, ConsentOutcome.KEPT)
                text = tool_texts.DECIDED[word] if is_stored else tool_texts.NOT_DECIDED[outcome.name]
                waiting = await self.policy.consents.undecided(asker.person.id)
                return self._question(asker, waiting, text) if waiting else Panel(text, refused=not is_stored)
            case ["waiting", turn]:
                return await self._waiting_in(asker, turn)
            case [word, *rest] if word.lower() == "policy":
                names = [tool.name for tool in self.toolbox.all(asker)]
                return await self.policy.table.answer(asker, " ".join(rest), names, operates=operates)
            case [""]:
                waiting = await self.policy.consents.undecided(asker.person.id)
                if waiting:
                    return self._question(asker, waiting)
                if panels := await self.approvers.panels(asker.person.id):
                    return panels[0]
                return Panel(self._list_tools(asker, operates=operates))
            case unknown:
                matches = get_close_matches(unknown[0].lower(), FORMS, n=1)
                suggestion = tool_texts.TOOLS_MEANT.format(words=FORMS[matches[0]]) if matches else ""
                return Panel(joined([suggestion, tool_texts.TOOLS_USAGE]), refused=True)

    async def _waiting_in(self, asker: Asker, turn: str) -> Panel:
        """Return what the button below a reply shows: only the calls of that reply."""
        waiting = await self.policy.consents.undecided(asker.person.id)
        waiting = [call for call in waiting if str(call.turn) == turn]
        if waiting or not _is_turn(turn):
            return self._question(asker, waiting) if waiting else Panel(tool_texts.NOTHING_WAITS)
        if panels := await self.approvers.panels(asker.person.id, int(turn)):
            return panels[0]
        return Panel(await self.approvers.awaits_others(asker.person.id, int(turn)) or tool_texts.NOTHING_WAITS)

    async def _decided_for_other(self, person: str, word: str, name: str) -> Panel | None:
        """Return the answer to a decision about a call that others than its asker decide about; None for other calls.

        A reason may follow the name. Raises StoreError.
        """
        name, _, reason = name.partition(" ")
        turn, _, key = name.partition(".")
        approval = await self.approvers.of(int(turn), key) if _is_turn(turn) else None
        if approval is None:
            return None
        if word == ALWAYS:  # no button says so
            return Panel(tool_texts.NOT_DECIDED["NOT_THEIRS"], refused=True)
        try:
            outcome = await self.approvers.decide(approval, person, allows=word == ALLOW, reason=reason)
        except Refused as refusal:
            return Panel(str(refusal), refused=True)
        if outcome is ConsentOutcome.KEPT and word == ALLOW and approval.given + 1 < approval.rule.needed:
            return Panel(tool_texts.ONE_MORE_NEEDED)
        is_stored = outcome in (ConsentOutcome.GOES_ON, ConsentOutcome.KEPT)
        text = tool_texts.DECIDED[word] if is_stored else tool_texts.NOT_DECIDED[outcome.name]
        return Panel(text, refused=not is_stored)

    async def _decide(self, person: str, word: str, name: str) -> ConsentOutcome:
        turn, _, key = name.partition(".")
        if not _is_turn(turn):
            return ConsentOutcome.OVER
        consent, standing = DECISIONS[word]
        now = self.clock.now()
        outcome = await self.policy.consents.decide(int(turn), key, person, consent, now, standing=standing)
        if outcome is ConsentOutcome.GOES_ON:
            self.wake()
        return outcome

    def _question(self, asker: Asker, waiting: Sequence[Undecided], intro: str = "") -> Panel:
        """Return the question about the oldest waiting call, in full, with the arguments that the tool will get."""
        first, *others = waiting
        first = replace(first, call=self.toolbox.registry(asker).as_run(first.call))
        effect = next((tool.effect for tool in self.toolbox.all(asker) if tool.name == first.call.name), None)
        more = tool_texts.MORE_WAIT.format(calls=counted(len(others), "more call is waiting", "more calls are waiting"))
        text = joined([intro, question_text(first, effect), more if others else ""])
        may_stand = effect not in (None, ToolEffect.IRREVERSIBLE) and not _is_asked_for_its_address(first.call, effect)
        return Panel(text, decision_buttons(f"{first.turn}.{first.key}", may_stand=may_stand))

    def _list_tools(self, asker: Asker, *, operates: bool) -> str:
        """List the tools that the asker has here, those that are refused, and servers that are not connected."""
        usable, refused = list[str](), list[str]()
        for tool in self.toolbox.all(asker):
            decision = decide(self.policy.rows, tool.name, tool.effect, asker, Provenance.OWN)
            if decision.answer is PolicyAnswer.NO:
                why = tool_texts.REFUSED_BY.format(row=decision.row) if operates else ""
                refused.append(f"- `{tool.name}`{why}")
                continue
            how = tool_texts.TOOL_ANSWERS[decision.answer]
            how = tool_texts.ASKED_EACH_TIME if decision.every_time else how
            if decision.by is not None:
                how = tool_texts.ASKS_OTHERS.format(who=rule_words(decision.by))
            about = tool_texts.TOOL_SUMMARIES.get(tool.name) or literal(shortened(tool.description, DESCRIPTION_CHARS))
            usable.append(f"- `{tool.name}` (*{how}*): {about}")
        lines = [tool_texts.TOOLS_HERE if usable else tool_texts.NO_TOOLS_HERE, "", *_truncated(usable)]
        lines += ["", tool_texts.TOOLS_REFUSED, "", *_truncated(refused)] if refused else []
        if absent := self._absent(asker):
            lines += ["", tool_texts.SERVERS_AWAY, "", *_truncated(absent)]
            lines += ["", tool_texts.AWAY_HOW] if operates else []
        return "\n".join([*lines, "", tool_texts.POLICY_OFFER] if operates else lines)

    def _absent(self, asker: Asker) -> list[str]:
        """List the servers that are not connected, without those whose tools the asker may not use."""
        return [
            f"- `{server}`: {why}"
            for server, why in self.toolbox.servers.away().items()
            if decide(self.policy.rows, f"{server}.", ToolEffect.READS, asker, Provenance.OWN).answer
            is not PolicyAnswer.NO
        ]


def _is_turn(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= TURN_DIGITS


def decision_buttons(call: str, *, may_stand: bool) -> tuple[PanelAction, ...]:
    """Return the buttons that decide about a call. `may_stand`: a consent may apply to the whole thread."""
    allow = PanelAction(tool_texts.ALLOW_ONCE, f"{ALLOW} {call}", typed=TYPED_YES)
    always = PanelAction(tool_texts.ALLOW_HERE, f"{ALWAYS} {call}", typed=(ALWAYS,))
    refuse = PanelAction(tool_texts.REFUSE, f"{REFUSE} {call}", danger=True, typed=TYPED_NO)
    return (allow, always, refuse) if may_stand else (allow, refuse)


def _truncated(lines: Sequence[str]) -> Sequence[str]:
    more = len(lines) - MAX_LISTED
    rest = [tool_texts.MORE_TOOLS.format(tools=counted(more, "more tool", "more tools"))] if more > 0 else []
    return [*lines[:MAX_LISTED], *rest]


def question_text(waiting: Undecided, effect: ToolEffect | None) -> str:
    """Describe what a waiting call would do, with every character of its arguments."""
    about = tool_texts.EFFECTS["" if effect is None else effect.name]
    if _is_asked_for_its_address(waiting.call, effect):
        about = f"{about} {tool_texts.ADDRESS_LEAVES}"
    question = tool_texts.WAITS_BELOW.format(question=literal(shortened(waiting.asked, ASKED_CHARS)))
    head = tool_texts.MAY_RUN.format(tool=waiting.call.name, about=about)
    return "\n".join([head, "", *argument_lines(waiting.call), "", question])


def _is_asked_for_its_address(call: ToolCall, effect: ToolEffect | None) -> bool:
    """Return whether it only reads and names an address, which no permission for a thread covers."""
    return effect is ToolEffect.READS and bool(addresses_in(call))
