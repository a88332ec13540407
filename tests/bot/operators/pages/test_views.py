"""The views of the operators' page: numbers, times and names."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.events import Outcome
from agent.messages import Json, ModelCall, Usage
from agent.outgoing import OutgoingEvent, Subscription
from agent.ports.shard_leases import SHARD_LEASE, ShardSession
from agent.ports.tool_audit import AuditedCall
from agent.ports.tools import ToolEffect
from agent.spending import Spent
from agent.tool_policy import PolicyAnswer, PolicyRow
from agent.turn_records import Claiming, Closing
from bot.app.settings import load_settings
from bot.budgets.report import cost_text
from bot.chat.audit import WAITS, as_line, operator_act, own_change, policy_change
from bot.operators.pages.frame import ViewAnswer
from bot.operators.pages.last_hour import Recent
from bot.operators.pages.views import PAGE, OperatorSources, byte_size, operator_views, seconds, span
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.operator_site import NamedTool, OperatorBrowser, operator_site, sources_of
from tests.fakes.store import store_in_memory


@pytest.fixture
def store() -> Store:
    return store_in_memory()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def shown(sources: OperatorSources, path: str, query: Mapping[str, str] | None = None) -> Mapping[str, Any]:
    (view,) = [view for view in operator_views(sources) if view.path == path]
    answer: ViewAnswer = await view.show(query or {})
    return answer.values


@pytest.mark.slow
async def test_the_audit_goes_back_page_by_page_with_names_and_without_arguments(
    store: Store, clock: FakeClock
) -> None:
    await store.ledger.accept(said("hello"))
    for number in range(PAGE + 2):
        at = clock.now() + timedelta(seconds=number)
        await store.audit.add(
            AuditedCall(at, "ann", "C1", "group:g", f"t{number}", '{"q": "zanzibar"}', "reads", "unasked", "effect")
        )
    await store.audit.add(policy_change(clock.now(), "set * * * ask", "bob"))
    sources = sources_of(store, clock, Recent(clock))
    first = await shown(sources, "/audit")
    assert len(first["rows"]) == PAGE
    assert (first["rows"][0]["change"], first["rows"][0]["who"]) == ("set * * * ask", "bob")
    assert (first["rows"][1]["who"], first["rows"][1]["id"], first["rows"][1]["kind"]) == ("Ann", "ann", "private")
    assert first["rows"][0]["about"] == "policy"
    await store.audit.add(own_change(clock.now(), "create token 7 ide: ask", "ann"))
    newest = (await shown(sources, "/audit"))["rows"][0]
    assert (newest["about"], newest["change"], newest["who"]) == ("token", "create token 7 ide: ask", "Ann")
    assert "zanzibar" not in str(first)
    older = await shown(sources, "/audit", {"before": str(first["older"])})
    assert [row["tool"] for row in older["rows"]] == ["t2", "t1", "t0"]
    assert older["older"] is None
    for strange in ("-1", "x", "9" * 40, "²", ""):
        assert (await shown(sources, "/audit", {"before": strange}))["is_first"]


async def test_each_setting_is_shown_with_where_it_came_from_and_no_secret(store: Store, clock: FakeClock) -> None:
    environ = {
        "OPENAI_API_KEY": "sk-proj-0123456789abcdef",
        "COGENCY_PERSONA": "You know that sk-proj-0123456789abcdef is a key.",
        "COGENCY_DATABASE_URL": "postgresql://bot:hunter22@db/cogency",
        "COGENCY_WEB": "on",
    }
    values = await shown(sources_of(store, clock, Recent(clock), settings=load_settings(environ)), "/settings")
    rows = {row["name"]: (row["value"], row["origin"]) for row in values["rows"]}
    assert rows["OPENAI_API_KEY"] == ("set", "environment")
    assert rows["COGENCY_PERSONA"] == ("set", "environment")
    assert rows["COGENCY_WEB"] == ("on", "environment")
    assert rows["COGENCY_MAX_RUNNING"] == ("16", "default")
    assert rows["GEMINI_API_KEY"] == ("not set", "default")
    assert "hunter22" not in str(values)
    assert "0123456789abcdef" not in str(values)
    assert len(values["chosen"]) == 4


async def test_tools_are_shown_with_the_rows_that_name_them(store: Store, clock: FakeClock) -> None:
    tools = [NamedTool("jira.search"), NamedTool("mail.send", effect=ToolEffect.ACTS_OUTWARD)]
    rows = [PolicyRow("mail.*", "*", "team", PolicyAnswer.NO), PolicyRow("*", "manager", "*", PolicyAnswer.ASK)]
    values = await shown(sources_of(store, clock, Recent(clock), tools=tools, rows=rows), "/tools")
    assert [(tool["name"], tool["usual"], tool["rows"]) for tool in values["tools"]] == [
        ("jira.search", "runs", ["1: ask"]),
        ("mail.send", "needs approval", ["file: no", "1: ask"]),
    ]
    assert [(row["number"], row["answer"]) for row in values["rows"]] == [("file", "no"), ("1", "ask")]


async def test_a_platform_that_is_away_is_told_with_its_reason(store: Store, clock: FakeClock) -> None:
    values = await shown(sources_of(store, clock, Recent(clock), troubles={"slack": "No token."}), "/")
    assert values["troubles"] == [{"name": "Slack", "why": "No token."}]
    assert [(row["name"], row["connected"]) for row in values["platforms"]] == [("Discord", False), ("Slack", False)]


async def test_webhook_events_that_could_not_be_delivered_are_listed_and_disabled_webhooks_named(
    store: Store, clock: FakeClock
) -> None:
    row, now = Subscription("crm", frozenset({OutgoingEvent.TURN_FINISHED})), clock.now()
    await store.outbox.subscribe([row], now)
    await store.ledger.accept(said("where is the quetzal?"))
    claim = await store.ledger.claim(Claiming("worker", now, timedelta(minutes=1)))
    assert claim is not None
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "the quetzal is here"), now)
    site = operator_site(store, clock, operator_views(sources_of(store, clock, Recent(clock))))
    browser = OperatorBrowser(site)
    await browser.sign_in(store, clock)
    assert "Nothing has failed." in (await browser.get("/failures")).text
    await store.outbox.disable("crm", "the receiver <gone>", now)
    page = (await browser.get("/failures")).text
    assert "The webhook crm has been disabled since" in page
    assert "<td>the receiver &lt;gone&gt;</td>" in page
    assert "turn.finished" in page
    assert "Nothing has failed." not in page
    assert "quetzal" not in page


@pytest.mark.parametrize(("value", "told"), [(0.04, "40 ms"), (2.44, "2.4 s"), (90, "90 s"), (1234, "1,234 s")])
def test_short_times_are_read_at_a_glance(value: float, told: str) -> None:
    assert seconds(value) == told


@pytest.mark.parametrize(("value", "told"), [(5, "5 s"), (60, "1 min"), (3_720, "1 h 2 min"), (90_000, "1 d 1 h")])
def test_long_times_have_two_units(value: float, told: str) -> None:
    assert span(value) == told


@pytest.mark.parametrize(("value", "told"), [(512, "512 B"), (1_400, "1.4 kB"), (12_000_000, "12 MB")])
def test_sizes_have_one_unit(value: int, told: str) -> None:
    assert byte_size(value) == told


async def test_what_an_operator_did_about_somebody_is_in_the_audit(store: Store, clock: FakeClock) -> None:
    told: Mapping[str, Json] = {"act": "export", "kind": "person", "of": "slack:T1:U1", "rows": {"message": 3}}
    await store.audit.add(operator_act(clock.now(), "root", told, "done", WAITS))
    (row,) = (await shown(sources_of(store, clock, Recent(clock)), "/audit"))["rows"]
    assert (row["about"], row["who"], row["is_bad"]) == ("operator", "operator:root", False)
    assert row["change"] == "export person: slack:T1:U1 3 message"


async def test_shards_are_shown_with_who_holds_them_and_which_nobody_holds(store: Store, clock: FakeClock) -> None:
    sources = replace(sources_of(store, clock, Recent(clock)), shards=store.shard_leases.listed, process="here:7:a")
    assert (await shown(sources, "/"))["shards"] == []
    taken = clock.now() - timedelta(minutes=5)
    part = await store.shard_leases.share("here:7:a", taken, SHARD_LEASE, {}, count=2, heard=taken)
    one, two = part.taken
    held = {one: ShardSession(), two: ShardSession()}
    await store.shard_leases.share("here:7:a", clock.now() - timedelta(seconds=3), SHARD_LEASE, held, count=2)
    await store.shard_leases.give_back("here:7:a", {two: ShardSession(clock.now() - timedelta(seconds=61))})
    assert (await shown(sources, "/"))["shards"] == [
        {
            "name": "0 of 2",
            "process": "here:7:a (this one)",
            "held": True,
            "since": "5 min",
            "seen": "3 s",
            "heard": "5 min",
        },
        {"name": "1 of 2", "process": "nobody", "held": False, "since": "–", "seen": "–", "heard": "1 min"},
    ]
    browser = OperatorBrowser(operator_site(store, clock, operator_views(replace(sources, process="there:8:b"))))
    await browser.sign_in(store, clock)
    page = (await browser.get("/")).text
    assert re.findall(r'scope="row">(. of 2)</th>\s+<td class="state (\w+)">([^<]+)<', page) == [
        ("0 of 2", "good", "here:7:a"),
        ("1 of 2", "bad", "nobody"),
    ]


async def test_the_cost_of_each_door_is_shown_and_the_audit_names_the_door(store: Store, clock: FakeClock) -> None:
    call, ago = ModelCall("openai:gpt-4o", Usage(output=1_000_000)), clock.now() - timedelta(days=1)
    for person, channel, day in (("slack:T1:U1", "mcp-7", clock.now()), ("slack:T1:webhook-alerts", "C1", ago)):
        await store.spending.charge(person, "turn", [call], day, channel)
    sources = sources_of(store, clock, Recent(clock))
    doors = {door["name"]: door for door in (await shown(sources, "/requests"))["doors"]}
    assert [*doors] == ["Webhooks", "API", "MCP server"]
    assert doors["MCP server"]["today"] == doors["MCP server"]["month"] == cost_text(Spent.on([call]))
    assert (doors["MCP server"]["calls"], doors["API"]["calls"]) == ("1", "0")
    assert doors["Webhooks"]["today"] == cost_text(Spent())
    row = AuditedCall(
        clock.now(), "slack:T1:U1", "mcp-7", "person:slack:T1:U1", "recall", "", "reads", "unasked", "effect"
    )
    await store.audit.add(row)
    assert [shown_row["door"] for shown_row in (await shown(sources, "/audit"))["rows"]] == ["MCP server"]
    assert "mcp-7 person via MCP" in as_line(row)
