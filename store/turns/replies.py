"""The replies that stand in platforms: found by a page or by their turn, and what people think of them.

Rule: a reply is known as long as its question is and its own words are; its pages go with them.
"""

import json
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, Select, bindparam, delete, func, insert, select, update

from agent.records import Answered, Author, ReplyVerdict
from store.databases.database import SqlStore, in_order, reads
from store.tables import RUNNING, WAITING, message, page, turn, verdict

_QUESTION: Final = (
    select(
        turn.c.id,
        turn.c.source,
        turn.c.conversation,
        turn.c.channel,
        turn.c.message_id,
        turn.c.person,
        message.c.text,
        message.c.audience,
    )
    .join_from(turn, message, message.c.turn == turn.c.id)
    .where(message.c.author == Author.PERSON)
    .order_by(message.c.id)
    .limit(1)
)


def by_page(connection: Connection, source: str, page_id: str, channel: str = "") -> Answered | None:
    here = select(page.c.turn).where(page.c.page == page_id, page.c.source == source)
    if channel:
        here = here.join_from(page, turn, turn.c.id == page.c.turn).where(turn.c.channel == channel)
    found = connection.execute(here.order_by(page.c.turn.desc()).limit(1)).scalar_one_or_none()
    return None if found is None else by_turn(connection, found)


def running_by_page(connection: Connection, source: str, page_id: str, channel: str = "") -> Answered | None:
    open_ = select(turn.c.id, turn.c.reply_ref).where(
        turn.c.state.in_((RUNNING, WAITING)), turn.c.source == source, turn.c.reply_ref != ""
    )
    for number, stored in connection.execute(open_.where(turn.c.channel == channel) if channel else open_):
        pages: tuple[str, ...] = tuple(json.loads(stored))
        if page_id in pages:
            asked = connection.execute(_QUESTION.where(turn.c.id == number)).one_or_none()
            return None if asked is None else Answered(*asked, pages=pages)
    return None


def by_turn(connection: Connection, number: int) -> Answered | None:
    pages = tuple(connection.execute(_pages(), {"of": number}).scalars())
    asked = connection.execute(_QUESTION.where(turn.c.id == number)).one_or_none() if pages else None
    return None if asked is None else Answered(*asked, pages=pages)


def judge(connection: Connection, number: int, person: str, thought: ReplyVerdict | None, now: datetime) -> bool:
    in_order(connection, f"verdict {number} {person}")
    if by_turn(connection, number) is None:
        return False
    mine = (verdict.c.turn == number, verdict.c.person == person)
    if thought is None:
        connection.execute(delete(verdict).where(*mine))
    elif connection.execute(update(verdict).where(*mine).values(verdict=thought, time=now)).rowcount == 0:
        connection.execute(insert(verdict).values(turn=number, person=person, verdict=thought, time=now))
    return True


def verdicts(connection: Connection, since: datetime) -> dict[ReplyVerdict, int]:
    counted = select(verdict.c.verdict, func.count()).where(verdict.c.time >= since).group_by(verdict.c.verdict)
    return {ReplyVerdict(row[0]): row[1] for row in connection.execute(counted)}


class SqlReplies(SqlStore):
    by_page = reads(by_page)
    running_by_page = reads(running_by_page)
    verdicts = reads(verdicts)

    async def by_turn(self, turn: int) -> Answered | None:
        return await self.database.read(by_turn, turn)

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict | None, now: datetime) -> bool:
        return await self.database.write(judge, turn, person, verdict, now)


def _pages() -> Select[str]:
    return select(page.c.page).where(page.c.turn == bindparam("of")).order_by(page.c.id)
