"""What tools ask in mid-call, as only Discord shows it; what is the same on each platform is in `test_questions`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent.messages import ElicitAction, Elicited, Json
from agent.providers.scripted import ScriptedProvider
from bot.chat.texts import replies as reply_texts
from bot.tools import texts as tool_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.asking_tool import BOAT, SAID, SMALL, AskingTool, books
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, EPHEMERAL, Payload, labels, parts, seen
from tests.fakes.fast_clock import MovedClock
from tests.flows.test_discord_control import AT_THE_END
from tests.patience import until

ME = f"<@{BOT}>"
WAITS = reply_texts.WAITS_FOR_ANSWER.format(tool="boats")
ANSWER, DECLINE, LATER = reply_texts.ANSWER_BUTTON, tool_texts.DECLINE_BUTTON, tool_texts.LATER_BUTTON


class Harbour:
    """A server in which a tool asks whoever has it called."""

    def __init__(self, fake: FakeDiscord, clock: MovedClock, tool: AskingTool) -> None:
        self.fake, self.clock, self.tool = fake, clock, tool
        self.host = self._new_host()

    def _new_host(self, before: AnsweringHost | None = None) -> AnsweringHost:
        store = None if before is None else before.store
        return answering_host(ScriptedProvider(books), self.clock, store, tools=[self.tool])

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        async with serving(self.fake, self.host), self.host.answering():
            yield

    @asynccontextmanager
    async def another_process(self) -> AsyncGenerator[AnsweringHost, None]:
        """One more on the same store, to which Discord tells everything from now on."""
        another = self._new_host(self.host)
        async with serving(self.fake, another):
            yield another

    async def asked(self) -> Payload:
        """The reply, once it waits for an answer."""
        await self.fake.say(ANN, f"{ME} book it")
        await until(lambda: any(ANSWER in labels(one) for one in by_the_bot(self.fake)))
        return next(one for one in by_the_bot(self.fake) if ANSWER in labels(one))

    async def shown(self, text: str, but: int = 0) -> Payload:
        await until(lambda: sum(text in seen(one) for one in by_the_bot(self.fake)) > but)
        return [one for one in by_the_bot(self.fake) if text in seen(one)][but]

    async def panel(self, page: Payload) -> Payload:
        await self.fake.press(ANN, page, ANSWER)
        return await self.shown(SAID)

    async def window(self, shown: Payload, label: str = ANSWER) -> Payload:
        pressed = await self.fake.press(ANN, shown, label)
        await until(lambda: pressed.window)
        return pressed.window

    async def ended(self) -> None:
        await until(lambda: all(turn.state == "done" for turn in self.host.store.turns))


@asynccontextmanager
async def harbour(schema: Json = SMALL) -> AsyncGenerator[Harbour, None]:
    clock = MovedClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        yield Harbour(fake, clock, AskingTool(schema))


async def test_the_reply_says_that_it_waits_and_its_asker_alone_is_shown_for_what() -> None:
    async with harbour() as here, here.running():
        page = await here.asked()
        assert labels(page) == [ANSWER, "Stop"]
        assert WAITS in seen(page)
        assert "swordfish" not in seen(page)
        await here.fake.press(BO, page, ANSWER)
        assert (await here.shown(tool_texts.NOTHING_ASKED))["flags"] & EPHEMERAL
        panel = await here.panel(page)
        assert panel["flags"] & EPHEMERAL
        assert labels(panel) == [ANSWER, DECLINE, LATER]
        await here.fake.press(BO, panel, DECLINE)
        await here.shown(reply_texts.NOT_YOURS)
        window = await here.window(panel)
        await here.fake.fill_in(ANN, window, panel, **{"0": "halibut"})
        answer = await here.shown("I look.\n\nIt is booked.")
        await until(lambda: labels(answer) == AT_THE_END)
        assert answer["id"] == page["id"]
        assert WAITS not in seen(answer)
        assert "halibut" in seen(await here.shown("Your answer goes only to `harbour`"))
    assert here.tool.answers == [Elicited(ElicitAction.ACCEPT, {"name": "halibut"})]


async def test_more_fields_than_a_window_holds_are_filled_in_in_several_and_sent_at_the_end() -> None:
    async with harbour(BOAT) as here, here.running():
        panel = await here.panel(await here.asked())
        first, second = (tool_texts.ANSWER_PART.format(first=at, last=to, all=6) for at, to in ((1, 5), (6, 6)))
        assert labels(panel) == [first, second, DECLINE, LATER]
        window = await here.window(panel, first)
        assert [label["component"]["type"] for label in window["components"]] == [4, 3, 4, 3, 3]
        await here.fake.fill_in(ANN, window, panel, **{"0": "Mary", "2": "ten"})
        wrong = await here.shown(tool_texts.NOT_AN_INTEGER)
        assert "Mary" in seen(wrong)
        again = await here.window(wrong, ANSWER)
        (name,) = [part for part in parts(again) if part.get("custom_id") == "0"]
        assert name["value"] == "Mary"
        await here.fake.fill_in(ANN, again, wrong, **{"1": "1", "2": "3", "3": "0 2", "4": "0"})
        await until(
            lambda: any(
                labels(one) == [first, second, tool_texts.SEND_BUTTON, DECLINE, LATER] for one in by_the_bot(here.fake)
            )
        )
        kept = next(one for one in by_the_bot(here.fake) if tool_texts.SEND_BUTTON in labels(one))
        assert "Mary" in seen(kept)
        assert "oars, anchor" in seen(kept)
        assert here.tool.answers == []
        await here.fake.fill_in(ANN, await here.window(kept, second), kept, **{"5": "2026-12-01"})
        await here.shown("2026-12-01")
        await here.fake.press(ANN, kept, tool_texts.SEND_BUTTON)
        await here.shown("It is booked.")
    values: dict[str, Json] = {"name": "Mary", "colour": "red", "seats": 3, "extras": ["oars", "anchor"], "mast": True}
    assert here.tool.answers == [Elicited(ElicitAction.ACCEPT, {**values, "launch": "2026-12-01"})]


async def test_a_press_in_another_process_reaches_the_one_that_waits() -> None:
    async with harbour() as here, here.running():
        page = await here.asked()
        async with here.another_process():
            panel = await here.panel(page)
            window = await here.window(panel)
            await here.fake.fill_in(ANN, window, panel, **{"0": "halibut"})
            await here.shown("Your answer goes only to `harbour`")
            await until(lambda: here.tool.answers)
        await here.ended()
    assert here.tool.answers == [Elicited(ElicitAction.ACCEPT, {"name": "halibut"})]


async def test_the_button_stop_ends_it() -> None:
    async with harbour() as here, here.running():
        page = await here.asked()
        await here.fake.press(ANN, page, "Stop")
        await here.shown("I look.\n\n*Stopped.*")
        await here.ended()
        assert here.tool.cancelled == 1
    assert here.tool.answers == []


async def test_of_a_private_question_the_panel_comes_by_itself() -> None:
    async with harbour() as here, here.running():
        await here.fake.command(ANN, "ask", question="book it", private=True)
        panel = await here.shown(SAID)
        assert panel["flags"] & EPHEMERAL
        await here.fake.press(ANN, panel, LATER)
        await here.shown("Then not.")
    assert here.tool.answers == [Elicited(ElicitAction.CANCEL)]
