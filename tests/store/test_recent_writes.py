"""A process finds out what a failover lost: a real PostgreSQL is put back to an earlier state below open stores."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import LeaseLost, StoreError
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.forgetting_plans import Everything, OneReply
from agent.ports.recent_writes import LostWrites
from agent.turn_records import Closing
from store.engine import Store, open_store
from store.forget_again import with_forgetting_log
from store.turns.write_memory import StoredForgetting, WriteMemory
from tests.contracts.steps import answered, claimed
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.postgresql import PostgresServer


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Store]:
    store = await open_store(url)
    try:
        yield store
    finally:
        await store.close()


async def is_new(store: Store, message: Incoming) -> bool:
    return not (await store.ledger.accept(message)).duplicate


async def test_what_is_there_or_was_forgotten_is_not_lost(postgres: PostgresServer) -> None:
    async with postgres.migrated() as url, opened(url) as store, opened(url) as other:
        assert await store.recent_writes.lost() is None
        await store.ledger.accept(said("The boat is red."))
        await answered(store, said("Which boat?", person="bo"), "The red one.")
        assert await store.recent_writes.lost() is None
        await other.forgetting.forget(Everything("ann"), START)
        await store.ledger.accept(said("Another boat.", person="bo"))
        assert await store.recent_writes.lost() is None


async def test_what_a_failover_lost_is_noticed_and_may_be_accepted_again(postgres: PostgresServer) -> None:
    async with postgres.migrated() as url, opened(url) as store, opened(url) as other:
        await store.ledger.accept(said("The first."))
        await postgres.keep_replica(url)
        first, second = said("The second."), said("The third.")
        for message in (first, second):
            await store.ledger.accept(message)
        assert await store.recent_writes.lost() is None
        await postgres.fail_over(url)
        await store.ledger.accept(said("After the failover."))
        assert await store.recent_writes.lost() == LostWrites(first.time, messages=2, forgettings=0)
        assert await store.recent_writes.lost() == LostWrites(first.time, messages=2, forgettings=0)
        assert await other.recent_writes.lost() is None
        await store.recent_writes.repair(START)
        assert await store.recent_writes.lost() is None
        assert await is_new(other, first)


async def test_a_lost_message_is_noticed_although_an_earlier_one_was_answered_last(postgres: PostgresServer) -> None:
    async with postgres.migrated() as url, opened(url) as store:
        await store.ledger.accept(said("The first."))
        await postgres.keep_replica(url)
        lost = said("The second.", person="bo", conversation="elsewhere")
        await store.ledger.accept(lost)
        await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "The red one."), START)
        assert await store.recent_writes.lost() is None
        await postgres.fail_over(url)
        assert await store.recent_writes.lost() == LostWrites(START, messages=1, forgettings=0, turns=1)


async def test_a_turn_that_a_failover_lost_is_not_continued_under_the_same_number(postgres: PostgresServer) -> None:
    async with postgres.migrated() as url, opened(url) as store:
        await postgres.keep_replica(url)
        await store.ledger.accept(said("Which boat?"))
        lost = await claimed(store)
        await postgres.fail_over(url)
        await store.ledger.accept(said("Which sail?", person="bo"))
        another = await claimed(store)
        assert (another.turn, another.epoch) == (lost.turn, lost.epoch)
        with pytest.raises(LeaseLost):
            await store.ledger.finish(lost, Closing(Outcome.ANSWERED, "The red one."), START)
        assert await store.recent_writes.lost() is not None
        await store.recent_writes.repair(START)
        accepted = await store.ledger.accept(said("Which mast?", conversation="elsewhere"))
        assert accepted.turn > lost.turn + 1


async def test_the_numbers_that_a_failover_lost_are_left_out_once_however_many_processes_repair(
    postgres: PostgresServer,
) -> None:
    async with postgres.migrated() as url, opened(url) as store, opened(url) as other:
        await postgres.keep_replica(url)
        lost = [(await each.ledger.accept(said("Which boat?"))).turn for each in (store, other)]
        await postgres.fail_over(url)
        for each in (store, other):
            assert await each.recent_writes.lost() is not None
            await each.recent_writes.repair(START)
        after = (await store.ledger.accept(said("Which sail?"))).turn - max(lost)
        assert 0 < after < 110_000


async def test_a_lost_message_that_this_process_answered_is_not_accepted_again(postgres: PostgresServer) -> None:
    async with postgres.migrated() as url, opened(url) as store, opened(url) as other:
        await postgres.keep_replica(url)
        here, there = said("Which boat?"), said("Which sail?", person="bo")
        await answered(store, here, "The red one.")
        await other.ledger.accept(there)
        await answered(store, there, "The white one.")  # the other process took it in
        await postgres.fail_over(url)
        assert not await is_new(store, here)  # the platform delivers it again before anyone has looked
        assert await store.recent_writes.lost() == LostWrites(here.time, messages=2, forgettings=0)
        await store.recent_writes.repair(START)
        assert not await is_new(other, here)
        assert not await is_new(other, there)


async def test_with_a_forgetting_log_it_is_known_what_a_process_had_forgotten_that_has_ended(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    log, lost = tmp_path / "log", said("The sail is white.")
    async with postgres.migrated() as url, opened(url) as plain:
        store = await with_forgetting_log(plain, log, START)
        fact = await remember(store.facts, "ann", "likes herring", "person:ann", START)
        await postgres.keep_replica(url)
        async with opened(url) as other:
            ended = await with_forgetting_log(other, log, START)
            await answered(ended, lost, "Noted.")
            await ended.forgetting.forget(Everything("ann"), START)
        await store.ledger.accept(said("Which mast?", person="bo"))
        await postgres.fail_over(url)
        assert [known.id for known in await store.facts.readable("ann", frozenset({"person:ann"}))] == [fact.id]
        assert await store.recent_writes.lost() is not None
        await store.recent_writes.repair(START)
        assert await store.facts.readable("ann", frozenset({"person:ann"})) == []
        assert not await is_new(store, lost), "its message was lost, too, and the platform's history still has it"


async def test_what_was_forgotten_before_the_failover_is_forgotten_again(postgres: PostgresServer) -> None:
    async with postgres.migrated() as url, opened(url) as store:
        message = said("The boat is red.")
        await store.ledger.accept(message)
        await postgres.keep_replica(url)
        forgotten = START + timedelta(hours=1)
        await store.forgetting.forget(Everything("ann"), forgotten)
        await postgres.fail_over(url)
        assert await store.forgetting.text("test", "channel", message.message_id) == "The boat is red."
        assert await store.recent_writes.lost() == LostWrites(forgotten, messages=0, forgettings=1)
        await store.recent_writes.repair(forgotten)
        assert await store.forgetting.text("test", "channel", message.message_id) is None
        assert await store.recent_writes.lost() is None


NO_RIGHT = "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC"
NO_FUNCTION = "ALTER FUNCTION pg_walfile_name(pg_lsn) RENAME TO walfile_name"
_FAILING = "CREATE FUNCTION pg_catalog.pg_walfile_name(pg_lsn) RETURNS text LANGUAGE plpgsql AS "


def failing(code: str) -> str:
    return f"{_FAILING} $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{code}'; END $$"


async def change_server(postgres: PostgresServer, url: str, *statements: str) -> None:
    database = url.partition("?")[0].rpartition("/")[2]
    await postgres.execute("SET allow_system_table_mods = on", *statements, database=database, user="postgres")


@pytest.mark.parametrize(
    ("had_timelines", "statements"),
    [(False, [NO_RIGHT]), (True, [NO_RIGHT]), (False, [NO_FUNCTION]), (False, [NO_FUNCTION, failing("0A000")])],
)
async def test_turns_are_claimed_although_the_server_does_not_report_its_timeline(
    postgres: PostgresServer, had_timelines: bool, statements: list[str]
) -> None:
    async with postgres.migrated() as url, opened(url) as store:
        if had_timelines:
            assert (await store.recent_writes.timeline()).is_settled
        await change_server(postgres, url, *statements)
        await store.ledger.accept(said("Which boat?"))
        assert (await store.recent_writes.timeline()).is_settled
        await claimed(store)


@pytest.mark.parametrize("code", ["55000", "XX000", "58030"])
async def test_a_timeline_that_cannot_be_read_for_once_is_read_again(postgres: PostgresServer, code: str) -> None:
    async with postgres.migrated() as url, opened(url) as store:
        await change_server(postgres, url, NO_FUNCTION, failing(code))
        with pytest.raises(StoreError):
            await store.recent_writes.timeline()
        as_before = "ALTER FUNCTION walfile_name(pg_lsn) RENAME TO pg_walfile_name"
        await change_server(postgres, url, "DROP FUNCTION pg_catalog.pg_walfile_name(pg_lsn)", as_before)
        assert (await store.recent_writes.timeline()).is_settled
        await postgres.keep_replica(url)
        await postgres.fail_over(url)
        assert not (await store.recent_writes.timeline()).is_settled


async def test_a_file_has_no_failover_and_nothing_is_kept_of_it(store: Store) -> None:
    await store.ledger.accept(said("The boat is red."))
    await store.forgetting.forget(Everything("ann"), START)
    assert await store.recent_writes.lost() is None


def test_the_reply_of_a_turn_is_not_forgotten_again_because_the_turn_number_may_be_another_turn_now() -> None:
    memory = WriteMemory("p")
    memory.note_forgetting(StoredForgetting(memory.new_mark(), OneReply(3), START, replies=False, related=False))
    assert not memory.forgettings


@given(st.lists(st.sampled_from(["take in", "answer an early one", "look", "find"]), max_size=60))
def test_every_message_is_looked_for_until_it_is_found_and_the_one_taken_in_last_always(steps: list[str]) -> None:
    memory, noted, found = WriteMemory("p"), list[int](), 0
    looked, asked = memory.to_look_for(), 0
    for number, step in enumerate(steps, 1):
        if step == "look":
            looked, asked = memory.to_look_for(), len(noted)
            turns = [message.turn for message in looked]
            assert turns[len(turns) - (len(noted) - found) :] == noted[found:]
            assert not noted or max(noted) in turns
        elif step == "find":
            memory.found(looked)
            found = max(found, asked)
        else:
            turn = number if step == "take in" else min(noted, default=number)
            memory.note_message(turn, said("A boat.", number=turn), answered=step != "take in")
            noted.append(turn)


@pytest.mark.parametrize("answered", [True, False])
def test_what_was_repaired_is_no_longer_looked_for(answered: bool) -> None:
    memory = WriteMemory("p")
    memory.note_message(1, said("A boat."), answered=answered)
    memory.drop(memory.to_look_for(), [])
    assert memory.to_look_for() == []
