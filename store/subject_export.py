"""What is stored about a data subject, section by section: counted, and read for an export.

Rules
  An export reads the rows that forgetting the person or place would name (`store.forgetting.selection`).
  Messages whose text may only be kept for their turn are exported without it: it leaves the database in no form.
  Each page is a transaction of its own, so that a large export blocks no one.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from agent.memory.attribution import FILES_NOTE
from agent.memory.audience import NOWHERE, PersonAudience, label
from agent.messages import Json
from agent.spending import NANO
from agent.stored_messages import Author
from store.act_counts import act_count
from store.api_tokens import api_token
from store.budget_tables import budget_day, budget_message
from store.code_time import code_time
from store.data_subjects import PersonSubject, PlaceSubject, Subject
from store.file_tables import saved_file
from store.forgetting import selection
from store.handoff_tables import handoff, handoff_message
from store.json_columns import read_json
from store.memory_tables import fact, profile_entry, profile_source
from store.message_tables import conversation, message, person
from store.model_calls import model_call
from store.outbox import delivery
from store.place_keys import place_key
from store.polls import poll_vote
from store.preferences import preference
from store.replies import feedback, verdict
from store.schedule_table import schedule
from store.search.passages import document, passage
from store.tool_accounts import tool_account
from store.tool_calls import OF_OPERATORS, quoted, tool_call
from store.turns.approval_table import approval
from store.turns.consents import consent
from store.turns.open_questions import open_question
from store.working_sets import working_item

PAGE: Final = 500  # Rows read at once
DOCUMENTS: Final = 5  # Documents read at once, with all their text
FILES: Final = 1  # Files read at once: each may have megabytes
PAGED_BY: Final = "paged_by"


ExportedRow: TypeAlias = dict[str, Json]
Exporter: TypeAlias = Callable[[sa.Connection, Sequence[sa.RowMapping]], Iterator[ExportedRow]]


@dataclass(frozen=True, slots=True)
class Rows:
    """A section: its query, and what exports its rows. `key`: increases from row to row, and is the column PAGED_BY."""

    query: sa.Select[*tuple[Any, ...]]
    key: sa.ColumnElement[Any]
    export_rows: Exporter
    limit: int = PAGE


@dataclass(frozen=True, slots=True)
class ExportPage:
    """A page of a section. `after`: the key after which the next page begins; None for the last page."""

    rows: Sequence[ExportedRow]
    after: Any


def page(connection: sa.Connection, subject: Subject, section: str, after: object = None) -> ExportPage:
    """The next rows of a section."""
    rows = _sections(subject)[section](subject)
    query = rows.query if after is None else rows.query.where(rows.key > after)
    found = connection.execute(query.order_by(rows.key).limit(rows.limit)).mappings().all()
    last = found[-1][PAGED_BY] if len(found) == rows.limit else None
    return ExportPage([*rows.export_rows(connection, found)], last)


def sections(subject: Subject) -> Sequence[str]:
    """The names of the sections of an export, in order."""
    return tuple(_sections(subject))


def counts(connection: sa.Connection, subject: Subject) -> dict[str, int]:
    """The number of rows of each section of an export, without empty sections."""
    sizes = {name: _size(connection, rows_of_section(subject)) for name, rows_of_section in _counted(subject).items()}
    return {name: size for name, size in sizes.items() if size}


def _size(connection: sa.Connection, rows: Rows) -> int:
    counted = sa.select(sa.func.count()).select_from(rows.query.order_by(None).subquery())
    return connection.execute(counted).scalar_one()


def _sections(subject: Subject) -> Mapping[str, Callable[[Any], Rows]]:
    return _OF_PERSON if isinstance(subject, PersonSubject) else _OF_PLACE


def _counted(subject: Subject) -> Mapping[str, Callable[[Any], Rows]]:
    return {
        name: each
        for name, each in _sections(subject).items()
        if name not in {"spending", "code_time", "acts", "operators"}
    }


def _each(export_rows: Callable[[sa.RowMapping], ExportedRow]) -> Exporter:
    return lambda _, found: map(export_rows, found)


def _rows(table: sa.Table, where: sa.ColumnElement[bool], export_rows: Exporter, limit: int = PAGE) -> Rows:
    """The rows of a table that has an integer id."""
    return Rows(sa.select(table, table.c.id.label(PAGED_BY)).where(where), table.c.id, export_rows, limit)


def _about(subject: Subject, where: Callable[[str], sa.ColumnElement[bool]]) -> sa.ColumnElement[bool]:
    """The condition that an audience is that of the person's direct messages, or one of the place's."""
    names = (
        [label(PersonAudience(subject.id))] if isinstance(subject, PersonSubject) else sorted(subject.plan.audiences)
    )
    return sa.or_(sa.false(), *map(where, names))


def _messages(subject: Subject) -> Rows:
    return _rows(message, selection.said_by_plan(subject.plan), _each(_message))


def _message(row: sa.RowMapping) -> ExportedRow:
    is_kept = row["drawn_from"] != NOWHERE
    words = str(row["text"]) if is_kept else ""
    exported: ExportedRow = {
        "thread": row["conversation"],
        "author": row["author"],
        "person": row["person"],
        "text": words,
        "time": _time(row["time"]),
        "audience": row["audience"],
        "source": row["permalink"],
    }
    if not is_kept:
        exported["withheld"] = True
    elif row["drawn_from"]:
        exported["drawn_from"] = row["drawn_from"]
    if row["author"] == Author.PERSON and FILES_NOTE in words:
        exported["files"] = [*words.rpartition(FILES_NOTE)[2].removesuffix(")").split(", ")]
    return exported


def _said_there(subject: Subject) -> sa.Select[Any]:
    return sa.select(message.c.id).where(selection.said_by_plan(subject.plan))


def _facts(subject: Subject) -> Rows:
    known = selection.known_by_plan(subject.plan, fact)
    where = (
        known if isinstance(subject, PersonSubject) else sa.or_(known, fact.c.source_message.in_(_said_there(subject)))
    )

    def export_rows(connection: sa.Connection, found: Sequence[sa.RowMapping]) -> Iterator[ExportedRow]:
        links = _links(connection, [row["source_message"] for row in found if row["source_message"] is not None])
        for row in found:
            source = links.get(row["source_message"]) if row["source_message"] is not None else None
            plain = ("person", "audience", "scope", "is_constraint", "needs_review", "everywhere")
            exported: ExportedRow = {
                "key": row["key"] or None,
                "text": row["value"],
                "time": _time(row["time"]),
                "source": source,
                "kept_by": row["source"],
                "superseded": not row["is_valid"],
            }
            yield exported | {name: row[name] for name in plain} | _use(row)

    return _rows(fact, where, export_rows)


def _profile(subject: Subject) -> Rows:
    known = selection.known_by_plan(subject.plan, profile_entry)
    if isinstance(subject, PlaceSubject):
        from_place = sa.select(profile_source.c.entry).where(profile_source.c.message.in_(_said_there(subject)))
        known = sa.or_(known, profile_entry.c.id.in_(from_place))

    def export_rows(connection: sa.Connection, found: Sequence[sa.RowMapping]) -> Iterator[ExportedRow]:
        sources = sa.select(profile_source.c.entry, message.c.permalink)
        joined = sources.join(message, message.c.id == profile_source.c.message)
        links = dict[int, list[Json]]()
        for entry, link in selection.rows_in(connection, joined, profile_source.c.entry, [row["id"] for row in found]):
            links.setdefault(entry, []).append(link)
        for row in found:
            plain = ("person", "field", "text", "audience", "confidence", "everywhere")
            exported: ExportedRow = {name: row[name] for name in plain}
            exported |= {"key": row["key"] or None, "time": _time(row["time"]), "sources": links.get(row["id"], [])}
            yield exported | _use(row)

    return _rows(profile_entry, known, export_rows)


def _use(row: sa.RowMapping) -> ExportedRow:
    return {"last_used": row["used"] and _time(row["used"]), "kept": row["kept"] and _time(row["kept"])}


def _links(connection: sa.Connection, ids: Sequence[int]) -> dict[int, str | None]:
    linked = sa.select(message.c.id, message.c.permalink)
    return {row.id: row.permalink for row in selection.rows_in(connection, linked, message.c.id, ids)}


def _schedules(subject: Subject) -> Rows:
    return _rows(schedule, selection.schedules_named(subject.plan), _each(_schedule))


def _schedule(row: sa.RowMapping) -> ExportedRow:
    plain = ("id", "person", "audience", "state")
    times = {name: row[name] and _time(row[name]) for name in ("next", "last")}
    return {name: row[name] for name in plain} | {"text": row["words"], **times, "made": read_json(row["made"])}


def _documents(subject: Subject) -> Rows:
    known = selection.documents_of(subject.plan)
    where = sa.or_(known, document.c.person == subject.id) if isinstance(subject, PersonSubject) else known

    def export_rows(connection: sa.Connection, found: Sequence[sa.RowMapping]) -> Iterator[ExportedRow]:
        for row in found:
            with_text = isinstance(subject, PlaceSubject) or row["audience"] == label(PersonAudience(subject.id))
            passages = sa.select(passage.c.text).where(passage.c.document == row["id"]).order_by(passage.c.number)
            exported: ExportedRow = {name: row[name] for name in ("name", "link", "address", "audience", "person")}
            exported |= {"time": _time(row["time"])}
            if with_text:
                exported["text"] = [*connection.execute(passages).scalars()]
            yield exported

    return _rows(document, where, export_rows, DOCUMENTS)


def _preferences(subject: Subject) -> Rows:
    if isinstance(subject, PersonSubject):
        owners = [subject.id]
    else:
        teams = [name.partition(":")[2] for name in subject.plan.audiences]
        owners = [f"channel:{name}" for name in subject.plan.channels]
        owners += [f"{kind}:{name}" for kind in ("team", "source") for name in {*teams, *subject.plan.sources}]
    key = preference.c.owner + " " + preference.c.name
    where = sa.and_(preference.c.owner.in_(owners), ~_of_another(subject))
    return Rows(sa.select(preference, key.label(PAGED_BY)).where(where), key, _each(_preference))


def _of_another(subject: Subject) -> sa.ColumnElement[bool]:
    """The condition for what the managers of another workspace chose for a channel that several share."""
    if isinstance(subject, PersonSubject) or not subject.plan.within:
        return sa.false()
    names_source = sa.and_(preference.c.owner.startswith("channel:"), preference.c.name.contains(" "))
    return sa.and_(names_source, ~preference.c.name.endswith(f" {subject.plan.within}", autoescape=True))


def _preference(row: sa.RowMapping) -> ExportedRow:
    return {"of": row["owner"], "name": row["name"], "value": row["value"]}


def _files(subject: Subject) -> Rows:
    """The files that code saved, whole: for a person, or in a place."""
    where = selection.files_of(subject.plan)
    if isinstance(subject, PlaceSubject):
        where = sa.or_(where, saved_file.c.message.in_(_said_there(subject)))
    return _rows(saved_file, where, _each(_file), FILES)


def _file(row: sa.RowMapping) -> ExportedRow:
    content = b64encode(row["data"]).decode("ascii")
    plain = {name: row[name] for name in ("name", "person", "audience")}
    return {"thread": row["conversation"], **plain, "time": _time(row["saved"]), "base64": content}


def _tool_calls(subject: Subject) -> Rows:
    if isinstance(subject, PersonSubject):
        where = tool_call.c.person == subject.id
    else:
        there = tool_call.c.channel.in_(sorted(subject.plan.channels))
        in_channel = sa.and_(
            there,
            selection.of_sources(tool_call.c.person, [subject.plan.within]),
            ~selection.is_private(tool_call.c.audience),
        )
        where = sa.or_(in_channel, tool_call.c.audience.in_(sorted(subject.plan.audiences)))
    return _rows(tool_call, where, _each(_tool_call))


def _tool_call(row: sa.RowMapping) -> ExportedRow:
    plain = ("person", "channel", "audience", "tool", "effect", "decision", "decided_by", "outcome", "ms", "size")
    exported: ExportedRow = {"time": _time(row["time"]), "arguments": read_json(row["arguments"])}
    return exported | {name: row[name] for name in plain}


def _operators(subject: Subject) -> Rows:
    named = tool_call.c.arguments.contains(quoted(subject.id), autoescape=True)
    return _rows(tool_call, sa.and_(OF_OPERATORS, named), _each(_operator))


def _operator(row: sa.RowMapping) -> ExportedRow:
    plain = ("person", "decision", "outcome")
    exported: ExportedRow = {"time": _time(row["time"]), "did": read_json(row["arguments"])}
    return exported | {name: row[name] for name in plain}


def _summaries(subject: Subject) -> Rows:
    conversations = sa.select(message.c.conversation).where(selection.said_by_plan(subject.plan))
    in_audience = _about(subject, lambda name: conversation.c.audience == name)
    where = sa.and_(conversation.c.summary != "{}", in_audience)
    if isinstance(subject, PlaceSubject):
        where = sa.and_(conversation.c.summary != "{}", sa.or_(in_audience, conversation.c.id.in_(conversations)))
    return Rows(
        sa.select(conversation, conversation.c.id.label(PAGED_BY)).where(where),
        conversation.c.id,
        _each(lambda row: {"thread": row["id"], "summary": read_json(row["summary"])}),
    )


def _working(subject: Subject) -> Rows:
    return _rows(
        working_item,
        _about(subject, lambda name: working_item.c.audience == name),
        _each(lambda row: {"thread": row["conversation"], "key": row["key"], "value": row["value"]}),
    )


def _people(subject: PlaceSubject) -> Rows:
    wrote = sa.select(message.c.person).where(selection.said_by_plan(subject.plan))
    query = sa.select(person, person.c.number.label(PAGED_BY)).where(person.c.id.in_(wrote))
    return Rows(query, person.c.number, _each(_person))


def _person(row: sa.RowMapping) -> ExportedRow:
    return {name: row[name] for name in ("id", "name", "time_zone")}


def _itself(subject: PersonSubject) -> Rows:
    query = sa.select(person, person.c.number.label(PAGED_BY)).where(person.c.id == subject.id)
    return Rows(query, person.c.number, _each(_person))


def _votes(subject: PersonSubject) -> Rows:
    query = sa.select(poll_vote, poll_vote.c.turn.label(PAGED_BY)).where(poll_vote.c.person == subject.id)
    return Rows(query, poll_vote.c.turn, _each(lambda row: {"choice": row["choice"] + 1}))


def _accounts(subject: PersonSubject) -> Rows:
    query = sa.select(tool_account, tool_account.c.server.label(PAGED_BY)).where(tool_account.c.person == subject.id)
    return Rows(query, tool_account.c.server, _each(lambda row: {"server": row["server"]}))


def _tokens(subject: Subject) -> Rows:
    """Without the hashes of the secrets, which say nothing about the person."""
    where = selection.tokens_of(subject.plan)
    plain = ("id", "name", "person", "audience", "scopes", "by_person")
    times = ("created", "expires", "used")

    def export_row(row: sa.RowMapping) -> ExportedRow:
        exported: ExportedRow = {name: row[name] for name in plain}
        return exported | {name: row[name] and _time(row[name]) for name in times}

    return _rows(api_token, where, _each(export_row))


def _model_keys(subject: Subject) -> Rows:
    """Without the keys: of each, its last characters."""
    plain = ("source", "channel", "vendor", "ending")

    def export_row(row: sa.RowMapping) -> ExportedRow:
        exported: ExportedRow = {name: row[name] for name in plain}
        return exported | {name: row[name] and _time(row[name]) for name in ("added", "refused")}

    return _rows(place_key, selection.place_keys_of(subject.plan), _each(export_row))


def _verdicts(subject: PersonSubject) -> Rows:
    query = sa.select(verdict, verdict.c.turn.label(PAGED_BY)).where(verdict.c.person == subject.id)
    export_rows = _each(lambda row: {"verdict": row["verdict"], "time": _time(row["time"])})
    return Rows(query, verdict.c.turn, export_rows)


def _feedback(subject: PersonSubject) -> Rows:
    """Why the person rated answers as bad, in their own words."""
    plain = ("reason", "comment", "correction", "shared", "state")
    export_row = _each(lambda row: {name: row[name] for name in plain} | {"time": _time(row["time"])})
    return _rows(feedback, feedback.c.person == subject.id, export_row)


def _answers(subject: PersonSubject) -> Rows:
    """The person's decisions about tool calls that needed consent."""
    key = sa.cast(consent.c.turn, sa.Text) + " " + consent.c.call
    query = sa.select(consent, key.label(PAGED_BY)).where(consent.c.person == subject.id)
    plain = ("tool", "word", "standing")
    return Rows(query, key, _each(lambda row: {name: row[name] for name in plain} | {"time": _time(row["decided"])}))


def _approvals(subject: PersonSubject) -> Rows:
    """Calls of others that the person was asked to approve."""
    key = sa.cast(approval.c.turn, sa.Text) + " " + approval.c.call
    query = sa.select(approval, key.label(PAGED_BY)).where(approval.c.person == subject.id)
    plain = ("tool", "word", "reason")
    times = _each(lambda row: {name: row[name] for name in plain} | {"time": row["decided"] and _time(row["decided"])})
    return Rows(query, key, times)


def _budgets(subject: PersonSubject) -> Rows:
    """What the person was written about budgets."""
    key = sa.cast(budget_message.c.budget, sa.Text) + " " + budget_message.c.kind
    query = sa.select(budget_message.c.kind, budget_day.c.day, key.label(PAGED_BY)).join_from(
        budget_message, budget_day, budget_day.c.id == budget_message.c.budget
    )
    export_rows = _each(lambda row: {"kind": row["kind"], "day": str(row["day"])})
    return Rows(query.where(budget_message.c.person == subject.id), key, export_rows)


def _handoffs(subject: PersonSubject) -> Rows:
    """What the person asked of people, in their own words, and what they took over."""
    theirs = sa.or_(handoff.c.person == subject.id, handoff.c.taker == subject.id)
    return _rows(handoff, theirs, _each(partial(_handoff, subject.id)))


def _handoff(who: str, row: sa.RowMapping) -> ExportedRow:
    asked = row["person"] == who
    exported: ExportedRow = {"asked": asked, "taken": row["taker"] == who, "note": row["note"] if asked else ""}
    return exported | {"state": row["state"], "time": _time(row["time"])}


def _handoff_messages(subject: PersonSubject) -> Rows:
    """Which requests the person was written about."""
    query = sa.select(handoff_message.c.handoff, handoff_message.c.handoff.label(PAGED_BY), handoff.c.time)
    query = query.join_from(handoff_message, handoff, handoff.c.id == handoff_message.c.handoff)
    export_rows = _each(lambda row: {"request": row["handoff"], "time": _time(row["time"])})
    return Rows(query.where(handoff_message.c.person == subject.id), handoff_message.c.handoff, export_rows)


def _questions(subject: PersonSubject) -> Rows:
    key = sa.cast(open_question.c.turn, sa.Text) + " " + open_question.c.key
    query = sa.select(open_question.c.asked, open_question.c.filled, open_question.c.action, key.label(PAGED_BY))
    export_row = _each(lambda row: {name: read_json(row[name]) for name in ("asked", "filled", "action")})
    return Rows(query.where(open_question.c.person == subject.id), key, export_row)


def _webhooks(subject: Subject) -> Rows:
    """Events that wait for the receivers of webhooks, or could not be delivered."""
    turns = sa.select(message.c.turn).where(selection.said_by_plan(subject.plan))
    where = delivery.c.turn.in_(turns)
    where = sa.or_(where, delivery.c.person == subject.id) if isinstance(subject, PersonSubject) else where
    return _rows(delivery, where, _each(_webhook))


def _webhook(row: sa.RowMapping) -> ExportedRow:
    event: ExportedRow = {"webhook": row["webhook"], "event": row["event"], "time": _time(row["time"])}
    return event | {"data": read_json(row["data"])}


def _spending(subject: PersonSubject) -> Rows:
    sums = [
        sa.func.sum(column).label(column.name)
        for column in (
            *(model_call.c.input_uncached, model_call.c.input_cached, model_call.c.input_written),
            *(model_call.c.output, model_call.c.reasoning, model_call.c.cost),
        )
    ]
    by_day = sa.select(model_call.c.day.label(PAGED_BY), sa.func.count().label("calls"), *sums)
    of_person = by_day.where(model_call.c.person == subject.id).group_by(model_call.c.day)
    return Rows(of_person, model_call.c.day, _each(_spent))


def _spent(row: sa.RowMapping) -> ExportedRow:
    tokens = ("calls", "input_uncached", "input_cached", "input_written", "output", "reasoning")
    sums: ExportedRow = {name: int(row[name] or 0) for name in tokens}
    return {"day": str(row[PAGED_BY])} | sums | {"cost_usd": None if row["cost"] is None else int(row["cost"]) / NANO}


def _code_time(subject: PersonSubject) -> Rows:
    of_person = sa.select(code_time.c.day.label(PAGED_BY), code_time.c.ms).where(code_time.c.person == subject.id)
    return Rows(
        of_person, code_time.c.day, _each(lambda row: {"day": str(row[PAGED_BY]), "seconds": row["ms"] / 1_000})
    )


def _acts(subject: PersonSubject) -> Rows:
    of_person = sa.select(act_count.c.day.label(PAGED_BY), act_count.c.count).where(act_count.c.owner == subject.id)
    return Rows(of_person, act_count.c.day, _each(lambda row: {"day": str(row[PAGED_BY]), "count": row["count"]}))


def _time(moment: datetime) -> str:
    return moment.isoformat()


_BOTH: Final[Mapping[str, Callable[[Any], Rows]]] = {
    "profile": _profile,
    "facts": _facts,
    "messages": _messages,
    "summaries": _summaries,
    "working": _working,
    "documents": _documents,
    "files": _files,
    "schedules": _schedules,
    "preferences": _preferences,
    "tokens": _tokens,
    "tool_calls": _tool_calls,
    "operators": _operators,
    "webhooks": _webhooks,
}
_OF_PERSON: Final[Mapping[str, Callable[[Any], Rows]]] = {
    "person": _itself,
    **_BOTH,
    "answers": _answers,
    "approvals": _approvals,
    "budgets": _budgets,
    "open_questions": _questions,
    "verdicts": _verdicts,
    "feedback": _feedback,
    "handoffs": _handoffs,
    "handoff_messages": _handoff_messages,
    "votes": _votes,
    "accounts": _accounts,
    "spending": _spending,
    "code_time": _code_time,
    "acts": _acts,
}
_OF_PLACE: Final[Mapping[str, Callable[[Any], Rows]]] = {
    "people": _people,
    **_BOTH,
    "model_keys": _model_keys,
}
