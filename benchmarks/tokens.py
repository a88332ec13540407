"""What a turn with many rounds of tools uploads, and what the vendor bills for it: two different things.

upload_ratio_N        bytes that replay sends in a turn of N rounds, over those that resume sends: all of HTTP, of the
                      WebSocket's handshake and frames, before TLS
token_upload_ratio_N  the same in estimated tokens of the texts alone
billed_ratio_V_N      input tokens that the vendor V bills for the replayed turn, over those for one whose context it
                      keeps: about 1, because it bills what it reads, whoever sent it
cache_saves_V_N       the input's list price without any cache, over that with the vendor's own, if it always hits
prompt_tokens_hi      estimated tokens that a model reads when a new user says "hi" in a direct message, with the
                      default persona and the two tools of memory
prompt_tokens_hi_native  the same with tools in the vendor's own format
prompt_tokens_hi_slack  the same with the tools that read Slack: `read_channel`, and `search_slack` where it was granted
prefix_tokens_N       the same of everything before the first message, with N more tools of servers: where those would
                      take more than a threshold, only their names and a line each
prefix_tokens_native_N  the same with tools in the vendor's own format
round_output_tokens   estimated tokens that a model writes to call one tool

Sizes are those of seed 004, in tokens of four characters: the system's text 1,500, and in each round 200 of thought,
100 of a call and 300 of its result. The turns are real: our loop, our adapters for OpenAI Responses, over WebSocket
(resume) and HTTP (replay), to a server that checks each request against the vendor's types.

Baseline, in the same run: replay; and N tools that are all described in full.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from agent.context import ContextParts, Persona, build_context
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import ASCII_PER_TOKEN, Json, JsonObject, Message, Role, ToolCall, Usage, estimate_tokens
from agent.ports.tools import Tool, ToolContext, ToolEffect
from agent.protocol.grammar import teach
from agent.protocol.render import render_step
from agent.providers.catalog import OPENAI, Endpoint
from agent.providers.factory import OpenedProvider, ProviderWorld, open_responses, open_responses_http
from agent.providers.wire_chat import functions, untaught
from agent.state import Workspace
from agent.toolbox.registry import Registry
from agent.tools.read_channel import ReadChannelTool
from agent.tools.recall import WITH_DOCUMENTS, RecallTool
from agent.tools.remember import RememberTool
from benchmarks.billing import RULES, billed, input_dollars, input_tokens
from benchmarks.report import print_report, read_options
from benchmarks.wire_meter import WireMeter, metered
from bot.app.settings import Settings
from bot.platforms.slack.search_slack import SearchSlackTool
from tests.contracts.model_world import Asked, Calls, Says
from tests.fakes.clock import FakeClock
from tests.fakes.one_turn import run_turn
from tests.fakes.openai_service import MODEL, serving
from tests.fakes.store import store_in_memory

SYSTEM, THINK, CALL, RESULT = 1_500, 200, 100, 300
ROUNDS = (1, 2, 4, 8, 16, 32)
TOOLS = (5, 40, 200)
PROSE = "The ferry leaves the harbour at seven, and the board at the pier says so when the wind is from the west. "


def sized(begin: str, tokens: int, end: str = "") -> str:
    """Return a text of this many tokens."""
    room = tokens * ASCII_PER_TOKEN - len(begin) - len(end)
    return begin + (PROSE * (1 + room // len(PROSE)))[:room] + end


CONTEXT = (Message(Role.SYSTEM, sized(teach(""), SYSTEM)), Message(Role.USER, "When does it leave?"))
THOUGHT = sized("<think>\n", THINK, "\n</think>")


def block(number: int) -> str:
    """Return the call of one round. Each is different, because a repeated one is answered with a note."""
    return sized(f'[{{"name": "lookup", "args": {{"query": "{number:02} ', CALL, '"}}]')


@dataclass(slots=True)
class Lookup:
    """The tool. It runs right after the answer to a request: `sent` are the bytes up to then."""

    meter: WireMeter
    sent: list[int] = field(default_factory=list[int])
    name: str = "lookup"
    description: str = "Look it up."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 5.0

    @property
    def schema(self) -> JsonObject:
        return {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        del args, context
        self.sent.append(self.meter.bytes_up)
        return sized("", RESULT)


@dataclass(frozen=True, slots=True)
class Uploads:
    """Return for each number of rounds all that was sent until its last answer."""

    wire_bytes: list[int]
    tokens: list[int]
    inputs: list[int]
    """Return the tokens of each single request."""


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool as servers have them: its description and its four arguments have usual sizes."""

    name: str
    description: str
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 5.0

    @property
    def schema(self) -> JsonObject:
        arguments: dict[str, Json] = {
            name: {"type": kind, "description": about}
            for name, kind, about in (
                ("owner", "string", "Account that it belongs to, by its short name"),
                ("query", "string", "Words, or an id, that select it"),
                ("page", "integer", "Page of the results, from 1"),
                ("per_page", "integer", "Results on a page, 100 at most"),
            )
        }
        return {"type": "object", "properties": arguments, "required": ["owner", "query"]}

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        del args, context
        return ""


def server_tools(count: int) -> list[ServerTool]:
    """Return the tools of the first servers, 25 of each."""
    verbs = {
        "list": "Lists every",
        "get": "Gets one",
        "create": "Creates a new",
        "update": "Updates a",
        "close": "Closes a",
    }
    things = ("issue", "pull_request", "file", "release", "review_comment")
    servers = ("github", "gitlab", "linear", "notion", "sentry", "grafana", "stripe", "hubspot")
    tools = [
        ServerTool(
            f"{server}.{verb}_{thing}",
            f"{does} {thing.replace('_', ' ')} of an account that you may see in {server.capitalize()}, and returns "
            "its number, its title, its state, its address and who is assigned to it. Newest first, if there are more.",
        )
        for server in servers
        for thing in things
        for verb, does in verbs.items()
    ]
    return tools[:count]


def prefix_tokens(count: int, *, listed: bool = True, native: bool = False) -> int:
    """`listed`: as the product does it; else with every tool in full. `native`: with the tools in a vendor's format."""
    store, more = store_in_memory(), server_tools(count)
    own = [RecallTool(store.memories, documents=store.documents, description=WITH_DOCUMENTS), RememberTool(store.facts)]
    tools = Registry(own, rest=more) if listed else Registry([*own, *more])
    system, *_ = _hi(tools)
    if not native:
        return estimate_tokens(system.text)
    taught = untaught(system.text) or ""
    return estimate_tokens(taught) + estimate_tokens(json.dumps(functions(tools.specs)))


def prompt_tokens_hi(rest: Sequence[Tool] = ()) -> int:
    """Return the tokens of the whole request."""
    store = store_in_memory()
    tools = Registry([RecallTool(store.memories), RememberTool(store.facts)], rest=rest)
    return sum(estimate_tokens(message.text) for message in _hi(tools))


def prompt_tokens_hi_native() -> int:
    """As `prompt_tokens_hi`, with the tools in a vendor's format."""
    store = store_in_memory()
    tools = Registry([RecallTool(store.memories), RememberTool(store.facts)])
    system, *others = _hi(tools)
    taught = untaught(system.text) or ""
    texts = [taught, json.dumps(functions(tools.specs)), *(message.text for message in others)]
    return sum(map(estimate_tokens, texts))


def slack_tools() -> list[Tool]:
    """Return the tools of a workspace that has granted the search. They are not called, so they have no client."""
    nothing: Any = None
    return [ReadChannelTool(nothing), SearchSlackTool(nothing, nothing, nothing)]


def _hi(tools: Registry) -> tuple[Message, ...]:
    settings = Settings()
    parts = ContextParts(
        persona=Persona(settings.chat.persona, settings.chat.language_rule),
        tool_schemas=tools.schemas,
        person=Person("slack:T1:U1", "Robin", "Europe/Madrid"),
        now=datetime(2026, 5, 4, 12, 0, tzinfo=UTC),
        question="hi",
        word="k7fq2m",
        place=Place(PersonAudience("slack:T1:U1"), "slack:T1"),
        platform="Slack",
    )
    return build_context(parts).messages


def round_output_tokens() -> int:
    """Format a call as in the protocol's own example."""
    workspace = Workspace("Say what was said of the boat", "An earlier thread", "Search")
    return estimate_tokens(render_step("", workspace, [ToolCall("recall", {"query": "boat"})]))


NOTES = """\
OpenAI bills the whole chain for each call, however it was sent (its guide on conversation state: "all previous input
tokens for responses in the chain are billed as input tokens"). Gemini keeps a context only in Interactions, which is
opt-in; Anthropic keeps none: for them the kept turn is arithmetic. Seed 004 counts tokens in and out, read once when
kept, and again in each call when replayed."""

Opening = Callable[[Endpoint, ProviderWorld], OpenedProvider]


def resume(endpoint: Endpoint, line: ProviderWorld) -> OpenedProvider:
    return open_responses(endpoint, MODEL, "sk-1", line)


def replay(endpoint: Endpoint, line: ProviderWorld) -> OpenedProvider:
    return open_responses_http(endpoint, MODEL, "sk-1", line)


async def uploads(opening: Opening, rounds: int) -> Uploads:
    """Run one turn of this many rounds and an answer."""
    async with recording(opening, rounds) as (provider, asked, meter):
        tool = Lookup(meter)
        ran = await run_turn(provider, tool, CONTEXT, rounds=rounds + 2)
        if len(asked) != rounds + 1 or ran.ended.text != "At seven.":
            raise AssertionError(f"the turn went another way: {ran.ended}")
        inputs = [sum(map(estimate_tokens, request.texts)) for request in asked]
        return Uploads([*tool.sent, meter.bytes_up], list(accumulate(inputs)), inputs)


@asynccontextmanager
async def recording(
    opening: Opening, rounds: int
) -> AsyncGenerator[tuple[OpenedProvider, list[Asked], WireMeter], None]:
    async with serving() as service, metered(service.url) as meter:
        service.planned += [Calls((block(number),), before=THOUGHT) for number in range(rounds)]
        service.planned.append(Says(("At seven.",)))
        provider = opening(OPENAI.at(meter.url), ProviderWorld(FakeClock(), lambda: 0.0))
        try:
            yield provider, service.asked, meter
        finally:
            await provider.aclose()


def seed_ratio(rounds: int) -> float:
    """Return seed 004's own ratio: all tokens in and out of this many calls, replayed over kept; 5.2, 9.3, 17.4."""
    step = THINK + CALL
    replayed = sum(SYSTEM + (step + RESULT) * earlier + step for earlier in range(rounds))
    return replayed / (SYSTEM + step * rounds + RESULT * (rounds - 1))


def table(kept: Uploads, again: Uploads) -> str:
    lines = ["rounds   resume B   replay B  ratio   resume tokens   replay tokens  ratio   seed 004's count"]
    for n in ROUNDS:
        b, t = (kept.wire_bytes[n], again.wire_bytes[n]), (kept.tokens[n], again.tokens[n])
        lines.append(
            f"{n:>6} {b[0]:>10,} {b[1]:>10,} {b[1] / b[0]:>6.1f} {t[0]:>15,} {t[1]:>15,} {t[1] / t[0]:>6.1f}"
            f" {seed_ratio(n):>18.1f}"
        )
    return "\n".join(lines)


def bills(inputs: Sequence[int]) -> str:
    """Apply the vendors' rules to the same calls, however the context came to them."""
    lines = [
        f"{len(inputs) - 1} rounds' input as billed      uncached     cached    written      cost  without a cache"
    ]
    for rule in RULES:
        usage = billed(rule, inputs)
        lines.append(
            f"{rule.model:<30} {usage.input_uncached:>9,} {usage.input_cached:>10,} {usage.input_written:>10,}"
            f"   ${input_dollars(rule, usage):.4f}          ${input_dollars(rule, uncached(inputs)):.4f}"
        )
    return "\n".join(lines)


def uncached(inputs: Sequence[int]) -> Usage:
    return Usage(input_uncached=sum(inputs))


async def compare(rounds: int) -> tuple[dict[str, float], dict[str, float], str]:
    """Return metrics, baseline and tables."""
    kept, again = await uploads(resume, rounds), await uploads(replay, rounds)
    metrics = {f"upload_ratio_{n}": again.wire_bytes[n] / kept.wire_bytes[n] for n in (8, 16, 32)}
    metrics |= {f"token_upload_ratio_{n}": again.tokens[n] / kept.tokens[n] for n in (8, 16, 32)}
    chain = [sent + (THINK + CALL) * earlier for earlier, sent in enumerate(kept.tokens)]
    for rule in RULES:
        name, bill = rule.vendor, billed(rule, again.inputs)
        metrics[f"billed_ratio_{name}_32"] = input_tokens(bill) / input_tokens(billed(rule, chain))
        metrics[f"cache_saves_{name}_32"] = input_dollars(rule, uncached(again.inputs)) / input_dollars(rule, bill)
    metrics |= {"prompt_tokens_hi": prompt_tokens_hi(), "prompt_tokens_hi_native": prompt_tokens_hi_native()}
    metrics |= {"round_output_tokens": round_output_tokens()}
    metrics |= {"prompt_tokens_hi_slack": prompt_tokens_hi(slack_tools())}
    metrics |= {f"prefix_tokens_{n}": prefix_tokens(n) for n in TOOLS}
    metrics |= {f"prefix_tokens_native_{n}": prefix_tokens(n, native=True) for n in TOOLS}
    baseline = {f"replay_kb_{n}": again.wire_bytes[n] / 1000 for n in (8, 16, 32)}
    baseline |= {f"replay_input_tokens_{n}": float(again.tokens[n]) for n in (8, 16, 32)}
    baseline |= {f"prefix_tokens_{n}_in_full": prefix_tokens(n, listed=False) for n in TOOLS}
    return metrics, baseline, f"{table(kept, again)}\n\n{bills(again.inputs)}\n\n{NOTES}"


def main() -> None:
    options = read_options("What a turn with many rounds of tools uploads, and what is billed for it.")
    metrics, baseline, notes = asyncio.run(compare(max(ROUNDS)))
    print_report("tokens", metrics, baseline, options, notes)


if __name__ == "__main__":
    main()
