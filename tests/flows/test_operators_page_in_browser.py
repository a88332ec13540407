"""The operators' page in Chromium: its pages by keyboard and press, in the light, in the dark, on a phone and enlarged.

With OPERATOR_PICTURES=FOLDER in the environment it leaves pictures of them there.
"""

import json
import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from playwright.async_api import Page

from agent.events import CallFinished, ModelAnswered, Outcome
from agent.machine import new_secret
from agent.messages import ResultStatus, ToolResult
from agent.ports.tool_audit import AuditedCall
from agent.ports.tools import ToolEffect
from agent.tool_policy import PolicyAnswer, PolicyRow
from agent.turn_records import Load
from bot.app.settings import load_settings
from bot.chat.audit import policy_change
from bot.chat.telemetry import (
    AgentReported,
    ConnectionOpened,
    JobEnd,
    JobOver,
    PageWritten,
    RateLimited,
    RequestEnd,
    RequestHandled,
    SilenceSeen,
    StoreSeen,
    TurnBegan,
    TurnOver,
    WriteEnd,
)
from bot.chat.web_server import serving
from bot.operators.pages.frame import OperatorSite
from bot.operators.pages.last_hour import Recent
from bot.operators.pages.views import operator_views
from bot.operators.service import OperatorLinks
from store.engine import Store
from tests.browser import DESKTOP, PHONE, Opened, open_browser, open_page, overflows, violations
from tests.examples import is_thorough
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.operator_site import NamedTool, sources_of
from tests.fakes.store import store_in_memory

PICTURES: Final = os.environ.get("OPERATOR_PICTURES", "")  # noqa: TID251 -- of whoever looks at them
PAGES: Final = {
    "now": "/",
    "failures": "/failures",
    "tools": "/tools",
    "requests": "/requests",
    "audit": "/audit",
    "settings": "/settings",
}
LONG: Final = {"audit", "settings"}  # They have no colours of their own, and axe looks at each cell
ENLARGED: Final = (640, 400)  # A desktop's window at 200 %
SECRET: Final = "sk-proj-0123456789abcdef0123456789"
ENVIRON: Final = {
    "OPENAI_API_KEY": SECRET,
    "COGENCY_MODEL": "openai:gpt-6.1-sol",
    "COGENCY_OPERATORS": "U0123",
    "COGENCY_PERSONA": "You are Ada, the assistant of the harbour office, and name your sources.",
    "COGENCY_DATABASE_URL": "postgresql://cogency:hunter22@db.example.com/cogency",
    "COGENCY_ALLOW": "team:T0123,channel:C0123",
}
TOOLS: Final = (
    NamedTool("recall", "Search what was said before."),
    NamedTool("remember", "Keep a fact.", ToolEffect.WRITES_HERE),
    NamedTool("jira.search_issues", "Find issues by words, project, assignee or label."),
    NamedTool("jira.create_issue", "Create an issue in a project.", ToolEffect.ACTS_OUTWARD),
    NamedTool("github.delete_branch", "Delete a branch for good.", ToolEffect.IRREVERSIBLE),
)
ROWS: Final = (
    PolicyRow("github.delete_*", "*", "*", PolicyAnswer.NO),
    PolicyRow("jira.*", "manager", "team", PolicyAnswer.ASK),
    PolicyRow("jira.search_issues", "*", "*", PolicyAnswer.YES),
)


@dataclass(frozen=True, slots=True)
class Served:
    store: Store
    clock: FakeClock
    address: str

    async def link(self) -> str:
        return await OperatorLinks(self.store.operator_sessions, self.clock, new_secret, self.address).new()

    async def sign_in(self, opened: Opened) -> None:
        await opened.page.goto(await self.link())
        await opened.page.get_by_role("button", name="Sign in here").click()
        await opened.page.get_by_role("heading", name="Now").wait_for()


@asynccontextmanager
async def served() -> AsyncGenerator[Served]:
    """The page of a bot at work, where some things fail."""
    store, clock = store_in_memory(), FakeClock()
    recent = Recent(clock)
    for minute in range(58):
        for turn in range((minute * 7) % 5 + (minute > 40)):
            number, fails = minute * 10 + turn, (minute, turn) == (50, 0)
            recent.record(TurnBegan(number, "slack", "c", 0.4, resumed=False))
            recent.record(PageWritten(number, "post", WriteEnd.DONE, 0.1, has_text=True))
            recent.record(TurnOver(number, Outcome.REFUSED if fails else Outcome.ANSWERED))
            if fails:
                recent.record(
                    AgentReported(number, ModelAnswered("openai:gpt-6.1-sol", None, "ProviderUnavailable"), "")
                )
        await clock.advance(60)
        if minute == 3:
            recent.record(ConnectionOpened("slack", 0))
            recent.record(ConnectionOpened("slack", 1))
    recent.record(RateLimited("slack"))
    for end in RequestEnd:
        recent.record(RequestHandled("webhook grafana", end))
    recent.record(RequestHandled("api", RequestEnd.ACCEPTED))
    recent.record(JobOver("learning", JobEnd.FAILED, 1.0))
    recent.record(SilenceSeen({"slack": 2.5}))
    recent.record(StoreSeen(Load(2, 3), {"indexing": 95.0}))
    await store.ledger.accept(said("where is my boat?"))
    for number in range(112):
        tool = TOOLS[number % len(TOOLS)]
        at = clock.now() - timedelta(minutes=120 - number)
        call = AuditedCall(at, "ann", "C0123", "team:T1", tool.name, "{}", tool.effect, "unasked", "effect")
        await store.audit.end(await store.audit.add(call), 40 * number, 900 * number, "success")
    await store.audit.add(policy_change(clock.now(), f"set {ROWS[1]}", "bob", "C0456"))
    settings = load_settings(ENVIRON)
    troubles = {"discord": "Discord did not accept the token: set DISCORD_TOKEN anew."}
    away = {"wiki": "has not answered for 3 minutes"}
    sources = sources_of(store, clock, recent, settings=settings, tools=TOOLS, rows=ROWS, away=away, troubles=troubles)
    site = OperatorSite(operator_views(sources), store.operator_sessions, clock, new_secret)
    async with serving(site, "127.0.0.1", 0) as address:
        yield Served(store, clock, address)


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


async def test_each_page_can_be_read_and_gone_through_by_everybody() -> None:
    async with served() as here, open_browser() as browser, open_page(browser, size=DESKTOP) as opened:
        page = opened.page
        await page.goto(here.address)
        assert await violations(page) == []
        await picture(page, "signed-out")
        await page.goto(await here.link())
        assert await violations(page) == []
        await picture(page, "enter")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="Now").wait_for()
        await page.keyboard.press("Tab")
        await page.locator(".skip:focus").wait_for()
        await page.keyboard.press("Enter")
        await page.locator("main:focus").wait_for()
        await page.get_by_role("link", name="Audit").click()
        assert await page.locator("[aria-current=page]").inner_text() == "Audit"
        assert await page.get_by_role("row").count() == 101
        await page.get_by_role("link", name="Older").click()
        assert await page.get_by_role("row").count() == 14
        for name, path in PAGES.items():
            await page.goto(f"{here.address}{path}")
            assert await violations(page) == [], name
            assert not await overflows(page), name
            assert SECRET not in await page.content()
            assert "hunter22" not in await page.content()
            await picture(page, f"{name}-light")
            await page.emulate_media(color_scheme="dark")
            if name not in LONG or is_thorough():
                assert await violations(page, rules=["wcag2aa"]) == [], f"{name} in the dark"
            await picture(page, f"{name}-dark")
            await page.emulate_media(color_scheme="light")
            for size, kind in ((PHONE, "phone"), (ENLARGED, "enlarged")):
                await page.set_viewport_size({"width": size[0], "height": size[1]})
                assert not await overflows(page), f"{name} {kind}"
                await picture(page, f"{name}-{kind}")
            await page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
        await page.get_by_role("button", name="Sign out").click()
        await page.get_by_role("heading", name="You are signed out").wait_for()
        await page.goto(f"{here.address}/audit")
        await page.get_by_role("heading", name="You are not signed in").wait_for()
        assert [one for one in opened.wrong if "403" not in one] == []


HOSTILE: Final = (
    "</td><script>alert(1)</script><img src=x onerror=alert(2)>\"' onmouseover=alert(3) {{7*7}} javascript:alert(4)"
)
# What turns letters round, what nobody sees, and what steers a terminal.
TURNED: Final = "\u202egnp.exe\u2066 a\u200bb \x1b[2J"
WORDS: Final = "zanzibar"  # In all that people and tools say, which no page shows


@asynccontextmanager
async def served_with_hostile_names() -> AsyncGenerator[Served]:
    """Every name that comes from elsewhere is an attack."""
    store, clock = store_in_memory(), FakeClock()
    name = f"{HOSTILE}{TURNED}"
    recent = Recent(clock)
    recent.record(TurnBegan(1, name, "c", 0.1, resumed=False))
    recent.record(AgentReported(1, ModelAnswered(name, None, "StreamBroken"), name))
    recent.record(
        AgentReported(1, CallFinished("1.1", ToolResult(name, ResultStatus.FAILURE, f"{WORDS} {HOSTILE}")), "m")
    )
    recent.record(TurnOver(1, Outcome.CUT))
    recent.record(JobOver(name, JobEnd.GIVEN_UP, 1.0))
    recent.record(ConnectionOpened(name, 0))
    recent.record(RequestHandled(name, RequestEnd.UNSIGNED))
    recent.record(StoreSeen(Load(0, 0), {name: 10.0}))
    asked = said(f"{WORDS} {HOSTILE}")
    await store.ledger.accept(replace(asked, person=replace(asked.person, name=name), channel=name))
    call = AuditedCall(
        clock.now(), asked.person.id, name, f"team:{name}", name, f'{{"q": "{WORDS}"}}', name, name, name
    )
    await store.audit.end(await store.audit.add(call), 1, 1, name)
    await store.audit.add(replace(call, person=name, tool="", arguments=name))
    tools = [NamedTool(name, name)]
    rows = [PolicyRow(name, name, name, PolicyAnswer.NO), PolicyRow("*", name, name, PolicyAnswer.YES)]
    environ = {"COGENCY_PERSONA": name, "COGENCY_CHANNEL_INSTRUCTIONS": json.dumps({"C1": name})}
    sources = sources_of(
        store,
        clock,
        recent,
        settings=load_settings(environ),
        tools=tools,
        rows=rows,
        away={name: name},
        troubles={name: name},
    )
    site = OperatorSite(operator_views(sources), store.operator_sessions, clock, new_secret)
    async with serving(site, "127.0.0.1", 0) as address:
        yield Served(store, clock, address)


async def test_no_name_of_anybody_does_anything_on_any_page() -> None:
    async with served_with_hostile_names() as here, open_browser() as browser, open_page(browser) as opened:
        dialogs = list[str]()
        opened.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        await here.sign_in(opened)
        for name, path in PAGES.items():
            answer = await opened.page.goto(f"{here.address}{path}")
            assert answer is not None
            sent = await answer.text()
            assert answer.status == 200, name
            assert "alert(1)" in sent or name == "now", "it is there, as text"
            assert not re.search(r"<script|<img|\son\w+=(?!alert)|\x1b|[\u202a-\u202e\u2066-\u2069\u200b]", sent), name
            assert WORDS not in sent, name
            assert "49" not in re.findall(r"onmouseover=alert\(3\) (\S+)", sent)
            assert await opened.page.locator("script, img, [onmouseover], [onerror], [style]").count() == 0, name
            await opened.page.mouse.move(400, 300)
            assert not await overflows(opened.page), name
        assert dialogs == []
        assert opened.wrong == []
