"""Calls that wait for their asker's word on Discord: real discord.py, turns and store; the model is scripted."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.consents import CONSENT_TIME
from agent.ports.tools import Tool, ToolEffect
from agent.providers.scripted import Answering, ScriptedProvider
from agent.texts import QUESTION_EDITED
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.tools import texts as tool_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, EPHEMERAL, Payload, labels, seen
from tests.fakes.fast_clock import MovedClock
from tests.fakes.one_turn import Echo
from tests.fakes.telling_model import ALLOW, HERE, REFUSE, WAITS, says, says_after_looking
from tests.flows.test_discord_control import AT_THE_END
from tests.patience import until

ME = f"<@{BOT}>"
OPERATORS = frozenset({f"discord:{ANN}"})
WAITING = f"I will tell Ben.\n\n{WAITS}"


class Approval:
    """A server in which the model wants to act."""

    def __init__(self, fake: FakeDiscord, clock: MovedClock, tool: Echo) -> None:
        self.fake, self.clock, self.tool = fake, clock, tool
        self.model: Answering = says
        self.tools: list[Tool] = [tool]
        self.host = self._new_host()

    def _new_host(self, before: AnsweringHost | None = None) -> AnsweringHost:
        store = None if before is None else before.store
        return answering_host(ScriptedProvider(self.model), self.clock, store, tools=self.tools, operators=OPERATORS)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """A process, on what the ones before have left."""
        self.host = self._new_host(self.host)
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
        return await self.shown("May I use `echo`?")

    async def is_over(self, panel: Payload) -> None:
        """What still stands before them there decides nothing any more, and says so."""
        await self.fake.press(ANN, panel, ALLOW)
        await self.shown(tool_texts.NOT_DECIDED["OVER"])

    async def ended(self) -> None:
        await until(lambda: all(turn.state == "done" for turn in self.host.store.turns))


@asynccontextmanager
async def approval(effect: ToolEffect = ToolEffect.ACTS_OUTWARD) -> AsyncGenerator[Approval, None]:
    clock = MovedClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        yield Approval(fake, clock, Echo(effect=effect))


async def test_nothing_is_done_before_its_asker_who_alone_is_shown_all_of_it_has_allowed_it() -> None:
    async with approval() as here, here.running():
        _, page = await here.asked()
        assert labels(page) == [platforms_texts.DECIDE_BUTTON, "Stop"]
        await here.fake.press(BO, page, platforms_texts.DECIDE_BUTTON)
        assert (await here.shown(tool_texts.NOTHING_WAITS))["flags"] & EPHEMERAL
        panel = await here.panel(page)
        assert panel["flags"] & EPHEMERAL
        for told in (tool_texts.EFFECTS["ACTS_OUTWARD"], "**text**: `Hello Ben.`", "tell Ben"):
            assert told in seen(panel)
        assert labels(panel) == [ALLOW, HERE, REFUSE]
        await here.fake.press(BO, panel, ALLOW)
        await here.shown(reply_texts.NOT_YOURS)
        assert here.tool.said == []
        await here.fake.press(ANN, panel, ALLOW)
        answer = await here.shown("I will tell Ben.\n\nBen knows.")
        await until(lambda: labels(answer) == AT_THE_END)
        assert answer["id"] == page["id"]
    assert here.tool.said == ["Hello Ben."]


@pytest.mark.parametrize("private", [False, True])
async def test_behind_a_command_its_asker_is_shown_it_at_once(private: bool) -> None:
    async with approval() as here, here.running():
        await here.fake.command(ANN, "ask", question="tell Ben", private=private)
        panel = await here.shown("May I use `echo`?")
        assert panel["flags"] & EPHEMERAL
        assert labels(panel) == [ALLOW, HERE, REFUSE]
        page = await here.shown(WAITING)
        assert labels(page) == [platforms_texts.DECIDE_BUTTON, "Stop"]
        await here.fake.press(ANN, panel, ALLOW)
        await here.shown("I will tell Ben.\n\nBen knows.")
        await here.shown(tool_texts.DECIDED["allow"])
    assert here.tool.said == ["Hello Ben."]


async def test_a_refused_call_does_not_run_and_a_second_press_says_so() -> None:
    async with approval() as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        before = panel["components"]
        await here.fake.press(ANN, panel, REFUSE)
        await here.shown("I will tell Ben.\n\nThen not.")
        await here.fake.press(ANN, {**panel, "components": before}, ALLOW)
        await here.shown(tool_texts.NOT_DECIDED["REFUSED_BEFORE"])
    assert here.tool.said == []


async def test_two_presses_at_once_run_it_once() -> None:
    async with approval() as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        before = panel["components"]
        await asyncio.gather(*(here.fake.press(ANN, {**panel, "components": before}, ALLOW) for _ in range(2)))
        await here.shown("I will tell Ben.\n\nBen knows.")
        await here.ended()
    assert here.tool.said == ["Hello Ben."]


async def test_what_is_allowed_there_for_good_is_not_asked_for_again() -> None:
    async with approval() as here, here.running():
        question, page = await here.asked()
        await here.fake.press(ANN, await here.panel(page), HERE)
        await here.shown("I will tell Ben.\n\nBen knows.")
        await here.ended()
        await here.fake.say(ANN, f"{ME} once more", question["id"])
        await until(lambda: len(here.host.store.turns) == 2)
        await here.ended()
    assert here.tool.said == ["Hello Ben."] * 2


async def test_what_cannot_be_taken_back_is_allowed_once_only() -> None:
    async with approval(ToolEffect.IRREVERSIBLE) as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        assert labels(panel) == [ALLOW, REFUSE]
        assert tool_texts.EFFECTS["IRREVERSIBLE"] in seen(panel)


async def test_a_word_counts_in_another_process_and_what_waits_is_shown_by_the_command() -> None:
    async with approval() as here:
        async with here.running():
            await here.asked()
        async with here.running():
            await here.fake.command(ANN, "tools")
            await here.fake.press(ANN, await here.shown("May I use `echo`?"), ALLOW)
            await here.shown("I will tell Ben.\n\nBen knows.")
    assert here.tool.said == ["Hello Ben."]


async def test_the_table_is_changed_by_operators_alone_and_what_they_refuse_is_told() -> None:
    async with approval() as here, here.running():
        await here.fake.command(BO, "tools", words="policy")
        assert (await here.shown(tool_texts.POLICY_NOT_YOURS))["flags"] & EPHEMERAL
        await here.fake.command(ANN, "tools", words=f"policy set echo <@{BO}> * no")
        await here.shown(f"`echo discord:{BO} * no`")
        await here.fake.command(BO, "tools")
        await here.shown(tool_texts.TOOLS_REFUSED)


async def test_a_day_later_the_answer_goes_on_without_it_and_a_press_says_so() -> None:
    async with approval() as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        here.clock.ahead_s += CONSENT_TIME.total_seconds()
        await here.shown("I will tell Ben.\n\nThen not.")
        await here.is_over(panel)
    assert here.tool.said == []


async def test_the_button_stop_ends_it_with_what_was_said() -> None:
    async with approval() as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        await here.fake.press(ANN, page, "Stop")
        await here.shown("I will tell Ben.\n\n*Stopped.*")
        await here.ended()
        await here.is_over(panel)
    assert here.tool.said == []


async def test_with_its_question_what_waits_disappears() -> None:
    async with approval() as here, here.running():
        question, page = await here.asked()
        panel = await here.panel(page)
        await here.fake.take_back(question)
        await until(lambda: all(one["id"] != page["id"] for one in by_the_bot(here.fake)))
        await here.ended()
        await here.is_over(panel)
    assert here.tool.said == []


async def test_an_edited_question_is_asked_anew() -> None:
    async with approval() as here, here.running():
        question, page = await here.asked()
        await here.fake.change(question, f"{ME} tell Ben at once")
        await until(lambda: [turn.epoch for turn in here.host.store.turns] == [3])
        await until(lambda: all(turn.state == "waiting" for turn in here.host.store.turns))
        panel = await here.panel(page)
        assert "tell Ben at once" in seen(panel)
        await here.fake.press(ANN, panel, ALLOW)
        await here.shown("I will tell Ben.\n\nBen knows.")
    assert here.tool.said == ["Hello Ben."]


async def test_of_a_question_that_is_edited_after_something_was_done_the_answer_goes_on_with_its_new_words() -> None:
    looked = Echo("look", effect=ToolEffect.READS)
    async with approval() as here:
        here.model, here.tools = says_after_looking, [here.tool, looked]
        async with here.running():
            question = await here.fake.say(ANN, f"{ME} tell Ben")
            page = await here.shown(WAITS)
            await until(lambda: all(turn.state == "waiting" for turn in here.host.store.turns))
            panel = await here.panel(page)
            await here.fake.change(question, f"{ME} tell Cy")
            answer = await here.shown(f"I look, and tell Ben.\n\n{QUESTION_EDITED}\n\nOnly Cy, then.")
            assert answer["id"] == page["id"]
            await here.is_over(panel)
    assert (here.tool.said, looked.said) == ([], ["x"])


async def test_what_is_forgotten_is_taken_back_while_it_waits() -> None:
    async with approval() as here, here.running():
        _, page = await here.asked()
        panel = await here.panel(page)
        await here.fake.command(ANN, "forget", what="everything")
        await until(lambda: any("Forget" in labels(one) for one in by_the_bot(here.fake)))
        question = next(one for one in by_the_bot(here.fake) if "Forget" in labels(one))
        await here.fake.press(ANN, question, "Forget")
        await until(lambda: all(one["id"] != page["id"] for one in by_the_bot(here.fake)))
        await until(lambda: not here.host.store.turns)
        await here.is_over(panel)
    assert here.tool.said == []
