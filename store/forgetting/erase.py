"""Erasing all rows that a plan reaches, in one transaction. The proof is elsewhere (`store.forgetting.sql_forgetting`).

Erased are: the messages that the plan reaches, the replies to them, and rows keyed by them; their turns (which cancels
waiting and running ones: their workers get LeaseLost) with action records and workspaces; replies that quote them;
facts, profile entries and files of code from them; what other turns have drawn from them (see below); the summary of
each touched conversation; jobs that name them; schedules; empty conversations; for `Everything`, the person and their
preferences.
Platform ids stay as keyed hashes, and the usage of model calls and tools without turn and channel.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain, count
from typing import Any, Final

from sqlalchemy import Column, Connection, Row, and_, delete, exists, false, func, insert, or_, select, union, update

from agent.memory import forgetting_plans as plans
from agent.memory.documents import SHARING
from agent.shown_replies import DELETE_REPLY, EPHEMERAL_PAGE, ShownPage, ShownReply
from agent.stored_messages import Author
from agent.turn_kinds import TurnKind
from store import budget_days, handoffs, job_queue, model_calls, outbox, row_mapping, tool_calls
from store.api_tokens import api_token
from store.budget_tables import budget_pause
from store.databases.database import is_postgresql
from store.erased_ids import ErasedIds, erased
from store.file_tables import saved_file
from store.forgetting import erasure_set, selection
from store.forgetting.erasure_set import KEYED_BY_MESSAGE, ErasureSet, earliest, find_erasure_set
from store.forgetting.repetitions import contexts
from store.forgetting.selection import ForgottenMessage, batches, in_batches, rows_in, select_rows, unasked, values_in
from store.handoff_tables import handoff
from store.installations import erase_installations
from store.job_queue import job
from store.json_columns import (
    NamedInProgress,
    json_text,
    read_address,
    read_pages,
    strings_in,
    without_quoted,
    write_ids,
)
from store.memory import fact_store, participants
from store.memory_tables import fact, profile, profile_entry
from store.message_tables import conversation, message, participant, person
from store.place_keys import place_key
from store.polls import poll, poll_vote
from store.preferences import preference
from store.replies import feedback, page, verdict
from store.schedule_table import schedule
from store.schema import meta
from store.search import index, passages
from store.search.passages import document
from store.search.text import holds
from store.tool_accounts import erase_accounts
from store.tool_calls import tool_call
from store.turn_tables import RUNNING, WAITING, action_record, turn, workspace
from store.turns import approvals
from store.turns.approval_table import approval
from store.turns.consents import consent
from store.turns.open_questions import open_question
from store.working_sets import working_item

# What platforms show of erased messages: pages that should be deleted there as well, threads that have their titles,
# and questions whose answers had begun.
#
# Rule: these jobs have no person, so that they survive if the person then has everything forgotten. A finished job
# leaves no row.


def thread_titles(connection: Connection, plan: plans.ForgettingPlan, *, related: bool = False) -> list[ShownPage]:
    """The threads whose title comes from a question that the plan erases: the first that was answered there.

    `related`: messages that may repeat it are erased as well, and among them the person's own questions elsewhere.
    """
    erased = find_erasure_set(connection, plan, related=True) if related else select_rows(connection, plan)
    asked = [item for item in erased.messages.values() if item.author == Author.PERSON]
    first = func.min(turn.c.id)
    answered = select(first).where(turn.c.pages != "[]").group_by(turn.c.conversation)
    first_turns = rows_in(connection, answered, turn.c.conversation, {item.conversation for item in asked})
    erased_turns = {row[0] for row in first_turns} & {item.turn for item in asked}
    named = rows_in(connection, select(turn.c.source, turn.c.channel, turn.c.conversation), turn.c.id, erased_turns)
    return [ShownPage(source, channel, conversation, ShownReply.TITLE) for source, channel, conversation in named]


@dataclass(frozen=True, slots=True)
class ShownPages:
    """How many messages of the bot show what is erased: those that are being `deleted`, those that are `kept`, and the
    `ephemeral` ones, which platforms do not let it delete.
    """

    deleted: int = 0
    kept: int = 0
    ephemeral: int = 0


def delete_pages(connection: Connection, doomed: ErasureSet, now: datetime, *, wanted: bool) -> ShownPages:
    """Queue the deletion of erased replies' pages and of questions that the bot posted, if `wanted`."""
    answered = {item.turn for item in doomed.messages.values() if item.author == Author.BOT}
    columns = select(turn.c.source, turn.c.channel, turn.c.pages)
    replies = [*rows_in(connection, columns, turn.c.id, answered)]
    pages = _pages(replies, ShownReply.PAGE)
    ephemeral = sum(len(read_pages(stored)) for _, _, stored in replies) - len(pages)
    asked = {item.turn for item in doomed.messages.values() if item.author == Author.PERSON}
    posted = select(turn.c.source, turn.c.channel, turn.c.message_id).where(turn.c.kind == TurnKind.POSTED)
    pages += [ShownPage(*row) for row in rows_in(connection, posted, turn.c.id, asked)]
    if not wanted:
        return ShownPages(kept=len(pages), ephemeral=ephemeral)
    _queue(connection, pages, now)
    return ShownPages(deleted=len(pages), ephemeral=ephemeral)


def delete_open(connection: Connection, doomed: ErasureSet, now: datetime) -> None:
    """Queue the removal of what is shown of erased turns that wait or run: they end without their worker, so nothing
    else removes it.
    """
    columns = select(turn.c.source, turn.c.channel, turn.c.reply_ref, turn.c.payload)
    for where in in_batches(turn.c.id, doomed.turns):
        for row in connection.execute(columns.where(where, turn.c.state.in_((WAITING, RUNNING)))).all():
            pages = _pages([(row.source, row.channel, row.reply_ref)], ShownReply.PAGE)
            if address := read_address(row.payload):
                pages.append(ShownPage(row.source, row.channel, address, ShownReply.UNANSWERED))
            _queue(connection, pages, now)


def queue_kept_lines(connection: Connection, facts: Collection[int], now: datetime) -> None:
    """Queue edits of the replies that report these facts as remembered, to say that they no longer are."""
    columns = select(turn.c.source, turn.c.channel, turn.c.pages)
    tells = or_(fact.c.source_message == message.c.id, fact.c.announced == turn.c.id)
    replies = columns.join(message, message.c.turn == turn.c.id).join(fact, tells)
    _queue(connection, _pages(rows_in(connection, replies.distinct(), fact.c.id, facts), ShownReply.KEPT), now)


def _pages(shown: Iterable[Row[str, str, str] | tuple[str, str, str]], what: ShownReply) -> list[ShownPage]:
    return [
        ShownPage(source, channel, page, what)
        for source, channel, stored in shown
        for page in read_pages(stored)
        if not page.startswith(EPHEMERAL_PAGE)
    ]


def _queue(connection: Connection, pages: Iterable[ShownPage], now: datetime) -> None:
    for shown in pages:
        values = {"payload": shown.encode(), "run_at": now, "person": "", "conversation": ""}
        job_queue.schedule(connection, DELETE_REPLY, shown.key, values)


# What other turns have drawn from erased messages: it is deleted, and open turns restart.
#
# Rules
#   A turn with an erased message or fact in its context loses its action records, and its conversation the summary. An
#   open turn whose progress names such a message, or contains an erased text, restarts without its progress and under
#   the next epoch, so its worker gets LeaseLost. Quoted texts in its payload that contain an erased text are removed.
#   (`holds` defines how long a text must be to count.) The context of a running turn is not known yet. In the touched
#   conversations, and for the people concerned, it loses its saved progress; `store.turns.ledger` drops its records and
#   summary when it ends.


def drop_records(connection: Connection, doomed: ErasureSet) -> tuple[int, frozenset[str]]:
    """Delete other turns' action records with erased rows in context; returns their number and conversations."""
    since = None if doomed.facts else earliest(doomed.messages)
    grounds = contexts(connection, since) if doomed.messages or doomed.facts else ()
    affected = [ground for ground in grounds if ground.context & doomed.messages.keys() or ground.facts & doomed.facts]
    deleted, conversations = 0, set[str]()
    for ground in affected:
        if ground.turn in doomed.turns:
            continue
        conversations.add(ground.conversation)
        deleted += drop(connection, action_record.c.turn, [ground.turn])
        tool_calls.drop_arguments(connection, tool_call.c.turn == ground.turn)
        values = {
            "context_messages": write_ids(ground.context - doomed.messages.keys()),
            "given_messages": write_ids(ground.given - doomed.messages.keys()),
            "context_facts": write_ids(ground.facts - doomed.facts),
            "erased_sources": turn.c.erased_sources
            + len(ground.context & doomed.messages.keys())
            + len(ground.facts & doomed.facts),
            "progress": "",
        }
        connection.execute(update(turn).where(turn.c.id == ground.turn).values(**values))
    return deleted, frozenset(conversations)


def restart_open_turns(connection: Connection, doomed: ErasureSet, texts: Collection[str], now: datetime) -> None:
    """Restart the open turns that have already drawn on erased messages."""
    open_ = select(turn.c.id, turn.c.progress, turn.c.payload).where(turn.c.state.in_((WAITING, RUNNING)))
    for turn_id, progress, payload in connection.execute(open_).all():
        if turn_id in doomed.turns:
            continue
        values: dict[str, object] = {}
        sources = NamedInProgress.read(progress).sources
        if sources & doomed.messages.keys() or holds_any(strings_in(progress), texts):
            values = row_mapping.restarted(turn.c.epoch + 1)
            drop(connection, consent.c.turn, [turn_id])
            drop(connection, budget_pause.c.turn, [turn_id])
            approvals.withdraw(connection, approval.c.turn == turn_id, now)
            tool_calls.drop_arguments(connection, tool_call.c.turn == turn_id)
            model_calls.settle(connection, turn.c.id == turn_id, now)
        remaining = without_quoted(payload, lambda quoted: holds_any([quoted], texts))
        if remaining != payload:
            values["payload"] = remaining
        if values:
            connection.execute(update(turn).where(turn.c.id == turn_id).values(**values))
    for column, ids in ((turn.c.person, doomed.people), (turn.c.conversation, doomed.conversations)):
        for condition in in_batches(column, ids):
            runs = and_(turn.c.state == RUNNING, condition)
            tool_calls.drop_arguments(connection, tool_call.c.turn.in_(select(turn.c.id).where(runs)))
            connection.execute(update(turn).where(runs).values(progress=""))
    begun_anew = select(turn.c.id).where(turn.c.state.in_((WAITING, RUNNING)), turn.c.progress == "")
    connection.execute(delete(workspace).where(workspace.c.task_id.in_(begun_anew)))


def drop_summaries(connection: Connection, conversations: Collection[str]) -> int:
    held = (and_(where, conversation.c.summary != "{}") for where in in_batches(conversation.c.id, conversations))
    return sum(connection.execute(update(conversation).where(each).values(summary="{}")).rowcount for each in held)


def drop_waiting(connection: Connection, conversations: Collection[str], messages: Collection[int]) -> None:
    """Delete from deletions that can still be undone (`store.forgetting.entries`) what was drawn from these messages:
    facts and entries from them, and the summaries and action records of the touched conversations.
    """
    waiting = and_(job.c.kind == plans.ERASE_ENTRIES, job.c.payload != "")
    for id_, payload in connection.execute(select(job.c.id, job.c.payload).where(waiting)).all():
        deletion: dict[str, list[dict[str, Any]]] = json.loads(payload)
        drawn_entries = {row["entry"] for row in deletion["sources"] if row["message"] in messages}
        turns = select(turn.c.id).where(turn.c.id.in_({row["turn"] for row in deletion["actions"]}))
        kept_turns = set(connection.execute(turns.where(turn.c.conversation.not_in(sorted(conversations)))).scalars())
        remaining = deletion | {
            "facts": [row for row in deletion["facts"] if row["source_message"] not in messages],
            "entries": [row for row in deletion["entries"] if row["id"] not in drawn_entries],
            "sources": [row for row in deletion["sources"] if row["entry"] not in drawn_entries],
            "summaries": [row for row in deletion["summaries"] if row["id"] not in conversations],
            "actions": [row for row in deletion["actions"] if row["turn"] in kept_turns],
        }
        if remaining != deletion:
            connection.execute(update(job).where(job.c.id == id_).values(payload=json_text(remaining)))


def waiting_words(payload: str) -> list[str]:
    """The words in a deletion that can be undone, without ids, places and times, which other rows hold too."""
    deletion: dict[str, list[dict[str, Any]]] = json.loads(payload or "{}")
    text_columns = ("facts", ("key", "value")), ("entries", ("key", "text")), ("actions", ("thinking",))
    json_columns = ("summaries", ("summary",)), ("actions", ("calls", "results"))
    plain = [row[name] for kind, names in text_columns for row in deletion.get(kind, []) for name in names]
    stored = [row[name] for kind, names in json_columns for row in deletion.get(kind, []) for name in names]
    return list(filter(None, [*plain, *(text for json_ in stored for text in strings_in(json_))]))


def waiting_memory(payload: str) -> list[tuple[str, str, str]]:
    """The person, key and text of each fact and entry in a deletion that can be undone."""
    deletion: dict[str, list[dict[str, Any]]] = json.loads(payload or "{}")
    texts = (("facts", "value"), ("entries", "text"))
    return [(row["person"], row["key"], row[text]) for kind, text in texts for row in deletion.get(kind, [])]


def memory_of(connection: Connection, facts: Collection[int], entries: Collection[int]) -> list[tuple[str, str, str]]:
    """The person, key and text of each of these facts and entries."""
    known = select(fact.c.person, fact.c.key, fact.c.value)
    stated = select(profile_entry.c.person, profile_entry.c.key, profile_entry.c.text)
    found = chain(
        rows_in(connection, known, fact.c.id, facts), rows_in(connection, stated, profile_entry.c.id, entries)
    )
    return [(person_id, key, words) for person_id, key, words in found]


def keep_memory(
    connection: Connection, rows: Iterable[tuple[str, str, str]], erased_ids: ErasedIds, now: datetime
) -> frozenset[str]:
    """Store and return the hashes of erased facts and entries, given by person, key and text."""
    return _keep(connection, {erased_ids.of_memory(*row) for row in rows}, now)


def summary_texts(connection: Connection, conversations: Collection[str]) -> Iterator[str]:
    for stored in values_in(connection, conversation.c.summary, conversation.c.id, conversations):
        yield from filter(None, strings_in(stored))


FILES_SAMPLED: Final = 50
STRETCH_BYTES: Final = 24
DISTINCT_BYTES: Final = 8  # A stretch of fewer, such as zeros, occurs in other pages by chance


def file_stretches(connection: Connection, files: Collection[int]) -> frozenset[bytes]:
    """Stretches of the content of some of these files, for the search for proof in the database's bytes."""
    sampled = sorted(files, reverse=True)[:FILES_SAMPLED]
    found = set[bytes]()
    for data in values_in(connection, saved_file.c.data, saved_file.c.id, sampled):
        starts = (len(data) * part // 4 for part in range(4))
        found.update(
            piece for start in starts if len({*(piece := bytes(data[start : start + STRETCH_BYTES]))}) >= DISTINCT_BYTES
        )
    return frozenset(found)


def holds_any(held: Iterable[str], texts: Collection[str]) -> bool:
    return any(holds(text, erased) for text in held for erased in texts)


SWEEP_OWED: Final = "sweep_owed"


@dataclass(frozen=True, slots=True)
class Wishes:
    """`limit`: how many messages at once (None: all). `replies`: whether the bot's replies are deleted in the platform
    as well. `related`: whether messages that may repeat erased ones are erased as well.
    """

    limit: int | None = None
    replies: bool = False
    related: bool = False


@dataclass(frozen=True, slots=True)
class Erasure:
    """The result of an erasure: the texts for the search for proof, the counts for the receipt."""

    doomed: ErasureSet
    texts: list[str]
    summaries: list[str]
    touched: frozenset[str]
    readers: list[int]
    counts: dict[str, int] = field(default_factory=dict[str, int])
    pages: ShownPages = ShownPages()
    documents: int = 0
    """Documents that the person added there, which stay."""
    stretches: frozenset[bytes] = frozenset()
    """Of the erased files of code."""
    hashes: frozenset[str] = frozenset()
    """Of the erased ids, as stored."""


def erase_by_plan(
    connection: Connection, plan: plans.ForgettingPlan, erased_ids: ErasedIds, now: datetime, wishes: Wishes = Wishes()
) -> Erasure:
    """Carry out `plan`. No other writer may run meanwhile."""
    doomed = find_erasure_set(connection, plan, wishes.limit, related=wishes.related)
    jobs, planned = _jobs(connection, plan, doomed)
    planned += values_in(connection, schedule.c.words, schedule.c.id, doomed.schedules)
    texts, summaries = _texts(connection, doomed, planned)
    readers = [look(connection, *doomed.conversations) for look in (index.readers, index.places_of)]
    known = selection.documents_of(plan)
    staying = len(selection.documents_left(connection, plan, doomed.messages.values()))
    texts += passages.texts_of(connection, known)
    stretches = file_stretches(connection, doomed.files)
    pages = delete_pages(connection, doomed, now, wanted=wishes.replies)
    if not isinstance(plan, plans.Gone):
        delete_open(connection, doomed, now)
    audiences = dict.fromkeys(doomed.turns, "") | {item.turn: item.audience for item in doomed.messages.values()}
    places = outbox.places_of_erased(connection, audiences)
    outbox.drop_turns(connection, audiences)
    hashes = _keep_hashes(connection, plan, doomed, jobs, erased_ids, now)
    for where in in_batches(turn.c.id, doomed.turns):
        model_calls.settle(connection, where, now)
    actions, elsewhere = drop_records(connection, doomed)
    restart_open_turns(connection, doomed, texts, now)
    counts = {"actions": actions, "jobs": drop(connection, job.c.id, jobs)}
    _unindex(connection, plan, doomed)
    _drop_turns(connection, doomed, counts, now)
    counts["facts"] = sum(fact_store.remove_rows(connection, batch) for batch in batches(doomed.facts))
    counts["profile"] = erasure_set.erase_entries(connection, plan, doomed.entries, doomed.people)
    if files := drop(connection, saved_file.c.id, doomed.files):
        counts["files"] = files
    drop_kept(connection, doomed)
    counts["messages"] = drop(connection, message.c.id, doomed.messages) + _drop_unasked(connection, plan)
    counts["turns"] = drop(connection, turn.c.id, doomed.turns)
    _drop_participants(connection, plan, doomed)
    touched = doomed.conversations | elsewhere
    drop_waiting(connection, touched, doomed.messages)
    counts["summaries"] = drop_summaries(connection, touched)
    _drop_empty(connection, doomed.conversations)
    counts["conversations"] = len(doomed.conversations)
    if documents := passages.erase(connection, known, wishes.limit):
        counts["documents"] = documents
    if schedules := drop(connection, schedule.c.id, doomed.schedules):
        counts["schedules"] = schedules
    if tokens := connection.execute(delete(api_token).where(selection.tokens_of(plan))).rowcount:
        counts["tokens"] = tokens
    if keys := connection.execute(delete(place_key).where(selection.place_keys_of(plan))).rowcount:
        counts["model_keys"] = keys
    _drop_people(connection, plan, counts, erased_ids, now, complete=doomed.complete)
    if isinstance(plan, plans.Everything) and any(counts.values()):
        hashes |= {_keep_person(connection, plan.person, erased_ids, now)}
    _drop_channel_settings(connection, plan, doomed)
    outbox.forgotten(connection, plan, places, counts, now)
    mark_sweep_due(connection)
    return Erasure(doomed, texts, summaries, touched, [*chain(*readers)], counts, pages, staying, stretches, hashes)


def is_sweep_due(connection: Connection) -> bool:
    return connection.execute(select(meta.c.name).where(meta.c.name == SWEEP_OWED)).first() is not None


def mark_sweep_due(connection: Connection) -> None:
    """Record that deleted bytes have to be wiped; not on a server, which manages its own files."""
    if is_postgresql(connection):
        return
    clear_sweep_due(connection)
    connection.execute(insert(meta).values(name=SWEEP_OWED, value=b""))


def clear_sweep_due(connection: Connection) -> None:
    """Record that no bytes have to be wiped."""
    connection.execute(delete(meta).where(meta.c.name == SWEEP_OWED))


def _jobs(connection: Connection, plan: plans.ForgettingPlan, doomed: ErasureSet) -> tuple[list[int], list[str]]:
    """The jobs to be erased, and the words in them: jobs of the plan's person or place, with an erased text in them, or
    with a newer text of an erased message.

    The person's deletions that can still be undone are wiped whatever the plan: they may be part of it.
    """
    match plan:
        case plans.OneThread(person=who, conversations=there):
            deleted = job.c.kind == plans.ERASE_ENTRIES
            matches = and_(job.c.person == who, or_(deleted, job.c.conversation.in_(sorted(there))))
        case plans.During(person=who) | plans.AboutTopic(person=who):
            matches = and_(job.c.person == who, job.c.kind == plans.ERASE_ENTRIES)
        case plans.Everything(person=who):
            matches = job.c.person == who
        case plans.Gone(conversations=gone, sources=sources):
            from_sources = (job.c.person.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
            matches = or_(job.c.conversation.in_(sorted(gone)), *from_sources)
        case _:
            matches = false()
    texts = [item.text for item in doomed.messages.values() if item.text]
    # The text of a job is JSON, which no index covers: only jobs of the people concerned are read and searched.
    of_people = or_(matches, *in_batches(job.c.person, doomed.people))
    query = select(job.c.id, job.c.kind, job.c.key, job.c.payload, matches).where(of_people)
    sources = _sources(connection, doomed.messages.values())
    edits = {
        plans.post_key(sources[item.turn], item.channel, item.message_id)
        for item in doomed.messages.values()
        if item.message_id
    }
    found: list[tuple[int, list[str]]] = []
    for id_, kind, key, payload, is_named in connection.execute(query):
        waits = kind == plans.ERASE_ENTRIES
        words = waiting_words(payload) if waits else list(strings_in(payload))
        if is_named or (kind == plans.EDIT and key in edits) or holds_any(words, texts):
            found.append((id_, words))
    return [id_ for id_, _ in found], [word for _, words in found for word in words]


def _sources(connection: Connection, messages: Iterable[ForgottenMessage]) -> dict[int, str]:
    """The sources of the turns of these messages."""
    found = rows_in(connection, select(turn.c.id, turn.c.source), turn.c.id, {item.turn for item in messages})
    return {row.id: row.source for row in found}


def _texts(connection: Connection, doomed: ErasureSet, planned: list[str]) -> tuple[list[str], list[str]]:
    """The texts of messages, facts and plans, and those of the touched conversations' summaries and of profiles."""
    messages = [item.text for item in doomed.messages.values()]
    facts = [
        text for row in rows_in(connection, select(fact.c.key, fact.c.value), fact.c.id, doomed.facts) for text in row
    ]
    derived = [*summary_texts(connection, doomed.conversations), *erasure_set.entry_texts(connection, doomed.entries)]
    return list(dict.fromkeys(filter(None, [*messages, *facts, *planned]))), list(dict.fromkeys(filter(None, derived)))


def _keep_hashes(
    connection: Connection,
    plan: plans.ForgettingPlan,
    doomed: ErasureSet,
    jobs: Collection[int],
    erased_ids: ErasedIds,
    now: datetime,
) -> frozenset[str]:
    """Store and return the hashes of what is erased, for redeliveries and restored databases."""
    known = select(
        turn.c.id, turn.c.source, turn.c.event_id, turn.c.channel, turn.c.message_id, turn.c.pages, turn.c.reply_ref
    )
    hashes = set[str]()
    questions = doomed.turns | doomed.trimmed
    replies = doomed.turns | ({plan.turn} if isinstance(plan, plans.OneReply) else set[int]())
    for id_, source, event_id, channel, message_id, *shown in rows_in(
        connection, known, turn.c.id, questions | replies
    ):
        if id_ in questions:
            hashes.update((erased_ids.of_event(source, event_id), erased_ids.of_post(source, channel, message_id)))
        if id_ in replies:
            hashes.update(erased_ids.of_page(source, channel, page) for ref in shown for page in read_pages(ref))
    waiting = rows_in(connection, select(job.c.payload).where(job.c.kind == plans.ERASE_ENTRIES), job.c.id, jobs)
    memory = [row for (payload,) in waiting for row in waiting_memory(payload)]
    if isinstance(plan, plans.AboutTopic):  # the only plan that reaches facts whose messages stay
        memory += memory_of(connection, doomed.facts, doomed.entries)
    return _keep(connection, hashes.union(erased_ids.of_memory(*row) for row in memory), now)


def _keep(connection: Connection, hashes: AbstractSet[str], now: datetime) -> frozenset[str]:
    """Store those hashes that are new, and return them."""
    new = frozenset(hashes) - set(values_in(connection, erased.c.hash, erased.c.hash, hashes))
    if new:
        connection.execute(insert(erased), [{"hash": hash_, "time": now} for hash_ in sorted(new)])
    return new


def _unindex(connection: Connection, plan: plans.ForgettingPlan, doomed: ErasureSet) -> None:
    for batch in batches(doomed.messages.keys()):
        index.remove(connection, batch)
    if isinstance(plan, plans.Everything) and (number := participants.number_of(connection, plan.person)) is not None:
        index.remove_all(connection, number)


def _drop_unasked(connection: Connection, plan: plans.ForgettingPlan) -> int:
    """Delete questions that wait to be accepted, so that they are never asked."""
    names = unasked(connection, plan)
    waiting = and_(preference.c.owner == getattr(plan, "person", ""), preference.c.name.in_(names))
    return connection.execute(delete(preference).where(waiting)).rowcount if names else 0


def _drop_turns(connection: Connection, doomed: ErasureSet, counts: dict[str, int], now: datetime) -> None:
    """Delete the rows of erased turns and of erased replies; the turns themselves are deleted after their messages."""
    counts["workspaces"] = drop(connection, workspace.c.task_id, doomed.turns)
    turns = {item.turn for item in doomed.messages.values() if item.author == Author.BOT} | doomed.turns
    counts["actions"] += drop(connection, action_record.c.turn, turns)
    for table in (page, poll_vote, poll, verdict, feedback, consent, open_question, budget_pause):
        drop(connection, table.c.turn, turns)
    for where in in_batches(approval.c.turn, turns):
        approvals.withdraw(connection, where, now)
    for where in in_batches(handoff.c.turn, turns):
        handoffs.withdraw(connection, where, now)
    for where in in_batches(tool_call.c.turn, turns):
        tool_calls.drop_arguments(connection, where)
    for where in in_batches(turn.c.id, doomed.turns):
        erased = select(turn.c.id).where(where)
        model_calls.detach(connection, erased, now)
        tool_calls.detach(connection, erased)
    for id_ in doomed.trimmed:
        values = {"event_id": f"erased:{id_}", "message_id": f"erased:{id_}"}
        connection.execute(update(turn).where(turn.c.id == id_).values(**values))


def _drop_participants(connection: Connection, plan: plans.ForgettingPlan, doomed: ErasureSet) -> None:
    """Remove people without any message left from a conversation, so that they find nothing of it."""
    wrote = and_(
        message.c.conversation == participant.c.conversation,
        message.c.person == participant.c.person,
        message.c.author == Author.PERSON,
    )
    without_messages = select(participant.c.conversation, participant.c.person).where(~exists().where(wrote))
    conditions = list(in_batches(participant.c.conversation, doomed.conversations))
    if isinstance(plan, plans.Everything):
        conditions.append(participant.c.person == plan.person)
    for condition in conditions:
        for conversation_id, person_id in connection.execute(without_messages.where(condition)).all():
            if (number := participants.number_of(connection, person_id)) is not None:
                index.remove_thread(connection, conversation_id, number)
            participation = and_(participant.c.conversation == conversation_id, participant.c.person == person_id)
            connection.execute(delete(participant).where(participation))


def _drop_empty(connection: Connection, conversations: frozenset[str]) -> None:
    has_messages = exists().where(message.c.conversation == conversation.c.id)
    has_turns = exists().where(turn.c.conversation == conversation.c.id)
    for where in in_batches(conversation.c.id, conversations):
        connection.execute(delete(conversation).where(where, ~has_messages, ~has_turns))
    _drop_continued(connection, conversations)


def _drop_continued(connection: Connection, conversations: frozenset[str]) -> None:
    """Delete the preferences that name the conversation that continues in a channel: one of these, or one begun after
    the last of them that has no messages yet.
    """
    still_exists = exists().where(conversation.c.id == preference.c.value)
    for where in in_batches(preference.c.value, conversations):
        connection.execute(delete(preference).where(where, ~still_exists))
    channel = func.substr(preference.c.owner, len(plans.GOES_ON) + 1)
    within = func.substr(conversation.c.id, 1, func.length(channel) + 1) == channel + ":"
    has_conversations = exists().where(or_(conversation.c.id == channel, within))
    channels = {
        name for conversation_id in conversations for name in (conversation_id, conversation_id.rpartition(":")[0])
    }
    for where in in_batches(preference.c.owner, {f"{plans.GOES_ON}{name}" for name in channels}):
        connection.execute(delete(preference).where(where, ~has_conversations))


def _drop_channel_settings(connection: Connection, plan: plans.ForgettingPlan, doomed: ErasureSet) -> None:
    """Delete the settings of channels that are gone: if the bot returns there, people have to choose them again."""
    if isinstance(plan, plans.Gone):
        channels = plan.channels | ({item.channel for item in doomed.messages.values()} if plan.sources else set[str]())
        sources = plan.sources | ({plan.within} if plan.within else set[str]())
        names = (plans.PLACE_RULES, plans.AMBIENT_STATE)
        for where in in_batches(preference.c.owner, {f"channel:{item}" for item in channels}):
            of_sources = {f"{name} {source}" for name in names for source in sources}
            chosen = preference.c.name.in_({SHARING, *names, *of_sources})
            of_all = or_(*(preference.c.name.startswith(f"{name} ", autoescape=True) for name in names))
            connection.execute(delete(preference).where(where, chosen if sources else or_(chosen, of_all)))


def _drop_people(
    connection: Connection,
    plan: plans.ForgettingPlan,
    counts: dict[str, int],
    erased_ids: ErasedIds,
    now: datetime,
    *,
    complete: bool,
) -> None:
    """Delete the people of a whole plan, their preferences, accounts and verdicts."""
    match plan:
        case plans.Everything(who):
            ids = [who]
            counts["accounts"] = erase_accounts(connection, [who], ())
            erase_installations(connection, [who], ())
        case plans.Gone(sources=sources) if complete and sources:
            counts["accounts"] = erase_accounts(connection, (), sources)
            erase_installations(connection, (), sources)
            columns = (person.c.id, preference.c.owner)  # an owner of preferences may have written nothing
            queries = (select(column).where(selection.of_sources(column, sources)) for column in columns)
            ids = connection.execute(union(*queries)).scalars().all()
        case _:
            return
    counts |= {"preferences": 0, "people": 0}
    for who in ids:
        connection.execute(delete(workspace).where(workspace.c.person == who))
        connection.execute(delete(profile).where(profile.c.person == who))
        connection.execute(delete(verdict).where(verdict.c.person == who))
        connection.execute(delete(feedback).where(feedback.c.person == who))
        connection.execute(update(feedback).where(feedback.c.owner == who).values(owner=""))
        approvals.drop_person(connection, who, now)
        budget_days.drop_person(connection, who, now)
        handoffs.drop_person(connection, who, now)
        connection.execute(delete(poll_vote).where(poll_vote.c.person == who))
        tool_calls.drop_person(connection, who, erased_ids.of_person(who))
        outbox.drop_person(connection, who)
        connection.execute(update(document).where(document.c.person == who).values(person=""))
        chosen = delete(preference).where(preference.c.owner == who, preference.c.value != plans.PAUSED)
        counts["preferences"] += connection.execute(chosen).rowcount
        entered = preference.c.name == plans.CONNECT_ENTERED, preference.c.value.endswith(f" {who}", autoescape=True)
        connection.execute(
            delete(preference).where(or_(preference.c.name == f"{plans.CONNECTED} {who}", and_(*entered)))
        )
        counts["people"] += connection.execute(delete(person).where(person.c.id == who)).rowcount


def _keep_person(connection: Connection, who: str, erased_ids: ErasedIds, now: datetime) -> str:
    """Store and return a hash for the person, so that restoring an older backup also erases rows without a message."""
    hashes = map(partial(erased_ids.of_everything, who), count())
    unused = next(hash_ for hash_ in hashes if not set(values_in(connection, erased.c.hash, erased.c.hash, [hash_])))
    connection.execute(insert(erased).values(hash=unused, time=now))
    return unused


def drop_kept(connection: Connection, doomed: ErasureSet) -> None:
    """Delete what holds the words of erased messages in another form: embeddings, scratch values, files of code."""
    for column in KEYED_BY_MESSAGE:
        drop(connection, column, doomed.messages)
    drop(connection, working_item.c.id, doomed.scratch)
    drop(connection, saved_file.c.id, doomed.files)


def drop(connection: Connection, column: Column[int], ids: Collection[int]) -> int:
    """Delete the rows in which the column holds one of these ids; returns how many there were."""
    return sum(connection.execute(delete(column.table).where(where)).rowcount for where in in_batches(column, ids))
