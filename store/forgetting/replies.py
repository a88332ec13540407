"""What platforms show of what falls: pages that should be deleted there, too, and threads that were named after it.

Rule: a job belongs to nobody, so that a person who then has everything forgotten does not stop it. When it is done,
nothing of it stays.
"""

from datetime import datetime

from sqlalchemy import Connection, func, select

from agent.memory.forgetting import ForgettingPlan
from agent.records import DELETE_REPLY, POSTED, REACHED_ONCE, Author, Shown, ShownPage
from store import jobs, json_columns
from store.forgetting.batches import among
from store.forgetting.chosen import chosen
from store.forgetting.doomed import Doomed
from store.tables import turn


def titles(connection: Connection, plan: ForgettingPlan) -> list[ShownPage]:
    """The threads that were named after a question that the plan erases: after the first that was answered there."""
    asked = [one for one in chosen(connection, plan).said.values() if one.author == Author.PERSON]
    first = func.min(turn.c.id)
    answered = select(first).where(turn.c.pages != "[]").group_by(turn.c.conversation)
    places = among(turn.c.conversation, {one.conversation for one in asked})
    begun = {id_ for where in places for id_ in connection.execute(answered.where(where)).scalars()}
    columns = select(turn.c.source, turn.c.channel, turn.c.conversation)
    falls = among(turn.c.id, begun & {one.turn for one in asked})
    return [
        ShownPage(source, channel, conversation, Shown.TITLE)
        for where in falls
        for source, channel, conversation in connection.execute(columns.where(where))
    ]


def delete_later(connection: Connection, doomed: Doomed, now: datetime) -> int:
    """Have the pages of the replies that fall deleted, and the questions that the bot posted; how many there are that
    can be reached.
    """
    answered = {one.turn for one in doomed.said.values() if one.author == Author.BOT}
    shown = select(turn.c.source, turn.c.channel, turn.c.pages)
    pages = [
        ShownPage(source, channel, page)
        for where in among(turn.c.id, answered)
        for source, channel, stored in connection.execute(shown.where(where))
        for page in json_columns.pages(stored)
        if not page.startswith(REACHED_ONCE)
    ]
    asked = {one.turn for one in doomed.said.values() if one.author == Author.PERSON}
    posted = select(turn.c.source, turn.c.channel, turn.c.message_id).where(turn.c.event_id.startswith(POSTED))
    pages += [ShownPage(*row) for where in among(turn.c.id, asked) for row in connection.execute(posted.where(where))]
    for page in pages:
        values = {"payload": page.encode(), "run_at": now, "person": "", "conversation": ""}
        jobs.schedule(connection, DELETE_REPLY, page.key, values)
    return len(pages)
