"""Data subjects, people or places, in what is stored: finding them, and what each of them covers."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

import sqlalchemy as sa

from agent.memory import forgetting_plans as plans
from agent.memory.audience import AudienceKind, GroupAudience, PersonAudience, TeamAudience, audience_of, label
from agent.memory.documents import DocumentPlace
from store.api_tokens import api_token
from store.budget_tables import budget_message
from store.file_tables import saved_file
from store.forgetting.selection import documents_of, is_private, said_by_plan
from store.handoff_tables import handoff, handoff_message
from store.installations import installation
from store.job_queue import job
from store.memory_tables import fact, profile_entry
from store.message_tables import conversation, message, person
from store.outbox import delivery
from store.polls import poll_vote
from store.preferences import preference
from store.replies import feedback, verdict
from store.schedule_table import schedule
from store.search.passages import document
from store.tool_accounts import sign_in, tool_account
from store.turn_tables import RUNNING, WAITING, turn
from store.turns.approval_table import approval
from store.turns.open_questions import open_question

NAMES: Final = 10_000  # Ids among which a similar one is searched for a mistyped id: those of the last writers


@dataclass(frozen=True, slots=True)
class PersonSubject:
    id: str

    @property
    def plan(self) -> plans.Everything:
        return plans.Everything(self.id)


@dataclass(frozen=True, slots=True)
class PlaceSubject:
    """A channel, a thread, or a whole workspace or server. `id`: "slack:T1:C1", "slack:T1", "discord:7"."""

    id: str
    plan: plans.Gone


Subject: TypeAlias = PersonSubject | PlaceSubject


@dataclass(frozen=True, slots=True)
class Found:
    """A person or a place, its `name` if known, and the number of messages by or to the person, or there."""

    id: str
    name: str
    messages: int
    last: datetime | None


def find_people(connection: sa.Connection, words: str, limit: int) -> list[Found]:
    """People whose name or id contains these letters; the last writer comes first."""
    lower_words = words.lower()
    matches = sa.or_(
        person.c.name.contains(words, autoescape=True),
        *(sa.func.lower(column).contains(lower_words, autoescape=True) for column in (person.c.name, person.c.id)),
    )
    last = sa.func.max(message.c.time).label("last")
    query = sa.select(person.c.id, person.c.name, sa.func.count(message.c.id), last).select_from(
        person.outerjoin(message, message.c.person == person.c.id)
    )
    found = query.where(matches).group_by(person.c.number, person.c.id, person.c.name)
    return [Found(*row) for row in connection.execute(found.order_by(last.desc(), person.c.id).limit(limit))]


def find_places(
    connection: sa.Connection, words: str, limit: int, channels: Collection[str] | None = None
) -> list[Found]:
    """Channels whose id contains these letters, or is one of `channels`, with messages outside of direct messages."""
    id_ = (turn.c.source + ":" + turn.c.channel).label("id")
    last = sa.func.max(message.c.time).label("last")
    meant = sa.func.lower(id_).contains(words.lower(), autoescape=True)
    meant = sa.or_(meant, turn.c.channel.in_(sorted(channels))) if channels else meant
    shared = sa.and_(~is_private(message.c.audience), meant)
    kinds = sa.func.min(message.c.audience)
    query = sa.select(id_, kinds, sa.func.count(message.c.id), last).join_from(turn, message).where(shared)
    found = connection.execute(query.group_by(id_).order_by(last.desc(), id_).limit(limit))
    return [Found(row[0], row[1].partition(":")[0], row[2], row[3]) for row in found]


def people_ids(connection: sa.Connection) -> list[str]:
    return [*connection.execute(sa.select(person.c.id).order_by(person.c.served.desc()).limit(NAMES)).scalars()]


def place_ids(connection: sa.Connection) -> list[str]:
    id_ = turn.c.source + ":" + turn.c.channel
    channels = sa.select(id_).join_from(turn, message).where(~is_private(message.c.audience)).distinct().limit(NAMES)
    sources = sa.select(turn.c.source).where(turn.c.source.contains(":")).distinct().limit(NAMES)
    return [*connection.execute(sources).scalars(), *connection.execute(channels).scalars()]


def is_known(connection: sa.Connection, who: str) -> bool:
    """Whether the database has any row that `/forget everything` of this person would erase."""
    columns = (
        *(person.c.id, message.c.person, turn.c.person, fact.c.person, profile_entry.c.person, schedule.c.person),
        *(
            tool_account.c.person,
            sign_in.c.person,
            api_token.c.person,
            document.c.person,
            job.c.person,
            open_question.c.person,
            approval.c.person,
            budget_message.c.person,
            handoff.c.person,
            handoff.c.taker,
            handoff_message.c.person,
        ),
        *(
            verdict.c.person,
            feedback.c.person,
            feedback.c.owner,
            poll_vote.c.person,
            installation.c.installer,
            saved_file.c.person,
            delivery.c.person,
        ),
    )
    has_preferences = sa.exists().where(preference.c.owner == who, preference.c.value != plans.PAUSED)
    has_documents = sa.exists().where(documents_of(plans.Everything(who)))
    conditions = [sa.exists().where(column == who) for column in columns]
    return connection.execute(sa.select(sa.or_(has_preferences, has_documents, *conditions))).scalar_one()


def place_named(connection: sa.Connection, id_: str) -> PlaceSubject | None:
    """The place of an id: a whole workspace ("slack:T1"), a server, a channel or a thread. None if it is unknown.

    The private channels of a server whose channel ids do not contain the server's id are those whose messages' links
    contain it.
    """
    source, found, last = id_.rpartition(":")
    if not found or not source or not last:
        return None
    # An id alone does not say whether it is a workspace, a server, a channel or a thread: what is stored does.
    if _is_there(connection, turn.c.source == id_):
        return PlaceSubject(id_, plans.Gone(sources=frozenset({id_}), audiences=frozenset({label(TeamAudience(id_))})))
    channels, audiences = set[str](), set[str]()
    if _is_there(connection, turn.c.source == source, turn.c.channel == last):
        channels.add(last)
    for audience in (label(GroupAudience(id_)), label(TeamAudience(id_))):
        if any(_is_there(connection, table.c.audience == audience) for table in (conversation, document)):
            audiences.add(audience)
    if label(TeamAudience(id_)) in audiences:
        channels |= _linked_channels(connection, source, last)
    if channels:
        audiences |= {label(GroupAudience(f"{source}:{channel}")) for channel in channels}
    conversations = (
        {id_} if _is_there(connection, conversation.c.id == id_, ~is_private(conversation.c.audience)) else ()
    )
    if not (channels or audiences or conversations):
        return None
    gone = plans.Gone(frozenset(conversations), frozenset(channels), frozenset(audiences), within=source)
    return PlaceSubject(id_, gone)


def document_place(connection: sa.Connection, id_: str) -> DocumentPlace | None:
    """The place of an id, as documents belong to it: a channel, a whole workspace or server, or a person's direct
    messages. None for a thread, and if nobody has written there yet.

    A channel's readers are those of its newest message: earlier ones keep theirs when it becomes more public. Messages
    in a private thread of it have readers of their own, and do not count.
    """
    source, found, last = id_.rpartition(":")
    if not found or not source or not last:
        return None
    newest = sa.select(turn.c.source, turn.c.channel, message.c.audience).join_from(turn, message)
    newest = newest.order_by(message.c.id.desc()).limit(1)
    of_channel = message.c.audience == label(GroupAudience(id_)), message.c.audience.startswith(f"{AudienceKind.TEAM}:")
    in_channel = sa.and_(turn.c.source == source, message.c.channel == last, sa.or_(*of_channel))
    for where in (in_channel, message.c.audience == label(PersonAudience(id_))):
        row = connection.execute(newest.where(where)).one_or_none()
        if row is not None:
            # One person may have many channels with the bot, as each chat in a terminal is one.
            channel = row.channel if where is in_channel else ""
            return DocumentPlace(audience_of(row.audience), row.source, channel)
    team = label(TeamAudience(id_))
    is_workspace = _is_there(connection, turn.c.source == id_)
    if is_workspace or any(_is_there(connection, table.c.audience == team) for table in (conversation, document)):
        return DocumentPlace(TeamAudience(id_), id_ if is_workspace else source, "")
    return None


def _linked_channels(connection: sa.Connection, source: str, server: str) -> set[str]:
    linked = message.c.permalink.contains(f"/{server}/", autoescape=True)
    found = sa.select(message.c.channel).join_from(message, turn).where(turn.c.source == source, linked)
    return {*connection.execute(found.where(~is_private(message.c.audience)).distinct()).scalars()}


def _is_there(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> bool:
    return connection.execute(sa.select(sa.exists().where(*where))).scalar_one()


def running_posts(connection: sa.Connection, subject: Subject) -> list[tuple[str, str, str]]:
    """The sources, channels and message ids of questions there whose replies have begun."""
    turns = sa.select(message.c.turn).where(said_by_plan(subject.plan))
    begun = sa.or_(turn.c.state == RUNNING, turn.c.progress != "", turn.c.reply_ref != "")
    is_open = sa.and_(turn.c.state.in_((WAITING, RUNNING)), begun, turn.c.id.in_(turns))
    return [(row.source, row.channel, row.message_id) for row in connection.execute(sa.select(turn).where(is_open))]
