"""The page of benchmarks: what `benchmarks.all` has found, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple


class Measured(NamedTuple):
    """A figure: what it says, its unit, and with what it is compared in the same run."""

    metric: str
    says: str
    unit: str
    beside: str = ""
    other: str = ""


@dataclass(frozen=True, slots=True)
class Benchmark:
    title: str
    says: str
    figures: tuple[Measured, ...]


_FASTEST: Final = "a bot that edits each second"
_BARE: Final = "bare httpx"
BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "startup": Benchmark(
        "Until you can type",
        "From the start of `cogency chat` to its prompt, in a terminal.",
        (
            Measured(
                "chat_prompt_s", "with a database that is there", "s", "bare_python_s", "a Python that ends at once"
            ),
            Measured("first_start_s", "with none yet", "s"),
        ),
    ),
    "first_text": Benchmark(
        "Until the first text shows",
        "From a mention to the first text of its answer, with a model that answers at once; and what the idle bot takes.",
        (
            Measured(
                "slack_first_text_ms", "in Slack", "ms", "minimal_slack_ms", "the least bot on the same libraries"
            ),
            Measured("discord_first_text_ms", "in Discord", "ms", "minimal_discord_ms", "the same"),
            Measured("rss_mb", "memory of the idle bot on both", "MB", "minimal_rss_mb", "the same"),
        ),
    ),
    "live_edit": Benchmark(
        "How fresh a growing reply is",
        "From what the model writes to the moment at which a message shows it, at the median, within the platforms' limits: one "
        "reply, and ten at once in five channels.",
        (
            Measured(
                "freshness_p50_ms_slack_stream_1",
                "Slack, by a stream, one",
                "ms",
                "freshness_p50_ms_slack_stream_1",
                _FASTEST,
            ),
            Measured(
                "freshness_p50_ms_slack_stream_10", "ten at once", "ms", "freshness_p50_ms_slack_stream_10", "the same"
            ),
            Measured(
                "freshness_p50_ms_slack_edit_1",
                "Slack, by edits, one",
                "ms",
                "freshness_p50_ms_slack_edit_1",
                "the same",
            ),
            Measured(
                "freshness_p50_ms_slack_edit_10", "ten at once", "ms", "freshness_p50_ms_slack_edit_10", "the same"
            ),
            Measured("freshness_p50_ms_discord_1", "Discord, one", "ms", "freshness_p50_ms_discord_1", "the same"),
            Measured("freshness_p50_ms_discord_10", "ten at once", "ms", "freshness_p50_ms_discord_10", "the same"),
        ),
    ),
    "stream": Benchmark(
        "What is added to each token",
        "With 500 answers at the same time in one process, beside a bare client that reads the same and does nothing with it.",
        (
            Measured(
                "cpu_ms_per_1000_tokens", "of a processor, for 1,000 tokens", "ms", "bare_cpu_ms_per_1000_tokens", _BARE
            ),
            Measured("kb_per_stream", "memory of each answer", "KB", "bare_kb_per_stream", "the same"),
            Measured(
                "alone_p50_ms", "one answer alone: until its token is seen", "ms", "bare_alone_p50_ms", "the same"
            ),
        ),
    ),
    "turns": Benchmark(
        "From a message to the model",
        "From a message's arrival to the request to the model, at the median, beside the least that storing it durably takes.",
        (
            Measured("intake_p50_ms_sqlite", "SQLite", "ms", "commit_p50_ms_sqlite", "one row committed"),
            Measured("intake_p50_ms_postgresql", "PostgreSQL", "ms", "commit_p50_ms_postgresql", "the same"),
            Measured("kb_per_conversation", "memory of each conversation, with 200 that stream", "KB"),
        ),
    ),
    "parser": Benchmark(
        "Reading what a model writes",
        "In pieces of four characters, as models send them.",
        (
            Measured(
                "mb_per_s",
                "a second",
                "MB",
                "naive_mb_per_s_on_100_kb",
                "a parser that searches all so far after each piece",
            ),
            Measured("time_ratio_40_over_10", "time for four times as much", "times"),
        ),
    ),
    "tokens": Benchmark(
        "What a question costs before anybody writes",
        "Tokens that the model reads. A turn of 32 rounds uploads less where the vendor keeps what was sent; what is *billed* is the "
        "same.",
        (
            Measured("prompt_tokens_hi", 'for "hi" in a direct message', "tokens"),
            Measured(
                "prefix_tokens_200",
                "with 200 tools of servers",
                "tokens",
                "prefix_tokens_200_in_full",
                "all described in full",
            ),
            Measured("upload_ratio_32", "bytes up in 32 rounds, all sent anew over only what is new", "times"),
            Measured("billed_ratio_openai_32", "billed input, the one over the other", "times"),
        ),
    ),
    "tools": Benchmark(
        "What tools of servers add",
        "MCP servers on this machine.",
        (
            Measured("call_overhead_ms", "to a call", "ms", "call_ms_bare_sdk", "the call by the bare SDK"),
            Measured("start_added_ms_0_servers", "to a start without any server", "ms"),
            Measured("idle_cpu_percent_20_servers", "of a processor by twenty idle ones", "%"),
        ),
    ),
    "languages": Benchmark(
        "Finding a message in other words",
        "How often the message that answers a question is among the first hits, in ten languages (quick: three). All of it: "
        "[recall](recall.md#languages).",
        (
            Measured("recall_at_1", "the first", "%", "recall_at_1", "plain full-text search"),
            Measured("recall_at_10", "among ten", "%", "recall_at_10", "the same"),
        ),
    ),
    "search_scale": Benchmark(
        "Finding it in a large store",
        "A search of past threads, warm.",
        (
            Measured("messages", "messages in the store", ""),
            Measured("p50_ms", "the median", "ms"),
            Measured("p95_ms", "the slowest twentieth", "ms"),
            Measured("heaviest_p95_ms", "the same for who has the most messages", "ms"),
        ),
    ),
}
_BENCHMARKS: Final = """\
# Benchmarks

All numbers come from one command, which runs each benchmark beside a baseline in the same run, and writes what it found:

```sh
python -m benchmarks.all --quick
make generated
```

*Quick* means smaller sizes, for a look. The machine stands below each; its load says how busy it was with other work meanwhile
(above the number of its cores, times are longer than they need be). Platforms and models are stand-ins on the same machine, so
no network is in these times. How much of what was said is found again, on conversations of others, stands with
[recall](recall.md#how-much-of-it-is-found)."""


def benchmarks_page(found: Mapping[str, Mapping[str, Any]], made: str) -> str:
    """docs/benchmarks.md: what `benchmarks.all` has written. `made`: that the page is. Raises ValueError for a name
    without words.
    """
    if unknown := found.keys() - BENCHMARKS.keys():
        raise ValueError(f"benchmarks without words: {', '.join(sorted(unknown))}")
    lines = [f"{_BENCHMARKS} {made}\n"]
    for name, one in BENCHMARKS.items():
        if (run := found.get(name)) is None:
            continue
        lines += [
            f"## {one.title}",
            "",
            f"{one.says} `python -m benchmarks.{name}` has more figures, and explains them.",
            "",
        ]
        lines += ["| | Cogency | beside it |", "|---|---|---|"]
        for figure in one.figures:
            other = f"{_figure(run['baseline'][figure.beside], figure.unit)} ({figure.other})" if figure.beside else ""
            lines.append(f"| {figure.says} | {_figure(run['metrics'][figure.metric], figure.unit)} | {other} |")
        quick = "quick, " if run["quick"] else ""
        lines += ["", f"*{run['day']}, {quick}{run['machine']}.*", ""]
    return "\n".join(lines)


def _figure(value: float, unit: str) -> str:
    """With three digits that count."""
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{shown} {unit}".strip()
