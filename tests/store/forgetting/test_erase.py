"""Forgetting: the bytes are gone, the proof is honest, what others hold stays."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Table, delete, event, func, insert, select, text
from sqlalchemy.pool import Pool
from sqlmodel import SQLModel

from agent.events import Outcome
from agent.incoming import UNASKED
from agent.memory.audience import GroupAudience, Place
from agent.memory.forgetting_plans import GOES_ON, AboutTopic, Deleted, During, Everything, ForgettingPlan, Wish
from agent.memory.periods import TimeSpan
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.state import ActionRecord, SituationSummary
from agent.turn_records import Closing
from store.engine import Store, open_store
from store.erased_ids import erased
from store.forgetting import sql_forgetting as proof
from store.forgetting.erase import Erasure
from store.forgetting.erasure_set import find_erasure_set
from store.memory.fact_index import fact_term
from store.memory_tables import fact
from store.message_tables import message, person
from store.schema import meta
from store.search import index
from store.turn_tables import action_record, turn, workspace
from tests.contracts.steps import answered, claimed, found, summary_of
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.new_database import new_database, open_new
from tests.fakes.operators import EITHER_WAY, Forget
from tests.fakes.plans import one_thread
from tests.fakes.postgresql import PostgresServer
from tests.store.processes import pieces_in_files

CLUB = Place(GroupAudience("club"))
DM = Partition("ann", "person:ann")
SECRETS = [
    f"secret{n:02}-{word}" for n, word in enumerate(("zanzibar quince", "Überraschung ñandú", "東京の秘密です") * 7)
][:20]


def rows_of(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def action(words: str) -> ActionRecord:
    call = ToolCall("recall", {"query": words})
    return ActionRecord(1, START, f"thinking of {words}", (call,), (ToolResult("recall", ResultStatus.SUCCESS, words),))


async def live_through(store: Store, secret: str, conversation: str) -> None:
    """Let a secret go everywhere a secret can go."""
    await store.ledger.accept(said(f"my {secret}", conversation=conversation))
    claim = await claimed(store)
    await store.ledger.save(claim, progress=f"working on {secret}", reply_ref=f"page of {secret}")
    await remember(store.facts, "ann", f"note of {secret}", "person:ann", START, claim.message)
    await store.database.write(
        lambda c: c.execute(
            insert(workspace).values(
                task_id=claim.turn, person="ann", objective=secret, understanding="", approach="", discoveries=""
            )
        )
    )
    summary = SituationSummary(key_findings=f"summary of {secret}")
    ending = Closing(Outcome.ANSWERED, f"your {secret}!", ("page",), summary, (action(secret),), learn_at=START)
    await store.ledger.finish(claim, ending, START)
    insight = Insight(ProfileField.PREFERENCES, f"profile of {secret}", (claim.message,), START, f"key of {secret}")
    before, waiting = await store.profiles.get(DM), await store.profiles.unlearned(DM, 99)
    assert await store.profiles.save(DM, learned(before, DM.audience, [insight], 1, START), waiting)


@pytest.fixture(params=["secure_delete as built", "secure_delete built off"])
def build(request: pytest.FixtureRequest) -> Iterator[None]:
    """SQLite as Debian builds it, and as others do: every new connection starts with secure_delete off."""

    def off(connection: Any, _: object) -> None:
        connection.execute("PRAGMA secure_delete = OFF")

    if request.param == "secure_delete built off":
        event.listen(Pool, "connect", off)
        yield
        event.remove(Pool, "connect", off)
    else:
        yield


@EITHER_WAY
@pytest.mark.usefixtures("build")
async def test_no_byte_of_twenty_secrets_stays_in_any_file(path: Path, forget: Forget) -> None:
    store = await open_store(await new_database(path))
    for number, secret in enumerate(SECRETS):
        await live_through(store, secret, f"thread {number % 4}")
    await answered(store, said("a word that stays", person="ben", conversation="other"), "it stays")
    pieces = [piece for secret in SECRETS for piece in secret.split("-")]
    assert await pieces_in_files(path.parent, pieces) == len(pieces)
    await store.ledger.accept(said(f"lingering {SECRETS[0]}"))
    await store.preferences.set("ann", "model", SECRETS[0])
    receipt = await forget(store, "ann")
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)
    assert receipt.erased == {
        "accounts": 0,
        "actions": 20,
        "jobs": 1,
        "workspaces": 0,
        "facts": 20,
        "profile": 20,
        "messages": 41,
        "turns": 21,
        "summaries": 4,
        "conversations": 5,
        "preferences": 1,
        "people": 1,
    }
    assert await pieces_in_files(path.parent, [*pieces, "secret00", "lingering"]) == 0
    await store.close()
    assert await pieces_in_files(path.parent, pieces) == 0
    assert await pieces_in_files(path.parent, ["it stays"]) == 1


@EITHER_WAY
async def test_no_byte_of_a_text_that_spans_many_pages_stays(store: Store, path: Path, forget: Forget) -> None:
    marks = [f"mark{n:03}quince" for n in range(0, 900, 60)]
    filler = [f"{'lorem ipsum dolor ' * 3}mark{n:03}quince " for n in range(900)]
    await answered(store, said("".join(filler)), "".join(reversed(filler)))
    assert await pieces_in_files(path.parent, marks) == len(marks)
    receipt = await forget(store, "ann")
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)
    assert await pieces_in_files(path.parent, [*marks, "quince", "lorem"]) == 0


@EITHER_WAY
async def test_platform_ids_stay_as_hashes_only(store: Store, path: Path, forget: Forget) -> None:
    asked = replace(said("hello", person="person-of-slack", conversation="channel-77.3"), event_id="Ev0123456")
    await store.ledger.accept(asked)
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "hi", ("page-8", "page-9")), START)
    await forget(store, "person-of-slack")
    ids = ["Ev0123456", asked.message_id, "page-8", "page-9", "channel-77.3", "person-of-slack", str(asked.permalink)]
    assert await pieces_in_files(path.parent, ids) == 0
    assert await store.database.read(rows_of, erased) == 5


@EITHER_WAY
async def test_an_open_reader_holds_the_bytes_back_and_a_later_sweep_wipes_them(
    store: Store, path: Path, forget: Forget
) -> None:
    await answered(store, said("a quince marmalade"), "noted")
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM message").fetchone()
        receipt = await forget(store, "ann")
        assert (receipt.found_again, receipt.bytes_gone) == (0, False)
        assert not await store.forgetting.sweep()
        assert await pieces_in_files(path.parent, ["quince marmalade"]) == 1
        reader.execute("COMMIT")
        assert await store.forgetting.sweep()
    assert await pieces_in_files(path.parent, ["quince marmalade"]) == 0


async def test_what_a_reader_held_back_is_wiped_at_the_next_start(url: str, path: Path) -> None:
    store = await open_store(await new_database(path), patience_s=0.05)
    await answered(store, said("a quince marmalade"), "noted")
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM message").fetchone()
        assert not (await store.forgetting.forget(Everything("ann"), START)).bytes_gone
        await store.close()
    again = await open_store(url)
    owed = await again.database.read(lambda c: c.execute(select(meta.c.name)).scalars().all())
    assert "sweep_owed" not in owed
    assert await pieces_in_files(path.parent, ["quince marmalade"]) == 0
    await again.close()


@EITHER_WAY
async def test_what_others_said_in_the_same_words_is_no_false_alarm_and_stays(store: Store, forget: Forget) -> None:
    words = "the quince marmalade is in the cellar"
    await answered(store, said(words, conversation="club", place=CLUB), f"So {words}.")
    await answered(store, said(words, person="ben", conversation="club", place=CLUB), f"Indeed {words}.")
    await remember(store.facts, "ben", words, "person:ben", START)
    receipt = await forget(store, "ann")
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)
    hits = await found(store, "quince marmalade", person="ben", place=CLUB)
    assert [hit.message.text for hit in hits] == [words, f"Indeed {words}."]


async def test_the_same_words_in_another_thread_are_no_false_alarm(store: Store) -> None:
    for conversation in ("a", "b"):
        claim = await answered(store, said("quince marmalade", conversation=conversation), "quince marmalade!")
        await remember(store.facts, "ann", f"quince marmalade {conversation}", "person:ann", START, claim.message)
    receipt = await store.forgetting.forget(one_thread("ann", "a"), START)
    assert (receipt.erased["messages"], receipt.erased["facts"]) == (2, 1)
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)


@pytest.mark.parametrize(
    "words", ["ok", "a", "", "!!!", "conversation", "message_index", "waiting", "CREATE TABLE", "{}"]
)
async def test_short_and_common_texts_raise_no_false_alarm(store: Store, words: str) -> None:
    await answered(store, said(words), words)
    await answered(store, said("ok then", person="ben", conversation="other"), "fine")
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)


async def test_bytes_that_another_program_left_behind_are_not_called_gone(url: str, path: Path) -> None:
    store = await open_store(await new_database(path))
    await answered(store, said("a quince marmalade"), "noted")
    await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as careless:
        careless.execute("PRAGMA secure_delete = OFF")
        careless.execute("CREATE TABLE scratch (words TEXT)")
        careless.execute("INSERT INTO scratch SELECT text FROM message")
        careless.execute("DELETE FROM scratch")
    store = await open_store(url)
    receipt = await store.forgetting.forget(Everything("ann"), START)
    await store.close()
    assert (receipt.found_again, receipt.bytes_gone) == (0, False)


async def test_the_proof_finds_what_an_erasing_would_have_missed(either: Store) -> None:
    claim = await answered(either, said("a quince marmalade", conversation="a"), "noted")
    await remember(either.facts, "ann", "quince marmalade", "person:ann", START, claim.message)
    thread, everything, elsewhere = one_thread("ann", "a"), Everything("ann"), one_thread("ann", "b")
    readers = await either.database.read(index.readers, "a")
    doomed = await either.database.read(find_erasure_set, thread)
    texts = ["a quince marmalade", "quince marmalade"]
    missed = Erasure(doomed, texts, [], frozenset({"a"}), readers)
    nothing = Erasure(await either.database.read(find_erasure_set, elsewhere), texts, [], frozenset(), readers)

    async def found_again(plan: ForgettingPlan, erasure: Erasure) -> int:
        return await either.database.read(proof.found_again, plan, erasure)

    assert await found_again(thread, missed) > 1  # the message and its entry; the fact's source still stands
    assert await found_again(everything, missed) > await found_again(thread, missed)
    assert await found_again(elsewhere, nothing) == 0
    await either.database.write(lambda c: c.execute(delete(message)))
    assert await found_again(thread, missed) == 2  # an entry without its message, a fact without its source
    await either.database.write(index.clear)
    await either.database.write(lambda c: c.execute(text("DELETE FROM fact_term")))
    await either.database.write(lambda c: c.execute(delete(fact_term)))
    await either.database.write(lambda c: c.execute(delete(fact)))
    assert await found_again(everything, missed) == 0


def words_in_rows(connection: Connection) -> str:
    """Everything that stands in any row, the index included."""
    names = ("message_index", *(each.name for each in SQLModel.metadata.sorted_tables))
    rows = (row for name in names for row in connection.execute(text(f"TABLE {name}")))
    return "\n".join(str(held) for row in rows for held in row)


async def test_on_a_server_no_row_and_no_entry_holds_any_of_twenty_secrets(postgres: PostgresServer) -> None:
    store = await open_store(await postgres.empty())
    for number, secret in enumerate(SECRETS):
        await live_through(store, secret, f"thread {number % 4}")
    await answered(store, said("a word that stays", person="ben", conversation="other"), "it stays")
    pieces = [piece for secret in SECRETS for piece in secret.split("-")]
    before = await store.database.read(words_in_rows)
    assert [piece for piece in pieces if piece not in before] == []
    receipt = await store.forgetting.forget(Everything("ann"), START)
    after = await store.database.read(words_in_rows)
    await store.close()
    assert (receipt.found_again, receipt.bytes_gone, receipt.kept_by_server) == (0, False, True)
    assert (receipt.erased["messages"], receipt.erased["facts"]) == (40, 20)
    assert [piece for piece in pieces if piece in after] == []
    assert "it stays" in after


async def ben_answers_from(store: Store, context: tuple[int, ...], known: tuple[str, ...] = ()) -> int:
    await store.ledger.accept(said("what was that?", person="ben", conversation="club", place=CLUB))
    claim = await claimed(store)
    summary = SituationSummary(key_findings="quince")
    ending = Closing(Outcome.ANSWERED, "It was.", (), summary, (action("quince"),), context_messages=context)
    await store.ledger.finish(claim, replace(ending, context_facts=known), START)
    return claim.turn


async def contexts(store: Store) -> list[tuple[int, str, str]]:
    columns = select(turn.c.id, turn.c.context_messages, turn.c.context_facts).order_by(turn.c.id)
    return [tuple(row) for row in await store.database.read(lambda c: c.execute(columns).all())]


async def test_what_other_turns_made_of_a_forgotten_message_falls_too(store: Store) -> None:
    mine = await answered(store, said("quince", conversation="club", place=CLUB), "noted")
    kept = await answered(store, said("hello", person="ben", conversation="club", place=CLUB), "hi")
    turn_id = await ben_answers_from(store, (mine.message, kept.message))
    untouched = await ben_answers_from(store, (kept.message,))
    receipt = await store.forgetting.forget(one_thread("ann", "club"), START)
    assert receipt.erased["actions"] == 1
    assert receipt.erased["summaries"] == 1
    assert await summary_of(store, "club") == SituationSummary()
    assert (turn_id, f"[{kept.message}]", "[]") in await contexts(store)
    remaining = select(action_record.c.turn)
    assert await store.database.read(lambda c: c.execute(remaining).scalars().all()) == [untouched]


async def test_a_summary_made_elsewhere_of_a_forgotten_note_falls(store: Store) -> None:
    note_ = await remember(store.facts, "ann", "quince", "person:ann", START)
    turn_id = await ben_answers_from(store, (), (note_.id,))
    await store.forgetting.forget(Everything("ann"), START)
    assert await summary_of(store, "club") == SituationSummary()
    assert await contexts(store) == [(turn_id, "[]", "[]")]


async def test_a_turn_that_ends_after_its_context_was_forgotten_leaves_no_records_of_it(store: Store) -> None:
    mine = await answered(store, said("quince", conversation="club", place=CLUB), "noted")
    await store.ledger.accept(said("what was that?", person="ben", conversation="club", place=CLUB))
    claim = await claimed(store)
    await store.ledger.save(claim, progress="half", reply_ref="page 1")
    await store.forgetting.forget(one_thread("ann", "club"), START)
    saved = await store.database.read(lambda c: c.execute(select(turn.c.progress, turn.c.reply_ref)).one())
    assert tuple(saved) == ("", "page 1")
    ending = Closing(
        Outcome.ANSWERED,
        "It was.",
        summary=SituationSummary(goal="quince"),
        actions=(action("quince"),),
        context_messages=(mine.message,),
    )
    await store.ledger.finish(claim, ending, START)
    assert await summary_of(store, "club") == SituationSummary()
    assert await store.database.read(rows_of, action_record) == 0


async def test_results_are_cut_in_the_action_record(store: Store) -> None:
    await store.ledger.accept(said("hello"))
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "", actions=(action("x" * 5000),)), START)
    [results] = await store.database.read(lambda c: c.execute(select(action_record.c.results)).scalars().all())
    assert results.count("x") == 1000


async def test_a_conversation_whose_readers_change_starts_a_new_summary(store: Store) -> None:
    await store.ledger.accept(said("hello", conversation="club", place=CLUB))
    claim = await claimed(store)
    summary = SituationSummary(goal="quince")
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "", summary=summary), START)
    assert await summary_of(store, "club") == summary
    await store.ledger.accept(said("hello", conversation="club"))
    assert await summary_of(store, "club") == SituationSummary()


async def test_a_person_who_comes_back_is_somebody_new(store: Store) -> None:
    await answered(store, said("my boat", conversation="a"), "your boat")
    number = select(person.c.number)
    before = await store.database.read(lambda c: c.execute(number).scalar_one())
    await store.forgetting.forget(Everything("ann"), START)
    await answered(store, said("my train", conversation="a"), "your train")
    assert await store.database.read(lambda c: c.execute(number).scalar_one()) > before
    assert await found(store, "boat") == []
    assert len(await found(store, "train")) == 2


async def test_pages_that_a_running_turn_has_shown_stay_as_hashes(store: Store) -> None:
    await store.ledger.accept(said("hello"))
    await store.ledger.save(await claimed(store), reply_ref='["page-8", "page-9"]')
    await store.forgetting.forget(Everything("ann"), START)
    assert await store.database.read(rows_of, erased) == 5


@pytest.mark.parametrize("erased", ["dm", "dm:1"])
async def test_what_was_begun_in_a_direct_message_and_stayed_wordless_goes_with_the_last_words(
    either: Store, erased: str
) -> None:
    await either.ledger.accept(said("my boat", conversation=erased))
    await either.ledger.finish(await claimed(either), Closing(Outcome.ANSWERED, "ok"), START)
    await either.preferences.set(f"{GOES_ON}dm", "conversation", "dm:2")
    await either.forgetting.forget(Everything("ann"), START)
    assert await either.preferences.all_of(f"{GOES_ON}dm") == {}


async def test_what_was_begun_in_a_direct_message_stays_while_anything_is_left_there(either: Store) -> None:
    for conversation in ("dm", "dm:1"):
        await either.ledger.accept(said("my boat", conversation=conversation))
        await either.ledger.finish(await claimed(either), Closing(Outcome.ANSWERED, "ok"), START)
    await either.preferences.set(f"{GOES_ON}dm", "conversation", "dm:2")
    await either.forgetting.forget(one_thread("ann", "dm"), START)
    assert await either.preferences.all_of(f"{GOES_ON}dm") == {"conversation": "dm:2"}


async def test_what_is_spelled_as_a_column_of_a_thread_that_stays_is_not_found_again(tmp_path: Path) -> None:
    store = await open_store(await new_database(tmp_path / "bot.db"))
    try:
        await answered(store, said("Hello."), "Hello.")
        asked = said("{}")
        await answered(store, asked, "thread")  # that is the name of the conversation
        receipt = await store.forgetting.forget(
            Deleted(asked.source, asked.channel, frozenset({asked.message_id})), START
        )
        assert (receipt.found_again, receipt.erased["messages"]) == (0, 2)
    finally:
        await store.close()


@pytest.mark.parametrize(
    ("wish", "falls"),
    [
        (AboutTopic("ann", "canoes"), True),
        (AboutTopic("ann", "kayak"), False),
        (one_thread("ann", "slack:T1:C1"), True),
        (one_thread("ann", "slack:T1:C2"), False),
        (During("ann", TimeSpan(START, START + timedelta(hours=1))), True),
        (During("ann", TimeSpan(START - timedelta(hours=1), START)), False),
        (AboutTopic("ben", "canoe"), False),
    ],
)
async def test_a_question_that_its_platform_cannot_take_in_yet_falls_with_what_it_belongs_to(
    wish: Wish, falls: bool
) -> None:
    store = await open_new()
    try:
        asked = {"text": "My canoe is blue.", "asked": START.isoformat(), "conversations": ["slack:T1:C1"]}
        await store.preferences.set("ann", f"{UNASKED}1", json.dumps(asked))
        await store.preferences.set("ann", "depth", "deep")
        shown = await store.forgetting.preview(wish)
        assert (shown.counts["messages"], shown.lines) == ((1, ("My canoe is blue.",)) if falls else (0, ()))
        receipt = await store.forgetting.forget(wish, START)
        assert receipt.erased["messages"] == (1 if falls else 0)
        assert await store.preferences.all_of("ann") == {"depth": "deep"} | (
            {} if falls else {f"{UNASKED}1": json.dumps(asked)}
        )
    finally:
        await store.close()
