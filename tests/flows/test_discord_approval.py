"""How a call that waits is shown on Discord; what is the same on each platform is in `test_consent`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.providers.scripted import ScriptedProvider
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from tests.fakes.answering_host import answering_host
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, EPHEMERAL, Payload, labels, seen
from tests.fakes.fast_clock import MovedClock
from tests.fakes.one_turn import Echo
from tests.fakes.telling_model import ALLOW, HERE, REFUSE, WAITS, says
from tests.flows.test_discord_control import AT_THE_END
from tests.patience import until

ME = f"<@{BOT}>"
OPERATORS = frozenset({f"discord:{ANN}"})
WAITING = f"I will tell Ben.\n\n{WAITS}"


class Approval:
    """A server in which the model wants to act."""

    def __init__(self, fake: FakeDiscord, clock: MovedClock, tool: Echo) -> None:
        self.fake, self.clock, self.tool = fake, clock, tool
        self.host = answering_host(ScriptedProvider(says), clock, tools=[tool], operators=OPERATORS)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        async with serving(self.fake, self.host), self.host.answering():
            yield

    async def asked(self) -> tuple[Payload, Payload]:
        """The question, and the reply once it waits for a word."""
        question = await self.fake.say(ANN, f"{ME} tell Ben")
        page = await self.shown(WAITING)
        await until(lambda: all(turn.state == "waiting" for turn in self.host.store.turns))
        return question, page

    async def shown(self, text: str) -> Payload:
        await until(lambda: any(text in seen(one) for one in by_the_bot(self.fake)))
        return next(one for one in by_the_bot(self.fake) if text in seen(one))

    async def panel(self, page: Payload) -> Payload:
        await self.fake.press(ANN, page, platforms_texts.DECIDE_BUTTON)
        return await self.shown("Approve `echo`?")

    async def is_over(self, panel: Payload) -> None:
        """What still stands before them there decides nothing any more, and says so."""
        await self.fake.press(ANN, panel, ALLOW)
        await self.shown(tool_texts.NOT_DECIDED["OVER"])

    async def ended(self) -> None:
        await until(lambda: all(turn.state == "done" for turn in self.host.store.turns))


@asynccontextmanager
async def approval() -> AsyncGenerator[Approval, None]:
    clock = MovedClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        yield Approval(fake, clock, Echo())


async def test_a_reply_that_waits_has_its_buttons_and_those_of_the_end_afterwards() -> None:
    async with approval() as here, here.running():
        _, page = await here.asked()
        assert labels(page) == [platforms_texts.DECIDE_BUTTON, "Stop"]
        await here.fake.press(ANN, await here.panel(page), ALLOW)
        answer = await here.shown("I will tell Ben.\n\nBen knows.")
        await until(lambda: labels(answer) == AT_THE_END)


@pytest.mark.parametrize("private", [False, True])
async def test_behind_a_command_its_asker_is_shown_it_at_once(private: bool) -> None:
    async with approval() as here, here.running():
        await here.fake.command(ANN, "ask", question="tell Ben", private=private)
        panel = await here.shown("Approve `echo`?")
        assert panel["flags"] & EPHEMERAL
        assert labels(panel) == [ALLOW, HERE, REFUSE]
        page = await here.shown(WAITING)
        assert labels(page) == [platforms_texts.DECIDE_BUTTON, "Stop"]
        await here.fake.press(ANN, panel, ALLOW)
        await here.shown("I will tell Ben.\n\nBen knows.")
        await here.shown(tool_texts.DECIDED["allow"])
    assert here.tool.said == ["Hello Ben."]


async def test_the_table_is_changed_by_operators_alone_and_what_they_refuse_is_told() -> None:
    async with approval() as here, here.running():
        await here.fake.command(BO, "tools", words="policy")
        assert (await here.shown(tool_texts.POLICY_NOT_YOURS))["flags"] & EPHEMERAL
        await here.fake.command(ANN, "tools", words=f"policy set echo <@{BO}> * no")
        await here.shown(f"`echo discord:{BO} * no`")
        await here.fake.command(BO, "tools")
        await here.shown(tool_texts.TOOLS_REFUSED)


async def test_the_button_stop_ends_it_with_what_was_said() -> None:
    async with approval() as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        await here.fake.press(ANN, page, "Stop")
        await here.shown("I will tell Ben.\n\n*Stopped.*")
        await here.ended()
        await here.is_over(panel)
    assert here.tool.said == []
