"""Erasing: everything that falls with a plan, in one transaction. Nothing of it is proved here.

What falls: the messages that the plan reaches and the replies to them, whatever is keyed by them, their turns (a
waiting or running one is thereby cancelled: its worker gets LeaseLost) with action records and workspaces; replies that
quote them; what was learned from them; what other turns made of them (`store.forgetting.erase`); the summary of each
touched conversation; jobs that name them; schedules; an empty conversation; for everything, the person and what they
chose. Platform ids stay as keyed hashes, and what model calls and tools took without turn and channel.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain, count
from typing import Any, Final

from sqlalchemy import Column, Connection, Row, and_, delete, exists, false, func, insert, or_, select, union, update

from agent.memory import forgetting_plans as plans
from agent.memory.documents import SHARING
from agent.records import DELETE_REPLY, EPHEMERAL_PAGE, POSTED_BY_BOT, Author, ShownPage, ShownReply
from store import calls, job_queue, rows, sign_ins
from store.databases.database import is_postgresql
from store.forgetting import erasure_set, selection
from store.forgetting.erasure_set import KEYED_BY_MESSAGE, ErasureSet, earliest, find_erasure_set
from store.forgetting.retold import contexts
from store.forgetting.selection import ErasedIds, batches, in_batches, rows_in, select_rows, unasked, values_in
from store.knowledge_tables import document
from store.memory import fact_store, people
from store.search import index, passages
from store.search.text import holds
from store.tables import (
    RUNNING,
    WAITING,
    action_record,
    consent,
    conversation,
    erased,
    fact,
    job,
    message,
    meta,
    open_question,
    page,
    participant,
    person,
    preference,
    profile,
    schedule,
    tool_call,
    turn,
    verdict,
    working_item,
    workspace,
)

# What platforms show of what falls: pages that should be deleted there, too, and threads that were named after it.
#
# Rule: a job belongs to nobody, so that a person who then has everything forgotten does not stop it. When it is done,
# nothing of it stays.


def thread_titles(connection: Connection, plan: plans.ForgettingPlan) -> list[ShownPage]:
    """The threads that were named after a question that the plan erases: after the first that was answered there."""
    asked = [one for one in select_rows(connection, plan).said.values() if one.author == Author.PERSON]
    first = func.min(turn.c.id)
    answered = select(first).where(turn.c.pages != "[]").group_by(turn.c.conversation)
    begun = rows_in(connection, answered, turn.c.conversation, {one.conversation for one in asked})
    falls = {row[0] for row in begun} & {one.turn for one in asked}
    named = rows_in(connection, select(turn.c.source, turn.c.channel, turn.c.conversation), turn.c.id, falls)
    return [ShownPage(source, channel, conversation, ShownReply.TITLE) for source, channel, conversation in named]


def queue_page_deletions(connection: Connection, doomed: ErasureSet, now: datetime) -> int:
    """Have the pages of the replies that fall deleted, and the questions that the bot posted; how many there are that
    can be reached.
    """
    answered = {one.turn for one in doomed.said.values() if one.author == Author.BOT}
    shown = select(turn.c.source, turn.c.channel, turn.c.pages)
    pages = _pages(rows_in(connection, shown, turn.c.id, answered), ShownReply.PAGE)
    asked = {one.turn for one in doomed.said.values() if one.author == Author.PERSON}
    posted = select(turn.c.source, turn.c.channel, turn.c.message_id).where(turn.c.event_id.startswith(POSTED_BY_BOT))
    pages += [ShownPage(*row) for row in rows_in(connection, posted, turn.c.id, asked)]
    _queue(connection, pages, now)
    return len(pages)


def queue_kept_lines(connection: Connection, facts: Collection[int], now: datetime) -> None:
    """Have the replies that say these facts were remembered say that they no longer are."""
    told = select(turn.c.source, turn.c.channel, turn.c.pages)
    kept = told.join(message, message.c.turn == turn.c.id).join(fact, fact.c.source_message == message.c.id)
    _queue(connection, _pages(rows_in(connection, kept.distinct(), fact.c.id, facts), ShownReply.KEPT), now)


def _pages(shown: Iterable[Row[str, str, str]], what: ShownReply) -> list[ShownPage]:
    return [
        ShownPage(source, channel, page, what)
        for source, channel, stored in shown
        for page in rows.read_pages(stored)
        if not page.startswith(EPHEMERAL_PAGE)
    ]


def _queue(connection: Connection, pages: Iterable[ShownPage], now: datetime) -> None:
    for shown in pages:
        values = {"payload": shown.encode(), "run_at": now, "person": "", "conversation": ""}
        job_queue.schedule(connection, DELETE_REPLY, shown.key, values)


# What turns that stay have made of what falls: taken out, and open turns set back to their start.
#
# Rules
#   A turn in whose context a message or a fact stood that falls loses its action records; its conversation, the
#   summary. An open turn whose progress names such a message, or contains an erased text, starts anew without its
#   progress and under the next epoch, so its worker gets LeaseLost. Quoted texts in its payload that contain one are
#   taken out. (`holds` says how long a text must be to tell.) A turn that runs meanwhile has not yet said what stood
#   in its context. In the conversations that lose something, and for the people who do, it loses its saved progress;
#   `store.turns.ledger` drops its records and summary when it ends.


def drop_records(connection: Connection, doomed: ErasureSet) -> tuple[int, frozenset[str]]:
    """How many action records of turns that stay went, and in which conversations."""
    since = None if doomed.facts else earliest(doomed.said)
    told = contexts(connection, since) if doomed.said or doomed.facts else ()
    near = [one for one in told if one.context & doomed.said.keys() or one.facts & doomed.facts]
    gone, conversations = 0, set[str]()
    for one in near:
        if one.turn in doomed.turns:
            continue
        conversations.add(one.conversation)
        gone += drop(connection, action_record.c.turn, [one.turn])
        calls.drop_arguments(connection, tool_call.c.turn == one.turn)
        left = {
            "context_messages": rows.write_ids(one.context - doomed.said.keys()),
            "given_messages": rows.write_ids(one.given - doomed.said.keys()),
            "context_facts": rows.write_ids(one.facts - doomed.facts),
            "progress": "",
        }
        connection.execute(update(turn).where(turn.c.id == one.turn).values(**left))
    return gone, frozenset(conversations)


def set_back(connection: Connection, doomed: ErasureSet, texts: Collection[str], now: datetime) -> None:
    """Let open turns start anew that have already made something of what falls."""
    open_ = select(turn.c.id, turn.c.progress, turn.c.payload).where(turn.c.state.in_((WAITING, RUNNING)))
    for turn_id, progress, payload in connection.execute(open_).all():
        if turn_id in doomed.turns:
            continue
        values: dict[str, object] = {}
        if rows.progress_sources(progress) & doomed.said.keys() or holds_any(rows.strings_in(progress), texts):
            values = rows.restarted(turn.c.epoch + 1)
            drop(connection, consent.c.turn, [turn_id])
            calls.drop_arguments(connection, tool_call.c.turn == turn_id)
            calls.settle(connection, turn.c.id == turn_id, now)
        kept = rows.without_quoted(payload, lambda quoted: holds_any([quoted], texts))
        if kept != payload:
            values["payload"] = kept
        if values:
            connection.execute(update(turn).where(turn.c.id == turn_id).values(**values))
    for column, some in ((turn.c.person, doomed.people), (turn.c.conversation, doomed.conversations)):
        for near in in_batches(column, some):
            runs = and_(turn.c.state == RUNNING, near)
            calls.drop_arguments(connection, tool_call.c.turn.in_(select(turn.c.id).where(runs)))
            connection.execute(update(turn).where(runs).values(progress=""))
    begun_anew = select(turn.c.id).where(turn.c.state.in_((WAITING, RUNNING)), turn.c.progress == "")
    connection.execute(delete(workspace).where(workspace.c.task_id.in_(begun_anew)))


def drop_summaries(connection: Connection, conversations: Collection[str]) -> int:
    held = (and_(where, conversation.c.summary != "{}") for where in in_batches(conversation.c.id, conversations))
    return sum(connection.execute(update(conversation).where(each).values(summary="{}")).rowcount for each in held)


def drop_waiting(connection: Connection, conversations: Collection[str], said: Collection[int]) -> None:
    """Take out of what waits to be brought back (`store.forgetting.entries`) what was made of these messages: facts and
    entries that came of them, and the summaries and action records of the conversations that lose something.
    """
    waiting = and_(job.c.kind == plans.ERASE_ENTRIES, job.c.payload != "")
    for id_, payload in connection.execute(select(job.c.id, job.c.payload).where(waiting)).all():
        kept: dict[str, list[dict[str, Any]]] = json.loads(payload)
        torn = {row["entry"] for row in kept["sources"] if row["message"] in said}
        turns = select(turn.c.id).where(turn.c.id.in_({row["turn"] for row in kept["actions"]}))
        sound = set(connection.execute(turns.where(turn.c.conversation.not_in(sorted(conversations)))).scalars())
        left = kept | {
            "facts": [row for row in kept["facts"] if row["source_message"] not in said],
            "entries": [row for row in kept["entries"] if row["id"] not in torn],
            "sources": [row for row in kept["sources"] if row["entry"] not in torn],
            "summaries": [row for row in kept["summaries"] if row["id"] not in conversations],
            "actions": [row for row in kept["actions"] if row["turn"] in sound],
        }
        if left != kept:
            connection.execute(update(job).where(job.c.id == id_).values(payload=rows.json_text(left)))


def waiting_words(payload: str) -> list[str]:
    """The words in what waits to be brought back. Its ids, places and times stand elsewhere, too, and rightly so."""
    kept: dict[str, list[dict[str, Any]]] = json.loads(payload or "{}")
    said = ("facts", ("key", "value")), ("entries", ("key", "text")), ("actions", ("thinking",))
    made = ("summaries", ("summary",)), ("actions", ("calls", "results"))
    plain = [row[name] for rows_, names in said for row in kept.get(rows_, []) for name in names]
    stored = [row[name] for rows_, names in made for row in kept.get(rows_, []) for name in names]
    return list(filter(None, [*plain, *(held for json_ in stored for held in rows.strings_in(json_))]))


def summary_texts(connection: Connection, conversations: Collection[str]) -> Iterator[str]:
    for stored in values_in(connection, conversation.c.summary, conversation.c.id, conversations):
        yield from filter(None, rows.strings_in(stored))


def holds_any(held: Iterable[str], texts: Collection[str]) -> bool:
    return any(holds(some, erased) for some in held for erased in texts)


SWEEP_OWED: Final = "sweep_owed"


@dataclass(frozen=True, slots=True)
class Wishes:
    """How much at once (None: all of it), whether the bot's replies should be deleted in the platform, too, and whether
    what may have been made of it falls.
    """

    limit: int | None = None
    replies: bool = False
    related: bool = False


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasing took away: the texts for the search for proof, counts for the receipt."""

    doomed: ErasureSet
    texts: list[str]
    summaries: list[str]
    touched: frozenset[str]
    readers: list[int]
    counts: dict[str, int] = field(default_factory=dict[str, int])
    replies: int = 0


def erase_by_plan(
    connection: Connection, plan: plans.ForgettingPlan, erased_ids: ErasedIds, now: datetime, wishes: Wishes = Wishes()
) -> Erasure:
    """Carry out `plan`. Nobody else may write meanwhile."""
    doomed = find_erasure_set(connection, plan, wishes.limit, related=wishes.related)
    jobs, planned = _jobs(connection, plan, doomed)
    planned += values_in(connection, schedule.c.words, schedule.c.id, doomed.schedules)
    texts, summaries = _texts(connection, doomed, planned)
    readers = [look(connection, *doomed.conversations) for look in (index.readers, index.places_of)]
    known = selection.documents_of(plan)
    texts += passages.texts_of(connection, known)
    deleting = queue_page_deletions(connection, doomed, now) if wishes.replies else 0
    _keep_hashes(connection, doomed, erased_ids, now)
    for where in in_batches(turn.c.id, doomed.turns):
        calls.settle(connection, where, now)
    actions, elsewhere = drop_records(connection, doomed)
    set_back(connection, doomed, texts, now)
    counts = {"actions": actions, "jobs": drop(connection, job.c.id, jobs)}
    _unindex(connection, plan, doomed)
    _drop_turns(connection, doomed, counts, now)
    counts["facts"] = sum(fact_store.remove_rows(connection, some) for some in batches(doomed.facts))
    counts["profile"] = erasure_set.erase_entries(connection, plan, doomed.entries, doomed.people)
    drop_kept(connection, doomed)
    counts["messages"] = drop(connection, message.c.id, doomed.said) + _drop_unasked(connection, plan)
    counts["turns"] = drop(connection, turn.c.id, doomed.turns)
    _part(connection, plan, doomed)
    touched = doomed.conversations | elsewhere
    drop_waiting(connection, touched, doomed.said)
    counts["summaries"] = drop_summaries(connection, touched)
    _drop_empty(connection, doomed.conversations)
    counts["conversations"] = len(doomed.conversations)
    if documents := passages.erase(connection, known, wishes.limit):
        counts["documents"] = documents
    if schedules := drop(connection, schedule.c.id, doomed.schedules):
        counts["schedules"] = schedules
    _drop_people(connection, plan, counts, erased_ids, whole=doomed.whole)
    if isinstance(plan, plans.Everything) and any(counts.values()):
        _keep_person(connection, plan.person, erased_ids, now)
    _switch_off(connection, plan, doomed)
    owe(connection)
    return Erasure(doomed, texts, summaries, touched, [*chain(*readers)], counts, deleting)


def owed(connection: Connection) -> bool:
    return connection.execute(select(meta.c.name).where(meta.c.name == SWEEP_OWED)).first() is not None


def owe(connection: Connection) -> None:
    """Bytes have to be wiped; a server keeps its files itself."""
    if is_postgresql(connection):
        return
    settle(connection)
    connection.execute(insert(meta).values(name=SWEEP_OWED, value=b""))


def settle(connection: Connection) -> None:
    connection.execute(delete(meta).where(meta.c.name == SWEEP_OWED))


def _jobs(connection: Connection, plan: plans.ForgettingPlan, doomed: ErasureSet) -> tuple[list[int], list[str]]:
    """The jobs that fall, and the words that they hold: of the plan's person or place, with an erased text in them, or
    with a newer text of an erased message.

    What the person deleted a moment ago goes at once, whatever they ask for: nobody could say whether it is part of it.
    """
    match plan:
        case plans.OneThread(person=who, conversations=there):
            deleted = job.c.kind == plans.ERASE_ENTRIES
            named = and_(job.c.person == who, or_(deleted, job.c.conversation.in_(sorted(there))))
        case plans.During(person=who) | plans.AboutTopic(person=who):
            named = and_(job.c.person == who, job.c.kind == plans.ERASE_ENTRIES)
        case plans.Everything(person=who):
            named = job.c.person == who
        case plans.Gone(conversations=gone, sources=sources):
            theirs = (job.c.person.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
            named = or_(job.c.conversation.in_(sorted(gone)), *theirs)
        case _:
            named = false()
    texts = [one.text for one in doomed.said.values() if one.text]
    near = or_(named, *in_batches(job.c.person, doomed.people))
    held = select(job.c.id, job.c.kind, job.c.key, job.c.payload, named).where(near)
    edits = {plans.post_key(one.channel, one.message_id) for one in doomed.said.values() if one.message_id}
    found: list[tuple[int, list[str]]] = []
    for id_, kind, key, payload, is_named in connection.execute(held):
        waits = kind == plans.ERASE_ENTRIES
        words = waiting_words(payload) if waits else list(rows.strings_in(payload))
        if is_named or (kind == plans.EDIT and key in edits) or holds_any(words, texts):
            found.append((id_, words))
    return [id_ for id_, _ in found], [word for _, words in found for word in words]


def _texts(connection: Connection, doomed: ErasureSet, planned: list[str]) -> tuple[list[str], list[str]]:
    """What was said or kept, and what the summaries of the touched conversations and the profiles said."""
    said = [one.text for one in doomed.said.values()]
    kept = [
        text for row in rows_in(connection, select(fact.c.key, fact.c.value), fact.c.id, doomed.facts) for text in row
    ]
    made = [*summary_texts(connection, doomed.conversations), *erasure_set.entry_texts(connection, doomed.entries)]
    return list(dict.fromkeys(filter(None, [*said, *kept, *planned]))), list(dict.fromkeys(filter(None, made)))


def _keep_hashes(connection: Connection, doomed: ErasureSet, erased_ids: ErasedIds, now: datetime) -> None:
    known = select(
        turn.c.id, turn.c.source, turn.c.event_id, turn.c.channel, turn.c.message_id, turn.c.pages, turn.c.reply_ref
    )
    hashes: set[str] = set()
    fallen = rows_in(connection, known, turn.c.id, doomed.turns | doomed.worn)
    for id_, source, event_id, channel, message_id, *shown in fallen:
        hashes.update((erased_ids.of_event(source, event_id), erased_ids.of_post(channel, message_id)))
        if id_ in doomed.turns:
            hashes.update(erased_ids.of_page(channel, page) for ref in shown for page in rows.read_pages(ref))
    hashes -= set(values_in(connection, erased.c.hash, erased.c.hash, hashes))
    if hashes:
        connection.execute(insert(erased), [{"hash": hash_, "time": now} for hash_ in sorted(hashes)])


def _unindex(connection: Connection, plan: plans.ForgettingPlan, doomed: ErasureSet) -> None:
    for some in batches(doomed.said.keys()):
        index.remove(connection, some)
    if isinstance(plan, plans.Everything) and (number := people.number_of(connection, plan.person)) is not None:
        index.remove_all(connection, number)


def _drop_unasked(connection: Connection, plan: plans.ForgettingPlan) -> int:
    """Questions that wait to be taken in: whoever would ask them finds none."""
    names = unasked(connection, plan)
    theirs = and_(preference.c.owner == getattr(plan, "person", ""), preference.c.name.in_(names))
    return connection.execute(delete(preference).where(theirs)).rowcount if names else 0


def _drop_turns(connection: Connection, doomed: ErasureSet, counts: dict[str, int], now: datetime) -> None:
    """What belongs to the turns that fall, or to a reply that falls; the turns themselves go after their messages."""
    counts["workspaces"] = drop(connection, workspace.c.task_id, doomed.turns)
    silent = {one.turn for one in doomed.said.values() if one.author == Author.BOT} | doomed.turns
    counts["actions"] += drop(connection, action_record.c.turn, silent)
    for column in (page.c.turn, verdict.c.turn, consent.c.turn, open_question.c.turn):
        drop(connection, column, silent)
    for where in in_batches(tool_call.c.turn, silent):
        calls.drop_arguments(connection, where)
    for where in in_batches(turn.c.id, doomed.turns):
        calls.detach(connection, select(turn.c.id).where(where), now)
    for id_ in doomed.worn:
        nameless = {"event_id": f"erased:{id_}", "message_id": f"erased:{id_}"}
        connection.execute(update(turn).where(turn.c.id == id_).values(**nameless))


def _part(connection: Connection, plan: plans.ForgettingPlan, doomed: ErasureSet) -> None:
    """Who has not a word left in a conversation is no part of it, and finds nothing of it."""
    wrote = and_(
        message.c.conversation == participant.c.conversation,
        message.c.person == participant.c.person,
        message.c.author == Author.PERSON,
    )
    left = select(participant.c.conversation, participant.c.person).where(~exists().where(wrote))
    places = list(in_batches(participant.c.conversation, doomed.conversations))
    if isinstance(plan, plans.Everything):
        places.append(participant.c.person == plan.person)
    for where in places:
        for conversation_id, person_id in connection.execute(left.where(where)).all():
            if (number := people.number_of(connection, person_id)) is not None:
                index.remove_thread(connection, conversation_id, number)
            gone = and_(participant.c.conversation == conversation_id, participant.c.person == person_id)
            connection.execute(delete(participant).where(gone))


def _drop_empty(connection: Connection, conversations: frozenset[str]) -> None:
    spoken = exists().where(message.c.conversation == conversation.c.id)
    waits = exists().where(turn.c.conversation == conversation.c.id)
    for where in in_batches(conversation.c.id, conversations):
        connection.execute(delete(conversation).where(where, ~spoken, ~waits))
    _go_on_nowhere(connection, conversations)


def _go_on_nowhere(connection: Connection, conversations: frozenset[str]) -> None:
    """What no longer goes on in a channel: one of these, and what was begun after the last of them, still wordless."""
    stands = exists().where(conversation.c.id == preference.c.value)
    for where in in_batches(preference.c.value, conversations):
        connection.execute(delete(preference).where(where, ~stands))
    channel = func.substr(preference.c.owner, len(plans.GOES_ON) + 1)
    within = func.substr(conversation.c.id, 1, func.length(channel) + 1) == channel + ":"
    left = exists().where(or_(conversation.c.id == channel, within))
    channels = {name for one in conversations for name in (one, one.rpartition(":")[0])}
    for where in in_batches(preference.c.owner, {f"{plans.GOES_ON}{name}" for name in channels}):
        connection.execute(delete(preference).where(where, ~left))


def _switch_off(connection: Connection, plan: plans.ForgettingPlan, doomed: ErasureSet) -> None:
    """In a channel that the bot comes back to nothing is shared or chosen until people there are told so again."""
    if isinstance(plan, plans.Gone):
        channels = plan.channels | ({one.channel for one in doomed.said.values()} if plan.sources else set[str]())
        for where in in_batches(preference.c.owner, {f"channel:{one}" for one in channels}):
            chosen = preference.c.name.in_((SHARING, plans.PLACE_RULES, plans.AMBIENT_STATE))
            connection.execute(delete(preference).where(where, chosen))


def _drop_people(
    connection: Connection, plan: plans.ForgettingPlan, counts: dict[str, int], erased_ids: ErasedIds, *, whole: bool
) -> None:
    """Who has nothing left, and what they chose."""
    match plan:
        case plans.Everything(who):
            people_ = [who]
            counts["accounts"] = sign_ins.erase_accounts(connection, [who], ())
            sign_ins.erase_installations(connection, [who], ())
        case plans.Gone(sources=sources) if whole and sources:
            counts["accounts"] = sign_ins.erase_accounts(connection, (), sources)
            sign_ins.erase_installations(connection, (), sources)
            columns = (person.c.id, preference.c.owner)  # who chose something may have said nothing
            each = (select(column).where(selection.of_sources(column, sources)) for column in columns)
            people_ = connection.execute(union(*each)).scalars().all()
        case _:
            return
    counts |= {"preferences": 0, "people": 0}
    for who in people_:
        connection.execute(delete(workspace).where(workspace.c.person == who))
        connection.execute(delete(profile).where(profile.c.person == who))
        connection.execute(delete(verdict).where(verdict.c.person == who))
        calls.drop_person(connection, who, erased_ids.of_person(who))
        connection.execute(update(document).where(document.c.person == who).values(person=""))
        chosen = delete(preference).where(preference.c.owner == who, preference.c.value != plans.PAUSED)
        counts["preferences"] += connection.execute(chosen).rowcount
        counts["people"] += connection.execute(delete(person).where(person.c.id == who)).rowcount


def _keep_person(connection: Connection, who: str, erased_ids: ErasedIds, now: datetime) -> None:
    """So that a backup of before forgets what of them hangs on no message, too."""
    each = map(partial(erased_ids.of_everything, who), count())
    new = next(one for one in each if not set(values_in(connection, erased.c.hash, erased.c.hash, [one])))
    connection.execute(insert(erased).values(hash=new, time=now))


def drop_kept(connection: Connection, doomed: ErasureSet) -> None:
    """Delete what holds the words of messages that fall in another form: their vectors, and scratch values."""
    for column in KEYED_BY_MESSAGE:
        drop(connection, column, doomed.said)
    drop(connection, working_item.c.id, doomed.scratch)


def drop(connection: Connection, column: Column[int], ids: Collection[int]) -> int:
    """Delete the rows in which the column holds one of these ids; how many there were."""
    return sum(connection.execute(delete(column.table).where(where)).rowcount for where in in_batches(column, ids))
