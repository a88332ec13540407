"""`/connect` in the whole bot: two accounts of one person share the memory of their direct messages until they part."""

import re
from collections.abc import Sequence
from pathlib import Path

from agent.providers.scripted import ScriptedProvider
from bot.chat.caches import MAX_AGE_S
from bot.connect import texts as connect_texts
from tests.fakes.answering_host import answering_host
from tests.fakes.canoe import answer
from tests.fakes.play_people import Playing, PlayPage, playing
from tests.flows.worlds import DiscordWorld, Page, SlackWorld, Who, in_slack, on_discord

BOAT = "remember that the boat is vermilion"
ASKED = "what do you know about the boat?"


async def connect(here: Playing) -> tuple[PlayPage, PlayPage]:
    """Connect the accounts of Ann and of Ben, as if they were one person's; return their pages."""
    ann, ben = await here.page("ann"), await here.page("ben")
    await ann.say("dm-ann", "/connect")
    offered = await ann.shown("Never give the code")
    code = offered["html"].partition("/connect ")[2][:14]
    await ben.say("dm-ben", f"/connect {code}")
    await ben.press(await ben.shown("This code was created by"), connect_texts.IT_IS_MINE)
    await ben.shown("Almost done")
    assert "Almost done" not in str(ann.frames)
    await ann.press(offered, connect_texts.ENTERED_BUTTON)
    question = await ann.shown("entered your code")
    assert "Ben" in question["html"]
    await ann.press(question, connect_texts.CONNECT)
    await ann.shown("Your accounts are connected")
    return ann, ben


async def test_connected_accounts_share_one_memory_in_direct_messages_alone_until_they_are_separated(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await connect(here)
        await ann.say("dm-ann", BOAT)
        await ann.shown("I will remember that")
        await ben.say("dm-ben", ASKED)
        assert "vermilion" in (await ben.shown("This is what I found"))["html"]
        await ben.say("general", f"@Cogency {ASKED}")
        await ben.shown("I found nothing")
        await ben.say("dm-ben", "/memory")
        assert "vermilion" in str(await ben.shown("What I remember"))
        await ben.say("dm-ben", "/connect off")
        await ben.shown("Disconnected")
        await ben.say("dm-ben", "/new")
        await ben.shown("starts a new conversation")
        await ben.say("dm-ben", ASKED)
        await ben.first(lambda one: "I found nothing" in one.get("html", "") and one["channel"] == "dm-ben")


async def test_forgetting_in_one_account_forgets_what_both_were_told(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await connect(here)
        await ann.say("dm-ann", BOAT)
        await ann.shown("Remembered")
        await ben.say("dm-ben", "/forget about boat")
        await ben.press(await ben.shown("connected account"), "Forget")
        answer = await ben.first(lambda one: "Forgotten:" in one["html"] or "has changed since" in one["html"])
        if "has changed since" in answer["html"]:  # the turn had not ended, and its answer falls, too
            await ben.press(answer, "Forget")
        await ben.shown("Forgotten:")
        await ann.say("dm-ann", "/new")
        await ann.shown("starts a new conversation")
        await ann.say("dm-ann", ASKED)
        await ann.shown("I found nothing")


async def test_outside_of_direct_messages_no_code_is_shown_and_a_wrong_one_says_what_to_do(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann = await here.page("ann")
        await ann.say("general", "/connect")
        await ann.shown("in a direct message with me")
        await ann.say("dm-ann", "/connect ABCD-EFGH-IJKL")
        await ann.shown("This code is not valid")
        await ann.say("dm-ann", "/connect off")
        await ann.shown("No other account is connected")


async def shown(world: SlackWorld | DiscordWorld, words: str) -> Page:
    """Wait until the asker alone reads this; return the newest such message."""

    def showing() -> Sequence[Page]:
        return [page for page in world.private() if words in page.text]

    await world.until(showing)
    return showing()[-1]


async def test_one_person_in_slack_and_on_discord_is_known_as_one_until_they_leave_a_platform() -> None:
    async with in_slack() as slack, on_discord() as discord:
        model = ScriptedProvider(answer, sleep=slack.clock.sleep)
        host = answering_host(model, slack.clock)

        async def tell(world: SlackWorld | DiscordWorld, words: str, *, in_channel: bool = False) -> None:
            turns = len(host.store.turns) + 1
            await (world.ask(words) if in_channel else world.write(words))
            await world.until(
                lambda: len(host.store.turns) == turns and all(turn.state == "done" for turn in host.store.turns)
            )

        async def knows(world: SlackWorld | DiscordWorld, *, in_channel: bool = False) -> bool:
            before = len(model.requests)
            await tell(world, "which colour has the thing?", in_channel=in_channel)
            return any("vermilion" in one.text for request in model.requests[before:] for one in request)

        ann, bo = (world.person(Who.ASKER).rpartition(":")[2] for world in (slack, discord))
        async with slack.serving(host), discord.serving(host), host.answering():
            await tell(slack, "my canoe is vermilion")
            assert not await knows(discord)
            await slack.slack.command(ann, slack.dm, "/connect")
            offered = await shown(slack, "Never give the code")
            found = re.search(r"/connect ([A-Z2-7-]{14})", offered.text)
            assert found is not None
            await discord.fake.command(bo, "connect", discord.dm, words=found[1])
            await discord.press(await shown(discord, "This code was created by"), connect_texts.IT_IS_MINE)
            await shown(discord, "Almost done")
            await slack.press(offered, connect_texts.ENTERED_BUTTON)
            await slack.press(await shown(slack, "entered your code"), connect_texts.CONNECT)
            await shown(slack, "Your accounts are connected")
            assert await knows(discord)
            assert not await knows(discord, in_channel=True)
            slack.slack.state.users[ann].facts["deleted"] = True
            await slack.clock.sleep(MAX_AGE_S)
            await discord.fake.command(bo, "new", discord.dm)
            assert not await knows(discord)
