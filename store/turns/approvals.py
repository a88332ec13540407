"""Decisions about tool calls by others than their askers: whom the tool policy names.

Rules
  A row is a person who was asked, or who has decided; it holds no word of the question or the call, only their reason.
  The first decision of a person counts, never the asker's. One denial decides the call; the last approval that is
  needed does so, too. Then `consent` has its row, as for a call that its asker decided, and the turn continues.
  What people are shown belongs to the turn: where it restarts or is forgotten, the messages are deleted.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from agent.approvers import Approvers
from agent.consents import APPROVAL, SENDING, Approval, AskedApprover, ConsentOutcome, wait_until
from agent.errors import LeaseLost
from agent.incoming import person_source
from agent.messages import Consent
from agent.progress import decode
from agent.schedules.long_work import asked_in
from agent.shown_replies import DELETE_REPLY, ShownPage
from agent.stored_messages import Author
from agent.turn_records import Claim
from store import job_queue, row_mapping
from store.databases.database import SqlStore, reads, writes
from store.message_tables import message, person
from store.turn_tables import DONE, RUNNING, WAITING, action_record, turn
from store.turns import consents
from store.turns.approval_table import approval
from store.turns.consents import consent

MOST_SHOWN: Final = 20  # Turns: no person decides about more at once
_NEW: Final = {"pages": "[]", "word": "", "reason": "", "closed": False, "reminded": False, "decided": None}
_TURNS: Final = (
    sa.select(
        turn, message.c.id.label("question"), message.c.text, message.c.time, message.c.permalink, message.c.audience
    )
    .add_columns(person.c.name, person.c.time_zone)
    .join_from(turn, message, sa.and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
    .join(person, person.c.id == turn.c.person)
)


def request(
    connection: sa.Connection, claim: Claim, calls: Mapping[str, tuple[Approvers, Collection[str]]], now: datetime
) -> None:
    held = sa.select(turn.c.progress).where(turn.c.id == claim.turn, turn.c.epoch == claim.epoch)
    if (found := connection.execute(held.with_for_update()).one_or_none()) is None:
        raise LeaseLost(f"turn {claim.turn} is run by somebody else, or forgotten")
    awaited = decode(found.progress).awaited
    known = {(row.call, row.person) for row in connection.execute(sa.select(approval).where(_of(claim.turn)))}
    for key in calls.keys() & awaited.keys():
        rule, people = calls[key]
        others = [each for each in dict.fromkeys(people) if each != claim.incoming.person.id]
        if len(others) < rule.needed:
            _decide_call(connection, claim.turn, key, claim.incoming.person.id, Consent.UNASKED, now)
            continue
        new = [
            {"turn": claim.turn, "call": key, "person": each, "tool": awaited[key].name, "rule": str(rule)}
            for each in others
        ]
        if missing := [row | _NEW for row in new if (row["call"], row["person"]) not in known]:
            connection.execute(sa.insert(approval), missing)
    _schedule(connection, str(claim.turn), now)


def _schedule(connection: sa.Connection, key: str, at: datetime, payload: str = "") -> None:
    values = {"payload": payload, "run_at": at, "person": "", "conversation": ""}
    job_queue.schedule(connection, APPROVAL, key, values)


def _of(number: int, call: str = "", who: str = "") -> sa.ColumnElement[bool]:
    conditions = [approval.c.turn == number]
    conditions += [approval.c.call == call] if call else []
    return sa.and_(*conditions, *([approval.c.person == who] if who else []))


def of(connection: sa.Connection, number: int, now: datetime) -> list[Approval]:
    row = connection.execute(_TURNS.where(turn.c.id == number)).mappings().one_or_none()
    return [] if row is None else _approvals(connection, row, now)


def waiting(connection: sa.Connection, who: str, now: datetime) -> list[Approval]:
    asked = sa.exists().where(approval.c.turn == turn.c.id, approval.c.person == who, approval.c.word == "")
    open_ = _TURNS.where(asked, turn.c.state.in_((WAITING, RUNNING))).order_by(turn.c.id).limit(MOST_SHOWN)
    rows = connection.execute(open_).mappings().all()
    return [
        each
        for row in rows
        for each in _approvals(connection, row, now)
        if each.call is not None and any(one.person == who and one.consent is Consent.NOT_NEEDED for one in each.people)
    ]


def _approvals(connection: sa.Connection, row: sa.RowMapping, now: datetime) -> list[Approval]:
    progress, known = decode(row["progress"]), consents.decided(connection, row["id"])
    question = row_mapping.incoming(row, json.loads(row["payload"]))
    until = wait_until(progress, now) if progress.steps else now
    awaited = {} if _is_over(row, now) else {key: call for key, call in progress.awaited.items() if key not in known}
    people = dict[str, list[sa.RowMapping]]()
    for each in connection.execute(sa.select(approval).where(_of(row["id"])).order_by(approval.c.person)).mappings():
        people.setdefault(each["call"], []).append(each)
    found = list[Approval]()
    for key, rows in people.items():
        call, rule = awaited.get(key), Approvers.read(rows[0]["rule"])
        word = known.get(key, Consent.EXPIRED if call is None else Consent.AWAITED)
        if rule is not None:
            asked = tuple(map(_asked, rows))
            found.append(Approval(row["id"], key, rows[0]["tool"], call, rule, question, until, word, asked))
    return found


def _asked(row: sa.RowMapping) -> AskedApprover:
    pages, word = tuple(json.loads(row["pages"])), Consent(row["word"])
    return AskedApprover(row["person"], pages, word, row["reason"], row["closed"], row["reminded"])


def _is_over(row: sa.RowMapping, now: datetime) -> bool:
    """Return whether nobody can decide any more. A running turn is just being put aside, or its time has passed, which
    `run_at` then says.
    """
    return row["state"] == DONE or row["stopping"] or (row["run_at"] is not None and row["run_at"] <= now)


def decide(
    connection: sa.Connection, number: int, call: str, who: str, word: Consent, now: datetime, *, reason: str = ""
) -> ConsentOutcome:
    found = connection.execute(sa.select(turn).where(turn.c.id == number).with_for_update()).mappings().one_or_none()
    if found is None:
        return ConsentOutcome.OVER
    rows = {row.person: row for row in connection.execute(sa.select(approval).where(_of(number, call)))}
    if who == found["person"] or not rows:
        return ConsentOutcome.NOT_THEIRS
    if who in rows and rows[who].word:
        given = rows[who].word == Consent.GIVEN
        return ConsentOutcome.ALLOWED_BEFORE if given else ConsentOutcome.REFUSED_BEFORE
    open_ = decode(found["progress"]).awaited.keys() - consents.decided(connection, number).keys()
    if _is_over(found, now) or call not in open_:
        return ConsentOutcome.OVER
    like = next(iter(rows.values()))
    rule = Approvers.read(like.rule)
    if rule is None:
        return ConsentOutcome.OVER
    if who not in rows:  # they may decide, but were not asked
        new = {"turn": number, "call": call, "person": who, "tool": like.tool, "rule": like.rule}
        connection.execute(sa.insert(approval), [new | _NEW | {"closed": True, "reminded": True}])
    decision = {"word": word, "reason": reason if word is Consent.REFUSED else "", "decided": now}
    connection.execute(sa.update(approval).where(_of(number, call, who)).values(**decision))
    _schedule(connection, str(number), now)
    given = 1 + sum(row.word == Consent.GIVEN for row in rows.values())
    if word is Consent.GIVEN and given < rule.needed:
        return ConsentOutcome.KEPT
    return _decide_call(connection, number, call, who, word, now)


def _decide_call(
    connection: sa.Connection, number: int, call: str, who: str, word: Consent, now: datetime
) -> ConsentOutcome:
    """Store the decision about the call itself, once; the turn continues if it waits for no other."""
    if call in consents.decided(connection, number):
        return ConsentOutcome.KEPT
    found = connection.execute(sa.select(turn.c.conversation, turn.c.progress).where(turn.c.id == number)).one()
    tool, conversation = decode(found.progress).awaited[call].name, asked_in(found.conversation)
    values = {"turn": number, "call": call, "word": word, "person": who, "conversation": conversation, "tool": tool}
    connection.execute(sa.insert(consent).values(**values, standing=False, decided=now))
    return ConsentOutcome.GOES_ON if consents.resume_if_decided(connection, number) else ConsentOutcome.KEPT


def shown(connection: sa.Connection, number: int, call: str, who: str, pages: Sequence[str]) -> bool:
    held = sa.update(approval).where(_of(number, call, who))
    return connection.execute(held.values(pages=json.dumps([*pages]))).rowcount > 0


def reminded(connection: sa.Connection, number: int, call: str, who: str) -> bool:
    held = sa.update(approval).where(_of(number, call, who), ~approval.c.reminded)
    return connection.execute(held.values(reminded=True)).rowcount > 0


def closed(connection: sa.Connection, number: int, call: str, who: str) -> None:
    connection.execute(sa.update(approval).where(_of(number, call, who)).values(closed=True))


def unreachable(connection: sa.Connection, number: int, call: str, who: str, now: datetime) -> bool:
    found = connection.execute(sa.select(turn).where(turn.c.id == number).with_for_update()).mappings().one_or_none()
    connection.execute(sa.delete(approval).where(_of(number, call, who), approval.c.word == ""))
    if found is None or _is_over(found, now) or call not in decode(found["progress"]).awaited:
        return False
    rows = connection.execute(sa.select(approval.c.rule).where(_of(number, call))).all()
    rule = Approvers.read(rows[0].rule) if rows else None
    if rule is not None and len(rows) >= rule.needed:
        return False
    return _decide_call(connection, number, call, found["person"], Consent.UNASKED, now) is ConsentOutcome.GOES_ON


_SHOWN: Final = sa.select(approval, turn.c.source, turn.c.channel).join_from(
    approval, turn, turn.c.id == approval.c.turn
)


def withdraw(connection: sa.Connection, which: sa.ColumnElement[bool], now: datetime) -> None:
    """Delete these rows, and the messages that show them; one that was just being sent is looked for."""
    for row in connection.execute(_SHOWN.where(which)).all():
        pages = tuple(json.loads(row.pages))
        if pages == SENDING:
            lost = json.dumps([row.source, row.person, f"{row.turn}.{row.call}"])
            _schedule(connection, f"{row.turn} {row.call} {row.person}", now, lost)
            continue
        for page in pages:
            shown_page = ShownPage(row.source, row.channel, page)
            values = {"payload": shown_page.encode(), "run_at": now, "person": "", "conversation": ""}
            job_queue.schedule(connection, DELETE_REPLY, shown_page.key, values)
    connection.execute(sa.delete(approval).where(which))


def drop_person(connection: sa.Connection, who: str, now: datetime) -> None:
    """Erase a person's decisions, with the messages that they were shown, and what other turns recorded of their
    reasons.
    """
    mine = approval.c.person == who
    reasoned = sa.select(approval.c.turn).where(mine, approval.c.reason != "")
    connection.execute(sa.delete(action_record).where(action_record.c.turn.in_(reasoned)))
    withdraw(connection, mine, now)


def known_people(connection: sa.Connection, source: str, limit: int) -> list[str]:
    own = person.c.id.startswith(f"{source}:", autoescape=True)
    latest = sa.select(person.c.id).where(own).order_by(person.c.served.desc().nulls_last()).limit(limit)
    return [id_ for id_ in connection.execute(latest).scalars() if person_source(id_) == source]


class SqlApprovals(SqlStore):
    request = writes(request)
    of = reads(of)
    waiting = reads(waiting)
    shown = writes(shown)
    reminded = writes(reminded)
    closed = writes(closed)
    unreachable = writes(unreachable)
    known_people = reads(known_people)

    async def decide(
        self, turn: int, call: str, person: str, consent: Consent, now: datetime, *, reason: str = ""
    ) -> ConsentOutcome:
        return await self.database.write(decide, turn, call, person, consent, now, reason=reason)
