"""The contract of what places know: found by those who may, in place of what had its name, and gone when it goes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, text
from sqlmodel import SQLModel

from agent.incoming import Person
from agent.jobs import INDEXING
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label, may_flow_from
from agent.memory.documents import (
    FETCH_AGAIN,
    FETCH_EVERY,
    Document,
    DocumentPage,
    DocumentQuery,
    DocumentRefused,
    LinkedPage,
    NewDocument,
    Passage,
    passages_of,
)
from agent.memory.forgetting_plans import Everything, ForgettingPlan, Gone
from agent.ports.tools import ToolContext
from agent.tools.recall import RecallTool
from store.engine import Store
from store.search import passage_search, passages
from store.search.index import INDEXES
from store.search.passages import document
from tests.contracts.steps import same_on_postgresql
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.new_database import new_database, open_new

PUBLIC = Place(TeamAudience("team"), within_team="team")
CLUB = Place(GroupAudience("club"), whole_channel=True)
ANN = Place(PersonAudience("ann"), within_team="team")
TEAM, PRIVATE, HERS = (label(place.audience) for place in (PUBLIC, CLUB, ANN))
HANDBOOK = """# Handbook

## Leave

Everybody has twenty-eight days of leave a year. Leave that is not taken by the end of March is lost. Ask your manager
two weeks ahead, and enter it into the calendar of the team yourself, so that others can plan.

## Travel

Trips are booked by train where a train takes less than five hours. Hotels may cost up to 120 EUR a night in Vienna.
"""


def handed(
    words: str = HANDBOOK,
    name: str = "handbook.md",
    audience: str = TEAM,
    channel: str = "channel",
    *,
    source: str = "test:T1",
) -> NewDocument:
    passages, link = passages_of([DocumentPage(words, 7)]), "https://example.test/handbook"
    return NewDocument(name, audience, source, channel, "ann", START, passages, link, pages=9)


async def found(store: Store, question: str, place: Place = PUBLIC, *groups: str, limit: int = 5) -> list[str]:
    query = DocumentQuery(question, may_flow_from(place, frozenset(f"group:{group}" for group in groups)), limit=limit)
    return [one.passage.text for one in await store.documents.search(query)]


async def names(store: Store, *audiences: str) -> list[str]:
    return [one.name for one in await store.documents.listed(frozenset(audiences or (TEAM, PRIVATE, HERS)))]


async def do_jobs(store: Store) -> None:
    while (held := await store.jobs.claim(frozenset({INDEXING}), "worker", START, LEASE)) is not None:
        while await store.memories.index_more(held):
            pass
        await store.jobs.finish(held)


async def all_rows(store: Store) -> str:
    """Everything that stands in any row, the indexes included."""

    def held(connection: Connection) -> str:
        indexes = [f"{name}_kept" if connection.dialect.name == "sqlite" else name for name in INDEXES]
        tables = (*indexes, *(table.name for table in SQLModel.metadata.sorted_tables))
        rows = (row for name in tables for row in connection.execute(text(f"SELECT * FROM {name}")))  # noqa: S608 -- our own tables
        return "\n".join(str(part) for row in rows for part in row)

    return await store.database.read(held)


async def test_a_question_finds_the_passage_with_its_heading_its_page_and_the_link(store: Store) -> None:
    await store.documents.keep(handed())
    await store.documents.keep(handed("The canteen serves soup on Mondays.", "canteen.txt"))
    query = DocumentQuery("How many holidays, I mean leave days, do we have?", frozenset({TEAM}))
    best = (await store.documents.search(query))[0]
    assert best.passage.text.startswith("Everybody has twenty-eight days of leave")
    assert (best.passage.heading, best.passage.page) == ("Handbook › Leave", 7)
    assert (best.document.name, best.document.link) == ("handbook.md", "https://example.test/handbook")
    assert (best.document.pages, best.document.passages) == (9, 1)


@same_on_postgresql
@pytest.mark.parametrize("question", ["hotel in vienna?", "HOTELS", "Hotelkosten", "travelling", "handbook 120 EUR"])
async def test_other_forms_of_a_word_and_words_above_the_text_lead_to_it(store: Store, question: str) -> None:
    await store.documents.keep(handed())
    assert any("120 EUR" in one for one in await found(store, question))


@pytest.mark.parametrize("question", ["", "?", '"', "a AND (", "the", "'; DROP TABLE document", "  ", "🙂", "東京"])
async def test_any_text_is_a_valid_query(store: Store, question: str) -> None:
    await store.documents.keep(handed())
    assert len(await found(store, question)) <= 1


@pytest.mark.parametrize(
    ("audience", "place", "groups", "is_found"),
    [
        (TEAM, PUBLIC, (), True),
        (TEAM, ANN, (), True),
        (TEAM, CLUB, (), False),
        (TEAM, replace(CLUB, within_team="team"), (), True),
        (TEAM, Place(PersonAudience("guest")), (), False),
        (TEAM, Place(TeamAudience("other"), within_team="other"), (), False),
        (PRIVATE, CLUB, (), True),
        (PRIVATE, PUBLIC, (), False),
        (PRIVATE, ANN, (), False),
        (PRIVATE, ANN, ("club",), True),
        (PRIVATE, Place(GroupAudience("cellar")), (), False),
        (HERS, ANN, (), True),
        (HERS, PUBLIC, (), False),
        (HERS, Place(PersonAudience("bob"), within_team="team"), ("club",), False),
    ],
)
async def test_a_document_is_found_and_seen_where_its_audience_may_flow_and_nowhere_else(
    store: Store, audience: str, place: Place, groups: tuple[str, ...], *, is_found: bool
) -> None:
    await store.documents.keep(handed(audience=audience))
    assert bool(await found(store, "leave", place, *groups)) is is_found
    usable = may_flow_from(place, frozenset(f"group:{group}" for group in groups))
    (seen,) = await store.documents.listed(frozenset({audience}))
    assert bool(await store.documents.listed(usable)) is is_found
    assert (await store.documents.opened(seen.id, usable, 1) is not None) is is_found


@same_on_postgresql
async def test_a_new_version_takes_the_place_of_the_old_one_in_its_channel_alone(store: Store) -> None:
    await store.documents.keep(handed("The code is walnut."))
    await store.documents.keep(handed("The code is hazel.", channel="elsewhere"))
    await store.documents.keep(handed("The code is chestnut."))
    assert sorted(await found(store, "code")) == ["The code is chestnut.", "The code is hazel."]
    assert "walnut" not in await all_rows(store)
    assert len(await names(store)) == 2


@same_on_postgresql
async def test_what_a_kill_left_half_indexed_is_finished_by_a_job_and_stands_for_the_old_one_then(store: Store) -> None:
    await store.documents.keep(handed("The code is walnut."))
    new = replace(handed(), passages=[Passage(f"The code is chestnut {n}.") for n in range(3 * passages.STEP)])
    kept = await store.database.write(passages.keep, new, passages.rows_of(new))
    assert isinstance(kept, int)
    assert await store.database.write(passages.work_on, kept, lambda _: None)
    assert await found(store, "code") == ["The code is walnut."]
    await do_jobs(store)
    assert len(await found(store, "code", limit=200)) == min(3 * passages.STEP, passage_search.CANDIDATES)
    assert "walnut" not in await all_rows(store)


@same_on_postgresql
async def test_a_removed_document_leaves_no_word(store: Store) -> None:
    await store.documents.keep(handed("The code is walnut, in the annex.", "walnut plan.txt"))
    await store.documents.keep(handed("The code is hazel."))
    (first, _) = await store.documents.listed(frozenset({TEAM}))
    await store.documents.remove(first.id)
    assert await found(store, "walnut code annex") == ["The code is hazel."]
    assert "walnut" not in await all_rows(store)
    assert await names(store) == ["handbook.md"]


async def test_a_channel_that_is_closed_takes_its_documents_along(store: Store) -> None:
    await store.documents.keep(handed("The code is walnut."))
    await store.documents.keep(handed("The code is hazel.", "other", channel="elsewhere"))
    await store.ledger.restrict_place("test:T1", "channel", CLUB, START)
    assert await found(store, "code") == ["The code is hazel."]  # at once, whatever the index still says
    assert await names(store, PRIVATE) == ["handbook.md"]
    await do_jobs(store)
    assert await found(store, "code") == ["The code is hazel."]
    assert await found(store, "code", CLUB) == ["The code is walnut."]
    assert (len(await found(store, "code", ANN, "club")), len(await found(store, "code", ANN))) == (2, 1)


@same_on_postgresql
async def test_the_next_message_finds_that_a_channel_with_documents_was_closed(store: Store) -> None:
    await store.documents.keep(handed("The code is walnut."))
    await store.ledger.accept(replace(said("hello", place=CLUB), source="test:T1"))
    assert (await found(store, "code"), await names(store, PRIVATE)) == ([], ["handbook.md"])


@pytest.mark.parametrize(
    ("plan", "left"),
    [
        (Gone(sources=frozenset({"test:T1"})), ["other team"]),
        (Gone(audiences=frozenset({TEAM})), ["private", "hers"]),
        (Gone(channels=frozenset({"club"})), ["public", "other team", "hers"]),
        (Gone(channels=frozenset({"direct"})), ["public", "private", "other team", "hers"]),
        (Everything("ann"), ["public", "private", "other team"]),
        (Everything("bob"), ["public", "private", "other team", "hers"]),
    ],
)
async def test_documents_fall_with_their_place_and_not_with_whoever_handed_them_in(
    store: Store, plan: ForgettingPlan, left: Sequence[str]
) -> None:
    await store.ledger.accept(said("hello", person="ann"))
    for name, audience, channel, source in (
        ("public", TEAM, "channel", "test:T1"),
        ("private", PRIVATE, "club", "test:T1"),
        ("other team", TEAM, "third", "test:T2"),
        ("hers", HERS, "direct", "test:T1"),
    ):
        await store.documents.keep(
            handed(f"The code of {name} is walnut{name[:2]}.", name, audience, channel, source=source)
        )
    before = {one.by for one in await store.documents.listed(frozenset({TEAM, PRIVATE}))}
    while any((await store.forgetting.retire(plan, START, 200)).values()):
        pass
    known = await store.documents.listed(frozenset({TEAM, PRIVATE, HERS}))
    assert sorted(one.name for one in known) == sorted(left)
    rows = await all_rows(store)
    assert {name for name in ("pu", "pr", "ot", "he") if f"walnut{name}" in rows} == {name[:2] for name in left}
    by = {one.by for one in known if one.audience != HERS}
    assert (before, by) == ({"Ann"}, {""} if plan == Everything("ann") else {"Ann"})


async def test_forgetting_oneself_counts_ones_own_documents_and_proves_that_they_are_gone(store: Store) -> None:
    await store.documents.keep(handed("The code is walnut.", audience=HERS))
    preview = await store.forgetting.preview(Everything("ann"))
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert (preview.counts["documents"], receipt.erased["documents"], receipt.found_again) == (1, 1, 0)


async def test_a_place_that_is_gone_loses_more_passages_than_one_batch_erases(store: Store) -> None:
    many = [Passage(f"The code is walnut {n}.") for n in range(2 * passages.DROPPED + 10)]
    await store.documents.keep(replace(handed(), passages=many))
    plan = Gone(sources=frozenset({"test:T1"}))
    await store.forgetting.retire(plan, START, 200)
    assert (await found(store, "walnut"), await names(store)) == ([], [])
    while any((await store.forgetting.retire(plan, START, 200)).values()):
        pass
    assert "walnut" not in await all_rows(store)


async def test_a_place_keeps_no_more_than_can_be_searched_fast(store: Store) -> None:
    few = replace(handed(), passages=[Passage("x")] * passages.PASSAGES_MOST)
    assert await store.documents.keep(replace(few, passages=[*few.passages, Passage("y")])) is DocumentRefused.LARGE

    def fill(connection: Connection) -> None:
        row = dict(connection.execute(select(document)).mappings().one())
        del row["id"]
        connection.execute(document.insert(), [row | {"name": str(n)} for n in range(passages.DOCUMENTS_MOST - 1)])

    assert await store.documents.keep(handed()) is None
    await store.database.write(fill)
    assert await store.documents.keep(handed(name="one more")) is DocumentRefused.MANY
    assert await store.documents.keep(handed("The code is hazel.")) is None  # in the place of the old one
    assert await found(store, "hazel") == ["The code is hazel."]

    def documents(connection: Connection) -> int:
        return connection.execute(select(func.count()).select_from(document)).scalar_one()

    assert await store.database.read(documents) == passages.DOCUMENTS_MOST


@same_on_postgresql
async def test_two_words_that_stand_in_more_passages_than_are_looked_at_find_the_one_with_both(store: Store) -> None:
    many = [Passage(f"{'project' if n % 2 else 'budget'} number {n}") for n in range(2 * passages.MATCH_LIMIT + 400)]
    many.insert(2 * passages.MATCH_LIMIT + 300, Passage("the budget of the project"))
    await store.documents.keep(replace(handed(name="list"), passages=many))
    assert (await found(store, "project budget"))[0] == "the budget of the project"


HOUR = timedelta(hours=1)
PAGE = LinkedPage("https://a.example/trips", START, '"one"', "Mon, 02 Feb 2026 10:00:00 GMT", "8000" + "0" * 60)


def linked(words: str, page: LinkedPage = PAGE, name: str = "Trips") -> NewDocument:
    return replace(handed(words, name), web=page, link=page.address)


async def known(store: Store, *audiences: str) -> list[Document]:
    return await store.documents.listed(frozenset(audiences or (TEAM, PRIVATE, HERS)))


@same_on_postgresql
async def test_a_page_takes_the_place_of_its_older_version_whatever_the_two_are_called(store: Store) -> None:
    await store.documents.keep(handed("The code is walnut.", "Trips"))
    await store.documents.keep(linked("The code is hazel."))
    await store.documents.keep(linked("The code is almond.", replace(PAGE, address="https://b.example/")))
    await store.documents.keep(linked("The code is chestnut.", name="Travelling"))
    assert sorted(await found(store, "code")) == [f"The code is {nut}." for nut in ("almond", "chestnut", "walnut")]
    assert {(one.name, one.web) for one in await known(store)} >= {("Trips", None), ("Travelling", PAGE)}
    assert "hazel" not in await all_rows(store)


async def test_a_newer_version_belongs_to_whom_the_older_one_belongs_when_it_is_kept(store: Store) -> None:
    """Its page was read for a public channel; meanwhile that was closed, and who handed it in was forgotten."""
    await store.ledger.accept(said("hello", person="ann"))
    await store.documents.keep(linked("The code is walnut."))
    (one,) = await known(store)
    await store.ledger.restrict_place("test:T1", "channel", CLUB, START)
    await store.forgetting.forget(Everything("ann"), START)
    assert await store.documents.keep(linked("The code is hazel."), renews=one.id) is None
    assert (await found(store, "code"), await found(store, "code", CLUB)) == ([], ["The code is hazel."])
    (new,) = await known(store)
    assert (new.audience, new.person, new.by) == (PRIVATE, "", "")


@pytest.mark.parametrize("plan", [None, Gone(channels=frozenset({"channel"}))])
async def test_what_was_removed_or_forgotten_while_its_page_was_read_stays_so(
    store: Store, plan: ForgettingPlan | None
) -> None:
    await store.documents.keep(linked("The code is walnut."))
    (one,) = await known(store)
    await (store.documents.remove(one.id) if plan is None else store.forgetting.retire(plan, START, 200))
    assert await store.documents.keep(linked("The code is walnut."), renews=one.id) is DocumentRefused.GONE
    await store.documents.looked(one.id, PAGE)
    assert (await known(store), "walnut" in await all_rows(store)) == ([], False)


async def test_who_removes_a_document_removes_the_version_that_is_still_to_be_indexed(store: Store) -> None:
    for new, newer in ((linked("walnut"), linked("hazel")), (handed("walnut"), handed("hazel"))):
        await store.documents.keep(new)
        kept = await store.database.write(passages.keep, newer, passages.rows_of(newer))
        assert isinstance(kept, int)
        (one,) = await known(store)
        await store.documents.remove(one.id)
        await do_jobs(store)
        assert (await known(store), "hazel" in await all_rows(store)) == ([], False)


async def test_a_page_is_looked_at_by_one_alone_and_again_after_a_kill_or_a_day(store: Store) -> None:
    await store.documents.keep(handed())
    await store.documents.keep(linked("The code is walnut."))
    now = START + FETCH_EVERY
    assert await store.documents.next_look(now - HOUR) is None
    looked = await store.documents.next_look(now)
    assert (looked, await store.documents.next_look(now)) == ((await known(store))[1], None)
    assert looked is not None
    assert await store.documents.next_look(now + FETCH_AGAIN) == looked  # whoever had it was killed
    away = replace(PAGE, seen=now, since=now, fault="there is no such page")
    await store.documents.looked(looked.id, away)
    assert await store.documents.next_look(now + FETCH_EVERY - HOUR) is None
    again = await store.documents.next_look(now + FETCH_EVERY)
    assert again is not None
    assert again.web == away
    assert await found(store, "code") == ["The code is walnut."]


@same_on_postgresql
async def test_what_was_handed_in_at_one_time_is_spread_over_the_next_day(store: Store) -> None:
    for n in range(16):
        page = LinkedPage(f"https://a.example/{n}", START, digest=f"{n:x}fff" + "0" * 60)
        await store.documents.keep(linked(f"The code is {n}.", page, f"page {n}"))
    first = START + FETCH_EVERY / 2
    due: list[list[str]] = [[]]
    for hour in range(1, 25):
        while (one := await store.documents.next_look(first + hour * HOUR)) is not None:
            due[-1].append(one.name)
            await store.documents.looked(one.id, replace(one.web or PAGE, seen=first + hour * HOUR))
        due.append([])
    assert sum(map(len, due)) == 16
    assert max(map(len, due)) == 1


def in_files(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in folder.iterdir())


async def test_the_bytes_of_a_removed_document_are_wiped_from_the_files(tmp_path: Path) -> None:
    store = await open_new(await new_database(tmp_path / "store.db"))
    try:
        await store.documents.keep(handed("The code is walnutbrittle.", "hazelbrittle.txt"))
        page = LinkedPage("https://pecan.example/", START, '"cashew"', "macadamia", "pistachio", START, "is brazil")
        await store.documents.keep(
            linked("The code is walnutbrittle.", replace(page, digest="0" * 64), "almondbrittle")
        )
        for one in await store.documents.listed(frozenset({TEAM})):
            await store.documents.looked(one.id, page)
        held = in_files(tmp_path)
        for one in await store.documents.listed(frozenset({TEAM})):
            await store.documents.remove(one.id)
        assert await store.forgetting.sweep()
        left = in_files(tmp_path)
    finally:
        await store.close()
    pieces = (b"walnutbrittle", b"hazelbrittle", b"brittle", b"walnu", b"hazel", b"almond", b"pecan", b"cashew")
    pieces += (b"macadamia", b"pistachio", b"brazil")
    assert [piece for piece in pieces if piece in held] == list(pieces)
    assert [piece for piece in pieces if piece in left] == []


@same_on_postgresql
async def test_where_a_channel_has_documents_switched_off_recall_finds_none(store: Store) -> None:
    await store.documents.keep(handed("The code is walnut."))
    off = set[str]()

    async def finds(context: ToolContext) -> bool:
        return context.channel not in off

    recall = RecallTool(store.memories, documents=store.documents, finds=finds)
    asked = ToolContext(Person("ann", "Ann"), PUBLIC, "now", 1, START, channel="C1")
    assert "walnut" in (await recall.run({"query": "code"}, asked)).text
    off.add("C1")
    assert "walnut" not in (await recall.run({"query": "code"}, asked)).text
