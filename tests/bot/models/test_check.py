"""How well a model follows the protocol: twenty verdicts and a conclusion."""

import json
import re

import pytest

from agent.messages import ModelCall
from agent.ports.model import CallOptions, Capabilities
from agent.protocol.blocks import IN_BLOCKS, IN_FUNCTIONS
from agent.protocol.parser import Parser
from agent.providers.rehearsal import RehearsalProvider
from agent.providers.scripted import ScriptedProvider
from agent.providers.wire_chat import ChatDialect
from agent.toolbox.registry import Registry
from bot.models.check import (
    MAX_ANSWER_CHARS,
    MAX_REASONED_CHARS,
    PROBES,
    ProbeReading,
    ProbeVerdict,
    announcement,
    check_model,
    conclusion,
    is_usable,
    messages_of,
    verdict_line,
)
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.operator_site import NamedTool


async def test_every_probe_gets_a_verdict_on_a_line_of_its_own() -> None:
    clock = FakeClock()
    rules = RehearsalProvider(sleep=clock.sleep)
    calls: list[ModelCall] = []

    async def count(call: ModelCall) -> None:
        calls.append(call)

    verdicts = [verdict async for verdict in check_model(rules, Registry([]), clock, count)]
    assert [verdict.probe for verdict in verdicts] == list(PROBES)
    assert len(verdicts) == len(calls) == 20
    assert all("The model can " in verdict_line(verdict) for verdict in verdicts)


@pytest.mark.slow
@pytest.mark.parametrize(("reasons", "limit"), [(False, MAX_ANSWER_CHARS), (True, MAX_REASONED_CHARS)])
async def test_a_model_that_never_ends_does_not_hold_up_the_next_probe(*, reasons: bool, limit: int) -> None:
    clock = FakeClock()
    endless = [f"line {number}\n" for number in range(3_000)]
    model = ScriptedProvider([endless] * len(PROBES), capabilities=Capabilities(reasons=reasons), sleep=clock.sleep)
    calls: list[ModelCall] = []

    async def count(call: ModelCall) -> None:
        calls.append(call)

    assert len([verdict async for verdict in check_model(model, Registry([]), clock, count)]) == len(PROBES)
    written = max(call.usage.output for call in calls)
    assert limit / 8 < written < limit


def test_what_it_will_take_is_said_before_with_a_price_where_there_is_one() -> None:
    said = announcement("openai:gpt-6.1-terra", Registry([]), NOON)
    found = re.fullmatch(
        r"This check of \S+ asks up to 26 questions and uses about ([\d,]+) tokens, \$0\.\d+ at list prices\. .*",
        said,
    )
    assert found is not None, said
    assert 10_000 < int(found[1].replace(",", "")) < 60_000
    assert "$" not in announcement("ollama:llama3.2", Registry([]), NOON)


@pytest.mark.parametrize(
    ("passed", "usable", "meaning"), [(20, True, "a good choice"), (12, True, "usable"), (11, False, "a larger model")]
)
def test_the_conclusion_says_what_the_verdicts_mean(passed: int, *, usable: bool, meaning: str) -> None:
    verdicts = [ProbeVerdict(probe, number < passed, 1.0) for number, probe in enumerate(PROBES)]
    assert is_usable(verdicts) is usable
    assert meaning in conclusion("ollama:llama3.2", verdicts)
    assert f"passed {passed} of 20 probes" in conclusion("ollama:llama3.2", verdicts)


STOPS = next(probe for probe in PROBES if probe.ability == "stop after its tool calls")
QUOTES_TAG = next(probe for probe in PROBES if probe.ability == "write the closing tag inside a string")
BLOCK = '<execute>[{"name": "recall", "args": {"query": "garden"}}]'


@pytest.mark.parametrize(
    ("raw", "passes"),
    [
        (BLOCK, True),  # The vendor stopped at the closing tag
        (f"{BLOCK}\n</execute>", True),
        (f"{BLOCK}\n</EXECUTE>\n", True),
        (f"{BLOCK}\n</execute>\nYou said nothing of it.", False),
        ("You said nothing of it.", False),
    ],
)
def test_text_behind_the_calls_counts_also_where_the_vendor_stops_at_their_end(raw: str, *, passes: bool) -> None:
    assert STOPS.judge(reading(raw)) is passes


@pytest.mark.parametrize("tag", ["</execute>", "‹/execute>"])
def test_the_tag_counts_as_the_model_reads_it_too(tag: str) -> None:
    call = f'<execute>[{{"name": "remember", "args": {{"text": "use {tag} at the end"}}}}]\n</execute>'
    assert QUOTES_TAG.judge(reading(call))


def test_a_model_that_calls_functions_reads_finished_steps_as_functions() -> None:
    dialect = ChatDialect("qwen3:8b", native=True)
    tools = Registry([NamedTool("recall")])
    for probe in PROBES:
        messages = messages_of(probe, tools, NOON, in_functions=True)
        sent = dialect.request(messages, CallOptions(tools=tools.specs)).body.decode()
        roles = [message["role"] for message in json.loads(sent)["messages"]]
        assert roles.count("tool") == len(probe.steps)
        assert not re.search(r"<(?:workspace|summary|results)|\[\{\\\"name\\\"", sent), probe.ability


NO_REPAIR = next(probe for probe in PROBES if probe.ability == "write JSON that needs no repair")
JSON_CALL = '{"name": "recall", "arguments": {"query": "harbour"}}'


@pytest.mark.parametrize(
    ("raw", "in_native", "in_text"),
    [
        (f"```json\n{JSON_CALL}\n```", True, False),
        (f"<tool_call>\n{JSON_CALL}\n</tool_call>", True, False),
        (f"{{{JSON_CALL}}}", False, False),
        (JSON_CALL.replace('"', "'"), False, False),
        (f"{BLOCK}\n</execute>", True, True),
        ("You said nothing of it.", False, False),
    ],
)
def test_a_model_that_calls_functions_may_write_its_json_into_any_wrapping(
    raw: str, *, in_native: bool, in_text: bool
) -> None:
    assert NO_REPAIR.judge(reading(raw, native=True)) is in_native
    assert NO_REPAIR.judge(reading(raw)) is in_text


def reading(raw: str, *, native: bool = False) -> ProbeReading:
    corrections = IN_FUNCTIONS if native else IN_BLOCKS
    parser = Parser(tool_names=frozenset({"recall", "remember"}), corrections=corrections)
    return ProbeReading((*parser.feed(raw), *parser.close()), raw, lambda _: True, native)
