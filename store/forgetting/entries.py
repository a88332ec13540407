"""Erasing single things that are known of a person, while what they came from stays.

What falls with an entry: what the summaries of the person's conversations and the records of their turns say in its
words. The messages that it came from are passed over from now on: nothing is learned from them again.
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
from agent.records import Author, repeats_with
from store import calls, job_queue, rows
from store.forgetting.erase import owe
from store.memory import fact_index, fact_store, people
from store.search.text import quotes
from store.tables import (
    WAITING,
    action_record,
    conversation,
    fact,
    fact_ground,
    job,
    message,
    participant,
    profile,
    profile_entry,
    profile_source,
    tool_call,
    turn,
)


@dataclass(frozen=True, slots=True)
class EntryErasure:
    """What a plan takes out, by ids: `texts` is what it says, `sources` are the messages that it came from."""

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
    out = fallen(known, plan.facts)
    gone = [one for one in known if one.id in out]
    texts += [words for one in gone for words in (one.key, one.value) if words]
    taught = select(profile_source.c.message).where(profile_source.c.entry.in_(entries))
    named = {one.source_message for one in gone if one.source_message is not None}
    return EntryErasure(
        plan.person,
        entries,
        out,
        _asked_again(connection, frozenset(connection.execute(taught).scalars()) | named),
        tuple(_summaries(connection, plan.person, texts)),
        tuple(_actions(connection, plan.person, texts)),
        tuple(texts),
    )


def erase_entry_plan(connection: Connection, falling: EntryErasure) -> dict[str, int]:
    """Take it out; counts for the receipt. Nothing of it is proved yet. Nobody else may write meanwhile."""
    owe(connection)
    _pass_over(connection, falling)
    summaries = update(conversation).where(conversation.c.id.in_(falling.summaries)).values(summary="{}")
    _drop_audited(connection, falling)
    actions = delete(action_record).where(action_record.c.id.in_(falling.actions))
    return {
        "profile": people.remove_entries(connection, falling.entries),
        "facts": fact_store.remove(connection, falling.person, falling.facts),
        "summaries": connection.execute(summaries).rowcount,
        "actions": connection.execute(actions).rowcount,
    }


def count_left(connection: Connection, plan: EntriesPlan) -> int:
    """How many of them are still there. 0 is the proof."""
    still = select(func.count()).select_from(profile_entry).where(profile_entry.c.id.in_(plan.entries))
    known = {one.id for one in fact_store.of_person(connection, plan.person)}
    return connection.execute(still).scalar_one() + len(known & plan.facts)


def _asked_again(connection: Connection, ids: frozenset[int]) -> frozenset[int]:
    """With the questions that were answered again, each with all its repeats."""
    asked = select(turn.c.channel, turn.c.message_id).join(message, message.c.turn == turn.c.id)
    family = set[int](ids)
    for channel, named in connection.execute(asked.where(message.c.id.in_(ids), message.c.author == Author.PERSON)):
        alike = and_(turn.c.channel == channel, turn.c.message_id.in_(repeats_with(named)))
        again = select(message.c.id).join(turn, message.c.turn == turn.c.id)
        family.update(connection.execute(again.where(alike, message.c.message_id == turn.c.message_id)).scalars())
    return frozenset(family)


def _entries(connection: Connection, plan: EntriesPlan) -> tuple[frozenset[int], list[str]]:
    theirs = and_(profile_entry.c.person == plan.person, profile_entry.c.id.in_(plan.entries))
    found = connection.execute(
        select(profile_entry.c.id, profile_entry.c.key, profile_entry.c.text).where(theirs)
    ).all()
    return frozenset(row.id for row in found), [words for row in found for words in (row.key, row.text) if words]


def _pass_over(connection: Connection, falling: EntryErasure) -> None:
    """Let the messages that it came from teach no more, nor what repeats them. Whoever learns just now begins anew."""
    sources = and_(message.c.person == falling.person, message.c.id.in_(falling.sources))
    connection.execute(update(message).where(sources).values(to_learn=False, passed_over=True, taken_back=True))
    mine = update(profile).where(profile.c.person == falling.person)
    connection.execute(mine.values(revision=profile.c.revision + 1))


def _summaries(connection: Connection, person: str, texts: Collection[str]) -> list[str]:
    joined = select(participant.c.conversation).where(participant.c.person == person)
    kept = select(conversation.c.id, conversation.c.summary)
    held = kept.where(conversation.c.id.in_(joined), conversation.c.summary != "{}")
    return [id_ for id_, summary in connection.execute(held) if _any_quotes(rows.strings_in(summary), texts)]


def _actions(connection: Connection, person: str, texts: Collection[str]) -> list[int]:
    kept = select(action_record).join(turn, turn.c.id == action_record.c.turn).where(turn.c.person == person)
    return [
        row.id
        for row in connection.execute(kept)
        if _any_quotes([row.thinking, *rows.strings_in(row.calls), *rows.strings_in(row.results)], texts)
    ]


def _drop_audited(connection: Connection, falling: EntryErasure) -> None:
    """The arguments of their calls that quote it, for good: bringing it back is for the person, not for the audit."""
    kept = select(tool_call.c.id, tool_call.c.arguments).where(tool_call.c.person == falling.person)
    told = connection.execute(kept.where(tool_call.c.arguments != "")).all()
    for id_ in [row.id for row in told if _any_quotes(rows.strings_in(row.arguments), falling.texts)]:
        calls.drop_arguments(connection, tool_call.c.id == id_)


def _any_quotes(held: Iterable[str], texts: Collection[str]) -> bool:
    return any(quotes(some, erased) for some in held for erased in texts)


# Deleting single things that are known of a person, so that they can be brought back for a while.
#
# What is deleted leaves its rows at once, as `store.forgetting.entries` takes it out: nothing shows, uses, exports or
# learns around it any more. Its rows wait, as JSON, in the payload of a job. Until that is due they can be put back;
# then the job has them wiped. The job is the person's, so that forgetting takes it along.
#
# Only what still stands on the same ground is put back: whose messages are there with the same words for the same
# readers. What was forgotten, edited or made private meanwhile does not come back with what came of it: erasing takes
# it out of what waits, too (`store.forgetting.erase`).

Row = dict[str, Any]
TIME: Final = "time"  # The one field of an object that stands for a time; no column holds an object


@dataclass(frozen=True, slots=True)
class Deletion:
    """Rows as they were. `before` and `after`: facts that stayed, but changed when others left them."""

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
    """Take out what the plan names, and keep it for `bring_back` until then: how much it was, and how much of it is
    still found (0 is the proof). Nobody else may write meanwhile.
    """
    falling = entries_to_erase(connection, plan)
    theirs, out = fact.c.person == plan.person, [int(id_) for id_ in falling.facts]
    known = _rows(connection, fact, theirs)
    kept = Deletion(
        facts=[row for row in known if row["id"] in out],
        grounds=_rows(connection, fact_ground, fact_ground.c.fact.in_(out)),
        entries=_rows(connection, profile_entry, profile_entry.c.id.in_(falling.entries)),
        sources=_rows(connection, profile_source, profile_source.c.entry.in_(falling.entries)),
        messages=_messages(connection, falling.sources),
        summaries=[
            dict(row)
            for row in connection.execute(
                select(conversation.c.id, conversation.c.summary, conversation.c.audience).where(
                    conversation.c.id.in_(falling.summaries)
                )
            ).mappings()
        ],
        actions=_rows(connection, action_record, action_record.c.id.in_(falling.actions)),
    )
    counts = erase_entry_plan(connection, falling)
    after = {row["id"]: row for row in _rows(connection, fact, theirs)}
    for row in known:
        if row["id"] in after and after[row["id"]] != row:
            kept.before.append(row)
            kept.after.append(after[row["id"]])
    values = {"payload": _encode(kept), "run_at": until, "person": plan.person, "conversation": ""}
    job_queue.schedule(connection, ERASE_ENTRIES, key, values)
    return counts, count_left(connection, plan)


def restore(connection: Connection, person: str, key: str | None = None) -> str | None:
    """Put back what the person deleted under this key (None: last), as far as it still has its ground; its key.

    None if there is nothing that could be brought back.
    """
    theirs = and_(job.c.kind == ERASE_ENTRIES, job.c.person == person, job.c.state == WAITING, job.c.payload != "")
    mine = theirs if key is None else and_(theirs, job.c.key == key)
    last = select(job.c.id, job.c.key, job.c.payload).where(mine).order_by(job.c.id.desc()).limit(1)
    found = connection.execute(last.with_for_update()).one_or_none()
    if found is None:
        return None
    connection.execute(delete(job).where(job.c.id == found.id))
    kept = Deletion(**json.loads(found.payload, object_hook=_read_object))
    sound = _sound(connection, kept)
    back = [_restore_facts(connection, kept, sound), _restore_entries(connection, person, kept, sound)]
    if not any(back):
        return None
    _restore_flags(connection, kept, sound)
    _restore_made(connection, kept)
    return found.key


def wipe_deletion(connection: Connection, key: str) -> None:
    """Let nothing of it stay; the bytes wait for a sweep. The job itself goes when it is done."""
    connection.execute(update(job).where(job.c.kind == ERASE_ENTRIES, job.c.key == key).values(payload=""))
    owe(connection)


def _restore_facts(connection: Connection, kept: Deletion, sound: Collection[int]) -> int:
    rows = {row["id"]: row for row in kept.facts if row["source_message"] is None or row["source_message"] in sound}
    standing = set(
        connection.execute(select(fact.c.id).where(fact.c.id.in_({row["ground"] for row in kept.grounds}))).scalars()
    )
    # What rests on something that does not come back stays away, too, and so on.
    while torn := {row["fact"] for row in kept.grounds if row["ground"] not in {*rows, *standing}} & rows.keys():
        rows = {id_: row for id_, row in rows.items() if id_ not in torn}
    if rows:
        connection.execute(insert(fact), [_beside(connection, row) for row in rows.values()])
    for row in rows.values():
        said = read_value(row["value"], about=row["key"])
        fact_index.add(connection, row["id"], row["person"], fact_index.terms(row["key"], row["value"], said))
    grounds = [row for row in kept.grounds if row["fact"] in rows]
    if grounds:
        connection.execute(insert(fact_ground), grounds)
    for before, after in zip(kept.before, kept.after, strict=True):
        # If this has not changed since, it is again what it was beside those that came back. A question that was shown
        # the fact meanwhile has changed when it was last used, and nothing else.
        changed = {name for name, held in before.items() if after[name] != held}
        rows_now = _rows(connection, fact, fact.c.id == before["id"])
        if [{name: row[name] for name in changed} for row in rows_now] == [{name: after[name] for name in changed}]:
            values = {name: before[name] for name in changed}
            connection.execute(update(fact).where(fact.c.id == before["id"]).values(values))
    return len(rows)


def _beside(connection: Connection, row: Row) -> Row:
    """The row of a fact as it is beside one that took its place and was brought back before it."""
    successors = select(fact.c.id).where(fact.c.supersedes == row["id"]).order_by(fact.c.id.desc()).limit(1)
    after = connection.execute(successors).scalar_one_or_none() if row["is_valid"] else None
    return row if after is None else row | {"is_valid": False, "superseded_by": after}


def _restore_entries(connection: Connection, person: str, kept: Deletion, sound: Collection[int]) -> int:
    torn = {row["entry"] for row in kept.sources if row["message"] not in sound}
    rows = [row for row in kept.entries if row["id"] not in torn]
    if not rows:
        return 0
    connection.execute(insert(profile_entry), rows)
    sources = [row for row in kept.sources if row["entry"] not in torn]
    if sources:
        connection.execute(insert(profile_source), sources)
    mine = update(profile).where(profile.c.person == person)
    connection.execute(mine.values(revision=profile.c.revision + 1))
    return len(rows)


def _restore_flags(connection: Connection, kept: Deletion, sound: Collection[int]) -> None:
    for row in kept.messages:
        if row["id"] in sound:
            flags = {"to_learn": row["to_learn"], "passed_over": row["passed_over"], "taken_back": row["taken_back"]}
            connection.execute(update(message).where(message.c.id == row["id"]).values(flags))


def _restore_made(connection: Connection, kept: Deletion) -> None:
    """What summaries and records said of it, where nothing has taken their place, for the same readers."""
    for row in kept.summaries:
        same = and_(conversation.c.id == row["id"], conversation.c.audience == row["audience"])
        empty = and_(same, conversation.c.summary == "{}")
        connection.execute(update(conversation).where(empty).values(summary=row["summary"]))
    turns = select(turn.c.id).where(turn.c.id.in_({row["turn"] for row in kept.actions}))
    standing = set(connection.execute(turns).scalars())
    actions = [row for row in kept.actions if row["turn"] in standing]
    if actions:
        connection.execute(insert(action_record), actions)


def _messages(connection: Connection, ids: Collection[int]) -> list[Row]:
    """What they teach, and a digest of what they say to whom: their words have no business in the job."""
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


def _sound(connection: Connection, kept: Deletion) -> frozenset[int]:
    before = {row["id"]: row["digest"] for row in kept.messages}
    return frozenset(row["id"] for row in _messages(connection, before.keys()) if row["digest"] == before[row["id"]])


def _rows(connection: Connection, table: Table, where: ColumnElement[bool]) -> list[Row]:
    return [dict(row) for row in connection.execute(select(table).where(where)).mappings()]


def _encode(kept: Deletion) -> str:
    return json.dumps(
        asdict(kept), ensure_ascii=False, separators=(",", ":"), default=lambda at: {TIME: at.isoformat()}
    )


def _read_object(held: Row) -> Row | datetime:
    return datetime.fromisoformat(held[TIME]) if held.keys() == {TIME} else held
