"""What operators do about a person or a place: find, export, erase, and confirm what another operator wants.

Rules
  Each export and erasing has its row in the audit before it begins; at its end the row says how much it was.
  Where a bot serves from the database, that process erases: it ends what is being answered, as `/forget` does. Where
  none does, this one.
  What a second operator has to confirm waits as its row, for a day.
"""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from agent.errors import CogencyError, Refused, StoreLocked
from agent.memory.forgetting_plans import OPERATOR_ERASE, Preview
from agent.messages import Json, ResultStatus
from agent.ports import AuditedCall, CallEnd, Clock
from agent.records import Job, Receipt
from bot.app import parts
from bot.audit import OPERATOR, WAITS, operator_act
from bot.exits import OutputError, printable_json, printable_line
from bot.memory.forget_desk import ForgetDesk
from bot.setting_parsers import OperatorAct
from bot.settings import Settings
from bot.texts import memory_texts, setup_texts
from bot.texts.formatting import counted
from bot.tools.mcp_source import NOWHERE
from store.engine import Store, open_store
from store.held import Found, Held, HeldPerson, HeldPlace, OperatorsView, SqlHeld, held_in, open_beside, sections

T = TypeVar("T")

CONFIRM_WITHIN: Final = timedelta(days=1)
# A process that serves looks for such jobs every five seconds; one that does not take it by then never will.
TAKEN_S: Final = 20.0
LONGEST_S: Final = 600.0  # Somebody sits and waits; the row tells them later
POLL_S: Final = 0.2
# What is being answered at a place that is erased is ended first; what has not ended by then is erased as it runs.
ENDS_S: Final = 10.0
BATCH: Final = 20_000  # Messages of a place that are erased in one transaction, with their proof: half a second or two
FOUND: Final = 20
NEAR: Final = 3
MAX_ID_CHARS: Final = 300
NAME_CHARS: Final = 80
PIECE_CHARS: Final = 100_000  # Of an export that are in memory at once, and some rows
EXPORT_VERSION: Final = 1
_NAME: Final = re.compile(r"[\w.@+-]{1,64}")
_UNPLAIN: Final = re.compile(r"[^\w.-]+")  # What does not stand in the name of a file
CONVERSATIONS: Final = "conversations"


class Kind(StrEnum):
    PERSON = "person"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class Operator:
    """`name`: as they say, or as the system calls their `account`. Nothing here proves the name (docs/operating.md)."""

    name: str
    account: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise Refused(setup_texts.OPERATOR_NAME.format(name=self.name))


@dataclass(frozen=True, slots=True)
class Order:
    """What an operator wants done. `number`: of its row in the audit, 0 before it has one."""

    act: OperatorAct
    kind: Kind
    of: str
    replies: bool = False
    related: bool = False
    number: int = 0

    @property
    def told(self) -> dict[str, Json]:
        wide: dict[str, Json] = {name: True for name in ("replies", "related") if getattr(self, name)}
        return {"act": self.act.value, "kind": self.kind.value, "of": self.of} | wide

    @classmethod
    def read(cls, told: Mapping[str, Json], number: int) -> "Order":
        act, kind = OperatorAct(str(told["act"])), Kind(str(told["kind"]))
        replies, related = bool(told.get("replies")), bool(told.get("related"))
        return cls(act, kind, str(told["of"]), replies, related, number)


@dataclass(frozen=True, slots=True)
class Erased:
    """`known_as`: what the audit calls them now. `untold`: accounts elsewhere that may not have ended."""

    order: Order
    receipt: Receipt
    known_as: str
    untold: str = ""


# Finding out whom an operator means.


async def found(settings: Settings, kind: Kind, words: str) -> list[Found]:
    """The people, or places, whose name or id has these letters. Raises StoreError."""
    async with open_beside(settings.database_url) as view:
        find = view.held.find_people if kind is Kind.PERSON else view.held.find_places
        return await find(words, FOUND)


async def meant(held: SqlHeld, kind: Kind, id_: str) -> Held:
    """What an id stands for. Raises Refused, with what is near; and StoreError."""
    if not id_.strip() or len(id_) > MAX_ID_CHARS:
        raise Refused(setup_texts.NO_ID.format(kind=kind))
    is_person = kind is Kind.PERSON
    known = await held.place_named(id_) if not is_person else HeldPerson(id_) if await held.is_known(id_) else None
    if known is not None:
        return known
    acts = await held.acts_about(held.known_as(id_) if is_person else id_, 0, FOUND)
    if erased := [act for act in acts if "receipt" in json.loads(act.arguments)]:
        last = erased[-1]
        raise Refused(setup_texts.ERASED_BEFORE.format(of=id_, when=last.time, number=last.id))
    near = _near(id_, await (held.people_ids() if is_person else held.place_ids()))
    how = setup_texts.ID_NEAR.format(near=" or ".join(near)) if near else setup_texts.ID_FIND.format(kind=kind)
    raise Refused(f"{setup_texts.ID_UNKNOWN.format(of=id_)} {how}")


def _near(id_: str, ids: list[str]) -> list[str]:
    """Those that end like it first: platforms show no more than the end of our ids."""
    end = id_.rpartition(":")[2].casefold()
    same = [one for one in ids if one.rpartition(":")[2].casefold() == end]
    return (same or get_close_matches(id_, ids, NEAR, 0.75))[:NEAR]


@dataclass(frozen=True, slots=True)
class Seen:
    """What an erasing would take: of a person exactly, of a place what is said and known there."""

    of: str
    counts: Mapping[str, int]
    preview: Preview | None = None


async def look(settings: Settings, kind: Kind, id_: str) -> Seen:
    """Raises Refused and StoreError."""
    async with open_beside(settings.database_url) as view:
        known = await meant(view.held, kind, id_)
        if isinstance(known, HeldPerson):
            preview = await view.forgetting.preview(known.plan)
            return Seen(id_, preview.counts, preview)
        return Seen(id_, await view.held.counts(known))


# Who else has to agree.


async def ask(settings: Settings, order: Order, operator: Operator, clock: Clock) -> Order:
    """Have it in the audit that this operator wants it; a second one can `confirm` it. Raises StoreError."""
    async with open_beside(settings.database_url) as view:
        return await _begun(view.held, order, operator, clock, "asked", WAITS)


async def asked(settings: Settings, kind: Kind, number: int, operator: Operator, clock: Clock) -> Order:
    """What was asked for under a number, if this operator may confirm it now. Raises Refused and StoreError."""
    async with open_beside(settings.database_url) as view:
        return await _asked(view.held, kind, number, operator, clock)


async def _asked(held: SqlHeld, kind: Kind, number: int, operator: Operator, clock: Clock) -> Order:
    row = await held.act(number)
    if row is None or row.decision != "asked":
        raise Refused(setup_texts.NOTHING_ASKED.format(number=number))
    order = Order.read(json.loads(row.arguments), number)
    if row.outcome != WAITS:
        raise Refused(setup_texts.ASKED_BEFORE.format(number=number))
    if clock.now() - row.time > CONFIRM_WITHIN:
        raise Refused(setup_texts.ASKED_LONG_AGO.format(when=row.time))
    if row.person.removeprefix(OPERATOR).casefold() == operator.name.casefold():
        raise Refused(setup_texts.ASKED_BY_YOU.format(name=operator.name))
    if order.kind is not kind:
        raise Refused(setup_texts.ASKED_OTHERWISE.format(number=number, kind=order.kind, act=order.act, of=order.of))
    return order


async def _begun(
    held: SqlHeld, order: Order, operator: Operator, clock: Clock, decision: str, outcome: str = CallEnd.BEGUN
) -> Order:
    told = order.told | {"account": operator.account} | ({"asked": order.number} if order.number else {})
    number = await held.keep(operator_act(clock.now(), operator.name, told, decision, outcome))
    return replace(order, number=number)


async def _agreed(held: SqlHeld, order: Order, operator: Operator, clock: Clock) -> Order:
    """The order with a row of its own; of one that was asked for before, the only one that confirms it."""
    if not order.number:
        return await _begun(held, order, operator, clock, "alone")
    await _asked(held, order.kind, order.number, operator, clock)
    if not await held.take(order.number, WAITS, "confirmed"):
        raise Refused(setup_texts.ASKED_BEFORE.format(number=order.number))
    return await _begun(held, order, operator, clock, "confirmed")


def found_line(one: Found) -> str:
    """For an operator's terminal."""
    last = "never" if one.last is None else f"{one.last:%Y-%m-%d}"
    said = counted(one.messages, "message", "messages")
    return printable_line(setup_texts.FOUND_LINE.format(id=one.id, name=one.name, messages=said, last=last))


def preview_text(seen: Seen) -> str:
    """What stands before the question whether to erase it."""
    if not any(seen.counts.values()):
        return setup_texts.ERASES_CHOICES.format(of=seen.of)
    lines = [setup_texts.ERASES.format(of=seen.of, amounts=memory_texts.amounts(seen.counts))]
    if seen.preview is not None and (told := seen.preview.retold.count):
        lines.append(setup_texts.ERASES_RETOLD.format(count=counted(told, "answer", "answers")))
    if seen.preview is not None and (may := seen.preview.related.count):
        lines.append(setup_texts.ERASES_RELATED.format(count=counted(may, "message", "messages")))
    return "\n".join(lines)


def erased_text(erased: Erased) -> str:
    """The receipt, in the words in which people get their own, and how to check it."""
    order, said = erased.order, memory_texts.receipt_text(erased.receipt)
    how = setup_texts.CHECK_PERSON if order.kind is Kind.PERSON else setup_texts.CHECK_PLACE
    check = how.format(of=order.of, number=order.number, known_as=erased.known_as)
    return "\n".join(filter(None, [said, erased.untold, check]))


def needs_another(settings: Settings, order: Order) -> bool:
    """Whether a second operator has to confirm it first."""
    return order.act in settings.two_operators and not order.number


# Exports.


@asynccontextmanager
async def open_export(
    settings: Settings, order: Order, operator: Operator, clock: Clock
) -> AsyncGenerator[tuple[Order, AsyncGenerator[str]]]:
    """An export's number, and the pieces of its file; also while the bot runs. Raises Refused and StoreError."""
    async with open_beside(settings.database_url) as view:
        known = await meant(view.held, order.kind, order.of)
        agreed = await _agreed(view.held, order, operator, clock)
        async with aclosing(export(view.held, known, agreed, operator, clock)) as pieces:
            yield agreed, pieces


async def export(held: SqlHeld, known: Held, order: Order, operator: Operator, clock: Clock) -> AsyncGenerator[str]:
    """All that is held of somebody, as the pieces of one JSON object (docs/export.md). `order`: in the audit already.

    Its row ends with the last piece; of what nobody has read to its end it says that. Raises StoreError.
    """
    began, size, rows, outcome = clock.monotonic(), 0, dict[str, Json](), CallEnd.STOPPED.value
    head: dict[str, Json] = {
        "version": EXPORT_VERSION,
        "kind": order.kind.value,
        "id": order.of,
        "exported": clock.now().isoformat(),
        "by": f"{OPERATOR}{operator.name}",
    }
    try:
        piece = "{\n " + ",\n ".join(f"{_text(name)}: {_text(one)}" for name, one in head.items())
        for section in sections(known):
            size += len(piece.encode())
            yield piece
            piece, count = f",\n {_text(section)}: [", 0
            async for row in _rows(held, known, section):
                piece += f"{',' if count else ''}\n  {_text(row)}"
                count += 1
                if len(piece) > PIECE_CHARS:
                    size += len(piece.encode())
                    yield piece
                    piece = ""
            piece += "\n ]" if count else "]"
            rows[section] = count
        piece += "\n}\n"
        size += len(piece.encode())
        yield piece
        outcome = ResultStatus.SUCCESS.value
    finally:
        await held.close(order.number, {"rows": rows}, outcome, round(1000 * (clock.monotonic() - began)), size)


def _text(value: Json) -> str:
    return printable_json(value)


async def _rows(held: SqlHeld, known: Held, section: str) -> AsyncGenerator[dict[str, Json]]:
    page = await held.page(known, section)
    while True:
        for row in page.rows:
            yield row
        if page.after is None:
            return
        page = await held.page(known, section, page.after)


@contextmanager
def private_file(path: Path, *, force: bool) -> Generator[Callable[[str], object]]:
    """Writes a file that its owner alone reads; what was not written whole is not there. Raises OutputError.

    `force`: an older one goes, once the new one is whole. A link is replaced, and not followed.
    """
    part = path.with_name(f".{path.name}.part") if force else path
    try:
        if force:
            part.unlink(missing_ok=True)
        part.touch(0o600, exist_ok=False)
    except FileExistsError:
        raise OutputError(setup_texts.FILE_EXISTS.format(file=path)) from None
    except OSError as error:
        raise OutputError(setup_texts.FILE_NOT_WRITTEN.format(file=path, reason=error.strerror)) from error
    try:
        with ExitStack() as undo:
            undo.callback(part.unlink, missing_ok=True)
            with part.open("w", encoding="utf-8") as opened:
                yield opened.write
            part.replace(path)
            undo.pop_all()
    except OSError as error:
        raise OutputError(setup_texts.FILE_NOT_WRITTEN.format(file=path, reason=error.strerror)) from error


def file_name(order: Order, clock: Clock) -> Path:
    """Where an export is written if nobody says where."""
    plain = _UNPLAIN.sub("-", order.of[:NAME_CHARS])
    return Path(f"cogency-{order.kind}-{plain}-{clock.now():%Y%m%d}.json")


# Erasing.


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorErasing:
    """Erases, in the process that serves from the database or in one that has it for itself."""

    desk: ForgetDesk
    held: SqlHeld
    clock: Clock

    async def carry_out(self, job: Job) -> None:
        """The job by which another process asks for it. Raises StoreError."""
        await self.erase(int(job.key))

    async def erase(self, number: int) -> None:
        """What the row of this number says; its receipt stands there then. Raises StoreError."""
        row = await self.held.act(number)
        if row is None or row.outcome != CallEnd.BEGUN:  # a process died behind it
            return
        order, began = Order.read(json.loads(row.arguments), number), self.clock.monotonic()
        if order.kind is Kind.PERSON:
            receipt, untold = await self._erased_person(order)
        else:
            place = await self.held.place_named(order.of)
            receipt, untold = _NOTHING if place is None else await self._erased_place(place, order)
        more: dict[str, Json] = {"receipt": _receipt_json(receipt)}
        if untold:
            more["untold"] = untold
        ms = round(1000 * (self.clock.monotonic() - began))
        await self.held.close(number, more, ResultStatus.SUCCESS, ms)

    async def _erased_person(self, order: Order) -> tuple[Receipt, str]:
        person = HeldPerson(order.of)
        await self.desk.take_back(person.id, None)
        return await self.desk.erase(person.plan, person.id, replies=order.replies, related=order.related)

    async def _erased_place(self, place: HeldPlace, order: Order) -> tuple[Receipt, str]:
        until = self.clock.monotonic() + ENDS_S
        posts = await self.held.running_posts(place)
        withdrawn = [post for post in posts if await self.desk.withdraw(*post)]
        while withdrawn and self.clock.monotonic() < until:
            await self.clock.sleep(POLL_S)
            withdrawn = [post for post in await self.held.running_posts(place) if post in withdrawn]

        async def erased() -> Receipt:
            return (await self.desk.erase(place.plan, replies=order.replies, related=order.related, limit=BATCH))[0]

        whole = receipt = await erased()
        while any(receipt.erased.values()):
            receipt = await erased()
            if any(receipt.erased.values()):
                whole = _together(whole, receipt)
        return whole, ""


_NOTHING: Final = (Receipt({}, 0, bytes_gone=True), "")


def _together(one: Receipt, other: Receipt) -> Receipt:
    """Both; in how many conversations nobody can say, as one may be in both."""
    kinds = {*one.erased, *other.erased} - {CONVERSATIONS}
    return Receipt(
        {kind: one.erased.get(kind, 0) + other.erased.get(kind, 0) for kind in sorted(kinds)},
        one.found_again + other.found_again,
        bytes_gone=one.bytes_gone and other.bytes_gone,
        kept_by_server=one.kept_by_server,
        replies=one.replies + other.replies,
        related=other.related,
    )


def _receipt_json(receipt: Receipt) -> dict[str, Json]:
    plain = ("found_again", "bytes_gone", "kept_by_server", "replies", "related")
    erased: dict[str, Json] = dict(receipt.erased)
    told: dict[str, Json] = {"erased": erased}
    return told | {name: getattr(receipt, name) for name in plain}


def receipt_of(row: AuditedCall) -> Receipt:
    """The receipt in the row of an erasing that has ended."""
    return Receipt(**json.loads(row.arguments)["receipt"])


async def erase(settings: Settings, order: Order, operator: Operator, clock: Clock) -> Erased:
    """Erase it, and wait until it is done, whoever does it. Raises Refused and StoreError."""
    async with open_beside(settings.database_url) as view:
        await meant(view.held, order.kind, order.of)
        agreed = await _agreed(view.held, order, operator, clock)
        served, where = view.is_served, view.held.database.where
        if served and await _handed_over(view, agreed, clock):
            return await _erased(view.held, agreed)
        if served and not view.held.database.is_shared:
            await view.held.take(agreed.number, CallEnd.BEGUN, CallEnd.NOT_RUN)
            raise StoreLocked(setup_texts.NOBODY_ERASES.format(where=where))
    try:
        async with _open_erasing(settings, agreed, clock) as erasing:
            await erasing.erase(agreed.number)
            return await _erased(erasing.held, agreed)
    except CogencyError:
        async with open_beside(settings.database_url) as view:
            await view.held.take(agreed.number, CallEnd.BEGUN, ResultStatus.FAILURE)
        raise


async def _erased(held: SqlHeld, order: Order) -> Erased:
    row = await held.act(order.number)
    if row is None or row.outcome != ResultStatus.SUCCESS:
        raise Refused(setup_texts.STILL_ERASING.format(number=order.number))
    told = json.loads(row.arguments)
    return Erased(order, receipt_of(row), str(told["of"]), str(told.get("untold", "")))


async def _handed_over(view: OperatorsView, order: Order, clock: Clock) -> bool:
    """Have a process that serves do it; False if none takes it. Raises Refused where it takes too long to wait for."""
    key, began = str(order.number), clock.monotonic()
    await view.jobs.schedule(OPERATOR_ERASE, key, "", clock.now())
    while clock.monotonic() - began < LONGEST_S:
        await clock.sleep(POLL_S)
        row = await view.held.act(order.number)
        if row is None or row.outcome != CallEnd.BEGUN:
            return True
        if clock.monotonic() - began > TAKEN_S and await view.jobs.cancel(OPERATOR_ERASE, key):
            return False
    raise Refused(setup_texts.STILL_ERASING.format(number=order.number))


@asynccontextmanager
async def _open_erasing(settings: Settings, order: Order, clock: Clock) -> AsyncGenerator[OperatorErasing]:
    """What erases in this process, where no other one serves. Raises SettingsError and StoreError."""
    async with AsyncExitStack() as stack:
        store = await open_store(settings.database_url)
        stack.push_async_callback(store.close)
        revoke = None
        if order.kind is Kind.PERSON and await store.tool_accounts.all_of(order.of):
            sources = await stack.enter_async_context(
                parts.open_tool_sources(settings, store.tool_accounts, pages=False)
            )
            revoke = partial((sources[0] if sources else NOWHERE).revoke, store.tool_accounts)
        yield OperatorErasing(desk=_desk(store, clock, order.of, revoke), held=await held_in(store), clock=clock)


async def _no_answer(*_: object) -> None:
    """Nothing is answered here; what waits falls with its question."""


async def _no_question(*_: object) -> bool:
    """As above."""
    return False


def _desk(store: Store, clock: Clock, of: str, revoke: Callable[[str], Awaitable[str]] | None) -> ForgetDesk:
    """For one person or place. What platforms show is taken away by whichever process reaches them next."""
    return ForgetDesk(
        forgetting=store.forgetting,
        ledger=store.ledger,
        jobs=store.jobs,
        preferences=store.preferences,
        clock=clock,
        take_back=_no_answer,
        withdraw=_no_question,
        sources=lambda: frozenset({of, of.rpartition(":")[0]}),
        revoke=revoke,
    )
