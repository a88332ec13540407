"""The files that code saved: who gets them, how many there are, and what they fall with. On both engines."""

import random
import zipfile
from base64 import b64decode
from dataclasses import replace
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select

from agent.memory.audience import (
    HERE,
    NOWHERE,
    WIDE,
    Audience,
    AudienceKind,
    GroupAudience,
    PersonAudience,
    Place,
    TeamAudience,
    label,
)
from agent.memory.documents import NewDocument, Passage
from agent.memory.forgetting_plans import (
    IDLE_FILES,
    Deleted,
    Everything,
    Expired,
    ForgettingPlan,
    Gone,
    OneReply,
    OneThread,
)
from agent.ports.saved_files import IDLE, MAX_BYTES, MAX_SAVED, FileChanges, FileSource
from agent.turn_records import Claim
from store import saved_files
from store.data_subjects import PersonSubject, PlaceSubject
from store.engine import Store
from store.file_tables import saved_file
from store.forgetting.sql_forgetting import file_traces
from store.message_tables import message
from store.subject_access import data_subjects_in
from tests.contracts.steps import answered, proved
from tests.fakes.incoming import START, said
from tests.store.engines import same_on_either

NOW = START + timedelta(minutes=5)
LATER = START + timedelta(days=1)
TEAM = Place(TeamAudience("test"), within_team="test")
SECRET = Place(GroupAudience("secret"), whole_channel=True)
NOISE = random.Random(7).randbytes(20_000)


async def asked(store: Store, text: str = "draw this", place: Place = TEAM, person: str = "ann") -> Claim:
    return await answered(store, said(text, place=place, person=person), "here it is")


async def save(
    store: Store,
    claim: Claim,
    *names: str,
    data: bytes = NOISE,
    drawn: str = WIDE,
    sources: tuple[FileSource, ...] = (),
    now: datetime = NOW,
    replaced: frozenset[int] = frozenset(),
    used: frozenset[int] = frozenset(),
    documents: tuple[int, ...] = (),
) -> bool:
    incoming = claim.incoming
    changes = FileChanges(
        incoming.conversation,
        incoming.person.id,
        label(incoming.place.audience),
        drawn,
        [(name, data) for name in names],
        used,
        replaced,
        (FileSource(claim.message, asked=True), *sources),
        documents,
    )
    return await store.saved_files.save(changes, now)


async def names(
    store: Store, *audiences: Audience, person: str = "ann", now: datetime = NOW, conversation: str = "thread"
) -> list[str]:
    labels = frozenset(map(label, audiences or (TEAM.audience,)))
    return [file.name for file in await store.saved_files.readable(conversation, labels, person, now)]


async def rows(store: Store) -> int:
    return await store.database.read(lambda c: c.execute(select(func.count()).select_from(saved_file)).scalar_one())


@same_on_either
async def test_a_saved_file_comes_back_with_all_that_it_was_made_from(either: Store) -> None:
    told, question = await asked(either, "look"), await asked(either)
    source = FileSource(told.message, attached=("größen.csv", "b.csv"))
    assert await save(either, question, "2026/july.csv", data=b"\0\xff", sources=(source,))
    (file,) = await either.saved_files.readable("thread", frozenset({"team:test"}), "ann", NOW)
    assert (file.name, file.data, file.audience, file.drawn_from) == ("2026/july.csv", b"\0\xff", "team:test", WIDE)
    assert set(file.sources) == {source, FileSource(question.message, asked=True)}


@same_on_either
async def test_a_saved_file_names_the_call_that_saved_it(either: Store) -> None:
    question = await asked(either)
    changes = FileChanges("thread", "ann", label(TEAM.audience), WIDE, [("a.csv", b"a")], call="17:2.1")
    assert await either.saved_files.save(replace(changes, sources=(FileSource(question.message, asked=True),)), NOW)
    await save(either, question, "b.csv")
    found = await either.saved_files.readable("thread", frozenset({"team:test"}), "ann", NOW)
    assert {file.name: file.call for file in found} == {"a.csv": "17:2.1", "b.csv": ""}


async def test_a_new_file_replaces_the_one_that_the_run_had_and_a_removed_one_goes(either: Store) -> None:
    question = await asked(either)
    await save(either, question, "a.csv", "b.csv", data=b"old")
    had = {
        file.name: file.id for file in await either.saved_files.readable("thread", frozenset({"team:test"}), "ann", NOW)
    }
    await save(either, question, "a.csv", data=b"new", replaced=frozenset(had.values()))
    (file,) = await either.saved_files.readable("thread", frozenset({"team:test"}), "ann", NOW)
    assert (file.name, file.data) == ("a.csv", b"new")
    await save(either, question, "a.csv", data=b"newer")  # a call beside it, which had not found the other one
    assert await names(either) == ["a.csv"]


@same_on_either
async def test_the_oldest_files_go_first(either: Store) -> None:
    question = await asked(either)
    third = bytes(MAX_BYTES // 3)
    for number in range(5):
        await save(either, question, f"{number}.bin", data=third)
    assert await names(either) == ["4.bin", "3.bin", "2.bin"]
    other = await answered(either, said("elsewhere", conversation="other", place=TEAM), "yes")
    await save(either, other, "x.bin", data=third)
    assert len(await names(either)) == 3, "other conversations have room of their own"


@same_on_either
async def test_however_small_only_so_many_files_stay(either: Store) -> None:
    question = await asked(either)
    await save(either, question, *(f"{number}.txt" for number in range(MAX_SAVED + 5)), data=b"")
    assert len(await names(either)) == MAX_SAVED


@pytest.mark.parametrize(
    ("drawn", "reader", "audiences", "gets"),
    [
        (WIDE, "ben", (TEAM.audience,), True),
        (WIDE, "ben", (PersonAudience("ben"),), False),
        ("person:ann", "ben", (TEAM.audience,), False),
        ("person:ann", "ann", (TEAM.audience,), True),
        (HERE, "ben", (TEAM.audience,), False),
        (HERE, "ann", (TEAM.audience,), True),
        ("group:secret", "ben", (TEAM.audience,), False),
        ("group:secret", "ben", (TEAM.audience, SECRET.audience), True),
        ("person:ann", "ann", (SECRET.audience,), False),
    ],
)
async def test_who_may_not_read_what_a_file_was_made_from_does_not_get_it(
    either: Store, drawn: str, reader: str, audiences: tuple[Audience, ...], gets: bool
) -> None:
    assert await save(either, await asked(either), "pay.csv", drawn=drawn)
    assert await names(either, *audiences, person=reader) == (["pay.csv"] if gets else [])


@same_on_either
async def test_what_may_be_kept_for_the_turn_only_is_not_saved(either: Store) -> None:
    assert not await save(either, await asked(either), "a.csv", drawn=NOWHERE)
    assert await rows(either) == 0


@same_on_either
async def test_files_of_another_conversation_are_not_there(either: Store) -> None:
    await save(either, await asked(either), "a.csv")
    assert await names(either, conversation="other") == []


@same_on_either
async def test_a_file_is_not_saved_after_what_it_was_made_from_is_gone(either: Store) -> None:
    told, question = await asked(either, "look"), await asked(either)
    await either.forgetting.forget(Deleted("test", "channel", frozenset({told.incoming.message_id})), LATER)
    assert not await save(either, question, "a.csv", sources=(FileSource(told.message),))
    assert await rows(either) == 0


async def derived(store: Store) -> tuple[Claim, Claim, Claim]:
    """A message with a table, a question whose file was drawn from it, and one whose file was drawn from that."""
    told = await asked(store, "look at the table")
    first, second = await asked(store, "draw it"), await asked(store, "now by month")
    table = FileSource(told.message, attached=("sales.csv",))
    assert await save(store, first, "chart.png", sources=(table,))
    above = (table, FileSource(first.message, asked=True))
    assert await save(store, second, "months.png", sources=above, data=NOISE[::-1])
    return told, first, second


def post(claim: Claim) -> Deleted:
    return Deleted("test", "channel", frozenset({claim.incoming.message_id}))


@same_on_either
async def test_a_file_falls_with_each_message_that_it_was_made_from(either: Store) -> None:
    told, first, second = await derived(either)
    for claim, left in ((second, ["chart.png"]), (first, []), (told, [])):
        receipt = await either.forgetting.forget(post(claim), LATER)
        assert proved(receipt)
        assert await names(either) == left
    await derived(either)
    assert (await either.forgetting.forget(post((await derived(either))[0]), LATER)).erased["files"] == 2


@same_on_either
async def test_a_file_falls_with_the_reply_of_its_turn_and_so_do_those_made_from_it(either: Store) -> None:
    _, first, _ = await derived(either)
    await either.forgetting.forget(OneReply(first.turn), LATER)
    assert await names(either) == []
    _, _, second = await derived(either)
    await either.forgetting.forget(OneReply(second.turn), LATER)
    assert await names(either) == ["chart.png"]


async def test_preview_and_receipt_count_files(either: Store) -> None:
    await derived(either)
    wish = OneThread("ann", frozenset({"thread"}))
    before = await either.forgetting.preview(wish)
    assert before.counts["files"] == 2
    receipt = await either.forgetting.forget(wish, LATER)
    assert receipt.erased["files"] == 2
    assert proved(receipt)
    assert await rows(either) == 0


async def test_the_name_of_a_preview_changes_with_its_files(either: Store) -> None:
    question, wish = await asked(either), OneThread("ann", frozenset({"thread"}))
    before = (await either.forgetting.preview(wish)).name
    await save(either, question, "a.csv")
    assert (await either.forgetting.preview(wish)).name != before


@same_on_either
async def test_a_file_falls_when_a_message_that_it_was_made_from_is_edited(either: Store) -> None:
    told, _, _ = await derived(either)
    assert await either.forgetting.update_text("test", "channel", told.incoming.message_id, "another table", LATER)
    assert await names(either) == []


@pytest.mark.parametrize(
    ("plan", "left"),
    [
        (Everything("ann"), []),
        (Everything("ben"), ["chart.png"]),
        (Gone(channels=frozenset({"channel"})), []),
        (Gone(conversations=frozenset({"thread"})), []),
        (Gone(audiences=frozenset({"group:secret"})), []),
        (Gone(audiences=frozenset({"group:other"})), ["chart.png"]),
        (Expired(AudienceKind.TEAM, LATER), []),
        (Expired(AudienceKind.TEAM, START), ["chart.png"]),
    ],
)
async def test_files_fall_with_their_person_their_place_and_their_time(
    either: Store, plan: ForgettingPlan, left: list[str]
) -> None:
    await save(either, await asked(either), "chart.png", drawn="group:secret")
    while any((await either.forgetting.retire(plan, LATER, 10)).values()):
        pass
    assert await names(either) == left


async def test_a_narrowed_place_takes_its_files_along_and_those_made_elsewhere_fall(either: Store) -> None:
    question = await asked(either)
    await save(either, question, "here.csv")
    elsewhere = replace(said("elsewhere", conversation="other", place=TEAM), channel="another")
    other = await answered(either, elsewhere, "yes")
    await save(either, other, "there.csv", sources=(FileSource(question.message),))
    await save(either, other, "own.csv")
    await either.ledger.restrict_place("test", "channel", SECRET, LATER)
    assert await names(either) == []
    assert await names(either, SECRET.audience) == ["here.csv"]
    assert await names(either, conversation="other") == ["own.csv"]


async def test_a_file_whose_source_went_in_another_way_is_never_given_and_goes_with_the_next_save(
    either: Store,
) -> None:
    """As when a process of an earlier version erases, which does not know of files."""
    told, first, _ = await derived(either)
    await either.database.write(lambda c: c.execute(delete(message).where(message.c.id == told.message)))
    assert await names(either) == []
    await save(either, first, "new.csv")
    assert await names(either) == ["new.csv"]
    assert await rows(either) == 1


async def test_a_file_falls_with_a_document_that_it_was_made_from(either: Store) -> None:
    question = await asked(either)
    await either.documents.keep(
        NewDocument("rules.pdf", "team:test", "test", "channel", "ann", NOW, [Passage("The harbour closes at nine.")])
    )
    (document,) = await either.documents.listed(frozenset({"team:test"}))
    assert await save(either, question, "rules.csv", documents=(document.id,))
    assert await save(either, question, "other.csv")
    await either.documents.remove(document.id)
    assert await names(either) == ["other.csv"]
    assert not await save(either, question, "late.csv", documents=(document.id + 1,))


async def test_files_that_nothing_uses_go_after_a_week(either: Store) -> None:
    question = await asked(either)
    await save(either, question, "idle.csv")
    await save(either, question, "used.csv")
    (used, _) = await either.saved_files.readable("thread", frozenset({"team:test"}), "ann", NOW)
    day = timedelta(days=1)
    await save(either, question, now=NOW + day, used=frozenset({used.id}))
    assert await names(either, now=NOW + IDLE) == ["used.csv"]
    assert await either.forgetting.drop_idle_files("thread", NOW + IDLE) == NOW + IDLE + day
    assert await rows(either) == 1
    assert await either.forgetting.drop_idle_files("thread", NOW + IDLE + day) is None
    assert await rows(either) == 0


@same_on_either
async def test_a_job_looks_for_idle_files_where_there_are_any(either: Store) -> None:
    question = await asked(either)
    assert await either.jobs.claim(frozenset({IDLE_FILES}), "w", NOW + 2 * IDLE, IDLE) is None
    await save(either, question, "a.csv")
    found = await either.jobs.claim(frozenset({IDLE_FILES}), "w", NOW + IDLE, IDLE)
    assert found is not None
    assert found.key == "thread"


CSV = b"name,pay\n" + b"".join(b"Quillon %d,%d\n" % (number, number**5) for number in range(9_000))


def compressed() -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("a.csv", CSV)
    return packed.getvalue()


@pytest.mark.parametrize("data", [CSV, NOISE, compressed(), b"x" * 50])
async def test_no_byte_of_a_forgotten_file_is_left(path: Path, store: Store, data: bytes) -> None:
    question = await asked(store)
    await save(store, question, "pay.csv", data=data)
    pieces = {data[start : start + 40] for start in range(0, len(data), 997)}
    if data != b"x" * 50:
        assert all_bytes(path).count(data[500:540]) >= 1
    receipt = await store.forgetting.forget(post(question), LATER)
    assert receipt.bytes_gone
    held = all_bytes(path)
    assert [piece for piece in pieces if piece in held] == []


def all_bytes(path: Path) -> bytes:
    return b"".join(each.read_bytes() for each in path.parent.iterdir())


async def test_a_receipt_says_that_bytes_are_left_if_they_are(store: Store) -> None:
    """The search for proof finds bytes of an erased file that stand in the database for no reason."""
    question = await asked(store)
    await save(store, question, "a.bin")
    (file,) = await store.saved_files.readable("thread", frozenset({"team:test"}), "ann", NOW)
    other = await answered(store, said("elsewhere", conversation="other", place=TEAM), "yes")
    await save(store, other, "same.bin")
    receipt = await store.forgetting.forget(post(question), LATER)
    assert receipt.bytes_gone, "the other file explains them"
    assert await store.database.read(file_traces, frozenset({file.data[:24]})) == frozenset()
    await store.saved_files.remove(frozenset({file.id + 1}))
    assert await store.database.read(file_traces, frozenset({file.data[:24]})) == {file.data[:24]}


async def test_an_export_of_its_person_and_of_its_place_holds_the_file(either: Store) -> None:
    await save(either, await asked(either), "chart.png", data=b"\0picture")
    subjects = await data_subjects_in(either)
    (exported,) = (await subjects.page(PersonSubject("ann"), "files")).rows
    assert b64decode(str(exported["base64"])) == b"\0picture"
    assert (exported["name"], exported["thread"], exported["person"]) == ("chart.png", "thread", "ann")
    assert not (await subjects.page(PersonSubject("ben"), "files")).rows
    for channel, names in (("channel", ["chart.png"]), ("another", [])):
        place = PlaceSubject(f"test:{channel}", Gone(channels=frozenset({channel})))
        assert [row["name"] for row in (await subjects.page(place, "files")).rows] == names


async def test_a_restarting_turn_discards_what_it_saved(either: Store) -> None:
    question = await asked(either)
    await save(either, question, "a.csv")
    await either.database.write(saved_files.discard_saved_by, question.message)
    assert await names(either) == []
