"""Every known deviation of weak models, in a real turn: the right call or one correction, no protocol in the reply."""

import asyncio
import json
import logging
from dataclasses import dataclass, field

import pytest

from agent.events import AgentEvent, CallStarted, NoticeArrived, TextArrived
from agent.incoming import Person
from agent.loop import Loop, Prompt, TurnCallbacks
from agent.memory.audience import PersonAudience, Place
from agent.messages import Message, Role, ToolCall
from agent.ports.tools import ToolContext
from agent.progress import Progress
from agent.providers.scripted import ScriptedProvider
from agent.toolbox.registry import Registry
from agent.tools.recall import RecallTool
from agent.tools.remember import RememberTool
from agent.turn import Turn
from tests.agent.protocol.deviations import DEVIATIONS, Deviation
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S

ANNA = Person("terminal:anna", "Anna")
LAST = "That is all."
TAGS = ("<think", "</think", "<workspace", "</workspace", "<execute", "</execute", "<results", "</results", "</summary")


@dataclass
class Watched:
    """What happened in one turn."""

    events: list[AgentEvent] = field(default_factory=list[AgentEvent])
    requests: list[tuple[Message, ...]] = field(default_factory=list[tuple[Message, ...]])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(event.call for event in self.events if isinstance(event, CallStarted))

    @property
    def shown(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextArrived | NoticeArrived))


def tools() -> Registry:
    store = store_in_memory()
    return Registry([RecallTool(store.memories), RememberTool(store.facts)])


async def watch(stream: str) -> Watched:
    watched = Watched()

    async def see(event: AgentEvent) -> None:
        watched.events.append(event)

    async def save(_: Progress) -> None:
        pass

    registry, clock = tools(), FakeClock()
    pieces = [stream[start : start + 3] for start in range(0, len(stream), 3)]
    model = ScriptedProvider([pieces, LAST, LAST])
    context = ToolContext(ANNA, Place(PersonAudience(ANNA.id)), "c", 1, clock.now())
    turn = Turn(registry.check, registry.repeatable)
    question = Prompt((Message(Role.USER, "Where is my boat?"),))
    async with asyncio.timeout(PATIENCE_S):
        await Loop(turn, question, model, registry, context, clock, TurnCallbacks(see, save)).run()
    watched.requests = model.requests
    return watched


async def test_a_deviation_ends_in_the_right_call_or_one_correction() -> None:
    for deviation in DEVIATIONS:
        assert_corrected_once(deviation, await watch(deviation.stream))


def assert_corrected_once(deviation: Deviation, watched: Watched) -> None:
    runnable = tuple(call for call in deviation.calls if tools().check(call) is None)
    assert watched.calls == runnable, deviation.name
    told = watched.requests[1][-1].text if len(watched.requests) > 1 else ""
    if deviation.correction:
        assert json.dumps(deviation.correction)[1:-1].replace("<", r"\u003c") in told, deviation.name
    if len(runnable) < len(deviation.calls):
        assert "wrong arguments" in told or "unknown tool" in told, deviation.name
    assert len(watched.requests) <= 2, f"one correction is enough: {deviation.name}"


async def test_no_deviation_shows_protocol_text() -> None:
    for deviation in DEVIATIONS:
        shown = (await watch(deviation.stream)).shown
        for tag in TAGS:
            assert tag not in shown.lower() or tag in deviation.text.lower(), (deviation.name, shown)


def test_the_table_holds_at_least_thirty_deviations_with_names_of_their_own() -> None:
    assert len(DEVIATIONS) >= 30
    assert len({deviation.name for deviation in DEVIATIONS}) == len(DEVIATIONS)


def test_both_kinds_of_ending_are_in_the_table() -> None:
    assert any(deviation.calls for deviation in DEVIATIONS)
    assert any(deviation.correction for deviation in DEVIATIONS)


async def test_what_a_broken_block_says_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    watched = await watch('<workspace>{"objective": "the diagnosis of Ann" and so on}</workspace>\nHello.')
    assert "workspace_invalid" in caplog.text.lower()
    assert "diagnosis" not in caplog.text
    assert watched.shown == "Hello."
