"""The dashboard and the metrics: each shows what there is, and there is what it shows."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

from prometheus_client.parser import text_string_to_metric_families

from agent.events import CallFinished, CallStarted, IterationStarted, ModelAnswered
from agent.hooks.values import HookEnd, HookPoint, HookUse
from agent.messages import ModelCall, ResultStatus, ToolCall, ToolResult, Usage
from agent.turn_records import Load
from bot.chat.telemetry import (
    AgentReported,
    BudgetMark,
    BudgetSeen,
    Charged,
    ConnectionOpened,
    HookUsed,
    JobEnd,
    JobOver,
    LoopWoke,
    PageWritten,
    RateLimited,
    Recalled,
    RequestEnd,
    RequestHandled,
    ShardTaken,
    SilenceSeen,
    StoreSeen,
    TelemetryEvent,
    ToolDecided,
    TurnBegan,
    TurnOver,
    TurnUnended,
    WebhookEnd,
    WebhookSent,
    WriteEnd,
)
from bot.operators.metrics import Metrics
from bot.operators.texts import METRICS
from tests.fakes.clock import FakeClock

ROOT: Final = Path(__file__).parents[2]
FILE: Final = ROOT / "deploy" / "grafana.json"
SERIES: Final = re.compile(r"\b(?:cogency|process)_[a-z0-9_]+")
MATCHERS: Final = re.compile(r"\{([^{}]*)\}")
BY: Final = re.compile(r"\bby \(([^()]*)\)")
LEGEND: Final = re.compile(r"\{\{(\w+)\}\}")
OF_PROMETHEUS: Final = {"job", "instance", "le"}  # Labels that whoever scrapes adds, and those of histograms

dashboard: Final = cast("Mapping[str, Any]", json.loads(FILE.read_text(encoding="utf-8")))
panels: Final = [panel for panel in cast("list[Mapping[str, Any]]", dashboard["panels"]) if panel["type"] != "row"]


def told(event: IterationStarted | ModelAnswered | CallStarted | CallFinished) -> AgentReported:
    return AgentReported(1, event, "here:m")


# Whatever moves a metric.
EVERYTHING: Final[tuple[TelemetryEvent, ...]] = (
    TurnBegan(1, "slack", "c", 1.0, resumed=False),
    told(IterationStarted(1)),
    told(ModelAnswered("here:m", Usage(), "")),
    told(CallStarted("1.1", ToolCall("recall", {}))),
    told(CallFinished("1.1", ToolResult("recall", ResultStatus.SUCCESS, ""))),
    PageWritten(1, "post", WriteEnd.DONE, 0.1, has_text=True),
    TurnOver(1, TurnUnended.LOST),
    Charged("turn", [ModelCall("here:m", Usage(output=1)), ModelCall("openai:gpt-5-mini", Usage(output=1))]),
    ToolDecided("unasked", "reads"),
    HookUsed(HookUse(HookPoint.BEFORE_CALL, HookEnd.PASSED, 0.1)),
    Recalled(0.1),
    JobOver("learning", JobEnd.DONE, 0.1),
    StoreSeen(Load(1, 1), {"learning": 1.0}),
    RateLimited("slack"),
    RequestHandled("webhook grafana", RequestEnd.ACCEPTED),
    WebhookSent("crm", WebhookEnd.DELIVERED),
    BudgetSeen("person", BudgetMark.NEAR),
    ConnectionOpened("slack", 1),
    ShardTaken("discord", 0, orphaned=True),
    SilenceSeen({"slack": 1.0}),
    LoopWoke(0.1),
)


def served() -> dict[str, set[str]]:
    """The names of every series with its labels."""
    metrics = Metrics(FakeClock(), "1")
    for event in EVERYTHING:
        metrics.record(event)
    names = dict[str, set[str]]()
    for family in text_string_to_metric_families(metrics.page().decode()):
        for sample in family.samples:
            names.setdefault(sample.name, set()).update(sample.labels)
    return names


def queries() -> Iterator[tuple[str, str]]:
    """The expression and the legend of each line."""
    for panel in panels:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]


def test_what_is_shown_is_there_and_all_that_is_there_is_shown() -> None:
    shown = {name for expression, _ in queries() for name in SERIES.findall(expression)}
    assert shown <= served().keys()
    stems = {re.sub("^cogency_|_(?:total|bucket)$", "", name) for name in shown}
    assert METRICS.keys() <= stems, "each metric is shown"
    assert METRICS.keys() == {
        re.sub("^cogency_|_(?:total|bucket|count|sum)$", "", name) for name in served() if name.startswith("cogency_")
    }


def test_each_metric_stands_in_the_documents() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert not [name for name in METRICS if not re.search(rf"`{name}(?:_total)?`", page)]


def test_what_a_line_is_summed_by_and_called_by_are_labels_that_stand_in_it() -> None:
    known = served()
    for expression, legend in queries():
        summed = [label.strip() for found in BY.findall(expression) for label in found.split(",")]
        (name,) = set(SERIES.findall(expression))
        labels = known[name] | OF_PROMETHEUS
        assert set(summed) <= labels, expression
        assert set(LEGEND.findall(legend)) <= ({*summed} or labels), (expression, legend)
        matched = [
            pair.partition("=")[0].strip("~ ") for found in MATCHERS.findall(expression) for pair in found.split(",")
        ]
        assert set(matched) <= labels, expression


def test_every_panel_says_what_it_shows_in_its_own_place_from_the_source_that_is_chosen() -> None:
    taken = set[tuple[int, int]]()
    for panel in cast("list[Mapping[str, Any]]", dashboard["panels"]):
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert all(x < 24 for x, _ in cells)
        taken |= cells
    assert len({panel["title"] for panel in panels}) == len(panels)
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert all(panel["datasource"]["uid"] == "${datasource}" for panel in panels)
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = {name for expression, _ in queries() for name in re.findall(r"\$(\w+)", expression)}
    assert used <= variables | {"__rate_interval", "__range"}


def test_brackets_of_each_expression_close() -> None:
    for expression, _ in queries():
        for opening, closing in ("()", "{}", "[]"):
            assert expression.count(opening) == expression.count(closing), expression
