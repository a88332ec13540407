"""The whole bot with the jobs that forgetting leaves behind, and a look into what it has kept.

Above: the flows of forgetting. Below: `tests.flows.bot`, `bot.schedules.scheduler` with its handlers.
"""

import asyncio
import re
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

from agent.memory.forgetting_plans import Preview, Wish
from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from agent.shown_replies import DELETE_REPLY
from bot.chat.jobs import JobLimits, JobWorker
from bot.forgetting.commands import FORGET_COMMAND
from bot.forgetting.retention import ReplyDeletion, Retention
from store.databases.database import Database
from store.erased_ids import ErasedIds
from store.forgetting.selection import Watch, unwatched
from store.forgetting.sql_forgetting import SqlForgetting
from tests.fakes.fast_clock import FastClock
from tests.fakes.hosts import ServedHost
from tests.flows.bot import database_in, opened, serving_host

OFTEN = JobLimits(sweep_s=2.5)  # 50 ms on a clock as fast as these tests'


def looks_up(messages: Sequence[Message]) -> str:
    """A model that looks up the words behind "find", notes those behind "note", and takes leave otherwise."""
    asked = messages[-1].text
    found = re.search(r"\b(find|note) ([\w ]+)", asked)
    if "<results>" in asked or found is None:
        return "Aye."
    name, args = ("recall", "query") if found[1] == "find" else ("remember", "text")
    return f'<execute>[{{"name": "{name}", "args": {{"{args}": "{found[2]}"}}}}]\n</execute>'


def found_by(model: ScriptedProvider, since: int) -> str:
    """All that a model was given in its requests from that number on."""
    return "\n".join(message.text for request in model.requests[since:] for message in request)


@asynccontextmanager
async def forgetting_host(
    folder: Path, model: ScriptedProvider, clock: FastClock, *, joins: bool = False
) -> AsyncGenerator[ServedHost, None]:
    """What `bot.app` gives to platforms, with the jobs that erase and that delete replies. `joins`: of `TurnRunner`."""
    async with opened(await database_in(folder)) as store, serving_host(store, model, clock, joins=joins) as host:
        erasing = Retention(store.forgetting, store.jobs, clock, {}).handlers
        deleting = {DELETE_REPLY: ReplyDeletion(clock, host.platforms.deletions).delete}
        async with (
            JobWorker(store.jobs, erasing, clock, "eraser", OFTEN).serving(),
            JobWorker(store.jobs, deleting, clock, "deleter", OFTEN).serving(),
        ):
            yield host


FOUND_SO_FAR = 7_000


class HeldForgetting(SqlForgetting):
    """Looks for what falls until a test lets it go on."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, ErasedIds(b"of this test"))
        self.go_on = asyncio.Event()

    async def preview(self, plan: Wish, watch: Watch = unwatched) -> Preview:
        watch(FOUND_SO_FAR)
        await self.go_on.wait()
        watch(FOUND_SO_FAR)
        return await super().preview(plan, watch)


@asynccontextmanager
async def held_host(
    folder: Path, model: ScriptedProvider, clock: FastClock
) -> AsyncGenerator[tuple[ServedHost, HeldForgetting]]:
    """A bot that says at once how far it is, and has much to look through."""
    async with opened(await database_in(folder)) as store, serving_host(store, model, clock) as host:
        held = HeldForgetting(store.database)
        service = replace(host.forgetting, forgetting=held, tell_after_s=(1.0,))
        commands = {**host.commands, FORGET_COMMAND.name: FORGET_COMMAND.bound(service)}
        yield replace(host, forgetting=service, commands=commands), held


def holds(folder: Path, words: str) -> bool:
    """Whether any row of the bot's database, those of the index included, says this."""
    with closing(sqlite3.connect(f"file:{folder / 'bot.db'}?mode=ro", uri=True)) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for index in ("message_index", "passage_index"):
            names.remove(index)  # it keeps no text; what it was made of stands beside it, and its lists below it
        rows = (row for name in names for row in database.execute(f'SELECT * FROM "{name}"'))  # noqa: S608 -- its own
        return any(words in str(row) for row in rows)
