"""Two Slack apps in one process, each of its own workspace."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from agent.providers.scripted import ScriptedProvider
from bot.budgets.budgets import BudgetAllowances, Budgets
from bot.budgets.gate import BudgetGate
from bot.channels.effects import ChannelEffects
from bot.chat.access.admission import AdmissionControl
from bot.platforms.slack.apps import SlackApps
from bot.platforms.slack.options import Delivery, HttpEvents, SlackApp, SlackOptions, SocketMode
from bot.settings.secret import Secret
from tests.fakes.canoe import answer
from tests.fakes.fast_clock import MovedClock
from tests.fakes.hosts import ServedHost
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_state import Workspace
from tests.fakes.slack_things import FakeApp, of_organization, other_app
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host
from tests.patience import LOOK_S, until

ENTERPRISE = "E0ORG"
ONE = replace(FakeApp(), path="/slack/events/one")
SHARED = {"is_ext_shared": True, "is_shared": True}  # Slack's fields of a channel that two companies share
ORG_SHARED = {"is_org_shared": True, "is_shared": True}  # Those of one that two workspaces of one organisation share


def app_of(who: FakeApp, name: str, http: HttpEvents | None = None) -> SlackApp:
    delivery: Delivery = SocketMode(Secret(who.app_token), connections=1)
    if http is not None:
        delivery = replace(http, signing_secret=Secret(who.secret))
    return SlackApp(Secret(who.bot_token), delivery, name, who.id, file="apps.toml")


@dataclass
class Both:
    clock: MovedClock
    slack: FakeSlack
    two: Workspace
    store: StoreInMemory
    host: ServedHost
    apps: SlackApps
    model: ScriptedProvider

    @property
    def one(self) -> Workspace:
        return self.slack.state

    def answered(self, there: Workspace) -> list[str]:
        """Return the texts of this app's own messages."""
        return [m.text for m in self.one.messages if m.bot_id == there.who.bot and m.text]

    async def until(self, happened: Callable[[], object]) -> None:
        await self.slack.until(happened)

    async def done(self, turns: int) -> None:
        await self.until(
            lambda: len(self.store.turns) == turns and all(turn.state == "done" for turn in self.store.turns)
        )


async def taken(slack: FakeSlack, apps: Iterable[FakeApp]) -> None:
    """Wait until requests for each of these are accepted."""
    while not await slack.posts.healthy(slack.posts.ports[0]):  # noqa: ASYNC110 -- it happens behind a port
        await asyncio.sleep(LOOK_S)
    for who in apps:
        body = json.dumps({"type": "url_verification", "challenge": "x", "api_app_id": who.id}).encode()
        while (await slack.posts.post(body, slack.posts.signed(body, secret=who.secret), path=who.path))[0] != 200:  # noqa: ASYNC110 -- behind a port
            await asyncio.sleep(LOOK_S)


@asynccontextmanager
async def both(
    *,
    http: HttpEvents | None = None,
    path: str = "",
    enterprises: tuple[str, str] = ("", ""),
    budgets: Budgets = Budgets(),  # noqa: B008 -- frozen
) -> AsyncGenerator[Both]:
    """`enterprises`: the organisations of the two workspaces."""
    clock, model = MovedClock(), ScriptedProvider(answer)
    store = store_in_memory()
    async with FakeSlack(clock, over_http=http is not None) as slack:
        slack.posts.apps[ONE.id] = replace(ONE, path=path or ONE.path)
        slack.state.who = replace(slack.state.who, enterprise=enterprises[0])
        two = slack.add(replace(other_app("two", path), enterprise=enterprises[1]))
        for there in (slack.state, two):
            member = of_organization(there.who.team, there.who.enterprise) if there.who.enterprise else {}
            there.user(f"ann{there.who.workspace}", **member)
            there.channel(f"general{there.who.workspace}")
            there.channel(f"dm{there.who.workspace}", "im")
        host = turns_host(store, model, clock)
        allowances = BudgetAllowances(budgets, store.spending, store.preferences, clock)
        admission = AdmissionControl(
            host.admission.rules, ChannelEffects(store.preferences), BudgetGate(allowances), clock
        )
        host = replace(host, admission=admission, messages=replace(host.messages, admission=admission))
        apps = SlackApps(host, SlackOptions(slack.url), clock)
        async with host.turns.serving():
            try:
                await apps.start(app_of(ONE, "one", http))
                await apps.start(app_of(two.who, "two", http))
                await until(lambda: {"slack:T0TEAM", "slack:T0TWO"} <= set(host.platforms.sources()))
                if http is None:
                    await slack.connected(2)
                else:
                    slack.posts.ports.append(http.port)
                    await taken(slack, slack.posts.apps.values())
                yield Both(clock, slack, two, store, host, apps, model)
            finally:
                await apps.close()


def mention(who: FakeApp, text: str) -> str:
    return f"<@{who.user}> {text}"
