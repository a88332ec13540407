"""Operators' requests about the data of a person or a place: find, export, erase, and confirm another's request.

Rules
  Each export and erasure gets its row in the audit before it starts; at its end the row says how much it was.
  If a bot serves from the database, that process erases, as it can end running answers like `/forget`. Otherwise this
  process does.
  A request that needs a second operator's confirmation waits in its row for a day.
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
from typing import Final

from agent.errors import CogencyError, Refused, SettingsError, StoreLocked
from agent.jobs import Job
from agent.memory.forgetting_plans import OPERATOR_ERASE, Preview, Receipt
from agent.messages import Json, ResultStatus
from agent.path_errors import unwritable_reason
from agent.ports.clock import Clock
from agent.ports.tool_audit import AuditedCall, CallEnd
from bot.app import parts
from bot.app import texts as app_texts
from bot.app.from_settings import discord_options, slack_apps, slack_options
from bot.app.settings import Settings
from bot.chat.audit import OPERATOR, WAITS, operator_act
from bot.chat.output import OutputError, printable_json, printable_line
from bot.chat.place_names import ReadNames
from bot.chat.texts.formatting import counted
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.service import ForgetService
from bot.operators.settings import OperatorAct
from bot.tools.mcp.source import NO_MCP_SERVERS
from store.data_subjects import Found, PersonSubject, PlaceSubject, Subject
from store.engine import Store, open_store
from store.forget_again import with_forgetting_log
from store.subject_access import OperatorsView, SqlDataSubjects, data_subjects_in, open_beside
from store.subject_export import sections

CONFIRM_WITHIN: Final = timedelta(days=1)
# A serving process looks for jobs every five seconds; if none has taken this one by then, none will.
TAKEN_S: Final = 20.0
LONGEST_S: Final = 600.0  # How long the operator's command waits; after that the row shows the result
POLL_S: Final = 0.2
# Running answers at an erased place are ended first; those that last longer are erased while they run.
ENDS_S: Final = 10.0
BATCH: Final = 20_000  # Messages of a place erased in one transaction, with their proof: half a second to two seconds
FOUND: Final = 20
NEAR: Final = 3
MAX_ID_CHARS: Final = 300
NAME_CHARS: Final = 80
PIECE_CHARS: Final = 100_000  # Of an export in memory at once, besides some rows
EXPORT_VERSION: Final = 1
_NAME: Final = re.compile(r"[\w.@+-]{1,64}")
_UNPLAIN: Final = re.compile(r"[^\w.-]+")  # Not used in file names
CONVERSATIONS: Final = "conversations"


NO_NAMES: Final[Mapping[str, str]] = {}


class Kind(StrEnum):
    PERSON = "person"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class Operator:
    """`name`: as given, or the system's name of the `account`. The name is not verified (docs/operating.md)."""

    name: str
    account: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise Refused(app_texts.OPERATOR_NAME.format(name=self.name))


@dataclass(frozen=True, slots=True)
class Order:
    """An operator's request. `of`: the id of a person or place; `number`: of its row in the audit, 0 before it has
    one.
    """

    act: OperatorAct
    kind: Kind
    of: str
    replies: bool = False
    related: bool = False
    number: int = 0

    @property
    def stored(self) -> dict[str, Json]:
        options: dict[str, Json] = {name: True for name in ("replies", "related") if getattr(self, name)}
        return {"act": self.act.value, "kind": self.kind.value, "of": self.of} | options

    @classmethod
    def read(cls, stored: Mapping[str, Json], number: int) -> "Order":
        act, kind = OperatorAct(str(stored["act"])), Kind(str(stored["kind"]))
        replies, related = bool(stored.get("replies")), bool(stored.get("related"))
        return cls(act, kind, str(stored["of"]), replies, related, number)


@dataclass(frozen=True, slots=True)
class Erased:
    """A finished erasure. `known_as`: the subject's name in the audit now. `unrevoked`: the sentence about accounts
    elsewhere whose end was not confirmed.
    """

    order: Order
    receipt: Receipt
    known_as: str
    unrevoked: str = ""


# Finding the person or place that an operator means.


async def find_similar(settings: Settings, kind: Kind, words: str, names: Mapping[str, str] = NO_NAMES) -> list[Found]:
    """Return people or places whose name or id contains these words. `names`: of channels, as `place_names` returns
    them. Raises StoreError.
    """
    async with open_beside(settings.storage.url) as view:
        if kind is Kind.PERSON:
            return await view.data_subjects.find_people(words.strip().removeprefix("@"), FOUND)
        sought = words.strip().removeprefix("#").casefold()
        named = [channel for channel, name in names.items() if sought in name.casefold()] if sought else []
        found = await view.data_subjects.find_places(words, FOUND, named)
        return [_with_name(place, names) for place in found]


def _with_name(place: Found, names: Mapping[str, str]) -> Found:
    name = names.get(place.id.rpartition(":")[2])
    return replace(place, name=f"{name}, {place.name}") if name else place


async def place_named(settings: Settings, text: str, names: Mapping[str, str]) -> str:
    """Return the id of the channel that has this name; the text itself if none has. Raises Refused, with the ids, if
    several channels have it, and StoreError.
    """
    sought = text.strip().removeprefix("#").casefold()
    named = [
        channel
        for channel, name in names.items()
        if sought in {shown := name.removeprefix("#").casefold(), shown.partition(" (")[0]}
    ]
    if not (sought and named):
        return text
    async with open_beside(settings.storage.url) as view:
        found = await view.data_subjects.find_places(text, FOUND, named)
    ids = [place.id for place in found if place.id.rpartition(":")[2] in named]
    if len(ids) > 1:
        raise Refused(app_texts.NAME_OF_MANY.format(name=text, ids=" or ".join(ids)))
    return ids[0] if ids else text


async def place_names(settings: Settings) -> tuple[Mapping[str, str], list[str]]:
    """Return the names of channels by the platforms' ids, and sentences about platforms that could not say them."""
    readers = dict[str, ReadNames]()
    try:
        apps, discord = slack_apps(settings), discord_options(settings)
    except SettingsError as error:
        return NO_NAMES, [str(error)]
    if apps:
        from bot.platforms.slack.channel_names import names_at  # noqa: PLC0415 -- only who uses Slack loads its libraries

        readers |= {app.label: partial(names_at, app, slack_options(settings)) for app in apps}
    if discord is not None:
        from bot.platforms.discord.doctor import channel_names  # noqa: PLC0415 -- only who uses Discord loads its libraries

        readers["Discord"] = partial(channel_names, discord)
    names, unread = dict[str, str](), list[str]()
    for platform, read in readers.items():
        try:
            names |= await read()
        except CogencyError as error:
            unread.append(app_texts.NAMES_UNREAD.format(platform=platform, reason=error))
    return names, unread


async def find_subject(data_subjects: SqlDataSubjects, kind: Kind, id_: str) -> Subject:
    """Return the person or place of an id. Raises Refused, with similar ids, and StoreError."""
    if not id_.strip() or len(id_) > MAX_ID_CHARS:
        raise Refused(app_texts.NO_ID.format(kind=kind))
    is_person = kind is Kind.PERSON
    subject = (
        await data_subjects.place_named(id_)
        if not is_person
        else PersonSubject(id_)
        if await data_subjects.is_known(id_)
        else None
    )
    if subject is not None:
        return subject
    acts = await data_subjects.acts_about(data_subjects.known_as(id_) if is_person else id_, 0, FOUND)
    if erased := [act for act in acts if "receipt" in json.loads(act.arguments)]:
        newest = erased[-1]
        raise Refused(app_texts.ERASED_BEFORE.format(of=id_, when=newest.time, number=newest.id))
    similar = _similar(id_, await (data_subjects.people_ids() if is_person else data_subjects.place_ids()))
    hint = app_texts.ID_NEAR.format(near=" or ".join(similar)) if similar else app_texts.ID_FIND.format(kind=kind)
    raise Refused(f"{app_texts.ID_UNKNOWN.format(of=id_)} {hint}")


def _similar(id_: str, ids: list[str]) -> list[str]:
    """Return similar ids; if some end alike, only those, as platforms show only the end of our ids."""
    end = id_.rpartition(":")[2].casefold()
    same_end = [candidate for candidate in ids if candidate.rpartition(":")[2].casefold() == end]
    return (same_end or get_close_matches(id_, ids, NEAR, 0.75))[:NEAR]


@dataclass(frozen=True, slots=True)
class ErasurePreview:
    """What an erasure would take: exact counts for a person; for a place its messages and documents."""

    of: str
    counts: Mapping[str, int]
    preview: Preview | None = None


async def look(settings: Settings, kind: Kind, id_: str) -> ErasurePreview:
    """Return what an erasure would take. Raises Refused and StoreError."""
    async with open_beside(settings.storage.url) as view:
        subject = await find_subject(view.data_subjects, kind, id_)
        if isinstance(subject, PersonSubject):
            preview = await view.forgetting.preview(subject.plan)
            return ErasurePreview(id_, preview.counts, preview)
        return ErasurePreview(id_, await view.data_subjects.counts(subject))


# Confirmation by a second operator.


async def ask(settings: Settings, order: Order, operator: Operator, clock: Clock) -> Order:
    """Store a request that a second operator has to confirm, as a row of the audit. Raises StoreError."""
    async with open_beside(settings.storage.url) as view:
        return await _store_row(view.data_subjects, order, operator, clock, "asked", WAITS)


async def open_request(settings: Settings, kind: Kind, number: int, operator: Operator, clock: Clock) -> Order:
    """Return the request of a number, if this operator may confirm it now. Raises Refused and StoreError."""
    async with open_beside(settings.storage.url) as view:
        return await _request(view.data_subjects, kind, number, operator, clock)


async def _request(data_subjects: SqlDataSubjects, kind: Kind, number: int, operator: Operator, clock: Clock) -> Order:
    row = await data_subjects.act(number)
    if row is None or row.decision != "asked":
        raise Refused(app_texts.NOTHING_ASKED.format(number=number))
    order = Order.read(json.loads(row.arguments), number)
    if row.outcome != WAITS:
        raise Refused(app_texts.ASKED_BEFORE.format(number=number))
    if clock.now() - row.time > CONFIRM_WITHIN:
        raise Refused(app_texts.ASKED_LONG_AGO.format(when=row.time))
    if row.person.removeprefix(OPERATOR).casefold() == operator.name.casefold():
        raise Refused(app_texts.ASKED_BY_YOU.format(name=operator.name))
    if order.kind is not kind:
        raise Refused(app_texts.ASKED_OTHERWISE.format(number=number, kind=order.kind, act=order.act, of=order.of))
    return order


async def _store_row(
    data_subjects: SqlDataSubjects,
    order: Order,
    operator: Operator,
    clock: Clock,
    decision: str,
    outcome: str = CallEnd.BEGUN,
) -> Order:
    row = order.stored | {"account": operator.account} | ({"asked": order.number} if order.number else {})
    number = await data_subjects.add(operator_act(clock.now(), operator.name, row, decision, outcome))
    return replace(order, number=number)


async def _confirm(data_subjects: SqlDataSubjects, order: Order, operator: Operator, clock: Clock) -> Order:
    """Return the order with a row of its own. An order that needed confirmation is confirmed, which works only once."""
    if not order.number:
        return await _store_row(data_subjects, order, operator, clock, "alone")
    await _request(data_subjects, order.kind, order.number, operator, clock)
    if not await data_subjects.change_outcome(order.number, WAITS, "confirmed"):
        raise Refused(app_texts.ASKED_BEFORE.format(number=order.number))
    return await _store_row(data_subjects, order, operator, clock, "confirmed")


def found_line(subject: Found) -> str:
    """Format a found person or place as a line for a terminal."""
    last = "never" if subject.last is None else f"{subject.last:%Y-%m-%d}"
    messages = counted(subject.messages, "message", "messages")
    return printable_line(app_texts.FOUND_LINE.format(id=subject.id, name=subject.name, messages=messages, last=last))


def preview_text(seen: ErasurePreview) -> str:
    """Return the text before the question whether to erase."""
    if not any(seen.counts.values()):
        return app_texts.ERASES_CHOICES.format(of=seen.of)
    lines = [app_texts.ERASES.format(of=seen.of, amounts=forgetting_texts.amounts(seen.counts))]
    if seen.preview is not None and (repetitions := seen.preview.repetitions.count):
        lines.append(app_texts.ERASES_REPETITIONS.format(count=counted(repetitions, "answer", "answers")))
    if seen.preview is not None and (related := seen.preview.related.count):
        lines.append(app_texts.ERASES_RELATED.format(count=counted(related, "message", "messages")))
    return "\n".join(lines)


def erased_text(erased: Erased) -> str:
    """Return the receipt, in the same words that people get, and how to check it."""
    order, receipt = erased.order, forgetting_texts.receipt_text(erased.receipt)
    check_form = app_texts.CHECK_PERSON if order.kind is Kind.PERSON else app_texts.CHECK_PLACE
    check = check_form.format(of=order.of, number=order.number, known_as=erased.known_as)
    return "\n".join(filter(None, [receipt, erased.unrevoked, check]))


def needs_another(settings: Settings, order: Order) -> bool:
    """Return whether a second operator has to confirm this order first."""
    return order.act in settings.operators.two_operators and not order.number


# Exports.


@asynccontextmanager
async def open_export(
    settings: Settings, order: Order, operator: Operator, clock: Clock
) -> AsyncGenerator[tuple[Order, AsyncGenerator[str]]]:
    """Yield an export's order, with its number, and the pieces of its file. Works while the bot runs.

    Raises Refused and StoreError.
    """
    async with open_beside(settings.storage.url) as view:
        subject = await find_subject(view.data_subjects, order.kind, order.of)
        agreed = await _confirm(view.data_subjects, order, operator, clock)
        async with aclosing(export(view.data_subjects, subject, agreed, operator, clock)) as pieces:
            yield agreed, pieces


async def export(
    data_subjects: SqlDataSubjects, subject: Subject, order: Order, operator: Operator, clock: Clock
) -> AsyncGenerator[str]:
    """Yield all data of a person or place, as pieces of one JSON object (docs/export.md). Raises StoreError.

    `order`: has a row in the audit, which is closed after the last piece; if the caller stops before, as stopped.
    """
    started, size, rows, outcome = clock.monotonic(), 0, dict[str, Json](), CallEnd.STOPPED.value
    head: dict[str, Json] = {
        "version": EXPORT_VERSION,
        "kind": order.kind.value,
        "id": order.of,
        "exported": clock.now().isoformat(),
        "by": f"{OPERATOR}{operator.name}",
    }
    try:
        piece = "{\n " + ",\n ".join(f"{_text(name)}: {_text(value)}" for name, value in head.items())
        for section in sections(subject):
            size += len(piece.encode())
            yield piece
            piece, count = f",\n {_text(section)}: [", 0
            async for row in _rows(data_subjects, subject, section):
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
        await data_subjects.close(
            order.number, {"rows": rows}, outcome, round(1000 * (clock.monotonic() - started)), size
        )


def _text(value: Json) -> str:
    return printable_json(value)


async def _rows(data_subjects: SqlDataSubjects, subject: Subject, section: str) -> AsyncGenerator[dict[str, Json]]:
    page = await data_subjects.page(subject, section)
    while True:
        for row in page.rows:
            yield row
        if page.after is None:
            return
        page = await data_subjects.page(subject, section, page.after)


@contextmanager
def private_file(path: Path, *, force: bool) -> Generator[Callable[[str], object]]:
    """Open a file to write that only its owner can read; an incomplete file is removed. Raises OutputError.

    `force`: replace an existing file, once the new one is complete. A symbolic link is replaced, not followed.
    """
    part = path.with_name(f".{path.name}.part") if force else path
    try:
        if force:
            part.unlink(missing_ok=True)
        part.touch(0o600, exist_ok=False)
    except FileExistsError:
        raise OutputError(app_texts.FILE_EXISTS.format(file=path)) from None
    except OSError as error:
        raise OutputError(
            app_texts.FILE_NOT_WRITTEN.format(file=path, reason=unwritable_reason(error, path))
        ) from error
    try:
        with ExitStack() as undo:
            undo.callback(part.unlink, missing_ok=True)
            with part.open("w", encoding="utf-8") as file:
                yield file.write
            part.replace(path)
            undo.pop_all()
    except OSError as error:
        raise OutputError(
            app_texts.FILE_NOT_WRITTEN.format(file=path, reason=unwritable_reason(error, path))
        ) from error


def file_name(order: Order, clock: Clock) -> Path:
    """Return the default file of an export."""
    plain = _UNPLAIN.sub("-", order.of[:NAME_CHARS])
    return Path(f"cogency-{order.kind}-{plain}-{clock.now():%Y%m%d}.json")


# Erasing.


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorErasing:
    """Erases, in the process that serves from the database or in one with exclusive use of it."""

    service: ForgetService
    data_subjects: SqlDataSubjects
    clock: Clock

    async def carry_out(self, job: Job) -> None:
        """Run the job by which another process requests an erasure. Raises StoreError."""
        await self.erase(int(job.key))

    async def erase(self, number: int) -> None:
        """Carry out the order in the row of this number, and store the receipt in it. Raises StoreError."""
        row = await self.data_subjects.act(number)
        if row is None or row.outcome != CallEnd.BEGUN:  # done before, by a process that died before the job's end
            return
        order, started = Order.read(json.loads(row.arguments), number), self.clock.monotonic()
        if order.kind is Kind.PERSON:
            receipt, unrevoked = await self._erase_person(order)
        else:
            place = await self.data_subjects.place_named(order.of)
            receipt, unrevoked = _NOTHING if place is None else await self._erase_place(place, order)
        result: dict[str, Json] = {"receipt": _receipt_json(receipt)}
        if unrevoked:
            result["untold"] = unrevoked
        ms = round(1000 * (self.clock.monotonic() - started))
        await self.data_subjects.close(number, result, ResultStatus.SUCCESS, ms)

    async def _erase_person(self, order: Order) -> tuple[Receipt, str]:
        person = PersonSubject(order.of)
        await self.service.take_back(person.id, None)
        return await self.service.erase(person.plan, person.id, replies=order.replies, related=order.related)

    async def _erase_place(self, place: PlaceSubject, order: Order) -> tuple[Receipt, str]:
        deadline = self.clock.monotonic() + ENDS_S
        posts = await self.data_subjects.running_posts(place)
        withdrawn = [post for post in posts if await self.service.withdraw(*post)]
        while withdrawn and self.clock.monotonic() < deadline:
            await self.clock.sleep(POLL_S)
            withdrawn = [post for post in await self.data_subjects.running_posts(place) if post in withdrawn]

        async def erase_batch() -> Receipt:
            return (await self.service.erase(place.plan, replies=order.replies, related=order.related, limit=BATCH))[0]

        total = receipt = await erase_batch()
        while any(receipt.erased.values()):
            receipt = await erase_batch()
            if any(receipt.erased.values()):
                total = _add_receipts(total, receipt)
        return total, ""


_NOTHING: Final = (Receipt({}, 0, bytes_gone=True), "")


def _add_receipts(first: Receipt, second: Receipt) -> Receipt:
    """Add two receipts, without the number of conversations: one conversation may be in both."""
    kinds = {*first.erased, *second.erased} - {CONVERSATIONS}
    return Receipt(
        {kind: first.erased.get(kind, 0) + second.erased.get(kind, 0) for kind in sorted(kinds)},
        first.found_again + second.found_again,
        bytes_gone=first.bytes_gone and second.bytes_gone,
        kept_by_server=first.kept_by_server,
        replies=first.replies + second.replies,
        kept=first.kept + second.kept,
        ephemeral=first.ephemeral + second.ephemeral,
        related=second.related,
    )


def _receipt_json(receipt: Receipt) -> dict[str, Json]:
    copied = ("found_again", "bytes_gone", "kept_by_server", "replies", "kept", "ephemeral", "related")
    erased: dict[str, Json] = dict(receipt.erased)
    result: dict[str, Json] = {"erased": erased}
    return result | {name: getattr(receipt, name) for name in copied}


def receipt_of(row: AuditedCall) -> Receipt:
    """Return the receipt in the row of a finished erasure."""
    return Receipt(**json.loads(row.arguments)["receipt"])


async def erase(settings: Settings, order: Order, operator: Operator, clock: Clock) -> Erased:
    """Erase a person or place, here or in a serving process, and wait for the end. Raises Refused and StoreError."""
    async with open_beside(settings.storage.url) as view:
        await find_subject(view.data_subjects, order.kind, order.of)
        agreed = await _confirm(view.data_subjects, order, operator, clock)
        served, where = view.is_served, view.data_subjects.database.where
        if served and await _hand_over(view, agreed, clock):
            return await _result(view.data_subjects, agreed)
        if served and not view.data_subjects.database.is_shared:
            await view.data_subjects.change_outcome(agreed.number, CallEnd.BEGUN, CallEnd.NOT_RUN)
            raise StoreLocked(app_texts.NOBODY_ERASES.format(where=where))
    try:
        async with _open_erasing(settings, agreed, clock) as erasing:
            await erasing.erase(agreed.number)
            return await _result(erasing.data_subjects, agreed)
    except CogencyError:
        async with open_beside(settings.storage.url) as view:
            await view.data_subjects.change_outcome(agreed.number, CallEnd.BEGUN, ResultStatus.FAILURE)
        raise


async def _result(data_subjects: SqlDataSubjects, order: Order) -> Erased:
    row = await data_subjects.act(order.number)
    if row is None or row.outcome != ResultStatus.SUCCESS:
        raise Refused(app_texts.STILL_ERASING.format(number=order.number))
    arguments = json.loads(row.arguments)
    return Erased(order, receipt_of(row), str(arguments["of"]), str(arguments.get("untold", "")))


async def _hand_over(view: OperatorsView, order: Order, clock: Clock) -> bool:
    """Let a serving process erase; return False if none takes the job. Raises Refused if it takes too long."""
    key, started = str(order.number), clock.monotonic()
    await view.jobs.schedule(OPERATOR_ERASE, key, "", clock.now())
    while clock.monotonic() - started < LONGEST_S:
        await clock.sleep(POLL_S)
        row = await view.data_subjects.act(order.number)
        if row is None or row.outcome != CallEnd.BEGUN:
            return True
        if clock.monotonic() - started > TAKEN_S and await view.jobs.cancel(OPERATOR_ERASE, key):
            return False
    raise Refused(app_texts.STILL_ERASING.format(number=order.number))


@asynccontextmanager
async def _open_erasing(settings: Settings, order: Order, clock: Clock) -> AsyncGenerator[OperatorErasing]:
    """Open what erases in this process, where none serves. Raises SettingsError and StoreError."""
    async with AsyncExitStack() as stack:
        store = await open_store(settings.storage.url)
        stack.push_async_callback(store.close)
        store = await with_forgetting_log(store, settings.storage.log_path, clock.now())
        revoke = None
        if order.kind is Kind.PERSON and await store.tool_accounts.all_of(order.of):
            sources = await stack.enter_async_context(
                parts.open_tool_sources(settings, store.tool_accounts, pages=False)
            )
            revoke = partial((sources[0] if sources else NO_MCP_SERVERS).revoke, store.tool_accounts)
        yield OperatorErasing(
            service=_service(store, clock, order.of, revoke), data_subjects=await data_subjects_in(store), clock=clock
        )


async def _no_answer(*_: object) -> None:
    """Do nothing: this process runs no turn, and waiting turns are erased with their questions."""


async def _no_question(*_: object) -> bool:
    """Withdraw nothing: this process has posted no question."""
    return False


def _service(store: Store, clock: Clock, of: str, revoke: Callable[[str], Awaitable[str]] | None) -> ForgetService:
    """Return a service for one person or place. The next process that connects to the platforms deletes what they
    show.
    """
    return ForgetService(
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
