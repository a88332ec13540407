"""What may run for whom: the operators' table of tools, the policy of turns, and `/tools`, by which people decide about
calls that wait for them.

Rules
  What the table's file says no command changes. Of the other rows the newest stands first: what an operator says holds
  at once. A row for the same tools, people and place goes when a new one comes. No two rows ever have one number.
  Each change is in the audit: of the file's rows once, by the first process that starts with them.
  A process reads the table before it answers anybody, when somebody changes it here, and every few seconds; in no turn.
  A turn that needs its asker's word waits in the ledger, a day at most, and goes on in whichever process takes it up.
  Only the asker decides, about one call after the other, each shown whole; a word counts for that very call.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final, Self

from agent.errors import Refused, StoreError
from agent.messages import Consent, Provenance
from agent.ports import Asker, Clock, Consents, Preferences, Tool, ToolAudit, ToolEffect
from agent.progress import Progress, addresses_in
from agent.protocol.render import joined
from agent.records import Claim, ConsentOutcome, Undecided
from agent.tool_policy import MAX_ROWS, TOO_MANY, CallGate, PolicyAnswer, PolicyRow, decide, read_rows, shown_arguments
from agent.tools.registry import Registry, Toolbox
from agent.turn import ConsentDecided, Turn, TurnLimits
from bot.audit import policy_change
from bot.host import ToolsAnswer
from bot.logs import severity
from bot.texts import tool_texts
from bot.texts.formatting import as_code, counted, literal, shortened

log = logging.getLogger(__name__)

OWNER: Final = "bot"
NAME: Final = "tool_policy"
# Under which is kept what tells the file's rows, as some process last read them, from others.
FILE: Final = "tool_policy_file"
# How long another process may go by what held before: a query of a row, that much apart, costs nothing.
READ_S: Final = 10.0
TRIES: Final = 20  # Each is lost only because another operator's change came between
DIGITS: Final = 9
MAX_WORD: Final = 40  # Shown of a name that was meant as a mention
# As Slack and Discord write people and channels.
MENTION: Final = re.compile(r"<[@#]!?(\w+)(?:\|[^<>\s]*)?>", re.ASCII)
Change = Callable[["NumberedRows"], "NumberedRows"]


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """The rows that were set by command, the first on top. `last`: the newest number that any row had."""

    last: int = 0
    rows: Mapping[int, PolicyRow] = field(default_factory=dict[int, PolicyRow])

    def __str__(self) -> str:
        return "\n".join([str(self.last), *(f"{number} {row}" for number, row in self.rows.items())])

    @classmethod
    def read(cls, text: str | None) -> Self:
        """Raises ValueError for what `str` of one has not made."""
        if text is None:
            return cls()
        last, *lines = text.splitlines()
        rows = dict[int, PolicyRow]()
        for line in lines:
            number, _, words = line.partition(" ")
            (rows[int(number)],), _ = read_rows(words)
        return cls(int(last), rows)

    def with_row(self, row: PolicyRow) -> Self:
        others = {number: one for number, one in self.rows.items() if _about(one) != _about(row)}
        if len(others) >= MAX_ROWS:
            raise Refused(tool_texts.POLICY_FULL.format(why=TOO_MANY.format(most=MAX_ROWS).partition(";")[0]))
        return type(self)(self.last + 1, {self.last + 1: row, **others})

    def without(self, number: int) -> Self:
        if number not in self.rows:
            raise Refused(tool_texts.POLICY_NO_ROW.format(number=number))
        return type(self)(self.last, {other: row for other, row in self.rows.items() if other != number})


def _about(row: PolicyRow) -> tuple[str, str, str]:
    return row.tools, row.who, row.where


@dataclass(slots=True, eq=False)
class PolicyTable:
    """`fixed`: of the file. `rows`: all of them, as they are now, in one list that whoever holds it sees change."""

    preferences: Preferences
    audit: ToolAudit
    clock: Clock
    fixed: Sequence[PolicyRow] = ()
    rows: list[PolicyRow] = field(init=False)
    _set: NumberedRows = field(init=False, default_factory=NumberedRows)
    _reading: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    """What was read before a change never takes the place of what holds after it."""

    def __post_init__(self) -> None:
        self.rows = list(self.fixed)

    @property
    def numbered(self) -> Mapping[int, PolicyRow]:
        """The rows that were set by command, by their numbers."""
        return self._set.rows

    @asynccontextmanager
    async def followed(self) -> AsyncGenerator[Self]:
        """As every process has changed it, from now on until the block ends. Raises StoreError if it cannot be read."""
        await self.read()
        await self._keep_file()
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
                await self.read()
            except StoreError as error:
                log.log(severity(error), "the table of tools stays as it was read before: %s", error)

    async def read(self) -> None:
        """Raises StoreError."""
        async with self._reading:
            self._take(_kept(await self.preferences.of(OWNER)))

    async def _keep_file(self) -> None:
        """Raises StoreError."""
        rows = "\n".join(map(str, self.fixed))
        digest = hashlib.sha256(rows.encode()).hexdigest() if rows else ""
        told = tool_texts.POLICY_FILE_HAS.format(rows=" ; ".join(map(str, self.fixed)))
        change = policy_change(self.clock.now(), told if rows else tool_texts.POLICY_FILE_NONE)
        for _ in range(TRIES):
            kept = (await self.preferences.of(OWNER)).get(FILE)
            if digest == (kept or "") or await self.audit.keep_change(change, OWNER, FILE, kept, digest):
                return

    def _take(self, changed: NumberedRows) -> None:
        self._set = changed
        self.rows[:] = (*self.fixed, *changed.rows.values())

    async def answer(self, asker: Asker, words: str, names: Collection[str], *, operates: bool) -> ToolsAnswer:
        """What `/tools policy` with these words says. `names`: of the tools that they have. `operates`: whether
        they are an operator. Raises StoreError.
        """
        if not operates:
            return ToolsAnswer(tool_texts.POLICY_NOT_YOURS, refused=True)
        verb, *given = words.split() or [""]
        try:
            match verb.lower(), given:
                case "", _:
                    await self.read()
                    return ToolsAnswer(self._listed())
                case "set", _:
                    return ToolsAnswer(await self._set_row(asker, given, names))
                case "remove", [number] if number.isascii() and number.isdecimal() and len(number) <= DIGITS:
                    return ToolsAnswer(await self._remove(asker, int(number)))
                case _:
                    return ToolsAnswer(tool_texts.POLICY_USAGE, refused=True)
        except Refused as refusal:
            return ToolsAnswer(str(refusal), refused=True)

    async def _set_row(self, asker: Asker, given: Sequence[str], names: Collection[str]) -> str:
        named = [MENTION.sub(r"\1", word) for word in given]
        if len(named) > 1:
            named[1] = _person(named[1], asker.person.id)
        if any(word.startswith("@") for word in named[1:2]):
            raise Refused(tool_texts.POLICY_NO_NAME.format(word=named[1][:MAX_WORD]))
        rows, faults = read_rows(" ".join(named))
        if faults or not rows:
            why = faults[0].partition(": ")[2] if faults else ""
            raise Refused(tool_texts.POLICY_NO_SENSE.format(why=why) if why else tool_texts.POLICY_USAGE)
        (row,) = rows
        await self._change(asker, lambda kept: kept.with_row(row), lambda _: f"set {row}")
        said = [tool_texts.POLICY_SET.format(number=self._set.last, row=row)]
        if self.fixed:
            said.append(tool_texts.POLICY_FILE_FIRST)
        if not any(fnmatchcase(name, row.tools) for name in names):
            said.append(tool_texts.POLICY_NO_SUCH_TOOL)
        return " ".join(said)

    async def _remove(self, asker: Asker, number: int) -> str:
        def told(kept: NumberedRows) -> str:
            return f"remove {number}: {kept.rows[number]}"

        gone = (await self._change(asker, lambda kept: kept.without(number), told)).rows[number]
        return tool_texts.POLICY_REMOVED.format(number=number, row=gone)

    async def _change(self, asker: Asker, change: Change, describe: Callable[[NumberedRows], str]) -> NumberedRows:
        """What was before, which `describe` may need. Raises Refused, and StoreError."""
        async with self._reading:
            for _ in range(TRIES):
                kept = await self.preferences.of(OWNER)
                before = _kept(kept)
                after = change(before)
                told = policy_change(self.clock.now(), describe(before), asker.person.id, asker.channel)
                if await self.audit.keep_change(told, OWNER, NAME, kept.get(NAME), str(after)):
                    self._take(after)
                    log.info("the table of tools was changed by %s: %s", asker.person.id, told.arguments)
                    return before
        raise Refused(tool_texts.POLICY_BUSY)

    def _listed(self) -> str:
        if not self.rows:
            return tool_texts.POLICY_EMPTY
        fixed = [tool_texts.POLICY_FILE_ROW.format(row=row) for row in self.fixed]
        others = [tool_texts.POLICY_ROW.format(number=number, row=row) for number, row in self._set.rows.items()]
        return "\n".join([tool_texts.POLICY_HEAD, "", *fixed, *others, "", tool_texts.POLICY_HOW])


def _kept(preferences: Mapping[str, str]) -> NumberedRows:
    """A table that cannot be read is no empty one: its rows may forbid something. Raises StoreError."""
    try:
        return NumberedRows.read(preferences.get(NAME))
    except ValueError:
        raise StoreError(tool_texts.POLICY_UNREADABLE.format(owner=OWNER, name=NAME)) from None


def _person(word: str, asker: str) -> str:
    """A person whom the operator names as their platform does, with what the ids of its people begin with: "U2" is
    "slack:T1:U2" for "slack:T1:U1".
    """
    is_id = ":" not in word and any(map(str.isdecimal, word))
    return f"{asker.rpartition(':')[0]}:{word}" if is_id else word


# What may run for whom, as the table says: the policy of turns, and what `/tools` says of calls that wait.

CONSENT_TIME: Final = timedelta(days=1)  # Who has not looked for a day has forgotten what they asked for


def wait_until(progress: Progress, now: datetime) -> datetime:
    """When it is too late for a word about the newest calls."""
    return (progress.steps[-1].time or now) + CONSENT_TIME


@dataclass(slots=True, eq=False)
class ApprovalPolicy:
    """Implements `ToolPolicy`."""

    consents: Consents
    clock: Clock
    table: PolicyTable
    rows: Sequence[PolicyRow] = field(init=False)
    """The table's own list, which changes with it."""

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
        words: Callable[[], Provenance],
        texts: Callable[[], Sequence[str]] = tuple,
    ) -> tuple[Turn, CallGate]:
        """The claimed turn, with what its asker has said meanwhile of the calls that it waits for, and what decides
        about its calls. Raises StoreError.

        `words`: whose words its context holds, and `texts` which; known before its first call.
        """
        standing = await self.consents.standing(claim.incoming.conversation, asker.person.id)

        def effect_of(name: str) -> ToolEffect:
            return tools.get(name).effect

        rows = tuple(self.rows)
        held = (words, lambda: turn.progress, texts, tools.sends)
        gate = CallGate(rows, tools.check, effect_of, asker, standing, *held)
        turn = Turn(gate.check, tools.repeatable, limits, progress, gate.needs_consent)
        for decided in await self._decided(claim, progress):
            turn.receive(decided)
        return turn, gate

    async def _decided(self, claim: Claim, progress: Progress) -> list[ConsentDecided]:
        """No word in time is a no."""
        awaited = progress.awaited
        if not awaited:
            return []
        said, now = await self.consents.decided(claim.turn), self.clock.now()
        late = now >= wait_until(progress, now)
        words = {key: said.get(key, Consent.EXPIRED if late else Consent.AWAITED) for key in awaited}
        return [
            ConsentDecided(key.partition("-")[0], word) for key, word in words.items() if word is not Consent.AWAITED
        ]


# What `/tools` says, and does. A call that waits comes first, in full; what may be used stands below.

# The words that decide about a call, whose name follows: "allow 12.2.1-3f09…"; and whether they stand.
DECISIONS: Final[Mapping[str, tuple[Consent, bool]]] = {
    "allow": (Consent.GIVEN, False),
    "always": (Consent.GIVEN, True),
    "refuse": (Consent.REFUSED, False),
}
FORMS: Final = {"policy": "policy", "sign": "sign in SERVER"}  # What may be written behind `/tools`, by its first word
TURN_DIGITS: Final = 9  # Of a number that every database takes
DESCRIPTION_CHARS: Final = 120
MAX_LISTED: Final = 40  # Tools: more fill a message that nobody reads
ASKED_CHARS: Final = 200
INLINE_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class ToolsDesk:
    """`wake`: a turn that waited may go on now."""

    toolbox: Toolbox
    policy: ApprovalPolicy
    clock: Clock
    wake: Callable[[], None]

    async def answer(self, asker: Asker, words: str, *, operates: bool = False) -> ToolsAnswer:
        """What `/tools` with these words says to this person there, for them alone. `operates`: whether they are an
        operator. Raises StoreError.
        """
        await self.toolbox.servers.prepare(asker)
        match " ".join(words.split()).split(" ", 1):
            case [word, name] if (word := word.lower()) in DECISIONS:
                outcome = await self._decide(asker.person.id, word, name)
                kept = outcome in (ConsentOutcome.GOES_ON, ConsentOutcome.KEPT)
                said = tool_texts.DECIDED[word] if kept else tool_texts.NOT_DECIDED[outcome.name]
                waiting = await self.policy.consents.undecided(asker.person.id)
                return self._question(asker, waiting, said) if waiting else ToolsAnswer(said, refused=not kept)
            case ["waiting", turn]:
                waiting = await self.policy.consents.undecided(asker.person.id)
                waiting = [one for one in waiting if str(one.turn) == turn]
                return self._question(asker, waiting) if waiting else ToolsAnswer(tool_texts.NOTHING_WAITS)
            case [word, *rest] if word.lower() == "policy":
                names = [tool.name for tool in self.toolbox.all(asker)]
                return await self.policy.table.answer(asker, " ".join(rest), names, operates=operates)
            case [""]:
                waiting = await self.policy.consents.undecided(asker.person.id)
                return (
                    self._question(asker, waiting) if waiting else ToolsAnswer(self._listed(asker, operates=operates))
                )
            case asked:
                near = get_close_matches(asked[0].lower(), FORMS, n=1)
                meant = tool_texts.TOOLS_MEANT.format(words=FORMS[near[0]]) if near else ""
                return ToolsAnswer(joined([meant, tool_texts.TOOLS_USAGE]), refused=True)

    async def _decide(self, person: str, word: str, name: str) -> ConsentOutcome:
        turn, _, key = name.partition(".")
        if not (turn.isascii() and turn.isdecimal() and len(turn) <= TURN_DIGITS):
            return ConsentOutcome.OVER
        consent, standing = DECISIONS[word]
        now = self.clock.now()
        outcome = await self.policy.consents.decide(int(turn), key, person, consent, now, standing=standing)
        if outcome is ConsentOutcome.GOES_ON:
            self.wake()
        return outcome

    def _question(self, asker: Asker, waiting: Sequence[Undecided], said: str = "") -> ToolsAnswer:
        """About the oldest that waits, whole."""
        first, *others = waiting
        effect = next((tool.effect for tool in self.toolbox.all(asker) if tool.name == first.call.name), None)
        more = tool_texts.MORE_WAIT.format(calls=counted(len(others), "more call waits", "more calls wait"))
        text = joined([said, question_text(first, effect), more if others else ""])
        may_stand = effect is not None and effect is not ToolEffect.IRREVERSIBLE
        return ToolsAnswer(text, f"{first.turn}.{first.key}", may_stand=may_stand)

    def _listed(self, asker: Asker, *, operates: bool) -> str:
        """What is there for them here, and why something is not."""
        tools, here, refused = self.toolbox.all(asker), list[str](), list[str]()
        for tool in tools:
            decision = decide(self.policy.rows, tool.name, tool.effect, asker, Provenance.OWN)
            if decision.answer is PolicyAnswer.NO:
                why = tool_texts.REFUSED_BY.format(row=decision.row) if operates else ""
                refused.append(f"- `{tool.name}`{why}")
                continue
            how = tool_texts.TOOL_ANSWERS[decision.answer]
            how = tool_texts.ASKED_EACH_TIME if decision.every_time else how
            here.append(f"- `{tool.name}` (*{how}*): {literal(shortened(tool.description, DESCRIPTION_CHARS))}")
        lines = [tool_texts.TOOLS_HERE if here else tool_texts.NO_TOOLS_HERE, "", *_most(here)]
        lines += ["", tool_texts.TOOLS_REFUSED, "", *_most(refused)] if refused else []
        if absent := self._absent(asker):
            lines += ["", tool_texts.SERVERS_AWAY, "", *_most(absent)]
            lines += ["", tool_texts.AWAY_HOW] if operates else []
        return "\n".join([*lines, "", tool_texts.POLICY_OFFER] if operates else lines)

    def _absent(self, asker: Asker) -> list[str]:
        """Without those of which they may use nothing anyway."""
        return [
            f"- `{server}`: {why}"
            for server, why in self.toolbox.servers.away().items()
            if decide(self.policy.rows, f"{server}.", ToolEffect.READS, asker, Provenance.OWN).answer
            is not PolicyAnswer.NO
        ]


def _most(lines: Sequence[str]) -> Sequence[str]:
    more = len(lines) - MAX_LISTED
    rest = [tool_texts.MORE_TOOLS.format(tools=counted(more, "more tool", "more tools"))] if more > 0 else []
    return [*lines[:MAX_LISTED], *rest]


def question_text(waiting: Undecided, effect: ToolEffect | None) -> str:
    """What would happen, in words, with every character of its arguments."""
    about = tool_texts.EFFECTS["" if effect is None else effect.name]
    if effect is ToolEffect.READS and addresses_in(waiting.call):
        about = f"{about} {tool_texts.ADDRESS_LEAVES}"
    asked = tool_texts.WAITS_BELOW.format(question=literal(shortened(waiting.asked, ASKED_CHARS)))
    given = [_argument(name, shown) for name, shown in shown_arguments(waiting.call)]
    head = tool_texts.MAY_RUN.format(tool=waiting.call.name, about=about)
    return "\n".join([head, "", *(given or [tool_texts.NO_ARGUMENTS]), "", asked])


def _argument(name: str, shown: str) -> str:
    if "\n" in shown or "`" in shown or len(shown) > INLINE_CHARS or not shown.strip():
        return f"**{literal(name)}**:\n{as_code(shown)}"
    return f"**{literal(name)}**: `{shown}`"
