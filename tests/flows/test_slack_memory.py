"""What was said in Slack, and where it is recalled."""

from collections.abc import Sequence

from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from bot.platforms.slack import inbound
from bot.platforms.slack.inbound import SlackBot
from tests.contracts.steps import answered
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import said
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER, TEAM
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT_USER}>"
RECALL = '<execute>[{"name": "recall", "args": {"query": "canoe"}}]\n</execute>'


async def test_what_was_said_in_a_public_channel_is_recalled_in_others_unless_a_guest_reads_it() -> None:
    def answer(messages: Sequence[Message]) -> str:
        return "Noted." if "<results>" in messages[-1].text or "my canoe" in messages[-1].text else RECALL

    known: dict[tuple[bool, str], bool] = {}
    for guest_reads in (True, False):
        async with FakeSlack(FastClock()) as slack:
            ann, gil = slack.state.user("ann"), slack.state.user("gil", is_ultra_restricted=True)
            anns, gils = slack.state.channel("ann", "im"), slack.state.channel("gil", "im")
            general, other = slack.state.channel("general"), slack.state.channel("other")
            slack.state.channels[other].members.discard(gil)
            if not guest_reads:
                slack.state.channels[general].members.discard(gil)
            store, model = store_in_memory(), ScriptedProvider(answer)
            host = turns_host(store, model, slack.clock)
            async with serving(slack, host), host.turns.serving():
                await ask(slack, store, ann, general, f"{ME} my canoe is vermilion")
                for who, where in ((ann, anns), (ann, other), (gil, gils)):
                    known[guest_reads, where] = await ask_about_the_canoe(slack, store, model, who, where)
    assert known == {
        (True, anns): True,
        (True, other): False,
        (True, gils): False,
        (False, anns): True,
        (False, other): True,
        (False, gils): False,
    }


async def test_what_was_said_while_a_whole_dm_was_one_conversation_is_found_from_its_threads() -> None:
    def answer(messages: Sequence[Message]) -> str:
        return "Noted." if "<results>" in messages[-1].text or "my canoe" in messages[-1].text else RECALL

    async with FakeSlack(FastClock()) as slack:
        ann = slack.state.user("ann")
        anns = slack.state.channel("ann", "im")
        store, model = store_in_memory(), ScriptedProvider(answer)
        host = turns_host(store, model, slack.clock)
        async with serving(slack, host), host.turns.serving():
            bot = SlackBot(TEAM, BOT_USER, "")
            whole = inbound.channel_conversation(bot, anns)
            asked = said("my canoe is vermilion", person=inbound.person_id(bot, ann), conversation=whole)
            await answered(store, asked, "Noted.")
            assert await ask_about_the_canoe(slack, store, model, ann, anns)


async def ask(slack: FakeSlack, store: StoreInMemory, user: str, channel: str, text: str) -> None:
    """Ask, and wait for the answer."""
    turns = len(store.turns) + 1
    await slack.say(user, channel, text)
    await slack.until(lambda: len(store.turns) == turns and store.turns[-1].state == "done")


async def ask_about_the_canoe(
    slack: FakeSlack, store: StoreInMemory, model: ScriptedProvider, user: str, channel: str
) -> bool:
    """Whether the model is given anything vermilion when this person asks here."""
    before = len(model.requests)
    await ask(slack, store, user, channel, f"{ME} which colour has the thing?")
    return any("vermilion" in message.text for request in model.requests[before:] for message in request)
