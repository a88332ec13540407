"""The reports on the store: what they show, what they never show, and how a browser shows them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, insert

from agent.messages import CallTiming, Usage
from agent.schedules.definitions import NewSchedule, ScheduleKind, Timing
from agent.spending import AnsweredCall, Money, ToolTook, TurnTook
from bot.chat.web_server import serving
from bot.operators.pages.frame import templates
from bot.operators.pages.reports import MAX_ROWS, report_views, turn_parts
from bot.operators.pages.shown_places import NamesOf, no_names
from store.engine import Store
from store.operator_reports import SqlOperatorReports
from store.search.passages import document
from tests.browser import DESKTOP, PHONE, open_browser, open_page, overflows, violations
from tests.examples import examples, is_thorough
from tests.fakes.busy_store import fill
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import dm
from tests.fakes.new_database import open_new
from tests.fakes.operator_site import OperatorBrowser, operator_site

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>\u202e"
PEOPLE = ["Ada Lovelace", HOSTILE, "田中さん", *(f"Person {at}" for at in range(20))]
CHANNEL_ID = re.compile(r"\bC\d+\b")
PATHS = ("/spending", "/spending?days=90&show=tokens", "/slow?days=7", "/turn?id=300", "/schedules", "/places")


async def filled(*, turns: int = 600) -> Store:
    """A store of several weeks, with people's text wherever text can be."""
    store = await open_new()
    await store.database.write(fill, NOW, turns=turns, days=60, people=PEOPLE, calls=4)
    asked = "remember the secret surprise"
    made = NewSchedule(
        "slack:U00001", "slack:T1", "slack:T1:C1", dm("x"), ScheduleKind.REMINDER, asked,
        Timing("Europe/Berlin", rule="0 9 * * 1", since=NOW), NOW, "thread 1", "", direct=False,
    )  # fmt: skip
    await store.schedules.add(made)

    def lay(connection: Connection) -> None:
        of = {"source": "slack", "person": "slack:U00001", "time": NOW, "passages": 9, "state": "known", "pages": 3}
        connection.execute(insert(document), [
            {**of, "name": f"{HOSTILE}.pdf", "audience": "team:slack:T1", "channel": "slack:T1:C1"},
            {**of, "name": "surprise.pdf", "audience": "person:slack:U00001", "channel": "D1"},
        ])  # fmt: skip

    await store.database.write(lay)
    return store


async def shown(store: Store, path: str, names_of: NamesOf = no_names) -> tuple[int, str]:
    """Render a page as the frame does."""
    where, _, query = path.partition("?")
    views = {view.path: view for view in report_views(SqlOperatorReports(store.database), FakeClock(NOW), names_of)}
    answer = await views[where].show(dict(pair.split("=", 1) for pair in query.split("&")) if query else {})
    always: Mapping[str, Any] = {"navigation": [], "here": where, "csrf": "", "stylesheet": "", "now": NOW}
    return answer.status, templates().get_template(answer.template).render({**always, **answer.values})


@pytest.mark.slow
async def test_channels_are_shown_by_their_names_with_their_ids_and_by_ids_where_no_name_is_known() -> None:
    store = await filled()

    async def names_of(ids: Collection[str]) -> Mapping[str, str]:
        return dict.fromkeys(ids, f"#{HOSTILE}")

    for path in ("/spending", "/slow?days=7", "/turn?id=300", "/schedules", "/places"):
        _, html = await shown(store, path, names_of)
        _, bare = await shown(store, path)
        ids = {*CHANNEL_ID.findall(bare)}
        assert ids, path
        assert "#&lt;script&gt;alert(1)&lt;/script&gt;" in html, path
        assert {*CHANNEL_ID.findall(html)} == ids, path
        assert "<script" not in html


@pytest.mark.slow
async def test_names_are_shown_as_text_and_nobodys_words_at_all() -> None:
    store = await filled()
    for path in PATHS:
        status, html = await shown(store, path)
        assert status == 200
        assert "surprise" not in html
        assert "a word of theirs" not in html, "the argument of a tool"
        assert "<script" not in html
        assert "\u202e" not in html
        assert "style=" not in html, "the browser would refuse it"
    assert "&lt;script&gt;" in (await shown(store, "/places"))[1]
    await store.close()


async def test_where_there_is_nothing_a_sentence_says_so() -> None:
    store = await open_new()
    for path, says in (
        ("/spending", "No model was called in this period."),
        ("/slow", "No answers ended in this period."),
        ("/schedules?state=paused", "No schedules are paused."),
        ("/places", "No channel shares what people say in it."),
    ):
        status, html = await shown(store, path)
        assert (status, says in html) == (200, True), path
    await store.close()


@pytest.mark.parametrize(
    "path",
    [
        "/spending?days=0",
        "/spending?days=9999999999999",
        "/spending?show=<b>",
        "/slow?days=x",
        "/schedules?state=' OR 1",
    ],
)
async def test_what_cannot_be_asked_for_shows_what_is_shown_without_asking(path: str) -> None:
    store = await filled(turns=20)
    assert await shown(store, path) == await shown(store, path.partition("?")[0])
    await store.close()


@pytest.mark.parametrize("id_", ["", "-1", "x", "99", "1e3", "٣", "9" * 30, "1 OR 1"])
async def test_an_answer_that_is_not_there_is_said_so(id_: str) -> None:
    store = await filled(turns=20)
    assert (await shown(store, f"/turn?id={id_}"))[0] == 404
    await store.close()


async def test_of_more_than_are_shown_the_number_is_said() -> None:
    store = await filled(turns=20)

    def lay(connection: Connection) -> None:
        of = {"source": "slack", "person": "gone", "time": NOW, "passages": 1, "state": "known", "channel": "C"}
        more = [{**of, "name": f"{at}.pdf", "audience": "team:slack:T1"} for at in range(MAX_ROWS + 1)]
        connection.execute(insert(document), more)

    await store.database.write(lay)
    assert "3 older documents are not shown" in (await shown(store, "/places"))[1]
    await store.close()


# The parts of a turn's time.

times = st.integers(-5_000, 120_000).map(lambda ms: NOW + timedelta(milliseconds=ms))
lengths = st.integers(0, 90_000)
calls = st.builds(
    AnsweredCall, st.just("m"), st.just(Usage()), st.just(Money(1)), st.none() | st.builds(CallTiming, times, lengths)
)
tools = st.builds(
    ToolTook, st.just("t"), times, st.none() | lengths, st.just("reads"), st.just("unasked"), st.just("success")
)
turns = st.builds(
    TurnTook, st.just(1), st.just("p"), st.just("n"), st.just("s"), st.just("c"), st.just("answered"), st.just(1),
    st.just(NOW), st.none() | times, st.integers(0, 100_000).map(lambda ms: NOW + timedelta(milliseconds=ms)),
    st.lists(calls, max_size=5).map(tuple), st.lists(tools, max_size=5).map(tuple),
)  # fmt: skip


@given(turns)
@settings(max_examples=examples(100), deadline=None)
def test_the_parts_of_a_turn_add_up_to_its_time_whatever_clocks_say(one: TurnTook) -> None:
    found = turn_parts(one)
    parts = (found.waited, found.models, found.tools, found.rest)
    assert all(part >= 0 for part in parts)
    assert sum(parts) == pytest.approx(one.seconds, abs=0.001)


def test_what_goes_on_side_by_side_counts_once() -> None:
    after = [NOW + timedelta(seconds=at) for at in range(20)]
    asked = AnsweredCall("m", Usage(), None, CallTiming(after[2], 3_000))
    tool = ToolTook("t", after[5], 2_000, "reads", "unasked", "success")
    one = TurnTook(1, "p", "n", "s", "c", "answered", 1, NOW, after[1], after[10], (asked,), (tool, tool))
    found = turn_parts(one)
    assert (found.waited, found.models, found.tools, found.rest) == (1, 3, 2, 4)
    assert turn_parts(replace(one, began=None)).waited == 0


# In a browser.


@pytest.mark.slow
async def test_the_pages_read_well_in_light_dark_and_on_a_phone() -> None:
    store, clock = await filled(), FakeClock(NOW)
    site = operator_site(store, clock, report_views(SqlOperatorReports(store.database), clock))
    async with serving(site, "127.0.0.1", 0) as address, open_browser() as browser:
        operator = OperatorBrowser(site, address)
        await operator.sign_in(store, clock)
        looks: list[tuple[tuple[int, int], Literal["light", "dark"]]] = [(DESKTOP, "light"), (PHONE, "dark")]
        for number, (size, scheme) in enumerate(looks):
            async with open_page(browser, size=size, scheme=scheme) as opened:
                page = opened.page
                await page.context.add_cookies(
                    [{"name": name, "value": value, "url": address} for name, value in operator.cookies.items()]
                )
                for path in PATHS if is_thorough() else PATHS[number :: len(looks)]:
                    response = await page.goto(address + path)
                    assert response is not None
                    assert response.status == 200
                    assert await violations(page) == [], path
                    assert not await overflows(page), path
                    heights = await page.locator("svg.chart:visible text").evaluate_all(
                        "texts => texts.map(text => text.getBoundingClientRect().height)"
                    )
                    assert min(heights, default=12) >= 12, f"the text of a chart is too small to read on {path}"
                assert opened.wrong == []
    await store.close()
