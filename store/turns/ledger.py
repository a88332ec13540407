"""The ledger: which turns there are, who runs them, and what they leave behind.

Rules
  A message is taken in once: by its event, by its place in the platform, and never again after it was forgotten.
  Within a conversation turns run one at a time, in the order of their ids, which is the order in which the questions
  were asked as long as they wait (`store.turns.ledger`). Across conversations `store.turns.turn_queue` decides. Each
  claim raises the epoch; every later write names it. A worker whose lease ran out and was taken over, or whose turn was
  forgotten, gets LeaseLost and has changed nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, assert_never, cast

import sqlalchemy as sa
from cachetools import LRUCache

from agent import texts
from agent.admission_terms import Authority, BacklogFull, Closed, Rate, RateReached, Terms, TermsNotMet, Whose
from agent.errors import LeaseLost, StoreError
from agent.memory.audience import NOWHERE, WIDE, TeamAudience, drawn_from, label, may_flow_from
from agent.progress import decode
from agent.records import Accepted, Author, Claim, Claiming, Closing, Incoming, Job, is_repeat, repeats_with
from agent.schedules import asked_in, is_work
from agent.state import SituationSummary, Workspace
from store import calls, history, rows
from store.databases.database import Database, SqlStore, in_order, reads, row_id, writes
from store.forgetting.selection import ErasedIds
from store.memory import fact_store, people
from store.search import index, passages
from store.search.text import IndexedText, index_words, is_telling, stem
from store.tables import (
    DONE,
    RUNNING,
    WAITING,
    action_record,
    consent,
    conversation,
    fact,
    message,
    open_question,
    page,
    participant,
    tool_call,
    turn,
    workspace,
)
from store.turns import amendments, turn_queue
from store.turns.amendments import restrict_place
from store.turns.turn_queue import claim_turn

# Whether a message may be taken in now: counted inside the transaction that would store it.
#
# Rules
#   What is overheard, and what came before this was counted, has no time of its own (`taken`) and does not count. On
#   PostgreSQL the writers of one person, and those in one channel, follow one another while they are counted, so that
#   two replicas cannot both let the last one in. The backlog is counted without: a few too many do no harm.
#   The backlog of all is one, but one team's flood does not close it to the others: while it is full, and until it is
#   twice as long, a team of which few wait is still let in.

TEAM_SHARE: Final = 10  # One in so many of the backlog a team may have when it is full


def check_terms(connection: sa.Connection, incoming: Incoming, terms: Terms) -> None:
    """Raises TermsNotMet with the first term that is not met: closed, the rates in their order, the backlog."""
    if terms.closed:
        raise TermsNotMet(Closed())
    for whose in (Whose.PERSON, Whose.CHANNEL):  # always in this order: nobody waits for one who waits for them
        if any(rate.whose is whose for rate in terms.rates):
            in_order(connection, f"{whose}:{incoming.person.id if whose is Whose.PERSON else incoming.channel}")
    counts = [_oldest_that_counts(rate, incoming, terms.now) for rate in terms.rates]
    most = terms.backlog or 0
    theirs = sa.and_(turn.c.source == incoming.source, turn.c.team == incoming.team)
    row = connection.execute(sa.select(_waiting(2 * most), _waiting(most, theirs), *counts)).one()
    waiting, of_team, oldest = row[0], row[1], cast("Sequence[datetime | None]", row[2:])
    for rate, taken in zip(terms.rates, oldest, strict=True):
        if taken is not None:
            raise TermsNotMet(RateReached(rate, taken + rate.within))
    full = waiting >= most and of_team >= most // TEAM_SHARE
    if terms.backlog is not None and (full or waiting >= 2 * most):
        raise TermsNotMet(BacklogFull(waiting))


def _oldest_that_counts(rate: Rate, incoming: Incoming, now: datetime) -> sa.ScalarSelect[datetime]:
    """When the message was taken in that stands in the way of one more; NULL if there is none."""
    latest = sa.select(turn.c.taken).where(_of(rate, incoming), turn.c.taken > now - rate.within)
    nth = latest.order_by(turn.c.taken.desc()).offset(rate.limit - 1).limit(1)
    return nth.scalar_subquery()


def _of(rate: Rate, incoming: Incoming) -> sa.ColumnElement[bool]:
    match rate.whose:
        case Whose.PERSON:
            return turn.c.person == incoming.person.id
        case Whose.CHANNEL:
            return turn.c.channel == incoming.channel
        case Whose.WORKSPACE:
            return sa.and_(turn.c.source == incoming.source, turn.c.team == incoming.team)
        case Whose.EVERYONE:
            return sa.true()
        case _:
            assert_never(rate.whose)


def _waiting(limit: int, of: sa.ColumnElement[bool] = sa.true()) -> sa.ScalarSelect[int]:  # noqa: B008 -- a constant
    """How many turns wait for a free slot, counted no further than `limit`."""
    waits = sa.and_(sa.text("state = 'waiting'"), turn.c.run_at.is_(None), of)
    some = sa.select(turn.c.id).where(waits).limit(limit).subquery()
    return sa.select(sa.func.count()).select_from(some).scalar_subquery()


# The workspace of a task that runs, in a row of its own (seed 001).
#
# Rule: the row is what the model wrote last, checked against the schema when it was read, so that an operator sees
# what a running task is about; the turn goes on from its progress, which holds the same.


def keep_workspace(connection: sa.Connection, claim: Claim, progress: str) -> None:
    """Keep the newest workspace of this progress, if it has one."""
    newest = _newest(progress)
    if newest is None:
        return
    values = asdict(newest)
    if not connection.execute(sa.update(workspace).where(workspace.c.task_id == claim.turn).values(values)).rowcount:
        new = sa.insert(workspace).values(task_id=claim.turn, person=claim.incoming.person.id, **values)
        connection.execute(new)


def drop_workspace(connection: sa.Connection, turn: int) -> None:
    """The task is over, or begins anew."""
    connection.execute(sa.delete(workspace).where(workspace.c.task_id == turn))


def _newest(progress: str) -> Workspace | None:
    try:
        steps = decode(progress).steps
    except ValueError:
        return None
    return next((step.workspace for step in reversed(steps) if step.workspace is not None), None)


FORGOTTEN: Final = 0  # The turn number of a message that was forgotten: there is none

# Made once: making a statement takes longer than running it. Its values are given with it.
_NEW_TURN: Final = sa.insert(turn).values(round=turn_queue.NEXT_ROUND)
_NEW_MESSAGE: Final = sa.insert(message)
_NEW_PAGE: Final = sa.insert(page)
_HELD: Final = sa.update(turn).where(
    turn.c.id == sa.bindparam("held"), turn.c.epoch == sa.bindparam("held_epoch"), turn.c.state == RUNNING
)
_SOME_WAIT: Final = sa.select(turn.c.id).where(turn.c.state == WAITING, turn.c.run_at.is_(None)).limit(1)
_HELD_IN_VAIN: Final = _HELD.values(attempts=sa.case((turn.c.attempts > 0, turn.c.attempts - 1), else_=0))


def accept(
    connection: sa.Connection,
    incoming: Incoming,
    said: IndexedText,
    erased_ids: ErasedIds,
    state: str = WAITING,
    terms: Terms | None = None,
    claiming: Claiming | None = None,
    narrowing: bool = False,  # noqa: FBT001,FBT002 -- given by position, with all the others
) -> Accepted:
    """`narrowing`: the channel may hold what was said there while more could read it."""
    in_order(connection, incoming.conversation)
    known = people.standing(connection, incoming, erased_ids.of_message(incoming))
    if known.turn is not None or known.forgotten:
        return Accepted(FORGOTTEN if known.turn is None else known.turn, duplicate=True)
    if terms is not None:
        check_terms(connection, incoming, terms)
    audience = _audience(incoming)
    if narrowing:
        restrict_place(connection, incoming.channel, incoming.place, incoming.time)
    readers = people.upsert_participant(connection, incoming, audience, known)
    new = rows.begun(incoming, state, None if terms is None else terms.now) | turn_queue.of_team(incoming)
    turn_id = row_id(connection.execute(_NEW_TURN, new))
    asked = _message(incoming, said, audience) | {
        "turn": turn_id,
        "author": Author.PERSON,
        "time": incoming.time,
        "message_id": incoming.message_id,
        "permalink": incoming.permalink,
    }
    if is_repeat(incoming.message_id) and _taken_back(connection, incoming):
        asked |= {"taken_back": True, "passed_over": True}
    place = _shared_in(connection, incoming, audience) if known.shares else None
    asked_id = row_id(connection.execute(_NEW_MESSAGE, asked | {"place": place}))
    index.add(connection, asked_id, incoming.conversation, said, readers, place)
    if state == WAITING and known.latest is not None and incoming.time < known.latest:
        turn_id = amendments.reorder_late_question(connection, incoming.conversation, turn_id, incoming.time)
    claim = None if claiming is None else claim_turn(connection, claiming)
    if claiming is not None and claiming.waits:
        turn_queue.hold_place(connection, incoming.source, claiming.now + claiming.lease)
    return Accepted(turn_id, duplicate=False, claim=claim)


def _shared_in(connection: sa.Connection, incoming: Incoming, audience: str) -> int | None:
    """The place with whose team this is shared, in a channel where that is switched on: what a full member says to the
    team.
    """
    to_team = isinstance(incoming.place.audience, TeamAudience) and incoming.authority >= Authority.EMPLOYEE
    return passages.place_number(connection, audience) if to_team else None


def _taken_back(connection: sa.Connection, incoming: Incoming) -> bool:
    """Whether its person took back what was kept of the message that this one repeats."""
    same = sa.and_(turn.c.channel == incoming.channel, turn.c.message_id.in_(repeats_with(incoming.message_id)))
    theirs = sa.and_(message.c.person == incoming.person.id, message.c.taken_back)
    said = sa.select(message.c.id).join(turn, message.c.turn == turn.c.id).where(same, theirs).limit(1)
    return connection.execute(said).first() is not None


def renew(connection: sa.Connection, claim: Claim, now: datetime, lease: timedelta) -> None:
    _write(connection, claim, {"lease_until": now + lease})


def save(connection: sa.Connection, claim: Claim, *, progress: str | None, reply_ref: str | None) -> bool:
    """False: the progress names a message that was forgotten, and the turn waits again, from its start.

    One that had just joined and was then deleted unanswered does not count: nothing that was done would be undone.
    """
    if progress is not None and not _all_stand(connection, message, amendments.quoted_messages(connection, progress)):
        calls.settle_claim(connection, claim, rows.progress_calls(progress), claim.incoming.time)
        _write(connection, claim, rows.restarted(claim.epoch + 1))
        drop_workspace(connection, claim.turn)
        connection.execute(sa.delete(consent).where(consent.c.turn == claim.turn))
        calls.drop_arguments(connection, tool_call.c.turn == claim.turn)
        fact_store.begin_anew(connection, claim.message)
        history.discard_kept_by(connection, claim.message)
        return False
    given = {"progress": progress, "reply_ref": reply_ref, "attempts": None if progress is None else 0}
    # With nothing to save it still answers whether the claim holds.
    _write(connection, claim, {k: v for k, v in given.items() if v is not None} or {"epoch": claim.epoch})
    if progress is not None:
        keep_workspace(connection, claim, progress)
    return True


def set_text_of_claimed(connection: sa.Connection, claim: Claim, said: IndexedText) -> None:
    _write(connection, claim, {"epoch": claim.epoch})
    amendments.set_text(connection, claim, said)


def finish(connection: sa.Connection, claim: Claim, closing: Closing, reply: IndexedText, now: datetime) -> bool:
    # Whatever comes in now either sees that the turn is over, or is seen here.
    in_order(connection, claim.incoming.conversation)
    _end(connection, claim, closing, reply, now)
    return connection.execute(_SOME_WAIT).first() is not None


def _end(connection: sa.Connection, claim: Claim, closing: Closing, reply: IndexedText, now: datetime) -> None:
    calls.settle_claim(connection, claim, closing.calls, now)
    _write(connection, claim, rows.ending(closing, now))
    if claim.epoch > 1:  # what a process that was killed may have left
        connection.execute(sa.delete(open_question).where(open_question.c.turn == claim.turn))
    asked = _back_where_asked(connection, claim)
    drop_workspace(connection, claim.turn)
    if closing.pages:
        pages = [{"turn": claim.turn, "source": asked.source, "page": each} for each in closing.pages]
        connection.execute(_NEW_PAGE, pages)
    audience = label(asked.place.audience)
    again = drawn_again(connection, asked.conversation, closing.reply)
    brought = drawn_by_ids(connection, asked, closing.given_messages)
    drawn = drawn_from({closing.drawn_from, *again, *brought}, asked.place)
    if closing.reply:
        reply = replace(reply, length=0, words=()) if drawn == NOWHERE else reply
        place = None if closing.retold else _shared_with_question(connection, claim, closing)
        replied = _message(asked, reply, audience) | {
            "drawn_from": drawn,
            "retold": closing.retold,
            "turn": claim.turn,
            "author": Author.BOT,
            "time": now,
            "message_id": closing.pages[0] if closing.pages else None,
            "place": place,
        }
        answer = row_id(connection.execute(_NEW_MESSAGE, replied))
        readers = index.readers_of(connection, answer)
        index.add(connection, answer, asked.conversation, reply, readers, place)
        amendments.end_joined(connection, claim.turn, closing, now)
    if closing.passed_over:
        people.exempt_from_learning(connection, claim)
    elif closing.learn_at is not None:
        people.queue_for_learning(connection, claim, closing.learn_at, now)
    if not _context_stands(connection, closing):
        calls.drop_arguments(connection, tool_call.c.turn == claim.turn)
        return  # what it drew from was forgotten meanwhile: its records and its summary would bring it back
    if closing.context_facts:
        fact_store.use(connection, closing.context_facts, now)
    if closing.actions:
        records = [rows.action(claim.turn, record, drawn) for record in closing.actions]
        connection.execute(sa.insert(action_record), records)
    if closing.summary is not None and _may_be_kept(connection, asked, closing.summary, drawn):
        _summarise(connection, asked.conversation, audience, closing.summary)
    if closing.summarise_until is not None:
        history.schedule_summary(connection, asked, closing.summarise_until, now)


def _back_where_asked(connection: sa.Connection, claim: Claim) -> Incoming:
    """Long work ran beside the conversation where it was asked for. Its end stands there, among the rest."""
    asked, beside = claim.incoming, claim.incoming.conversation
    there = asked_in(beside)
    if there == beside or not is_work(asked.event_id):
        return asked
    in_order(connection, there)
    takes_part = participant.c.conversation == there, participant.c.person == asked.person.id
    if connection.execute(sa.select(participant.c.person).where(*takes_part)).first() is None:
        return asked  # it was forgotten meanwhile
    for table, column in ((turn, turn.c.id), (message, message.c.turn)):
        connection.execute(sa.update(table).where(column == claim.turn).values(conversation=there))
    connection.execute(sa.delete(participant).where(participant.c.conversation == beside))
    connection.execute(sa.delete(conversation).where(conversation.c.id == beside))
    return replace(asked, conversation=there)


def _shared_with_question(connection: sa.Connection, claim: Claim, closing: Closing) -> int | None:
    """With whom a reply is shared: as its question is, if the channel is still on, and what it was given, which
    it may tell again, is shared there, too.
    """
    here = claim.incoming.channel
    channel = sa.literal(f"channel:{here}")
    still = sa.select(message.c.place).where(message.c.id == claim.message, history.shares(channel, message.c.person))
    is_public = isinstance(claim.incoming.place.audience, TeamAudience)
    shared = connection.execute(still).scalar_one_or_none() if is_public else None
    if shared is None or not (closing.context_messages or closing.context_facts):
        return shared
    noted = sa.select(fact.c.id).where(fact.c.id.in_(map(int, closing.context_facts)), fact.c.person != "").limit(1)
    if connection.execute(noted).first() is not None:  # the bot put it into words, of whatever it knew then
        return None
    given = message.c.id.in_(closing.context_messages)
    is_shared = sa.and_(message.c.place.is_not(None), message.c.channel == here)
    others = sa.select(message.c.id).where(given, ~is_shared, message.c.id != claim.message).limit(1)
    return shared if connection.execute(others).first() is None else None


# What a reply tells again of an earlier one for which tools brought what not all may read.
#
# Rules
#   One that a tool found, or that came with the question, was drawn from. Of those that stand above it in its
#   conversation, one with whose words it has one in common that is in nothing else that was said there; where there are
#   more than are read, any word of that kind. In doubt it was drawn from it: so little is lost as what people wrote
#   themselves is found as before.

RETOLD: Final = 30  # The newest of those replies: a conversation that goes on is about something else by then
BESIDE: Final = 100  # The newest other messages, whose words tell nothing
_NARROW: Final = sa.select(message.c.id, message.c.text, message.c.drawn_from).where(
    message.c.conversation == sa.bindparam("here"), message.c.drawn_from != sa.literal_column("''")
)
_NEWEST_NARROW: Final = _NARROW.order_by(message.c.id.desc()).limit(RETOLD)
_BESIDE: Final = (
    sa.select(message.c.text)
    .where(message.c.conversation == sa.bindparam("here"), message.c.drawn_from == WIDE)
    .order_by(message.c.id.desc())
    .limit(BESIDE)
)


def drawn_again(connection: sa.Connection, conversation: str, told: str) -> set[str]:
    """What those replies of a conversation were drawn from of which this text has a word that tells."""
    newest = connection.execute(_NEWEST_NARROW, {"here": conversation}).all()
    words = _telling(told) if newest else set[str]()
    if not words:
        return set()
    for text in connection.execute(_BESIDE, {"here": conversation}).scalars():
        words -= _telling(text)
    again = {row.drawn_from for row in newest if not words.isdisjoint(_telling(row.text))}
    if words and len(newest) == RETOLD:
        older = _NARROW.where(message.c.id < newest[-1].id).with_only_columns(message.c.drawn_from).distinct()
        again.update(connection.execute(older, {"here": conversation}).scalars())
    return again


def drawn_by_ids(connection: sa.Connection, asked: Incoming, given: Sequence[int]) -> set[str]:
    """What the replies were drawn from that tools found, and that came with the question."""
    quoted = [page_ for one in asked.quoted for page_ in one.pages]
    found = list[sa.Select[*tuple[Any, ...]]]()
    if given:
        found.append(sa.select(message.c.drawn_from).where(message.c.id.in_(given)))
    if quoted:
        shown = sa.and_(page.c.turn == message.c.turn, page.c.source == asked.source, page.c.page.in_(quoted))
        found.append(sa.select(message.c.drawn_from).where(message.c.author == Author.BOT, sa.exists().where(shown)))
    return {drawn for one in found for drawn in connection.execute(one.distinct()).scalars()}


def _may_be_kept(connection: sa.Connection, asked: Incoming, summary: SituationSummary, drawn: str) -> bool:
    """Of what may not be kept, a summary holds no word."""
    words = " ".join(filter(None, asdict(summary).values()))
    return NOWHERE not in {drawn, *drawn_again(connection, asked.conversation, words)}


def _telling(text: str) -> set[str]:
    return {stem(word) for word in index_words(text) if is_telling(word)}


def _summarise(connection: sa.Connection, conversation_id: str, audience: str, update_: SituationSummary) -> None:
    """What is new in the summary, in place of those fields; what was made of it meanwhile stands."""
    same_readers = sa.and_(conversation.c.id == conversation_id, conversation.c.audience == audience)
    stored = connection.execute(sa.select(conversation.c.summary).where(same_readers)).scalar_one_or_none()
    if stored is not None:
        merged = rows.summary(stored).merged(asdict(update_))
        text = rows.summary_text(merged, rows.covered(stored))
        connection.execute(sa.update(conversation).where(same_readers).values(summary=text))


def release(connection: sa.Connection, claim: Claim) -> None:
    _write(connection, claim, {"state": WAITING, "owner": None, "lease_until": None}, _HELD_IN_VAIN)


def put_aside(connection: sa.Connection, claim: Claim, until: datetime) -> None:
    """Waiting so long, it holds up nobody in its conversation."""
    _write(connection, claim, {"state": WAITING, "owner": None, "lease_until": None, "run_at": until}, _HELD_IN_VAIN)
    turn_queue.go_on(connection, claim.turn)  # the asker may have been quick, or somebody has stopped it


MAX_KNOWN: Final = 10_000  # Channels whose kind is remembered; another one costs a look at the next message


@dataclass(slots=True)
class ChannelLabels:
    """The label under which each channel was last seen, as far as this process knows."""

    _labels: LRUCache[tuple[str, str], str] = field(default_factory=lambda: LRUCache(MAX_KNOWN))

    def may_have_changed(self, incoming: Incoming) -> bool:
        """Whether the channel is closed, and was not known to be when something was last said there."""
        place = incoming.place
        return place.is_closed and self._labels.get((incoming.source, incoming.channel)) != label(place.audience)

    def keep(self, incoming: Incoming) -> None:
        place = incoming.place
        if place.is_closed or isinstance(place.audience, TeamAudience):
            self._labels[(incoming.source, incoming.channel)] = label(place.audience)


class SqlLedger(SqlStore):
    restrict_place = writes(restrict_place)
    claim = writes(claim_turn)
    renew = writes(renew)
    release = writes(release)
    put_aside = writes(put_aside)
    stop = writes(amendments.stop)
    take_back = writes(amendments.take_back)
    stopping = reads(amendments.stopping)
    withdrawn = reads(amendments.withdrawn)
    waiting = reads(amendments.waiting_to_join)
    withdraw = writes(amendments.withdraw)
    ended = reads(turn_queue.ended_turns)
    hold_place = writes(turn_queue.hold_place)
    load = reads(turn_queue.current_load)

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids
        self._labels = ChannelLabels()

    async def accept(
        self, incoming: Incoming, terms: Terms | None = None, claiming: Claiming | None = None, *, state: str = WAITING
    ) -> Accepted:
        """See the port. For a message that was forgotten, `Accepted(0, duplicate=True)`.

        Raises StoreError for a place without a name.
        """
        narrowing = self._labels.may_have_changed(incoming)
        said = await index.indexed(self.database, incoming.text)
        taking = accept, incoming, said, self._erased_ids, state, terms, claiming, narrowing
        accepted = await self.database.write(*taking)
        if not accepted.duplicate:
            self._labels.keep(incoming)
        return accepted

    async def record_context_message(self, incoming: Incoming) -> Accepted:
        """See the port. For a message that was forgotten, as `accept`."""
        return await self.accept(incoming, state=DONE)

    async def save(self, claim: Claim, *, progress: str | None = None, reply_ref: str | None = None) -> None:
        """See the port. A step that quotes what was forgotten meanwhile is not kept: the turn starts anew."""
        if not await self.database.write(save, claim, progress=progress, reply_ref=reply_ref):
            raise LeaseLost(f"Turn {claim.turn} starts anew: something that it quotes was forgotten.")

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        reply = await index.indexed(self.database, closing.reply)
        return await self.database.write(finish, claim, closing, reply, now)

    async def set_text(self, claim: Claim, text: str) -> None:
        await self.database.write(set_text_of_claimed, claim, await index.indexed(self.database, text))

    async def amend(self, channel: str, message_id: str, text: str, job: Job | None = None) -> bool:
        said = await index.indexed(self.database, text)
        return await self.database.write(amendments.amend, channel, message_id, said, job)

    async def take_over_turns(self, person: str, family: str, source: str, now: datetime, lease: timedelta) -> int:
        alone = not self.database.is_shared
        return await self.database.write(turn_queue.take_over_turns, person, family, source, now, lease, alone=alone)

    async def pages(self, turn: int) -> tuple[str, ...] | None:
        return await self.database.read(turn_queue.pages_of_ended, turn)

    async def release_all(self) -> int:
        """See the port. Where other processes work too nothing is freed: a dead one's leases simply run out."""
        return 0 if self.database.is_shared else await self.database.write(release_all)


def release_all(connection: sa.Connection) -> int:
    freed = sa.update(turn).where(turn.c.state == RUNNING).values(state=WAITING, owner=None, lease_until=None)
    return connection.execute(freed).rowcount


def _audience(incoming: Incoming) -> str:
    """The label of the place, once all labels that its turn will ask for are known to exist."""
    try:
        may_flow_from(incoming.place)
        return label(incoming.place.audience)
    except ValueError as error:
        raise StoreError(texts.PLACE_UNKNOWN) from error


def _write(connection: sa.Connection, claim: Claim, values: Mapping[str, object], writing: sa.Update = _HELD) -> None:
    held = {"held": claim.turn, "held_epoch": claim.epoch}
    if connection.execute(writing, {**values, **held}).rowcount != 1:
        raise LeaseLost(f"Turn {claim.turn} is no longer held by {claim.owner}.")


def _message(asked: Incoming, said: IndexedText, audience: str) -> dict[str, object]:
    """What a question and its reply have in common as rows."""
    return {
        "conversation": asked.conversation,
        "person": asked.person.id,
        "channel": asked.channel,
        "audience": audience,
        "text": said.text,
        "length": said.length,
    }


def _context_stands(connection: sa.Connection, closing: Closing) -> bool:
    """Is everything that stood in the turn's context still there?"""
    contexts = ((message, closing.context_messages), (fact, map(int, closing.context_facts)))
    return all(_all_stand(connection, table, frozenset(kept)) for table, kept in contexts)


def _all_stand(connection: sa.Connection, table: sa.Table, wanted: frozenset[int]) -> bool:
    if not wanted:
        return True
    there = sa.select(sa.func.count()).select_from(table).where(table.c.id.in_(wanted))
    return connection.execute(there).scalar_one() == len(wanted)
