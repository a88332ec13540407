"""A question that is edited while its answer grows: the answer says so, and Regenerate answers the new words."""

import asyncio

from agent.providers.scripted import ScriptedProvider, Until
from bot.forgetting import texts as forgetting_texts
from tests.fakes.answering_host import answering_host
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.flows.test_slack_replies import World
from tests.patience import PATIENCE_S

HINT = forgetting_texts.EDITED_MEANWHILE


async def test_in_slack() -> None:
    async with FakeSlack(FastClock()) as slack:
        edited = asyncio.Event()
        world = World(slack, [["It is ", Until(edited.wait), "red."], "It is blue."])
        async with world.running():
            asked = await slack.say(world.ann, world.general, f"<@{BOT_USER}> which colour has the canoe?")
            await slack.until(lambda: slack.state.answers(world.general))
            before = asked.wire()
            slack.state.edit(asked, f"<@{BOT_USER}> which colour has the kayak?")
            event = {"type": "message", "subtype": "message_changed", "channel": world.general, "hidden": True}
            event |= {"message": asked.wire(), "previous_message": before, "event_ts": slack.state.new_ts()}
            event |= {"ts": event["event_ts"], "channel_type": "channel"}
            await slack.deliver(slack.envelope(event))
            await slack.settled()
            edited.set()
            await world.answered()
            (answer,) = slack.state.answers(world.general)
            assert answer.text.endswith(HINT)
            await slack.click(world.ann, answer, "Regenerate")
            await world.answered(2)
            assert "kayak" in world.model.requests[-1][-1].text
            assert slack.state.answers(world.general)[-1].text == "It is blue."


async def test_on_discord() -> None:
    clock, edited = FastClock(), asyncio.Event()
    model = ScriptedProvider([["It is ", Until(edited.wait), "red."]], sleep=clock.sleep)
    host = answering_host(model, clock)
    async with running_discord(clock) as fake, serving(fake, host), host.answering():
        asked = await fake.say(ANN, f"<@{BOT}> which colour has the canoe?")
        await fake.until(lambda: by_the_bot(fake))
        await fake.change(asked, f"<@{BOT}> which colour has the kayak?")
        await fake.until(lambda: any("kayak" in stored.text for _, stored in host.store.messages))
        edited.set()
        async with asyncio.timeout(PATIENCE_S):
            await host.turns.idle()
        assert fake.world.shown(asked["id"])[-1].endswith(HINT)
