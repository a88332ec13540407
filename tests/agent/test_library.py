"""The agent in a program: what it answers, what it raises, what it keeps, and how it ends."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import count
from pathlib import Path
from typing import Any, cast

import cogency_bot
import pytest

import agent as agent_package
import store
from agent import (
    Agent,
    AgentEvent,
    Outcome,
    ProviderRefused,
    ProviderUnavailable,
    SettingsError,
    StreamBroken,
    TextArrived,
    ToolContext,
    ToolEffect,
    TurnEnded,
    tool,
)
from agent.in_process import InProcessStore
from agent.memory.audience import Place, TeamAudience, may_flow_from
from agent.messages import Message
from agent.ports.agent_store import AgentStore
from agent.ports.model import CallOptions, Capabilities, ProviderEvent, TokensArrived
from agent.providers.catalog import ENDPOINTS
from agent.providers.scripted import ScriptedProvider
from agent.recall_query import RecallQuery
from agent.turn_records import Claiming, Closing
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.model_server import DONE, ModelServer, head, text
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
CALL = '<execute>[{"name": "weather", "args": {"city": "Kiel"}}]</execute>'


@tool(effect="reads")
async def weather(city: str, context: ToolContext) -> str:
    """The weather in a city."""
    return f"{city} is sunny for {context.person.name}"


@tool
def send(text: str) -> str:
    """Send it."""
    return text


def stores() -> list[AgentStore | None]:
    return [None, store_in_memory()]


def snippets(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [part.partition("```")[0] for part in text.split("```python\n")[1:]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "says"),
    [("README.md", "I will remember that:\n\n> my boat is blue."), ("docs/library.md", "Husum: 6:02 and 18:31")],
)
def test_the_lines_on_the_pages_run_as_they_stand_there(page: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(snippets(page)[-1])
    ran = subprocess.run(
        [sys.executable, "program.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "agent/public")])},
        timeout=PATIENCE_S,
        check=False,
    )
    assert (ran.returncode, says in ran.stdout) == (0, True), ran.stderr


async def test_an_answer_is_a_text_or_events_and_calls_its_tools() -> None:
    model = ScriptedProvider([CALL, "Take sunglasses.", CALL, "Take sunglasses."])
    async with Agent(model, tools=[weather]) as agent:
        assert await agent("the weather?", person="ann") == "Take sunglasses."
        events = [event async for event in agent("the weather?")]
    assert "Kiel is sunny for ann" in model.requests[1][-1].text
    assert "".join(event.text for event in events if isinstance(event, TextArrived)) == "Take sunglasses."
    assert isinstance(events[-1], TurnEnded)
    assert events[-1].outcome is Outcome.ANSWERED


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["in the process", "in a database"])
async def test_a_conversation_goes_on_and_another_one_knows_only_what_was_kept(number: int) -> None:
    async with Agent(store=stores()[number]) as agent:
        await agent("remember that my boat is blue", conversation="one")
        await agent("the harbour is far", conversation="one")
        assert "> the harbour is far" in await agent("what did I just say?", conversation="one")
        assert "boat is blue" in await agent("what did I say about my boat?", conversation="two")
        assert "boat" not in (await agent("what did I say about my ship?", person="bob")).replace("my boat?", "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["in the process", "in a database"])
async def test_what_was_remembered_stands_before_the_model_in_other_conversations(number: int) -> None:
    keep = '<execute>[{"name": "remember", "args": {"text": "my kayak is teal"}}]</execute>'
    model = ScriptedProvider([keep, "Kept.", "It is blue.", "I do not know."])
    async with Agent(model, store=stores()[number]) as agent:
        await agent("remember: my kayak is teal")
        await agent("and now?")
        await agent("and now?", person="bob")
    seen = ["\n".join(message.text for message in request) for request in model.requests]
    assert "my kayak is teal" in seen[2]
    assert "kayak" not in seen[3]


async def test_questions_of_one_conversation_follow_one_another() -> None:
    model = ScriptedProvider(["One.", "Two."])
    async with Agent(model) as agent:
        await asyncio.gather(*(agent(text, conversation="c") for text in ("first", "second")))
    assert [message.text for message in model.requests[1]][1:3] == ["first", "One."]


@pytest.mark.parametrize("error", [ProviderUnavailable("down"), ProviderRefused("no key"), StreamBroken("cut")])
async def test_a_model_that_fails_raises_its_own_error(error: Exception) -> None:
    class Failing:
        name = "failing"
        capabilities = Capabilities()

        async def stream(
            self,
            messages: Sequence[Message],  # noqa: ARG002 -- the port's
            options: CallOptions = CallOptions(),  # noqa: ARG002, B008 -- the port's
        ) -> AsyncGenerator[ProviderEvent, None]:
            if isinstance(error, StreamBroken):
                yield TokensArrived("Half ")
            raise error

    async with Agent(Failing()) as agent:
        with pytest.raises(type(error)):
            await agent("hello?")
        *_, ended = [event async for event in agent("hello?")]
    assert isinstance(ended, TurnEnded)
    assert ended.outcome is (Outcome.CUT if isinstance(error, StreamBroken) else Outcome.REFUSED)


class Endless:
    """Writes until it is stopped, and tells that."""

    name = "endless"
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.stopped = asyncio.Event()

    async def stream(
        self,
        messages: Sequence[Message],  # noqa: ARG002 -- the port's
        options: CallOptions = CallOptions(),  # noqa: ARG002, B008 -- the port's
    ) -> AsyncGenerator[ProviderEvent, None]:
        try:
            for number in count():
                yield TokensArrived(f"word {number} ")
                await asyncio.sleep(0)
        finally:
            self.stopped.set()


async def first_text(events: AsyncGenerator[AgentEvent]) -> None:
    async for event in events:
        if isinstance(event, TextArrived):
            return


async def test_leaving_the_events_stops_the_model_and_what_was_said_stands() -> None:
    model, store = Endless(), store_in_memory()
    async with Agent(model, store=store) as agent:
        async with aclosing(aiter(agent("go on", conversation="c"))) as events:
            await first_text(events)
        assert model.stopped.is_set()
    said = await store.conversations.history("python:you:c", before_turn=9, limit=9)
    assert said[-1].text.startswith("word")


async def test_cancelling_whoever_awaits_stops_the_model() -> None:
    model = Endless()
    async with Agent(model) as agent:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await agent("go on")
        assert model.stopped.is_set()


async def test_closing_stops_what_runs_and_nothing_can_be_asked_any_more() -> None:
    model = Endless()
    agent = Agent(model)
    events = aiter(agent("go on"))
    async with asyncio.timeout(PATIENCE_S):
        await first_text(events)
        await agent.close()
        assert model.stopped.is_set()
        with pytest.raises(RuntimeError, match="closed"):
            async for _ in events:
                pass
        with pytest.raises(RuntimeError, match="closed"):
            await agent("hello?")


@pytest.mark.parametrize("model", ["gpt-6", "openai:", "nobody:x", "openai:gpt-6", "azure:prod", "vertex:gemini-3"])
def test_a_model_that_cannot_be_used_is_an_error_at_once(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for endpoint in ENDPOINTS.values():
        for name in filter(None, (endpoint.key_setting, endpoint.url_setting, *endpoint.needs)):
            monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError):
        Agent(model)


async def test_a_model_in_a_cloud_is_asked_by_its_key() -> None:
    async with asyncio.timeout(PATIENCE_S), ModelServer([[head(), text("Hi", finish_reason="stop"), DONE]]) as server:
        async with Agent("azure:prod/phi-4", base_url=server.url.removesuffix("/v1"), api_key="key-1") as agent:
            assert await agent("Hello") == "Hi"
        assert server.requests[0].path == "/openai/v1/chat/completions"
        assert server.requests[0].headers["api-key"] == "key-1"


def test_a_tool_that_acts_outward_is_refused_unless_the_program_allows_it() -> None:
    with pytest.raises(SettingsError, match="send has the effect “acts outward”"):
        Agent(tools=[send])
    Agent(tools=[send], effects=set(ToolEffect))


def test_a_tool_that_declares_no_effect_counts_as_one_that_acts() -> None:
    @tool
    def pay(to: str) -> str:
        """Pay somebody."""
        return f"paid {to}"

    with pytest.raises(SettingsError, match="pay has the effect “acts outward”"):
        Agent(tools=[pay])


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(SettingsError, match="weather"):
        Agent(tools=[weather, weather])


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import agent, store, sys; print([one for one in sys.modules if one.startswith(('agent.', 'store.'))])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)  # noqa: S603 -- our own
    assert ran.stdout.strip() == "[]"
    assert all((ROOT / package / "py.typed").exists() for package in ("agent", "store", "bot"))


def test_the_public_package_hands_on_what_is_for_programs_and_loads_nothing_before_it_is_used() -> None:
    assert {*cogency_bot.__all__} == {*agent_package.__all__, *store.__all__}
    for name in agent_package.__all__:
        assert getattr(cogency_bot, name) is getattr(agent_package, name)
    assert cogency_bot.open_store is store.open_store
    with pytest.raises(AttributeError, match="cogency_bot"):
        _ = cogency_bot.nothing  # type: ignore[attr-defined] -- that is the point
    code = "import cogency_bot, sys; print([one for one in sys.modules if one.startswith(('agent', 'store'))])"
    path = {"PYTHONPATH": str(ROOT / "agent/public")}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=path, check=True)  # noqa: S603 -- our own
    assert ran.stdout.strip() == "[]"
    assert (ROOT / "agent/public/cogency_bot/py.typed").exists()


async def test_time_is_an_argument() -> None:
    clock = FakeClock()
    model = ScriptedProvider(["Hello."])
    async with Agent(model, clock=clock) as agent:
        await agent("hello?")
    assert str(clock.now().year) in "".join(message.text for message in model.requests[0])


@pytest.mark.parametrize(("drawn_from", "elsewhere", "here"), [("", 1, 1), ("person:ann", 0, 1), ("nowhere", 0, 0)])
async def test_a_reply_is_found_elsewhere_only_where_what_it_was_drawn_from_may_flow(
    drawn_from: str, elsewhere: int, here: int
) -> None:
    public = Place(TeamAudience("team"), within_team="team")
    store, asked = InProcessStore(), said("where do I sail", place=public)
    for question, reply, drawn in ((asked, "on a catamaran", drawn_from), (asked, "It is a catamaran.", "")):
        claim = (await store.accept(question, claiming=Claiming("worker", START, LEASE))).claim
        assert claim is not None
        await store.finish(claim, Closing(Outcome.ANSWERED, reply, drawn_from=drawn), START)
    for thread, found in (("another", elsewhere), ("thread", here)):
        query = RecallQuery("ann", "catamaran", may_flow_from(public), thread, visible_from=100)
        assert len(await store.search(query)) == 2 * found


def plain(city: str) -> str:
    """No tool yet."""
    return city


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"store": "sqlite:///my.db"}, "store must come from `await open_store"),
        ({"tools": weather}, "tools must be a list of tools"),
        ({"tools": "weather"}, "tools must be a list of tools"),
        ({"tools": [plain]}, "which is not a tool. Decorate the function with @tool"),
        ({"tools": [weather, weather]}, "tools contains two tools named 'weather'"),
        ({"model": None}, "model must be rehearsal, your own provider"),
        ({"model": 3}, "model must be rehearsal, your own provider"),
        ({"model": "openai:x", "api_key": "sk-1", "base_url": "localhost:1"}, "base_url must be a complete address"),
    ],
)
def test_what_does_not_belong_there_is_said_when_the_agent_is_made(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(says)):
        Agent(**arguments)


def test_an_address_from_the_environment_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:1")
    with pytest.raises(SettingsError, match="OPENAI_BASE_URL must be a complete address"):
        Agent("openai:x", api_key="sk-1")


async def test_what_is_no_text_is_refused_and_harms_no_later_question() -> None:
    async with Agent(ScriptedProvider(["One.", "Two."])) as agent:
        await agent("hello")
        wrong: list[Any] = [None, 3, b"x"]
        for one in wrong:
            with pytest.raises(TypeError, match="question must be a string, not"):
                await agent(one)
            if one is not None:
                with pytest.raises(TypeError, match="conversation must be a string, not"):
                    await agent("hi", conversation=one)
        assert await agent("hello") == "Two."


def test_a_question_that_nobody_awaited_says_what_to_do_with_it() -> None:
    asked = Agent()("how deep is the sea?" * 100)
    assert "await it in an async function" in repr(asked)
    assert len(repr(asked)) < 200
    if sys.version_info >= (3, 14):  # which runs whatever can be awaited
        assert "how deep is the sea?" in asyncio.run(cast("Any", asked))
        return
    with pytest.raises(ValueError, match=r"a coroutine was expected, got <the question .* await it"):
        asyncio.run(cast("Any", asked))


async def test_an_agent_with_connections_says_that_it_belongs_to_one_event_loop() -> None:
    async with Agent("openai:m-1", api_key="sk-1", base_url="http://127.0.0.1:1/v1") as agent:

        async def ask() -> str:
            return await agent("hi")

        with pytest.raises(ProviderUnavailable):
            await ask()
        with pytest.raises(RuntimeError, match=r"Ask all questions within one asyncio.run\(main\(\)\)"):
            await asyncio.to_thread(lambda: asyncio.run(ask()))


def test_an_agent_without_connections_answers_in_any_event_loop() -> None:
    agent = Agent(ScriptedProvider(["One.", "Two."]))

    async def ask() -> str:
        return await agent("hi", conversation="c")

    assert [asyncio.run(ask()), asyncio.run(ask())] == ["One.", "Two."]


async def test_no_persons_conversation_has_the_name_of_anothers() -> None:
    agent = Agent()
    mine, theirs = agent("x", person="a:b", conversation="c"), agent("x", person="a", conversation="b:c")
    assert mine.incoming.conversation != theirs.incoming.conversation


async def test_who_asks_has_a_name_that_the_model_does_not_take_for_its_own() -> None:
    model = ScriptedProvider(["One.", "Two."])
    async with Agent(model) as agent:
        await agent("hi")
        await agent("hi", person="Ann")
    assert "PERSON: the user\n" in model.requests[0][1].text
    assert "PLACE: in private" in model.requests[0][1].text
    assert "PERSON: Ann\n" in model.requests[1][1].text


async def test_a_reply_for_which_a_narrow_one_was_found_again_is_as_narrow() -> None:
    public = Place(TeamAudience("team"), within_team="team")
    store, given = InProcessStore(), tuple[int, ...]()
    for reply, drawn in (("on a catamaran", "person:ann"), ("Deux coques.", "")):
        claim = (await store.accept(said("and", place=public), claiming=Claiming("worker", START, LEASE))).claim
        assert claim is not None
        await store.finish(claim, Closing(Outcome.ANSWERED, reply, drawn_from=drawn, given_messages=given), START)
        above = await store.history("thread", before_turn=10**6, limit=9)
        given = (above[-1].id,)
    assert [one.drawn_from for one in above if one.text == "Deux coques."] == ["person:ann"]
