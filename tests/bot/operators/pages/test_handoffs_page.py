"""The page about requests for a human: where people wait, without words."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent.handoffs import NewHandoff
from agent.memory.audience import PersonAudience, Place, TeamAudience
from bot.chat.web_server import serving
from bot.operators.pages.frame import templates
from bot.operators.pages.handoffs import handoffs_view
from tests.browser import DESKTOP, PHONE, open_browser, open_page, overflows, violations
from tests.contracts.test_handoffs import answered
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.operator_site import OperatorBrowser, operator_site
from tests.fakes.store import StoreInMemory, store_in_memory

CLOCK = FakeClock()
TEAM, DIRECT = Place(TeamAudience("slack:T1")), Place(PersonAudience("slack:T1:U1"))


async def ask(store: StoreInMemory, number: int, place: Place, channel: str, person: str) -> int:
    asked = said(f"question{number}", person=person, conversation=f"{number}", place=place)
    claim = await answered(store, replace(asked, source="slack:T1", channel=channel, time=CLOCK.now()))
    handoff = await store.handoffs.ask(NewHandoff(claim.turn, person, person, f"note{number}"), ["bob"], CLOCK.now())
    assert handoff is not None
    return handoff.number


async def test_open_requests_are_listed_without_words_and_without_who_asks_in_direct_messages() -> None:
    store = store_in_memory()
    await ask(store, 1, TEAM, "C1", "slack:T1:U7")
    await ask(store, 2, DIRECT, "D1", "slack:T1:U1")
    taken = await ask(store, 3, TEAM, "C3", "slack:T1:U7")
    await store.handoffs.take(taken, "slack:T1:U9", "slack:T1:U9", CLOCK.now())
    answer = await handoffs_view(store.handoffs, CLOCK).show({})
    always: Mapping[str, Any] = {"navigation": [], "here": "", "csrf": "", "stylesheet": "", "now": CLOCK.now()}
    html = templates().get_template(answer.template).render({**always, **answer.values})
    for shown in ("#1", "#2", "#3", "C1", "C3", "direct messages", "nobody yet", "slack:T1:U9", "Slack:T1:U7"):
        assert shown.casefold() in html.casefold()
    for hidden in ("question", "note1", "D1", "slack:T1:U1<"):
        assert hidden not in html


@pytest.mark.slow
async def test_in_a_browser_it_reads_well_on_a_desktop_and_on_a_phone() -> None:
    store = store_in_memory()
    await ask(store, 1, TEAM, "C1", "<script>alert(1)</script>")
    site = operator_site(store, CLOCK, (handoffs_view(store.handoffs, CLOCK),))
    async with serving(site, "127.0.0.1", 0) as address, open_browser() as browser:
        operator = OperatorBrowser(site, address)
        await operator.sign_in(store, CLOCK)
        for size in (DESKTOP, PHONE):
            async with open_page(browser, size=size) as opened:
                await opened.page.context.add_cookies(
                    [{"name": name, "value": value, "url": address} for name, value in operator.cookies.items()]
                )
                await opened.page.goto(f"{address}/handoffs")
                await opened.page.get_by_text("#1").wait_for()
                assert await violations(opened.page) == []
                assert not await overflows(opened.page)
                assert await opened.page.locator("script").count() == 0
                assert opened.wrong == []
