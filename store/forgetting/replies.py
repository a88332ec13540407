"""What the bot posted that should be deleted in the platform, too: a job of the ledger for each page.

Above: `store.forgetting.erase`. Below: `store.jobs`, doomed, batches, json_columns, tables; `agent.records`.

Rule: the job belongs to nobody, so that a person who then has everything forgotten does not stop it. When it is done,
nothing of it stays.
"""

from datetime import datetime

from sqlalchemy import Connection, select

from agent.records import DELETE_REPLY, POSTED, REACHED_ONCE, Author, ShownPage
from store import jobs, json_columns
from store.forgetting.batches import among
from store.forgetting.doomed import Doomed
from store.tables import turn


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
