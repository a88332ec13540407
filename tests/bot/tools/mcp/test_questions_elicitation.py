"""Questions of a server to the person of a call, in both versions of the protocol, through pipes and over HTTP."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

import pytest

from agent.errors import ToolError
from agent.incoming import Person
from agent.loop import run_call
from agent.memory.audience import TeamAudience
from agent.messages import ElicitAction, Elicitation, Elicited, Keep, ResultStatus, ToolCall
from agent.ports.tools import ToolContext, decline_question
from agent.toolbox.registry import Registry
from agent.turn_events import CallPlaced
from bot.tools.mcp.call_questions import MAX_GIVEN_UP, CallQuestions, GivenUp
from bot.tools.mcp.config import HttpReach
from bot.tools.mcp.questions import fields_of
from bot.tools.mcp.server import McpLimits, McpServer
from tests.bot.tools.mcp.test_server_official import reached
from tests.fakes.clock import FakeClock
from tests.fakes.mcp_world import QUICK, called, called_for, config, connected, context, raw
from tests.flows.test_official_servers import NODE, OF_NPM
from tests.patience import until

pytestmark = pytest.mark.server
RED = Elicited(ElicitAction.ACCEPT, {"colour": "red"})


class Someone:
    """A person for whom calls run, and the questions they get; they answer once they may."""

    def __init__(self, name: str, answer: Elicited = RED, *, waits: bool = False) -> None:
        self.asked: list[Elicitation] = []
        self.ended = 0
        self.may_answer = asyncio.Event()
        self._answer = answer
        self.context = replace(context(), person=Person(f"slack:T1:{name}", name), ask=self._ask)
        if not waits:
            self.may_answer.set()

    async def _ask(self, question: Elicitation) -> Elicited:
        self.asked.append(question)
        try:
            await self.may_answer.wait()
        finally:
            self.ended += 1
        return self._answer

    async def was_asked(self) -> None:
        await until(lambda: bool(self.asked))


async def said(server: McpServer, tool: str, context: ToolContext, **args: str) -> object:
    (answer,) = (await called_for(server, tool, context, **args)).parts
    return json.loads(str(answer))


@pytest.mark.parametrize("action", ElicitAction)
async def test_before_2026_a_server_asks_in_the_middle_of_a_call_and_is_told_what_they_did(
    action: ElicitAction,
) -> None:
    ann = Someone("ann", Elicited(action, {"colour": "red"} if action is ElicitAction.ACCEPT else {}))
    async with connected(config(raw())) as (server,):
        answer = await said(server, "wonder", ann.context)
    assert answer == {"action": action.value} | (
        {"content": {"colour": "red"}} if action is ElicitAction.ACCEPT else {}
    )
    assert [(one.source, one.text) for one in ann.asked] == [("raw", "Which colour?")]


async def test_without_a_person_it_is_declined() -> None:
    async with connected(config(raw())) as (server,):
        assert await said(server, "wonder", context()) == {"action": "decline"}


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_since_2026_the_call_is_made_again_with_the_answer_and_the_servers_own_note(way: str) -> None:
    ann = Someone("ann", Elicited(ElicitAction.ACCEPT, {"wood": "oak"}))
    async with reached(way) as reach, connected(config(reach, "o")) as (server,):
        await server.connected.wait()
        (carved,) = (await called_for(server, "carve", ann.context)).parts
        assert str(carved) == 'half done: {"action":"accept","content":{"wood":"oak"}}'
        with pytest.raises(ToolError, match="again and again"):
            await called_for(server, "varnish", Someone("bob", Elicited(ElicitAction.ACCEPT, {"name": "x"})).context)


async def test_while_somebody_is_asked_two_people_use_it_and_neither_is_asked_what_may_be_the_others() -> None:
    ann, bob = Someone("ann", waits=True), Someone("bob")
    async with connected(config(raw())) as (server,):
        hanging = asyncio.create_task(said(server, "wonder", ann.context))
        await ann.was_asked()
        assert await said(server, "wonder", bob.context, about="Ann's salary?") == {"action": "cancel"}
        ann.may_answer.set()
        assert await hanging == {"action": "accept", "content": {"colour": "red"}}
    assert (len(ann.asked), len(bob.asked)) == (1, 0)


async def test_what_a_call_that_was_given_up_still_asks_reaches_nobody_else() -> None:
    ann, bob = Someone("ann"), Someone("bob")
    clock = FakeClock(auto=False)
    async with connected(config(raw()), clock=clock) as (server,):
        hanging = asyncio.create_task(called_for(server, "hang", ann.context))
        await called(server, "echo")  # by now it has the other one, too
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        assert await said(server, "wonder", bob.context) == {"action": "cancel"}
        assert await said(server, "wonder", ann.context) == {"action": "accept", "content": {"colour": "red"}}
        await clock.advance(301)
        assert await said(server, "wonder", bob.context) == {"action": "accept", "content": {"colour": "red"}}


@pytest.mark.slow
async def test_a_service_says_for_whom_it_asks_so_that_each_is_asked_their_own() -> None:
    ann, bob = Someone("ann", waits=True), Someone("bob", Elicited(ElicitAction.ACCEPT, {"name": "Bob"}))
    async with everything_over_http() as reach, connected(config(reach, "o")) as (server,):
        await server.connected.wait()
        asking = asyncio.create_task(called_for(server, ASKS, ann.context))
        await ann.was_asked()
        assert "Name: Bob" in str((await called_for(server, ASKS, bob.context)).parts)
        assert not asking.done()
        ann.may_answer.set()
        await asking
        assert await server.ask(lambda client: asyncio.sleep(0, client.protocol_version)) < "2026"
    assert (len(ann.asked), len(bob.asked)) == (1, 1)
    assert len(fields_of(ann.asked[0].schema)) == 13


ASKS = "trigger-elicitation-request"


@asynccontextmanager
async def everything_over_http() -> AsyncGenerator[HttpReach]:
    """The official server on npm, with the protocol of 2025."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    script, quiet = OF_NPM / "server-everything" / "dist" / "index.js", asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        str(NODE), str(script), "streamableHttp", stdout=quiet, stderr=quiet, env={"PORT": str(port)}
    )
    try:
        yield HttpReach(f"http://127.0.0.1:{port}/mcp")
    finally:
        process.kill()
        await process.wait()


async def test_a_server_that_floods_with_questions_is_answered_a_few_one_after_the_other() -> None:
    ann = Someone("ann")
    async with connected(config(raw())) as (server,):
        actions = await said(server, "quiz", ann.context)
    most = McpLimits().questions
    assert sorted(cast("list[str]", actions)) == ["accept"] * most + ["cancel"] * (20 - most)
    assert len(ann.asked) == McpLimits().questions


async def test_who_puts_a_question_off_is_not_asked_another_one_for_that_call() -> None:
    ann = Someone("ann", Elicited(ElicitAction.CANCEL))
    async with connected(config(raw())) as (server,):
        assert await said(server, "quiz", ann.context) == ["cancel"] * 20
    assert len(ann.asked) == 1


async def test_pages_that_have_to_be_opened_first_are_shown_and_then_the_call_is_made_again() -> None:
    ann, bob = Someone("ann", Elicited(ElicitAction.ACCEPT)), Someone("bob", Elicited(ElicitAction.DECLINE))
    async with connected(config(raw())) as (server,):
        with pytest.raises(ToolError, match="the person did not"):
            await called_for(server, "pages", bob.context)
    async with connected(config(raw())) as (server,):
        assert str((await called_for(server, "pages", ann.context)).parts[0]) == "opened"
    assert [one.address for one in (*ann.asked, *bob.asked)] == ["https://example.com/go"] * 2


async def test_what_a_server_was_told_stays_with_its_person_and_in_the_turn_also_where_it_serves_the_team() -> None:
    shared = replace(config(raw()), for_team=True)
    async with connected(shared) as (server,):
        told = await called_for(server, "wonder", Someone("ann").context)
        assert (told.keep, told.audience) == (Keep.TURN, None)
        failing = ToolCall("raw.wonder", {"fails": "yes"})
        tools = Registry((), rest=server.tools)
        failed = (await run_call(CallPlaced("1.1", failing), tools, Someone("ann").context)).result
        assert "red" in failed.content
        assert (failed.status, failed.keep) == (ResultStatus.FAILURE, Keep.TURN)
        declined = await called_for(server, "wonder", Someone("bob", Elicited(ElicitAction.DECLINE)).context)
        assert (declined.keep, declined.audience) == (Keep.STORED, TeamAudience("slack:T1"))


@pytest.mark.parametrize("ends", ["stopped", "died"])
async def test_with_the_call_ends_what_it_asks(ends: str) -> None:
    ann = Someone("ann", waits=True)
    async with connected(config(raw())) as (server,):
        asking = asyncio.create_task(said(server, "wonder", ann.context))
        await ann.was_asked()
        if ends == "stopped":
            asking.cancel()
        else:
            with pytest.raises(ToolError):
                await called(server, "die")
        await asyncio.gather(asking, return_exceptions=True)
        await until(lambda: ann.ended > 0)
        assert (await called(server, "echo")).parts


async def test_a_server_that_no_longer_wants_to_know_ends_its_question_and_not_the_call() -> None:
    ann = Someone("ann", waits=True)
    async with connected(config(raw())) as (server,):
        hurrying = asyncio.create_task(called_for(server, "hurry", ann.context))
        await until(lambda: ann.ended == len(ann.asked) > 0)
        assert not hurrying.done()
        hurrying.cancel()
        await asyncio.gather(hurrying, return_exceptions=True)


async def test_calls_that_wait_for_people_take_no_place_of_others() -> None:
    ann = Someone("ann", waits=True)
    limits = replace(QUICK, calls=2)
    async with connected(config(raw()), limits=limits) as (server,):
        waiting: list[asyncio.Task[object]] = []
        for number in range(4):
            waiting.append(asyncio.create_task(said(server, "wonder", ann.context)))
            await until(lambda known=number: len(ann.asked) > known)
        assert (await called(server, "echo")).parts
        ann.may_answer.set()
        assert len(await asyncio.gather(*waiting)) == 4


async def test_a_tools_time_stands_still_while_its_person_thinks() -> None:
    ann = Someone("ann", waits=True)
    quick = config(raw())
    async with connected(replace(quick, timeout_s=0.5)) as (server,):
        tools = Registry((), rest=server.tools)
        running = asyncio.create_task(run_call(CallPlaced("1.1", ToolCall("raw.wonder", {})), tools, ann.context))
        await ann.was_asked()
        await asyncio.wait({running}, timeout=1.0)
        assert not running.done()
        ann.may_answer.set()
        assert (await running).result.status is ResultStatus.SUCCESS
        hanging = await run_call(CallPlaced("1.2", ToolCall("raw.hang", {})), tools, ann.context)
        assert "no result after 0.5 s" in hanging.result.content


def test_whose_calls_were_given_up_is_known_however_many_they_were() -> None:
    clock = FakeClock(auto=False)
    given_up = GivenUp(clock.monotonic)
    ann, bob = (CallQuestions("raw", (name, "thread"), decline_question, limit=5) for name in ("ann", "bob"))
    given_up.add(ann)
    for _ in range(2 * MAX_GIVEN_UP):
        given_up.add(bob)
    assert given_up.sole([bob]) is None
    crowd = GivenUp(clock.monotonic)
    for number in range(2 * MAX_GIVEN_UP):
        crowd.add(replace(ann, asker=(f"person {number}", "thread")))
    assert crowd.sole([replace(ann, asker=(f"person {2 * MAX_GIVEN_UP}", "thread"))]) is None


async def test_what_a_request_that_was_given_up_asks_reaches_nobody_also_where_its_own_person_is_never_asked() -> None:
    ann = Someone("ann")
    async with connected(config(raw())) as (server,):
        reading = asyncio.create_task(server.ask(lambda _: asyncio.Event().wait()))
        await called(server, "echo")
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert await said(server, "wonder", ann.context) == {"action": "cancel"}
    assert not ann.asked
