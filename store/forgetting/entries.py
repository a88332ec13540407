"""Erasing single facts and profile entries of a person, while their source messages stay.

Summaries of the person's conversations and records of their turns that quote an entry are erased with it. Its source
messages are excluded from learning from then on.
"""

import hashlib
import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, insert, select, update

from agent.memory.forgetting_plans import ERASE_ENTRIES, EntriesPlan
from agent.memory.statements import read_statement as read_value
from agent.memory.writing import fallen
from agent.repeats import repeats_with
from agent.stored_messages import Author
from store import job_queue
from store.channels import in_channel
from store.erased_ids import ErasedIds
from store.forgetting.erase import keep_memory, mark_sweep_due, waiting_memory
from store.job_queue import job
from store.json_columns import strings_in
from store.memory import fact_index, fact_store, profiles
from store.memory.fact_store import fact_ground
from store.memory_tables import fact, profile, profile_entry, profile_source
from store.message_tables import conversation, message, participant
from store.search.text import quotes
from store.tool_calls import drop_arguments, tool_call
from store.turn_tables import WAITING, action_record, turn


@dataclass(frozen=True, slots=True)
class EntryErasure:
    """What a plan erases, by ids: `texts` are the erased texts, `sources` the messages from which they come."""

    person: str
    entries: frozenset[int]
    facts: frozenset[str]
    sources: frozenset[int]
    summaries: tuple[str, ...]
    actions: tuple[int, ...]
    texts: tuple[str, ...]


def entries_to_erase(connection: Connection, plan: EntriesPlan) -> EntryErasure:
    entries, texts = _entries(connection, plan)
    known = fact_store.of_person(connection, plan.person)
    erased_facts = fallen(known, plan.facts)
    facts = [item for item in known if item.id in erased_facts]
    texts += [words for item in facts for words in (item.key, item.value) if words]
    source_query = select(profile_source.c.message).where(profile_source.c.entry.in_(entries))
    fact_sources = {item.source_message for item in facts if item.source_message is not None}
    return EntryErasure(
        plan.person,
        entries,
        erased_facts,
        _with_repeats(connection, frozenset(connection.execute(source_query).scalars()) | fact_sources),
        tuple(_summaries(connection, plan.person, texts)),
        tuple(_actions(connection, plan.person, texts)),
        tuple(texts),
    )


def erase_entry_plan(connection: Connection, erasure: EntryErasure) -> dict[str, int]:
    """Delete it; returns the counts for the receipt, without proof. No other writer may run meanwhile."""
    mark_sweep_due(connection)
    _pass_over(connection, erasure)
    summaries = update(conversation).where(conversation.c.id.in_(erasure.summaries)).values(summary="{}")
    _drop_audited(connection, erasure)
    actions = delete(action_record).where(action_record.c.id.in_(erasure.actions))
    return {
        "profile": profiles.remove_entries(connection, erasure.entries),
        "facts": fact_store.remove(connection, erasure.person, erasure.facts),
        "summaries": connection.execute(summaries).rowcount,
        "actions": connection.execute(actions).rowcount,
    }


def count_left(connection: Connection, plan: EntriesPlan) -> int:
    """How many of the entries and facts still exist. 0 is the proof."""
    remaining = select(func.count()).select_from(profile_entry).where(profile_entry.c.id.in_(plan.entries))
    known = {item.id for item in fact_store.of_person(connection, plan.person)}
    return connection.execute(remaining).scalar_one() + len(known & plan.facts)


def _with_repeats(connection: Connection, ids: frozenset[int]) -> frozenset[int]:
    """These messages, and all repeats of those that are questions that were answered again."""
    asked = select(turn.c.source, turn.c.channel, turn.c.message_id).join(message, message.c.turn == turn.c.id)
    messages = set[int](ids)
    questions = asked.where(message.c.id.in_(ids), message.c.author == Author.PERSON)
    for source, channel, message_id in connection.execute(questions):
        same_question = and_(in_channel(turn, source, channel), turn.c.message_id.in_(repeats_with(message_id)))
        repeats = select(message.c.id).join(turn, message.c.turn == turn.c.id).where(same_question)
        messages.update(connection.execute(repeats.where(message.c.message_id == turn.c.message_id)).scalars())
    return frozenset(messages)


def _entries(connection: Connection, plan: EntriesPlan) -> tuple[frozenset[int], list[str]]:
    condition = and_(profile_entry.c.person == plan.person, profile_entry.c.id.in_(plan.entries))
    found = connection.execute(
        select(profile_entry.c.id, profile_entry.c.key, profile_entry.c.text).where(condition)
    ).all()
    return frozenset(row.id for row in found), [words for row in found for words in (row.key, row.text) if words]


def _pass_over(connection: Connection, erasure: EntryErasure) -> None:
    """Exclude the source messages and their repeats from learning. A concurrent learner starts again."""
    sources = and_(message.c.person == erasure.person, message.c.id.in_(erasure.sources))
    connection.execute(update(message).where(sources).values(to_learn=False, passed_over=True, taken_back=True))
    own = update(profile).where(profile.c.person == erasure.person)
    connection.execute(own.values(revision=profile.c.revision + 1))


def _summaries(connection: Connection, person: str, texts: Collection[str]) -> list[str]:
    joined = select(participant.c.conversation).where(participant.c.person == person)
    summaries = select(conversation.c.id, conversation.c.summary)
    nonempty = summaries.where(conversation.c.id.in_(joined), conversation.c.summary != "{}")
    return [id_ for id_, summary in connection.execute(nonempty) if _any_quotes(strings_in(summary), texts)]


def _actions(connection: Connection, person: str, texts: Collection[str]) -> list[int]:
    records = select(action_record).join(turn, turn.c.id == action_record.c.turn).where(turn.c.person == person)
    return [
        row.id
        for row in connection.execute(records)
        if _any_quotes([row.thinking, *strings_in(row.calls), *strings_in(row.results)], texts)
    ]


def _drop_audited(connection: Connection, erasure: EntryErasure) -> None:
    """Clear the arguments of the person's tool calls that quote it. An undo does not restore them in the audit."""
    calls_ = select(tool_call.c.id, tool_call.c.arguments).where(tool_call.c.person == erasure.person)
    found = connection.execute(calls_.where(tool_call.c.arguments != "")).all()
    for id_ in [row.id for row in found if _any_quotes(strings_in(row.arguments), erasure.texts)]:
        drop_arguments(connection, tool_call.c.id == id_)


def _any_quotes(held: Iterable[str], texts: Collection[str]) -> bool:
    return any(quotes(text, erased) for text in held for erased in texts)


# Deleting single facts and entries of a person, with an undo for a while.
#
# The rows are deleted at once, as above: they are no longer shown, used, exported, or known to learning. They wait as
# JSON in the payload of a job. Until the job is due they can be restored; then it wipes them. The job has the person's
# id, so that forgetting the person erases it.
#
# A row is restored only if its source messages still exist with the same text for the same readers. Rows whose sources
# were forgotten, edited or made private meanwhile are not restored: erasing also deletes them from the waiting job
# (`store.forgetting.erase`).

Row = dict[str, Any]
TIME: Final = "time"  # The only key of a JSON object that represents a time; no column holds an object


@dataclass(frozen=True, slots=True)
class Deletion:
    """Deleted rows. Stored as JSON. `before` and `after`: facts that stayed, but changed when others were deleted."""

    facts: list[Row] = field(default_factory=list[Row])
    grounds: list[Row] = field(default_factory=list[Row])
    before: list[Row] = field(default_factory=list[Row])
    after: list[Row] = field(default_factory=list[Row])
    entries: list[Row] = field(default_factory=list[Row])
    sources: list[Row] = field(default_factory=list[Row])
    messages: list[Row] = field(default_factory=list[Row])
    summaries: list[Row] = field(default_factory=list[Row])
    actions: list[Row] = field(default_factory=list[Row])


def delete_for_a_while(
    connection: Connection, plan: EntriesPlan, key: str, until: datetime
) -> tuple[dict[str, int], int]:
    """Delete what the plan names, with an undo (`restore`) until then. Returns the counts, and how many rows still
    exist (0 is the proof). No other writer may run meanwhile.
    """
    erasure = entries_to_erase(connection, plan)
    of_person, fact_ids = fact.c.person == plan.person, [int(id_) for id_ in erasure.facts]
    known = _rows(connection, fact, of_person)
    deletion = Deletion(
        facts=[row for row in known if row["id"] in fact_ids],
        grounds=_rows(connection, fact_ground, fact_ground.c.fact.in_(fact_ids)),
        entries=_rows(connection, profile_entry, profile_entry.c.id.in_(erasure.entries)),
        sources=_rows(connection, profile_source, profile_source.c.entry.in_(erasure.entries)),
        messages=_messages(connection, erasure.sources),
        summaries=[
            dict(row)
            for row in connection.execute(
                select(conversation.c.id, conversation.c.summary, conversation.c.audience).where(
                    conversation.c.id.in_(erasure.summaries)
                )
            ).mappings()
        ],
        actions=_rows(connection, action_record, action_record.c.id.in_(erasure.actions)),
    )
    counts = erase_entry_plan(connection, erasure)
    after = {row["id"]: row for row in _rows(connection, fact, of_person)}
    for row in known:
        if row["id"] in after and after[row["id"]] != row:
            deletion.before.append(row)
            deletion.after.append(after[row["id"]])
    values = {"payload": _encode(deletion), "run_at": until, "person": plan.person, "conversation": ""}
    job_queue.schedule(connection, ERASE_ENTRIES, key, values)
    return counts, count_left(connection, plan)


def restore(connection: Connection, person: str, key: str | None = None) -> str | None:
    """Restore what the person deleted under this key (None: the last deletion), as far as its sources are unchanged;
    returns the key.

    None if there is nothing to restore.
    """
    deletions = and_(job.c.kind == ERASE_ENTRIES, job.c.person == person, job.c.state == WAITING, job.c.payload != "")
    chosen = deletions if key is None else and_(deletions, job.c.key == key)
    last = select(job.c.id, job.c.key, job.c.payload).where(chosen).order_by(job.c.id.desc()).limit(1)
    found = connection.execute(last.with_for_update()).one_or_none()
    if found is None:
        return None
    connection.execute(delete(job).where(job.c.id == found.id))
    deletion = Deletion(**json.loads(found.payload, object_hook=_read_object))
    unchanged = _unchanged_messages(connection, deletion)
    facts = _restore_facts(connection, deletion, unchanged)
    if not (_restore_entries(connection, person, deletion, unchanged) + facts):
        return None
    _restore_flags(connection, deletion, unchanged)
    _restore_derived(connection, deletion)
    return found.key


def wipe_deletion(connection: Connection, key: str, ids: ErasedIds) -> tuple[set[str], datetime | None]:
    """Clear the payload of a deletion; its bytes wait for a sweep. The job itself is deleted when it is done. Returns
    the stored hashes of what was deleted, and their time.
    """
    of_key = job.c.kind == ERASE_ENTRIES, job.c.key == key
    hashes, time = set[str](), None
    for payload, time in connection.execute(select(job.c.payload, job.c.run_at).where(*of_key)).all():
        hashes |= keep_memory(connection, waiting_memory(payload), ids, time)
    connection.execute(update(job).where(*of_key).values(payload=""))
    mark_sweep_due(connection)
    return hashes, time


def _restore_facts(connection: Connection, deletion: Deletion, unchanged: Collection[int]) -> int:
    rows = {row["id"]: row for row in deletion.facts if row["source_message"] in {None, *unchanged}}
    grounds_exist = select(fact.c.id).where(fact.c.id.in_({row["ground"] for row in deletion.grounds}))
    existing = set(connection.execute(grounds_exist).scalars())
    # Facts that depend on a fact that is not restored are not restored either, and so on.
    while lost := {row["fact"] for row in deletion.grounds if row["ground"] not in {*rows, *existing}} & rows.keys():
        rows = {id_: row for id_, row in rows.items() if id_ not in lost}
    if rows:
        connection.execute(insert(fact), [_superseded_if_restored(connection, row) for row in rows.values()])
    for row in rows.values():
        statement = read_value(row["value"], about=row["key"])
        fact_index.add(connection, row["id"], row["person"], fact_index.terms(row["key"], row["value"], statement))
    grounds = [row for row in deletion.grounds if row["fact"] in rows]
    if grounds:
        connection.execute(insert(fact_ground), grounds)
    for before, after in zip(deletion.before, deletion.after, strict=True):
        # If the fact has not changed since, it gets back its former values. A question that used it meanwhile has only
        # changed `used`.
        changed = {name for name, value in before.items() if after[name] != value}
        rows_now = _rows(connection, fact, fact.c.id == before["id"])
        if [{name: row[name] for name in changed} for row in rows_now] == [{name: after[name] for name in changed}]:
            values = {name: before[name] for name in changed}
            connection.execute(update(fact).where(fact.c.id == before["id"]).values(values))
    return len(rows)


def _superseded_if_restored(connection: Connection, row: Row) -> Row:
    """The row of a fact to be restored, superseded if a fact that supersedes it was restored before."""
    successors = select(fact.c.id).where(fact.c.supersedes == row["id"]).order_by(fact.c.id.desc()).limit(1)
    after = connection.execute(successors).scalar_one_or_none() if row["is_valid"] else None
    return row if after is None else row | {"is_valid": False, "superseded_by": after}


def _restore_entries(connection: Connection, person: str, deletion: Deletion, unchanged: Collection[int]) -> int:
    incomplete = {row["entry"] for row in deletion.sources if row["message"] not in unchanged}
    rows = [row for row in deletion.entries if row["id"] not in incomplete]
    if not rows:
        return 0
    connection.execute(insert(profile_entry), rows)
    sources = [row for row in deletion.sources if row["entry"] not in incomplete]
    if sources:
        connection.execute(insert(profile_source), sources)
    own = update(profile).where(profile.c.person == person)
    connection.execute(own.values(revision=profile.c.revision + 1))
    return len(rows)


def _restore_flags(connection: Connection, deletion: Deletion, unchanged: Collection[int]) -> None:
    for row in deletion.messages:
        if row["id"] in unchanged:
            flags = {"to_learn": row["to_learn"], "passed_over": row["passed_over"], "taken_back": row["taken_back"]}
            connection.execute(update(message).where(message.c.id == row["id"]).values(flags))


def _restore_derived(connection: Connection, deletion: Deletion) -> None:
    """Restore the summaries and records that quoted it, if they have the same readers and nothing has replaced them."""
    for row in deletion.summaries:
        same = and_(conversation.c.id == row["id"], conversation.c.audience == row["audience"])
        empty = and_(same, conversation.c.summary == "{}")
        connection.execute(update(conversation).where(empty).values(summary=row["summary"]))
    turns = select(turn.c.id).where(turn.c.id.in_({row["turn"] for row in deletion.actions}))
    existing = set(connection.execute(turns).scalars())
    actions = [row for row in deletion.actions if row["turn"] in existing]
    if actions:
        connection.execute(insert(action_record), actions)


def _messages(connection: Connection, ids: Collection[int]) -> list[Row]:
    """The learning flags of these messages, and a digest of text and audience in place of their words."""
    flags = (message.c.to_learn, message.c.passed_over, message.c.taken_back)
    found = connection.execute(
        select(message.c.id, message.c.text, message.c.audience, *flags).where(message.c.id.in_(ids))
    )
    return [
        {
            "id": row.id,
            **{flag.name: getattr(row, flag.name) for flag in flags},
            "digest": hashlib.sha256(f"{row.audience}\n{row.text}".encode("utf-8", "surrogatepass")).hexdigest(),
        }
        for row in found
    ]


def _unchanged_messages(connection: Connection, deletion: Deletion) -> frozenset[int]:
    before = {row["id"]: row["digest"] for row in deletion.messages}
    return frozenset(row["id"] for row in _messages(connection, before.keys()) if row["digest"] == before[row["id"]])


def _rows(connection: Connection, table: Table, where: ColumnElement[bool]) -> list[Row]:
    return [dict(row) for row in connection.execute(select(table).where(where)).mappings()]


def _encode(deletion: Deletion) -> str:
    return json.dumps(
        asdict(deletion), ensure_ascii=False, separators=(",", ":"), default=lambda time: {TIME: time.isoformat()}
    )


def _read_object(value: Row) -> Row | datetime:
    return datetime.fromisoformat(value[TIME]) if value.keys() == {TIME} else value
