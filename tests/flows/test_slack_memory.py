"""What is remembered in Slack, and where it may be used: in the same direct messages, and nowhere wider."""

from collections.abc import Sequence

from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER
from tests.fakes.store import FakeStore
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT_USER}>"
REMEMBER = '<execute>[{"name": "remember", "args": {"text": "The canoe is vermilion."}}]\n</execute>'
RECALL = '<execute>[{"name": "recall", "args": {"query": "canoe"}}]\n</execute>'


async def test_what_somebody_told_the_bot_in_a_dm_is_known_in_that_dm_only() -> None:
    def answer(messages: Sequence[Message]) -> str:
        if "<results>" in messages[-1].text:
            return "Done."
        return REMEMBER if "remember my canoe" in messages[-1].text else RECALL

    async with FakeSlack(FastClock()) as slack:
        ann, bob = slack.state.user("ann"), slack.state.user("bob")
        anns, bobs = slack.state.channel("ann", "im"), slack.state.channel("bob", "im")
        general, secret = slack.state.channel("general"), slack.state.channel("secret", "private")
        store, model = FakeStore(), ScriptedProvider(answer)
        host = turns_host(store, model, slack.clock)
        async with serving(slack, host), host.turns.serving():
            await ask(slack, store, ann, anns, "remember my canoe, it is vermilion")
            known = {
                (who, where): await ask_about_the_canoe(slack, store, model, who, where)
                for who, where in ((ann, anns), (bob, bobs), (ann, general), (ann, secret), (bob, general))
            }
    assert known == {
        (ann, anns): True,
        (bob, bobs): False,
        (ann, general): False,
        (ann, secret): False,
        (bob, general): False,
    }


async def test_what_was_said_in_a_public_channel_is_recalled_in_the_direct_messages_of_members_only() -> None:
    def answer(messages: Sequence[Message]) -> str:
        return "Noted." if "<results>" in messages[-1].text or "my canoe" in messages[-1].text else RECALL

    async with FakeSlack(FastClock()) as slack:
        ann = slack.state.user("ann")
        guest = slack.state.user("gil", is_ultra_restricted=True)
        anns, gils = slack.state.channel("ann", "im"), slack.state.channel("gil", "im")
        general = slack.state.channel("general")
        store, model = FakeStore(), ScriptedProvider(answer)
        host = turns_host(store, model, slack.clock)
        async with serving(slack, host), host.turns.serving():
            for person in (ann, guest):
                await ask(slack, store, person, general, f"{ME} my canoe is vermilion")
            assert await ask_about_the_canoe(slack, store, model, ann, anns)
            assert not await ask_about_the_canoe(slack, store, model, guest, gils)


async def ask(slack: FakeSlack, store: FakeStore, user: str, channel: str, text: str) -> None:
    """Ask, and wait for the answer."""
    turns = len(store.turns) + 1
    await slack.say(user, channel, text)
    await slack.until(lambda: len(store.turns) == turns and store.turns[-1].state == "done")


async def ask_about_the_canoe(
    slack: FakeSlack, store: FakeStore, model: ScriptedProvider, user: str, channel: str
) -> bool:
    """Whether the model is given anything vermilion when this person asks here."""
    before = len(model.requests)
    await ask(slack, store, user, channel, f"{ME} which colour has the thing?")
    return any("vermilion" in message.text for request in model.requests[before:] for message in request)
