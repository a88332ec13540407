"""Operators' requests about a person or place: finding the subject, exports, and confirmation."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from agent.errors import LeaseLost, Refused, StoreLocked
from agent.events import Outcome
from agent.memory.audience import NOWHERE, GroupAudience, Place, TeamAudience
from agent.memory.forgetting_plans import OPERATOR_ERASE, Everything
from agent.turn_records import Closing
from bot.app.settings import Settings, load_settings
from bot.app.subject_requests import (
    CONFIRM_WITHIN,
    TAKEN_S,
    Kind,
    Operator,
    Order,
    ask,
    erase,
    erased_text,
    find_similar,
    found_line,
    look,
    needs_another,
    open_export,
    open_request,
    place_named,
    preview_text,
    private_file,
)
from bot.chat.audit import as_line, change_words, home_text, pages
from bot.chat.jobs import JobLimits, JobWorker
from bot.chat.output import OutputError
from bot.operators.settings import OperatorAct
from store.engine import Store, open_store
from store.message_tables import message
from tests.contracts.steps import answered, claimed
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import START, said
from tests.fakes.new_database import new_database
from tests.fakes.operators import ANNA, BERT, by_operator, erasing_on
from tests.fakes.postgresql import PostgresServer
from tests.store.processes import pieces_in_files

pytestmark = pytest.mark.slow  # files, and a process that serves beside the operator

ANN, BEN = "slack:T1:U1", "slack:T1:U2"
CLUB = Place(GroupAudience("slack:T1:C1"))
YARD = Place(TeamAudience("slack:T1"), within_team="slack:T1")
CLOCK = FakeClock(START)


async def talk(store: Store) -> None:
    """Two people in a private channel, in a public one, and alone."""
    for number, (person, place, channel, words) in enumerate(
        (
            (ANN, None, "D1", "ann alone"),
            (ANN, CLUB, "C1", "ann in the club\n(attached: plan.pdf, list.csv)"),
            (BEN, CLUB, "C1", "ben in the club"),
            (BEN, YARD, "C2", "ben in the yard"),
        ),
        1,
    ):
        one = said(words, person=person, conversation=f"slack:T1:{channel}", number=number)
        asked_ = replace(one, source="slack:T1", channel=channel, place=place or one.place)
        claim = await answered(store, asked_, f"You said: {words.partition('(')[0]}")
        await remember(store.facts, person, f"fact of {words[:12]}", "person:x", START, claim.message)
    await store.preferences.set(ANN, "model", "small")
    await store.preferences.set("channel:C1", "learning", "off")


@asynccontextmanager
async def operated(path: Path, **environ: str) -> AsyncGenerator[tuple[Settings, Store]]:
    """A database that a bot serves from, so it is open."""
    url = await new_database(path / "bot.db")
    store = await open_store(url)
    try:
        await talk(store)
        yield load_settings({"COGENCY_DATABASE_URL": url, **environ}), store
    finally:
        await store.close()


async def closed(path: Path, **environ: str) -> Settings:
    async with operated(path, **environ) as (settings, _):
        return settings


async def exported(settings: Settings, kind: Kind, of: str, operator: Operator = ANNA) -> dict[str, Any]:
    order = Order(OperatorAct.EXPORT, kind, of)
    async with open_export(settings, order, operator, CLOCK) as (_, pieces):
        return json.loads("".join([piece async for piece in pieces]))


async def audit_of(settings: Settings) -> list[str]:
    store = await open_store(settings.storage.url)
    try:
        return [as_line(one) async for page in pages(store.audit, START - timedelta(days=9)) for one in page]
    finally:
        await store.close()


def serving(store: Store, clock: FastClock) -> JobWorker:
    """Runs these jobs as a serving bot does."""

    async def handle(job: Any) -> None:
        await (await erasing_on(store)).carry_out(job)

    return JobWorker(store.jobs, {OPERATOR_ERASE: handle}, clock, "bot", JobLimits(sweep_s=0.05))


async def test_an_export_of_a_person_holds_what_is_kept_of_them_and_nothing_of_others(tmp_path: Path) -> None:
    async with operated(tmp_path) as (settings, _):
        told = await exported(settings, Kind.PERSON, ANN)
    assert (told["version"], told["kind"], told["id"], told["by"]) == (1, "person", ANN, "operator:anna")
    assert [one["text"].partition("\n")[0] for one in told["messages"]] == [
        "ann alone",
        "You said: ann alone",
        "ann in the club",
        "You said: ann in the club",
    ]
    assert told["messages"][2]["files"] == ["plan.pdf", "list.csv"]
    assert told["messages"][2]["audience"] == "group:slack:T1:C1"
    assert {"thread", "author", "person", "time", "source"} <= told["messages"][0].keys()
    assert [(one["text"], one["source"]) for one in told["facts"]] == [
        ("fact of ann alone", told["messages"][0]["source"]),
        ("fact of ann in the c", told["messages"][2]["source"]),
    ]
    assert told["preferences"] == [{"of": ANN, "name": "model", "value": "small"}]
    assert "ben" not in json.dumps(told)


async def test_an_export_of_a_channel_holds_what_was_said_there_by_everybody(tmp_path: Path) -> None:
    async with operated(tmp_path) as (settings, _):
        told = await exported(settings, Kind.PLACE, "slack:T1:C1")
        whole = await exported(settings, Kind.PLACE, "slack:T1")
    assert [one["person"] for one in told["messages"]] == [ANN, ANN, BEN, BEN]
    assert [one["id"] for one in told["people"]] == [ANN, BEN]
    assert [one["text"] for one in told["facts"]] == ["fact of ann in the c", "fact of ben in the c"]
    assert told["preferences"] == [{"of": "channel:C1", "name": "learning", "value": "off"}]
    assert "ann alone" not in json.dumps(told)
    assert "yard" not in json.dumps(told)
    assert len(whole["messages"]) == 8


async def test_what_may_not_be_kept_is_in_no_export(tmp_path: Path) -> None:
    async with operated(tmp_path) as (settings, store):
        hidden = message.update().where(message.c.text == "You said: ann alone").values(drawn_from=NOWHERE)
        await store.database.write(lambda connection: connection.execute(hidden))
        told = await exported(settings, Kind.PERSON, ANN)
    assert [(one["text"], one.get("withheld")) for one in told["messages"]][:2] == [("ann alone", None), ("", True)]


async def test_a_long_export_comes_in_pages_and_is_whole(tmp_path: Path) -> None:
    async with operated(tmp_path) as (settings, store):
        many = [
            {"conversation": "slack:T1:D1", "turn": 1, "author": "person", "person": ANN, "text": f"{n} " + "x" * 400}
            | {"length": 1, "time": START, "audience": f"person:{ANN}", "channel": "D1"}
            for n in range(1_003)
        ]
        await store.database.write(lambda connection: connection.execute(message.insert(), many))
        async with open_export(settings, Order(OperatorAct.EXPORT, Kind.PERSON, ANN), ANNA, CLOCK) as (_, pieces):
            each = [piece async for piece in pieces]
    assert max(map(len, each)) < 110_000
    texts = [one["text"].partition(" ")[0] for one in json.loads("".join(each))["messages"]]
    assert texts[4:] == [str(n) for n in range(1_003)]


async def test_an_export_that_nobody_read_to_its_end_says_so_in_the_audit(tmp_path: Path) -> None:
    async with operated(tmp_path) as (settings, _):
        async with open_export(settings, Order(OperatorAct.EXPORT, Kind.PERSON, ANN), ANNA, CLOCK) as (_, pieces):
            await anext(pieces)
        await exported(settings, Kind.PERSON, ANN, BERT)
    begun, whole = await audit_of(settings)
    assert "operator:anna #1  export person  alone (operator)  stopped" in begun
    assert "operator:bert #2  export person  alone (operator)  success" in whole
    assert f"{ANN} 1 person, 2 facts, 4 messages, 1 preferences, 2 operators" in whole


@pytest.mark.parametrize(
    ("kind", "mistyped", "sentence"),
    [
        (Kind.PERSON, "slack:T1:u1", f"Nothing is stored about slack:T1:u1. Did you mean {ANN}?"),
        (Kind.PERSON, "U2", f"Nothing is stored about U2. Did you mean {BEN}?"),
        (Kind.PERSON, "", "That is not an ID. To find one, run `cogency person find NAME`."),
        (Kind.PERSON, "x" * 301, "That is not an ID. "),
        (Kind.PLACE, "C1", "Nothing is stored about C1. Did you mean slack:T1:C1?"),
        (Kind.PLACE, "slack:T1:D1x", "Nothing is stored about slack:T1:D1x. Did you mean slack:T1:C"),
        (Kind.PLACE, "nowhere", "Nothing is stored about nowhere. To find an ID, run `cogency place find NAME`."),
        (Kind.PLACE, ANN, f"Nothing is stored about {ANN}. "),
        (Kind.PLACE, "slack", "Nothing is stored about slack. Did you mean slack:T1?"),
    ],
)
async def test_an_id_that_nobody_has_gets_a_sentence_with_what_is_near(
    tmp_path: Path, kind: Kind, mistyped: str, sentence: str
) -> None:
    settings = await closed(tmp_path)
    for refused in (look, exported):
        with pytest.raises(Refused) as why:
            await refused(settings, kind, mistyped)
        assert str(why.value).startswith(sentence)
    assert await audit_of(settings) == []


async def test_people_and_places_are_found_by_letters_of_their_names_and_ids(tmp_path: Path) -> None:
    settings = await closed(tmp_path)
    assert [one.id for one in await find_similar(settings, Kind.PERSON, "")] == [BEN, ANN]
    assert [one.id for one in await find_similar(settings, Kind.PERSON, "u1")] == [ANN]
    assert [one.id for one in await find_similar(settings, Kind.PERSON, "@u1 ")] == [ANN]
    assert await find_similar(settings, Kind.PERSON, "%") == []
    assert [(one.id, one.name, one.messages) for one in await find_similar(settings, Kind.PLACE, "")] == [
        ("slack:T1:C2", "team", 2),
        ("slack:T1:C1", "group", 4),
    ]
    assert found_line((await find_similar(settings, Kind.PERSON, "U1"))[0]).startswith(f"{ANN}  ")


async def test_where_no_bot_serves_the_command_erases_and_says_how_to_check(tmp_path: Path) -> None:
    settings = await closed(tmp_path)
    seen = preview_text(await look(settings, Kind.PERSON, ANN))
    assert seen.startswith(f"This erases the data of {ANN}: 4 messages, 2 facts, in 2 threads.")
    erased = await erase(settings, Order(OperatorAct.ERASE, Kind.PERSON, ANN), ANNA, CLOCK)
    told = erased_text(erased)
    assert told.startswith("Forgotten: 4 messages, 2 facts")
    assert "no trace of them is left in the database files." in told
    assert f"`cogency person export {ANN}`. It should find nothing." in told
    assert erased.known_as.startswith("forgotten:")
    assert erased.known_as in told
    with pytest.raises(Refused, match=r"It was erased on 2026-.* \(audit entry 1\)"):
        await look(settings, Kind.PERSON, ANN)
    (row,) = await audit_of(settings)
    assert "operator:anna #1  erase person  alone (operator)  success" in row
    assert f"{erased.known_as} " in row
    assert "4 messages" in row
    assert ANN not in row
    assert await pieces_in_files(tmp_path, ["ann alone", "ann in the club"]) == 0
    assert (await look(settings, Kind.PERSON, BEN)).counts["messages"] == 4


async def test_where_a_bot_serves_that_process_erases(tmp_path: Path) -> None:
    async with operated(tmp_path) as (settings, store):
        clock = FastClock(START)
        with pytest.raises(StoreLocked):
            await open_store(settings.storage.url)
        async with serving(store, clock).serving():
            erased = await erase(settings, Order(OperatorAct.ERASE, Kind.PERSON, ANN), ANNA, clock)
        assert erased.receipt.erased["messages"] == 4
        assert (erased.receipt.found_again, erased.receipt.bytes_gone) == (0, True)
        assert await store.jobs.claim(frozenset({OPERATOR_ERASE}), "other", clock.now(), timedelta(minutes=1)) is None
        assert await pieces_in_files(tmp_path, ["ann alone", "ann in the club", ANN]) == 0


async def test_on_a_server_the_command_erases_if_nobody_takes_it_up(postgres: PostgresServer) -> None:
    url = await postgres.empty()
    store = await open_store(url)
    try:
        await talk(store)
        settings = load_settings({"COGENCY_DATABASE_URL": url})
        clock = FastClock(START)
        erased = await erase(settings, Order(OperatorAct.ERASE, Kind.PERSON, ANN), ANNA, FastClock(START, speed=500))
        assert erased.receipt.erased["messages"] == 4
        assert (erased.receipt.found_again, erased.receipt.kept_by_server) == (0, True)
        async with serving(store, clock).serving():
            place = await erase(settings, Order(OperatorAct.ERASE, Kind.PLACE, "slack:T1:C1"), ANNA, clock)
        assert place.receipt.erased["messages"] == 2
    finally:
        await store.close()


async def test_a_process_that_holds_the_file_and_does_not_erase_is_named(tmp_path: Path) -> None:
    settings = await closed(tmp_path)
    with FileLock(tmp_path / "bot.db.lock"):
        order, clock = Order(OperatorAct.ERASE, Kind.PERSON, ANN), FastClock(START, speed=500)
        with pytest.raises(StoreLocked, match=r"did not respond\. Stop it and try again\."):
            await erase(settings, order, ANNA, clock)
        assert clock.monotonic() > TAKEN_S
    (row,) = await audit_of(settings)
    assert "not run" in row
    assert (await look(settings, Kind.PERSON, ANN)).counts["messages"] == 4
    store = await open_store(settings.storage.url)
    assert await store.jobs.claim(frozenset({OPERATOR_ERASE}), "other", CLOCK.now(), timedelta(minutes=1)) is None
    await store.close()


async def test_a_channel_is_erased_with_its_receipt_and_what_people_asked_alone_stays(tmp_path: Path) -> None:
    settings = await closed(tmp_path)
    erased = await erase(settings, Order(OperatorAct.ERASE, Kind.PLACE, "slack:T1:C1"), ANNA, CLOCK)
    assert erased.receipt.erased["messages"] == 4
    assert (erased.receipt.found_again, erased.receipt.bytes_gone) == (0, True)
    assert "`cogency place export slack:T1:C1`. It should find nothing" in erased_text(erased)
    with pytest.raises(Refused, match="It was erased on"):
        await look(settings, Kind.PLACE, "slack:T1:C1")
    assert await pieces_in_files(tmp_path, ["in the club"]) == 0
    assert await pieces_in_files(tmp_path, ["ann alone", "ben in the yard"]) == 2
    (row,) = await audit_of(settings)
    assert "erase place" in row
    assert "slack:T1:C1 " in row


async def test_a_whole_workspace_is_erased(tmp_path: Path) -> None:
    settings = await closed(tmp_path)
    erased = await erase(settings, Order(OperatorAct.ERASE, Kind.PLACE, "slack:T1"), ANNA, CLOCK)
    assert erased.receipt.erased["messages"] == 8
    assert erased.receipt.found_again == 0
    assert await find_similar(settings, Kind.PERSON, "") == []


async def test_a_server_has_its_public_channels_and_the_private_ones_whose_links_name_it(tmp_path: Path) -> None:
    async with operated(tmp_path) as (settings, store):
        server, hidden = Place(TeamAudience("discord:9")), Place(GroupAudience("discord:72"))
        for number, (place, channel, guild) in enumerate(
            ((server, "71", "9"), (hidden, "72", "9"), (Place(GroupAudience("discord:81")), "81", "8")), 11
        ):
            one = said(f"ann in {channel}", person="discord:1", conversation=f"discord:{channel}", number=number)
            link = f"https://discord.com/channels/{guild}/{channel}/{number}"
            await answered(
                store,
                replace(one, source="discord", channel=channel, place=place, permalink=link),
                f"Hello, {channel}.",
            )
        counts = {
            of: (await exported(settings, Kind.PLACE, of))["messages"]
            for of in ("discord:9", "discord:71", "discord:72", "discord:81")
        }
        receipt = await by_operator(store, "discord:9", Kind.PLACE)
        left = [one.id for one in await find_similar(settings, Kind.PLACE, "discord")]
    assert {of: len(messages) for of, messages in counts.items()} == {
        "discord:9": 4,
        "discord:71": 2,
        "discord:72": 2,
        "discord:81": 2,
    }
    assert (receipt.erased["messages"], receipt.found_again) == (4, 0)
    assert left == ["discord:81"]


async def test_an_answer_that_runs_at_a_place_is_ended_before_the_place_is_erased(tmp_path: Path) -> None:
    async with operated(tmp_path) as (_, store):
        one = said("ann asks in the club", person=ANN, conversation="slack:T1:C1", place=CLUB, number=9)
        await store.ledger.accept(replace(one, source="slack:T1", channel="C1"))
        running = await claimed(store)
        receipt = await by_operator(store, "slack:T1:C1", Kind.PLACE)
        assert (receipt.erased["messages"], receipt.found_again) == (5, 0)
        with pytest.raises(LeaseLost):
            await store.ledger.finish(running, Closing(Outcome.ANSWERED, "too late"), START)


async def test_two_operators_have_to_agree_where_the_setting_says_so(tmp_path: Path) -> None:
    settings = await closed(tmp_path, COGENCY_TWO_OPERATORS="erase, export")
    order = Order(OperatorAct.ERASE, Kind.PERSON, ANN, replies=True)
    assert needs_another(settings, order)
    number = (await ask(settings, order, ANNA, CLOCK)).number
    with pytest.raises(Refused, match="Anna made this request, so another operator must confirm it"):
        await open_request(settings, Kind.PERSON, number, Operator("Anna", "other"), CLOCK)
    with pytest.raises(
        Refused, match=f"Request {number} has a different purpose: to erase the data of the person {ANN}"
    ):
        await open_request(settings, Kind.PLACE, number, BERT, CLOCK)
    with pytest.raises(Refused, match="There is no request 99"):
        await open_request(settings, Kind.PERSON, 99, BERT, CLOCK)
    agreed = await open_request(settings, Kind.PERSON, number, BERT, CLOCK)
    assert agreed == replace(order, number=number)
    assert not needs_another(settings, agreed)
    erased = await erase(settings, agreed, BERT, CLOCK)
    assert erased.receipt.erased["messages"] == 4
    with pytest.raises(Refused, match="is already confirmed"):
        await open_request(settings, Kind.PERSON, number, BERT, CLOCK)
    first, second = await audit_of(settings)
    assert "operator:anna #1  erase person  asked (operator)  confirmed" in first
    assert "operator:bert #2  erase person  confirmed (operator)  success" in second
    assert ANN not in first + second
    assert erased.known_as in first
    assert erased.known_as in second


async def test_only_one_of_two_who_confirm_at_once_does_it(tmp_path: Path) -> None:
    settings = await closed(tmp_path, COGENCY_TWO_OPERATORS="export")
    order = await ask(settings, Order(OperatorAct.EXPORT, Kind.PERSON, ANN), ANNA, CLOCK)

    async def confirmed(operator: Operator) -> bool:
        try:
            async with open_export(settings, order, operator, CLOCK) as (_, pieces):
                return bool([piece async for piece in pieces])
        except Refused:
            return False

    both = await asyncio.gather(confirmed(BERT), confirmed(Operator("carl", "root")))
    assert sorted(both) == [False, True]


async def test_what_was_asked_for_long_ago_cannot_be_confirmed(tmp_path: Path) -> None:
    settings = await closed(tmp_path, COGENCY_TWO_OPERATORS="erase")
    order = await ask(settings, Order(OperatorAct.ERASE, Kind.PERSON, ANN), ANNA, FakeClock(START))
    late = FakeClock(START + CONFIRM_WITHIN + timedelta(seconds=1))
    with pytest.raises(Refused, match=r"more than 24 hours ago\. Make a new one"):
        await open_request(settings, Kind.PERSON, order.number, BERT, late)


@pytest.mark.parametrize("name", ["", "two words", "x" * 65, "a\nb", '"'])
def test_a_name_that_would_read_as_something_else_is_no_operators(name: str) -> None:
    with pytest.raises(Refused, match="is not a valid operator name"):
        Operator(name, "root")


async def test_who_is_forgotten_by_themselves_stands_in_the_rows_of_operators_as_a_hash(tmp_path: Path) -> None:
    async with operated(tmp_path) as (settings, store):
        await exported(settings, Kind.PERSON, ANN)
        await store.forgetting.forget(Everything(ANN), START)
        (row,) = await store.audit.newest(9)
        assert ANN not in as_line(row)
        assert "forgotten:" in as_line(row)
        assert "export person, operator:anna: alone" in home_text([row])
        assert "forgotten:" not in home_text([row])
        assert change_words(row).startswith("export person: forgotten:")


def test_a_file_is_its_owners_alone_and_takes_no_other_ones_place(tmp_path: Path) -> None:
    path, target = tmp_path / "out.json", tmp_path / "target"
    with private_file(path, force=False) as write:
        write("words")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("words", 0o600)
    with (
        pytest.raises(OutputError, match=r"already exists. Choose another name, or add --force"),
        private_file(path, force=False),
    ):
        pass
    path.unlink()
    target.write_text("not ours")
    path.symlink_to(target)
    with pytest.raises(OutputError), private_file(path, force=False):
        pass
    with private_file(path, force=True) as write:
        write("more")
    assert (path.read_text(), path.is_symlink(), target.read_text()) == ("more", False, "not ours")
    with pytest.raises(ZeroDivisionError), private_file(path, force=True) as write:
        write(str(1 // 0))
    assert path.read_text() == "more"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.json", "target"]
    with pytest.raises(OutputError, match="could not be written"), private_file(tmp_path / "no" / "out", force=False):
        pass


async def test_a_place_is_found_by_the_name_that_its_platform_says(tmp_path: Path) -> None:
    settings = await closed(tmp_path)
    names = {"C1": "#boat-club", "C2": "#yard (Harbour)", "C9": "#boat-yard"}
    found = await find_similar(settings, Kind.PLACE, "#Boat", names)
    assert [(one.id, one.name) for one in found] == [("slack:T1:C1", "#boat-club, group")]
    assert {one.id for one in await find_similar(settings, Kind.PLACE, "", names)} == {"slack:T1:C1", "slack:T1:C2"}
    assert await place_named(settings, "boat-club", names) == "slack:T1:C1"
    assert await place_named(settings, "#Yard", names) == "slack:T1:C2"
    assert await place_named(settings, "boat", names) == "boat"
    assert await place_named(settings, "boat-yard", names) == "boat-yard"
    with pytest.raises(Refused, match=r"Several channels.*slack:T1:C"):
        await place_named(settings, "yard", names | {"C1": "#yard"})
