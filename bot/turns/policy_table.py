"""The operators' table of tools: the rows of their file, and behind them those that they set by `/tools policy`.

Rules
  What the file says no command changes. Of the other rows the newest stands first: what an operator says holds at once.
  A row for the same tools, people and place goes when a new one comes. No two rows ever have one number.
  Each change is in the audit: of the file's rows once, by the first process that starts with them.
  A process reads the table before it answers anybody, when somebody changes it here, and every few seconds; in no turn.
"""

import asyncio
import hashlib
import logging
import re
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, Self

from agent.errors import Refused, StoreError
from agent.ports import Asker, Clock, Preferences, ToolAudit
from agent.tool_policy import MAX_ROWS, TOO_MANY, PolicyRow, read_rows
from bot.audit import policy_change
from bot.host import ToolsAnswer
from bot.logs import severity
from bot.texts import tool_texts

log = logging.getLogger(__name__)

OWNER: Final = "bot"
NAME: Final = "tool_policy"
FILE: Final = "tool_policy_file"
"""Under which is kept what tells the file's rows, as some process last read them, from others."""
READ_S: Final = 10.0
"""How long another process may go by what held before: a query of a row, that much apart, costs nothing."""
TRIES: Final = 20
"""Each is lost only because another operator's change came between."""
DIGITS: Final = 9
MAX_WORD: Final = 40
"""Shown of a name that was meant as a mention."""
MENTION: Final = re.compile(r"<[@#]!?(\w+)(?:\|[^<>\s]*)?>", re.ASCII)
"""As Slack and Discord write people and channels."""
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
