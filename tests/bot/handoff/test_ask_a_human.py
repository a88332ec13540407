"""The tool with which the model suggests to ask a human: it sends nothing, and is offered where people are set up."""

import re
from dataclasses import replace

import pytest

from agent.errors import ToolError
from agent.handoffs import NewHandoff
from agent.ports.tools import ToolContext, ToolOutput
from agent.turn_kinds import TurnKind
from bot.chat.access.acl import parse_entries
from bot.handoff import texts
from bot.handoff.ask_a_human import AskAHumanTool, handoff_tools
from tests.bot.handoff.test_service import ANN, BOB, Desk


def context_of(desk: Desk) -> ToolContext:
    asker = desk.asker()
    return ToolContext(asker.person, asker.place, "test:thread", 1, desk.clock.now(), channel="channel")


async def said(desk: Desk, context: ToolContext) -> str:
    output = await AskAHumanTool(desk.service).run({}, context)
    assert isinstance(output, ToolOutput)
    return output.text


async def test_a_call_offers_a_human_and_says_so_once_and_how_it_stands() -> None:
    desk = Desk()
    context = context_of(desk)
    assert await said(desk, context) == texts.OFFERED
    assert await said(desk, replace(context, calls_before=1)) == texts.OFFERED_BEFORE
    claim = await desk.answered()
    await desk.store.handoffs.ask(NewHandoff(claim.turn, ANN, "Ann"), [BOB], desk.clock.now())
    assert await said(desk, context) == texts.ASKED_ALREADY
    await desk.store.handoffs.take(1, BOB, "Bob", desk.clock.now())
    assert await said(desk, context) == texts.TAKEN_ALREADY.format(name="Bob")
    assert not desk.platform.shown


async def test_it_fails_where_nobody_is_set_up_or_nobody_waits() -> None:
    desk = Desk("")
    with pytest.raises(ToolError, match=re.escape(texts.NOBODY_HERE)):
        await said(desk, context_of(desk))
    desk.people = parse_entries(f"person:{BOB}")
    with pytest.raises(ToolError, match=re.escape(texts.NOBODY_WAITS)):
        await said(desk, replace(context_of(desk), kind=TurnKind.API))


async def test_it_is_offered_where_people_are_set_up_and_not_while_that_is_unknown() -> None:
    desk = Desk()
    tools, asker = handoff_tools(desk.service), desk.asker()
    assert not tools.tools(asker)
    await tools.look_up(asker)
    assert [tool.name for tool in tools.tools(asker)] == ["ask_a_human"]
    await desk.store.preferences.set("channel:channel", "place", "no rules")
    await tools.look_up(asker)
    assert not tools.tools(asker)
