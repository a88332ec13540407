"""The report as a page, and the operators' view of evals: readable in light and dark, and on a phone."""

from dataclasses import replace
from typing import Literal

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from bot.chat.web_server import serving
from bot.evals.report import as_html
from bot.models.checked import store_check
from bot.models.choice import ModelChoice
from bot.operators.pages.evals import eval_views
from bot.operators.pages.models import models_view
from tests.bot.evals.test_report import NOW, TWO
from tests.bot.models.test_checked import CHECK
from tests.bot.operators.pages.test_evals import ANSWER, RUN
from tests.browser import DESKTOP, PHONE, open_browser, open_page, overflows, violations
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import START
from tests.fakes.new_database import open_new
from tests.fakes.operator_site import OperatorBrowser, operator_site

LOOKS: list[tuple[tuple[int, int], Literal["light", "dark"]]] = [(DESKTOP, "light"), (PHONE, "dark")]


@pytest.mark.slow
async def test_reports_and_the_operators_view_read_well_in_light_dark_and_on_a_phone() -> None:
    async def report(_: Request) -> HTMLResponse:
        return HTMLResponse(as_html(TWO, 0.5, NOW))

    store, clock = await open_new(), FakeClock(START)
    id_ = await store.eval_runs.add(replace(RUN, answers=(ANSWER,)))
    await store_check(store.preferences, CHECK)
    models = models_view(store.preferences, list[ModelChoice], lambda: ["A key was refused."])
    site = operator_site(store, clock, (*eval_views(store.eval_runs), models))
    app = Starlette(routes=[Route("/", report)])
    async with (
        serving(site, "127.0.0.1", 0) as address,
        serving(app, "127.0.0.1", 0) as reports,
        open_browser() as browser,
    ):
        operator = OperatorBrowser(site, address)
        await operator.sign_in(store, clock)
        for size, scheme in LOOKS:
            async with open_page(browser, size=size, scheme=scheme) as opened:
                page = opened.page
                await page.context.add_cookies(
                    [{"name": name, "value": value, "url": address} for name, value in operator.cookies.items()]
                )
                for path in (f"{reports}/", *(f"{address}/{view}" for view in ("evals", f"eval?id={id_}", "models"))):
                    response = await page.goto(path)
                    assert response is not None
                    assert response.status == 200
                    assert await violations(page) == [], path
                    assert not await overflows(page), path
                assert opened.wrong == []
    await store.close()
