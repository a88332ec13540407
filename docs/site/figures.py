"""The page of benchmarks: what `benchmarks.all` has found, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

MAX_LOAD: Final = 1.5  # Of the machine, on average over a minute: above that, times are those of other work, too


class Measured(NamedTuple):
    """A figure: what it says, its unit, and with what it is compared in the same run. `is_count`: of bytes, tokens or
    hits, which other work on the machine does not change.
    """

    metric: str
    says: str
    unit: str
    beside: str = ""
    other: str = ""
    is_count: bool = False


@dataclass(frozen=True, slots=True)
class Benchmark:
    title: str
    says: str
    figures: tuple[Measured, ...]


_FASTEST: Final = "a bot that edits once a second"
_BARE: Final = "bare httpx"
BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "startup": Benchmark(
        "Startup time",
        "The time from the start of `cogency chat` to its prompt.",
        (
            Measured(
                "chat_prompt_s",
                "start with an existing database",
                "s",
                "bare_python_s",
                "a Python program that ends immediately",
            ),
            Measured("first_start_s", "first start, with a new database", "s"),
        ),
    ),
    "first_text": Benchmark(
        "Time to first text",
        ("The time from a mention to the first text of its answer, with a model that answers immediately."),
        (
            Measured(
                "slack_first_text_ms",
                "first text in Slack",
                "ms",
                "minimal_slack_ms",
                "a minimal bot with the same libraries",
            ),
            Measured(
                "discord_first_text_ms",
                "first text in Discord",
                "ms",
                "minimal_discord_ms",
                "a minimal bot with the same libraries",
            ),
            Measured(
                "cpu_ms_per_question",
                "processor time for a question, with SQLite",
                "ms",
                "minimal_cpu_ms_per_question",
                "a minimal bot with the same libraries",
            ),
            Measured(
                "rss_mb",
                "memory of the idle bot on Slack and Discord",
                "MB",
                "minimal_rss_mb",
                "a minimal bot with the same libraries",
                is_count=True,
            ),
        ),
    ),
    "live_edit": Benchmark(
        "Delay of live replies",
        "The median time until a message shows what the model wrote, within the platforms' rate limits. Ten replies at once go to five "
        "channels.",
        (
            Measured(
                "freshness_p50_ms_slack_stream_1",
                "one streamed reply in Slack",
                "ms",
                "freshness_p50_ms_slack_stream_1",
                _FASTEST,
            ),
            Measured(
                "freshness_p50_ms_slack_stream_10",
                "ten streamed replies in Slack at once",
                "ms",
                "freshness_p50_ms_slack_stream_10",
                _FASTEST,
            ),
            Measured(
                "freshness_p50_ms_slack_edit_1",
                "one edited reply in Slack",
                "ms",
                "freshness_p50_ms_slack_edit_1",
                _FASTEST,
            ),
            Measured(
                "freshness_p50_ms_slack_edit_10",
                "ten edited replies in Slack at once",
                "ms",
                "freshness_p50_ms_slack_edit_10",
                _FASTEST,
            ),
            Measured(
                "freshness_p50_ms_discord_1", "one reply in Discord", "ms", "freshness_p50_ms_discord_1", _FASTEST
            ),
            Measured(
                "freshness_p50_ms_discord_10",
                "ten replies in Discord at once",
                "ms",
                "freshness_p50_ms_discord_10",
                _FASTEST,
            ),
        ),
    ),
    "stream": Benchmark(
        "Overhead per token",
        "The cost of 500 answers at once in one process, compared with a bare client that reads the same text.",
        (
            Measured(
                "cpu_ms_per_1000_tokens", "processor time for 1,000 tokens", "ms", "bare_cpu_ms_per_1000_tokens", _BARE
            ),
            Measured(
                "kb_per_stream",
                "memory per answer, with 500 answers at once",
                "KB",
                "bare_kb_per_stream",
                _BARE,
                is_count=True,
            ),
            Measured(
                "alone_p50_ms", "time until a token is shown, with a single answer", "ms", "bare_alone_p50_ms", _BARE
            ),
        ),
    ),
    "turns": Benchmark(
        "Time from a message to the model",
        "The median time from a message's arrival to the request to the model, compared with storing one row durably.",
        (
            Measured("intake_p50_ms_sqlite", "SQLite", "ms", "commit_p50_ms_sqlite", "one row committed"),
            Measured("intake_p50_ms_postgresql", "PostgreSQL", "ms", "commit_p50_ms_postgresql", "one row committed"),
            Measured(
                "kb_per_conversation", "memory per conversation, with 200 conversations at once", "KB", is_count=True
            ),
        ),
    ),
    "parser": Benchmark(
        "Parser throughput",
        "The model's text arrives in pieces of four characters, as models send it.",
        (
            Measured(
                "mb_per_s",
                "text parsed per second",
                "MB",
                "naive_mb_per_s_on_100_kb",
                "a parser that searches everything after each piece",
            ),
            Measured("time_ratio_40_over_10", "time for four times as much text", "×"),
        ),
    ),
    "tokens": Benchmark(
        "Tokens per question",
        (
            "The number of tokens that the model reads. If the vendor stores the context, the bot sends less in a turn of "
            "32 rounds, but the vendor *bills* the same."
        ),
        (
            Measured(
                "prompt_tokens_hi", 'tokens that the model reads for "hi" in a direct message', "tokens", is_count=True
            ),
            Measured(
                "prefix_tokens_200",
                'tokens that the model reads for "hi" with 200 tools from MCP servers',
                "tokens",
                "prefix_tokens_200_in_full",
                "all schemas included in full",
                is_count=True,
            ),
            Measured(
                "upload_ratio_32",
                "bytes sent in a turn of 32 rounds: the whole context in each round, relative to only the new part",
                "×",
                is_count=True,
            ),
            Measured(
                "billed_ratio_openai_32",
                "input tokens billed in a turn of 32 rounds: the whole context in each round, relative to only the new part",
                "×",
                is_count=True,
            ),
        ),
    ),
    "tools": Benchmark(
        "Overhead of MCP servers",
        "The MCP servers run on the same machine.",
        (
            Measured(
                "call_overhead_ms",
                "time that the bot adds to a call",
                "ms",
                "call_ms_bare_sdk",
                "the call with the bare SDK",
            ),
            Measured(
                "start_added_ms_0_servers", "startup time that MCP support adds to a bot without MCP servers", "ms"
            ),
            Measured("idle_cpu_percent_20_servers", "processor time of twenty idle servers", "%"),
        ),
    ),
    "languages": Benchmark(
        "Search in other words",
        "How often the right message is among the first results. See [recall](recall.md#languages).",
        (
            Measured(
                "recall_at_1",
                "questions in three languages whose first result is the right message",
                "%",
                "recall_at_1",
                "plain full-text search",
                is_count=True,
            ),
            Measured(
                "recall_at_10",
                "questions in three languages whose first ten results include the right message",
                "%",
                "recall_at_10",
                "plain full-text search",
                is_count=True,
            ),
        ),
    ),
    "search_scale": Benchmark(
        "Search in a large store",
        "The time to search past threads, with warm caches.",
        (
            Measured("messages", "messages in the store", ""),
            Measured("p50_ms", "median time of a search", "ms"),
            Measured("p95_ms", "95th percentile of a search", "ms"),
            Measured("heaviest_p95_ms", "95th percentile for the person with the most messages", "ms"),
        ),
    ),
}
_BENCHMARKS: Final = """\
# Benchmarks

Run these benchmarks and their baselines on your machine, and update this page:

```sh
python -m benchmarks.all --quick
make generated
```

With `--quick`, the benchmarks use smaller inputs. Simulated platforms and models run on the same machine, so times do not include the
network. This page shows times only if the machine's load was at most {load}. Sizes and counts do not depend on the load. For how well the
bot finds past conversations, see [recall](recall.md#search-quality)."""
_NOT_SHOWN: Final = """\
## Times that are not shown

The machine was too busy when these times were measured. To see them, run the commands on an idle machine.

| What is measured | Command |
|---|---|"""
_HEAD: Final = "| Measurement | Cogency | Baseline |\n|---|---|---|"


def benchmarks_page(found: Mapping[str, Mapping[str, Any]], made: str) -> str:
    """docs/benchmarks.md: what `benchmarks.all` has written. `made`: that the page is. Raises ValueError for a name
    without words.
    """
    if unknown := found.keys() - BENCHMARKS.keys():
        raise ValueError(f"benchmarks without words: {', '.join(sorted(unknown))}")
    runs = [(name, one, found[name]) for name, one in BENCHMARKS.items() if name in found]
    lines = [f"{_BENCHMARKS.format(load=MAX_LOAD)} {made}", "", "## Sizes and counts", "", _HEAD]
    lines += [_row(figure, run) for _, one, run in runs for figure in one.figures if figure.is_count]
    not_shown = list[str]()
    for name, one, run in runs:
        times = [figure for figure in one.figures if not figure.is_count]
        if times and run["load"] > MAX_LOAD:
            not_shown.append(f"| {one.title} | `python -m benchmarks.{name}` |")
        elif times:
            lines += [
                "",
                f"## {one.title}",
                "",
                f"{one.says} For more measurements, run `python -m benchmarks.{name}`.",
                "",
                _HEAD,
            ]
            lines += [*(_row(figure, run) for figure in times), "", f"*{_circumstances(run)}.*"]
    if not_shown:
        lines += ["", _NOT_SHOWN, *not_shown]
    return "\n".join([*lines, ""])


def _row(figure: Measured, run: Mapping[str, Any]) -> str:
    other = f"{_figure(run['baseline'][figure.beside], figure.unit)} ({figure.other})" if figure.beside else ""
    return f"| {figure.says} | {_figure(run['metrics'][figure.metric], figure.unit)} | {other} |"


def _circumstances(run: Mapping[str, Any]) -> str:
    return f"{run['day']}, {'quick, ' if run['quick'] else ''}{run['machine']}, load {run['load']:.1f}"


def _figure(value: float, unit: str) -> str:
    """With three digits that count."""
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{shown}{unit}" if unit == "%" else f"{shown} {unit}".strip()
