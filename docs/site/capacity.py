"""The page of capacity: what `benchmarks.scale` measured and `benchmarks.capacity` simulated, in words."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from agent.messages import ModelCall, Usage
from agent.spending import NANO, cost
from benchmarks.capacity import (
    ANSWER_S,
    BUSIEST_MINUTE,
    BUSY,
    CONNECTIONS,
    CORES,
    DATABASES,
    DAYS,
    DISCORD_CALLS_S,
    DISK,
    MANY_PLACES,
    MAX_CONNECTIONS,
    PLACES,
    PLANS,
    QUESTIONS_A_DAY,
    WORKSPACES,
    Plan,
)
from docs.site.figures import MAX_LOAD

_INPUT: Final = 3_000
_CACHED: Final = 2_000
_OUTPUT: Final = 400
_MODELS: Final = ("openai:gpt-6-luna", "anthropic:claude-sonnet-4-6")
_SAYS: Final = {
    "10/1x16/2": "One process with SQLite is enough.",
    "100/1x16/2": "About twenty answers need a slot at once, but one process has only {places}, so the queue grows.",
    "100/2x16/2": "With a second process, or with `COGENCY_MAX_RUNNING=32`, nobody waits. **Add slots first.**",
    "1000/2x16/2": "All slots are in use, so the queue grows.",
    "1000/8x48/2": "Add slots first, then move PostgreSQL to its own machine. At about this size, add **a pooler**.",
    "100000/8x48/16": "With 16 cores, there are not enough slots, processors, or connections.",
    "100000/500x64/16": "With 16 cores, more slots do not help, because the database needs many of the cores.",
    "100000/500x64/192": "With 192 cores, slots and processors would be enough, but see the limits below.",
}


_LIMITS: Final = (
    (
        "measured",
        "after a year, a database as large as the largest that we measured",
        "Measure first: run `python -m benchmarks.scale` on your machine.",
    ),
    (
        "discord",
        f"{DISCORD_CALLS_S} calls a second by one Discord bot, if it edits each reply once a second",
        "The bot edits replies less often. To avoid this, add Discord applications, each with its own installation.",
    ),
    (
        "connections",
        f"{MAX_CONNECTIONS} connections, for processes with {MANY_PLACES} slots",
        "Add a [pooler](postgresql.md#connection-poolers-pgbouncer), or raise `max_connections`.",
    ),
    ("disk", f"{DISK / 1e12:.0f} TB of messages after a year", "Set a retention period, or divide the workspaces."),
    ("processor", f"{BUSY:.0%} of PostgreSQL's {CORES} cores", "Divide the workspaces."),
)
# From so many questions a minute on, processors are the limit, not slots.
_OF_PROCESSORS: Final = 100_000


def capacity_page(scale: Mapping[str, Any], simulated: Mapping[str, Any], made: str) -> str:
    """docs/capacity.md. `scale`, `simulated`: what the two benchmarks have written. `made`: that the page is."""
    is_idle = scale["load"] <= MAX_LOAD
    plans = [plan for plan in PLANS if is_idle or plan.per_minute < _OF_PROCESSORS]
    lines = [
        "# Capacity",
        "",
        f"This page shows what a question costs, and what to add first when people ask more questions. {made}",
        "",
        "## Resources per question",
        "",
        "| Resource | Value |",
        "|---|---|",
        *(f"| {says} | {value} |" for says, value in (*_counts(scale), *(_times(scale) if is_idle else ()))),
        "",
        f"*{scale['day']}, {scale['machine']}.* To measure these values yourself, run `python -m benchmarks.scale`.",
        f"This page shows processor times only if the machine's load was at most {MAX_LOAD}.",
        "",
        "## Cost of the model",
        "",
        f"The table shows the cost of 1,000 questions at list prices. It assumes that each question has {_INPUT:,}",
        f"tokens of input, of which {_CACHED:,} come from the vendor's cache, and {_OUTPUT:,} tokens of output.",
        "To see your own costs, use `/usage` or `cogency usage`.",
        "",
        "| Model | 1,000 questions |",
        "|---|---|",
        *(f"| `{model}` | {_cost(model)} |" for model in _MODELS if _cost(model)),
        "",
        "## Scaling",
        "",
        "The numbers below come from a simulation (`python -m benchmarks.capacity`). It assumes that questions arrive",
        f"at random, and that an answer uses its slot for {ANSWER_S:.0f} s on average. By default, a process has",
        f"{PLACES} slots (`COGENCY_MAX_RUNNING`) and can open {CONNECTIONS} connections to the database.",
        "",
        (
            "| Questions per minute | Processes x slots | Median wait | 95th percentile | Answers at once |"
            " Connections | Result |"
        ),
        "|---|---|---|---|---|---|---|",
        *(_row(plan, simulated["metrics"]) for plan in plans),
        "",
        f"## Limits at {WORKSPACES:,} workspaces",
        "",
        f"Assume that each workspace asks {QUESTIONS_A_DAY} questions on each of {DAYS} days a year, and",
        f"{QUESTIONS_A_DAY * BUSIEST_MINUTE:.1f} in its busiest minute. In that minute, {WORKSPACES:,} workspaces ask",
        f"{_a_minute():,.0f} questions, and use {_a_minute() * _INPUT / 1e6:,.0f} million input tokens.",
        "One installation reaches each limit at this number of workspaces:",
        "",
        "| Limit | Workspaces | What to do |",
        "|---|---|---|",
        *(
            f"| {says} | {simulated['metrics'][f'workspaces_{name}']:,.0f} | {then} |"
            for name, says, then in _LIMITS
            if is_idle or name != "processor"
        ),
        "",
        "If one installation cannot serve all workspaces, divide them among several installations, each with its own",
        "database ([decision 16](adr/0016-workspaces-are-divided-among-installations.md)). Workspaces differ in size,",
        "so assign each new workspace to the installation with the least work, instead of choosing one by the",
        f"workspace's ID. In a simulation of {WORKSPACES:,} workspaces, the busiest database had this much work,",
        "compared with an equal share:",
        "",
        "| Databases | Chosen by ID | With the least work |",
        "|---|---|---|",
        *(
            f"| {databases} | {simulated['metrics'][f'busiest_hashed_{databases}']:.2f} ×"
            f" | {simulated['metrics'][f'busiest_placed_{databases}']:.2f} × |"
            for databases in DATABASES
        ),
        "",
        "## Limits at 100,000 questions a minute",
        "",
        "At this rate, you reach these limits, in this order:",
        "",
        "1. **Connections.** One PostgreSQL server cannot serve hundreds of processes directly. Add a pooler in",
        "   transaction mode.",
        "2. **The primary server.** Replicas can only run searches. If one machine is not enough for all writes,",
        "   you need several installations, each with its own teams.",
        "3. **The platform.** Slack allows an app to send one message a second in a channel, and to make about fifty",
        "   edits a minute in a workspace. Discord allows a bot to make fifty calls a second. Add apps instead of",
        "   processes.",
        f"4. **The vendor.** The questions need {100_000 * _INPUT / 1e6:,.0f} million input tokens a minute, which",
        "   exceeds the usual limit of an account.",
        "",
    ]
    return "\n".join(lines)


def _a_minute() -> float:
    return WORKSPACES * QUESTIONS_A_DAY * BUSIEST_MINUTE


def _counts(scale: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what does not depend on the machine's other work. The flood's clock is counted."""
    one = scale["metrics"]
    yield "database connections that four processes open", f"{one['connections_4']:.0f}"
    yield "bytes that PostgreSQL stores per message", f"{one['bytes_per_message']:,.0f}"
    yield "bytes per message for full-text search (included in the row above)", f"{one['index_bytes_per_message']:,.0f}"
    yield (
        "a team's wait while another team sends a flood of questions, compared with its usual wait",
        f"{one['flood_delay_ratio']:.2f} ×",
    )


def _times(scale: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    one = scale["metrics"]
    database_ms = one["cpu_ms_per_question_1"] - one["bot_ms_per_question_1"]
    yield "processor time in the bot, per question", f"{one['bot_ms_per_question_1']:.0f} ms"
    yield "processor time in PostgreSQL, per question", f"{database_ms:.0f} ms"
    yield (
        "questions per second for each core, with the bot and PostgreSQL",
        f"{1000 / one['cpu_ms_per_question_1']:.1f}",
    )
    yield (
        "questions per second for each core, with four processes on one database",
        f"{1000 / one['cpu_ms_per_question_4']:.1f}",
    )
    yield "efficiency of four processes, compared with one", f"{one['efficiency_4']:.2f}"
    yield (
        f"95th percentile of a search in one person's 100,000 messages, of {one['messages']:,.0f} stored messages",
        f"{one['recall_p95_ms_10m']:.1f} ms",
    )
    yield "the same search with three more wordings of the question", f"{one['recall_wordings_p95_ms_10m']:.1f} ms"


def _row(plan: Plan, found: Mapping[str, float]) -> str:
    of = {name: found[f"{plan.name} {name}"] for name in ("wait_p50_s", "wait_p95_s", "running_p95")}
    connections = found[f"{plan.name} connections"]
    return (
        f"| {plan.per_minute:,} | {plan.processes} x {plan.places} | {of['wait_p50_s']:.1f} s"
        f" | {of['wait_p95_s']:.1f} s | {of['running_p95']:,.0f} | {connections:,.0f}"
        f" | {_SAYS[plan.name].format(places=PLACES)} |"
    )


def _cost(model: str) -> str:
    usage = Usage(input_uncached=_INPUT - _CACHED, input_cached=_CACHED, output=_OUTPUT)
    found = cost(ModelCall(model=model, usage=usage))
    return "" if found is None else f"${1000 * found / NANO:,.2f}"
