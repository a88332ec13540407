"""The server as the official SDK's client sees it, in both generations of the protocol."""

import asyncio

import pytest
from mcp import Client, MCPError
from mcp.client.context import ClientRequestContext
from mcp_types import CallToolResult, ElicitRequestFormParams, ElicitRequestParams, ElicitResult, ErrorData, TextContent

from bot.api.mcp_server import texts
from bot.api.mcp_server.arguments import ToolName
from bot.api.mcp_server.server import MAX_RUNNING, MEMORY_URI, mcp_server
from bot.api.mcp_server.service import PersonalTools
from tests.fakes.clock import FakeClock
from tests.fakes.mcp_users import FakeClients, FakeMcpUser, personal_tools
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S

both = pytest.mark.parametrize("mode", ["auto", "legacy"])


@pytest.fixture
def user() -> FakeMcpUser:
    return FakeMcpUser(FakeClock(auto=False))


@pytest.fixture
def tools(user: FakeMcpUser) -> PersonalTools:
    return personal_tools(store_in_memory(), user)


class Person:
    """Answers the questions of the server. `agrees`: what they tick, None if they decline."""

    def __init__(self, *, agrees: bool | None) -> None:
        self.agrees = agrees
        self.asked: list[str] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:  # noqa: ARG002 -- required by the SDK
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        if self.agrees is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"confirm": self.agrees})


def client(tools: PersonalTools, mode: str = "auto", person: Person | None = None, **clients: object) -> Client:
    server = mcp_server(FakeClients(tools, **clients), "1.0")  # pyright: ignore[reportArgumentType] -- by name
    return Client(server, mode=mode, elicitation_callback=person, read_timeout_seconds=PATIENCE_S)


def text_of(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


@both
async def test_the_tools_are_listed_with_what_they_do_to_data(tools: PersonalTools, mode: str) -> None:
    async with client(tools, mode) as mcp:
        listed = (await mcp.list_tools()).tools
        assert mcp.server_info is not None
        assert mcp.server_info.name == "cogency"
    hints = {tool.name: (tool.annotations and tool.annotations.read_only_hint) for tool in listed}
    assert hints == {"recall": True, "remember": False, "ask": False, "forget": False}
    assert [tool.name for tool in listed if tool.annotations and tool.annotations.destructive_hint] == ["forget"]


@both
async def test_a_client_remembers_finds_and_reads_what_it_remembered(tools: PersonalTools, mode: str) -> None:
    async with client(tools, mode) as mcp:
        assert text_of(await mcp.call_tool("remember", {"text": "My boat is blue."})) == "Remembered: My boat is blue."
        assert "> My boat is blue." in text_of(await mcp.call_tool("recall", {"query": "boat"}))
        resources = (await mcp.list_resources()).resources
        assert [resource.name for resource in resources] == ["memory", "My boat is blue."]
        for resource in resources:
            (content,) = (await mcp.read_resource(resource.uri)).contents
            assert "My boat is blue." in content.model_dump()["text"]
        (template,) = (await mcp.list_resource_templates()).resource_templates
        assert template.uri_template == "cogency://threads/{id}"


async def test_an_answer_comes_with_its_thread_and_its_progress(tools: PersonalTools, user: FakeMcpUser) -> None:
    shown = list[str | None]()

    async def show(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 -- required by the SDK
        shown.append(message)

    user.answered.set()
    async with client(tools, "legacy") as mcp:
        answer = await mcp.call_tool("ask", {"question": "Why?"}, progress_callback=show)
    ((question, thread),) = user.asked
    assert (question, shown) == ("Why?", ["Thinking…"])
    assert answer.structured_content == {"answer": "You asked: Why?", "thread": thread, "waits_for_approval": False}
    assert text_of(answer) == f"You asked: Why?\nThread: {thread}"


async def test_a_question_whose_client_gives_up_is_stopped(tools: PersonalTools, user: FakeMcpUser) -> None:
    async with client(tools, "legacy") as mcp:
        asking = asyncio.create_task(mcp.call_tool("ask", {"question": "Why?"}))
        async with asyncio.timeout(PATIENCE_S):
            await user.changes.acquire()
            asking.cancel()
            await user.changes.acquire()
    assert user.stopped == ["Why?"]


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("erase", {}, "There is no tool 'erase'."),
        ("recall", {}, "The argument 'query' is missing."),
        ("recall", {"query": "x", "when": "never ever"}, '"when" was not understood'),
        ("forget", {}, texts.NOT_TOGETHER),
        ("forget", {"what": "today", "confirmation": "x"}, texts.NOT_TOGETHER),
        ("forget", {"confirmation": "everything"}, texts.FORGET_STALE),
        ("ask", {"question": "x", "thread": "somebody's"}, texts.THREAD_UNKNOWN),
    ],
)
async def test_a_wrong_call_gets_a_sentence(
    tools: PersonalTools, name: str, arguments: dict[str, str], sentence: str
) -> None:
    async with client(tools) as mcp:
        result = await mcp.call_tool(name, arguments)
    assert result.is_error
    assert sentence in text_of(result)


async def test_a_client_sees_and_uses_only_the_tools_that_it_may_use(tools: PersonalTools) -> None:
    await tools.remember("My boat is blue.")
    async with client(tools, allowed=frozenset({ToolName.ASK})) as mcp:
        assert [tool.name for tool in (await mcp.list_tools()).tools] == ["ask"]
        for name, argument in (("recall", "query"), ("remember", "text"), ("forget", "what")):
            assert text_of(await mcp.call_tool(name, {argument: "boat"})) == f"There is no tool {name!r}."
        assert (await mcp.list_resources()).resources == []
        assert (await mcp.list_resource_templates()).resource_templates == []
        for uri in (MEMORY_URI, "cogency://threads/notes"):
            with pytest.raises(MCPError, match="There is no resource"):
                await mcp.read_resource(uri)


@pytest.mark.parametrize(
    "uri", ["cogency://threads/", "cogency://threads/x%00", f"cogency://threads/{'x' * 2_000}", "file:///x"]
)
async def test_an_unknown_resource_is_an_error(tools: PersonalTools, uri: str) -> None:
    async with client(tools) as mcp:
        with pytest.raises(MCPError):
            await mcp.read_resource(uri)


async def test_an_unexpected_error_is_logged_and_the_client_does_not_learn_its_cause(
    tools: PersonalTools, caplog: pytest.LogCaptureFixture
) -> None:
    async with client(tools, failing=RuntimeError("the key is 123")) as mcp:
        assert text_of(await mcp.call_tool("recall", {"query": "boat"})) == texts.BROKEN
        with pytest.raises(MCPError, match="unexpected error") as raised:
            await mcp.list_resources()
    assert "123" not in str(raised.value)
    assert caplog.text.count("RuntimeError: the key is 123") == 2


async def test_a_person_has_a_bounded_number_of_calls_at_a_time(tools: PersonalTools, user: FakeMcpUser) -> None:
    async with client(tools) as mcp:
        asking = [asyncio.create_task(mcp.call_tool("ask", {"question": "Why?"})) for _ in range(MAX_RUNNING)]
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(MAX_RUNNING):
                await user.changes.acquire()
        assert text_of(await mcp.call_tool("recall", {"query": "x"})) == texts.BUSY
        user.answered.set()
        assert not any(result.is_error for result in await asyncio.gather(*asking))
        assert not (await mcp.call_tool("recall", {"query": "x"})).is_error


# What is erased.


@both
async def test_a_client_that_can_ask_its_person_erases_what_they_agree_to(tools: PersonalTools, mode: str) -> None:
    await tools.remember("My boat is blue.")
    person = Person(agrees=True)
    async with client(tools, mode, person) as mcp:
        result = await mcp.call_tool("forget", {"what": "about boat"})
    assert len(person.asked) == 1
    assert "My boat is blue." in person.asked[0]
    assert "Forgotten" in text_of(result)
    assert "blue" not in await tools.recall({"query": "boat"})


@both
@pytest.mark.parametrize("agrees", [None, False])
async def test_nothing_is_erased_unless_they_agree(tools: PersonalTools, mode: str, agrees: bool | None) -> None:
    await tools.remember("My boat is blue.")
    async with client(tools, mode, Person(agrees=agrees)) as mcp:
        assert text_of(await mcp.call_tool("forget", {"what": "everything"})) == texts.FORGET_NOTHING
    assert "> My boat is blue." in await tools.recall({"query": "boat"})


@both
async def test_the_model_of_a_client_that_can_ask_cannot_confirm_in_its_persons_place(
    tools: PersonalTools, mode: str
) -> None:
    await tools.remember("My boat is blue.")
    shown = await tools.preview_forget("everything", "", related=False, asks=True)
    async with client(tools, mode, Person(agrees=None)) as mcp:
        result = await mcp.call_tool("forget", {"confirmation": shown.confirmation})
    assert text_of(result) == texts.FORGET_STALE
    assert "> My boat is blue." in await tools.recall({"query": "boat"})


@both
async def test_any_other_client_erases_in_two_steps(tools: PersonalTools, mode: str) -> None:
    await tools.remember("My boat is blue.")
    async with client(tools, mode) as mcp:
        first = text_of(await mcp.call_tool("forget", {"what": "about boat"}))
        assert "My boat is blue." in first
        confirmation = first.rpartition(" ")[2]
        assert "Forgotten" in text_of(await mcp.call_tool("forget", {"confirmation": confirmation}))
        assert text_of(await mcp.call_tool("forget", {"confirmation": confirmation})) == texts.FORGET_STALE
        nothing = await mcp.call_tool("forget", {"what": "about boat"})
    assert (nothing.is_error, len(nothing.content)) == (False, 1)
