"""Reading channels, threads and forum posts on Discord: the real client, real turns, and a model that obeys."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.messages import Message, Usage
from agent.providers.rehearsal import rehearse
from agent.providers.scripted import ScriptedProvider
from agent.tools.read_channel import FOLD
from bot.budgets.report import FooterStyle
from bot.chat.host import Host
from bot.chat.texts import commands as command_texts
from bot.platforms.discord.settings import DiscordSettings
from tests.fakes.alerts import ON_DISCORD
from tests.fakes.discord_bot import WINDOW_S, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ALL_PERMISSIONS, ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, OTHER_BOT, QUAY, STAFF
from tests.fakes.fast_clock import MovedClock
from tests.flows.bot import live_host

ME = f"<@{BOT}>"
MANAGE_THREADS = 1 << 34
# A forum, a public channel of the second server, and a private thread of the first one's general channel.
FORUM, LANDING, SECRET = "50", "60", "7001"


@dataclass
class Talk:
    clock: MovedClock
    fake: FakeDiscord
    host: Host
    model: ScriptedProvider
    says: list[str]

    async def ask(self, person: str, channel: str, answer: str = "Done.", **args: Any) -> dict[str, Any]:
        """Ask; the model calls the tool with these arguments. The call's result."""
        asked = len(self.model.requests)
        self.says[:] = [f"<execute>{json.dumps([{'name': 'read_channel', 'args': args}])}</execute>", answer]
        await self.fake.say(person, f"{ME} please", channel)
        return await self.result(asked)

    async def result(self, asked: int) -> dict[str, Any]:
        await self.fake.until(lambda: len(self.model.requests) == asked + 2)
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()
        told = self.model.requests[-1][-1].text
        return json.loads(told.removeprefix("<results>").partition("\n</results>")[0])[0]


@asynccontextmanager
async def talking(
    folder: Path, instead: Callable[[Sequence[Message]], str] | None = None, **chosen: object
) -> AsyncGenerator[Talk, None]:
    """Ann, who owns both servers, and bo, who manages nothing and is not in the second one.

    `instead`: another model; else one that writes what it is told to, and takes notes of the first message of a part.
    """
    clock, says = MovedClock(speed=1.0), list[str]()

    def answer(messages: Sequence[Message]) -> str:
        if messages[0].text == FOLD:
            return f"<think>Hm.</think>A ferry was late [{messages[-1].text.partition('[')[2].partition(']')[0]}]."
        return says.pop(0)

    model = ScriptedProvider(instead or answer, usage=Usage(input_uncached=1_000, output=100))
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        fake.world.guilds[QUAY] = "quay"
        fake.world.open_channel(LANDING, "landing", guild=QUAY)
        fake.world.open_channel(FORUM, "ideas", kind=15)
        fake.world.start_thread(GENERAL, SECRET, "secret", kind=12)
        fake.world.absent_from.add((BO, QUAY))
        fake.world.everyone_may = str(int(ALL_PERMISSIONS) & ~MANAGE_THREADS)
        async with live_host(folder, model, clock, FooterStyle.COST) as host, serving(fake, host, **chosen):
            yield Talk(clock, fake, host, model, says)


async def test_a_channel_is_read_with_its_threads_and_a_forum_with_its_posts(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        first = await talk.fake.say(ANN, "the ferry is down", GENERAL)
        await talk.fake.change(first, "the ferry is up again")
        thread = talk.fake.world.start_thread(GENERAL, first["id"], "ferry")
        await talk.fake.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        await talk.fake.say(BO, "which pier?", first["id"])
        gone = await talk.fake.say(BO, "a slip of the tongue", GENERAL)
        await talk.fake.take_back(gone)
        await talk.fake.post_in_forum(BO, "A new pier", "Build it of stone.", FORUM)

        said = (await talk.ask(BO, DM_OF[BO], where="#general"))["content"]
        forum = (await talk.ask(BO, DM_OF[BO], where=f"<#{FORUM}>"))["content"]
    lines = said.split("\n\n")
    assert "2 messages" in lines[0]
    assert lines[1].endswith(f"Ann: https://discord.com/channels/10/{GENERAL}/{first['id']}")
    assert lines[2] == "> the ferry is up again"
    assert ", Bo, in the thread of [2]: https://" in lines[3]
    assert "slip of the tongue" not in said
    assert "> (A new pier)\n> Build it of stone." in forum


async def test_alerts_and_forwarded_messages_of_a_channel_reach_the_model_whole(tmp_path: Path) -> None:
    alert = next(one for one in ON_DISCORD if one.service == "Sentry")
    original: dict[str, Any] = {
        "type": 0,
        "content": "it is vermilion",
        "embeds": [],
        "attachments": [],
        "flags": 0,
        "components": [],
    }
    snapshot: dict[str, Any] = {
        "message": {**original, "timestamp": "2026-11-28T10:00:00+00:00", "edited_timestamp": None}
    }
    reference = {"type": 1, "message_id": "5", "channel_id": STAFF, "guild_id": "10"}
    async with talking(tmp_path) as talk:
        payload = {**alert.payload, "webhook_id": "77"}
        await talk.fake.say(OTHER_BOT, payload.pop("content"), GENERAL, **payload)
        await talk.fake.say(BO, "look", GENERAL, message_snapshots=[snapshot], message_reference=reference)
        told = (await talk.ask(ANN, DM_OF[ANN], where="#general"))["content"]
    assert [words for words in alert.says if words not in told] == []
    assert "> look\n> > (a forwarded message)\n> > it is vermilion" in told


async def test_only_what_the_asker_may_read_now_is_read_and_only_where_all_readers_may(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        for channel in (STAFF, SECRET, LANDING):
            await talk.fake.say(ANN, "the vermilion plan", channel)
        refused = [
            await talk.ask(BO, DM_OF[BO], where=where)
            for where in ("#staff", SECRET, f"https://discord.com/channels/{QUAY}/{LANDING}", "#nothing")
        ]
        assert {one["status"] for one in refused} == {"failure"}
        assert all("there is no channel or thread" in one["content"] for one in refused)
        in_public = await talk.ask(ANN, GENERAL, where=STAFF)
        assert "some people here cannot read" in in_public["content"]
        elsewhere = await talk.ask(ANN, GENERAL, where=LANDING)
        assert "some people here cannot read" in elsewhere["content"]
        assert not any("vermilion" in one.text for request in talk.model.requests for one in request)
        for where in (STAFF, SECRET):
            assert "vermilion" in (await talk.ask(ANN, DM_OF[ANN], where=where))["content"]


async def test_without_message_content_access_what_comes_back_says_so(tmp_path: Path) -> None:
    async with talking(tmp_path, chosen=DiscordSettings(message_content=False)) as talk:
        await talk.fake.say(ANN, "the ferry is down", GENERAL)
        said = (await talk.ask(BO, DM_OF[BO], where="general"))["content"]
    assert "You have no message content access on Discord" in said
    assert "the ferry is down" not in said


async def test_the_menu_has_what_was_said_from_a_message_on_read_for_who_chose_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.fake.say(ANN, "long before", GENERAL)
        first = await talk.fake.say(ANN, "the ferry is down", GENERAL)
        for number in range(120):
            talk.fake.world.message(GENERAL, BO, f"opinion {number}")
        link = f"https://discord.com/channels/10/{GENERAL}/{first['id']}"
        talk.says[:] = [f'<execute>[{{"name": "read_channel", "args": {{"where": "{link}"}}}}]</execute>', "Opinions."]
        chosen = await talk.fake.choose_menu(BO, command_texts.SUMMARISE_ONWARDS, first)
        said = (await talk.result(0))["content"]
        question = talk.model.requests[0][-1].text
        shown = talk.fake.world.messages[chosen.original]
    assert command_texts.SUMMARISE_ONWARDS_QUESTION.format(link=link) in question
    assert "121 messages" in said
    assert "long before" not in said
    assert shown["flags"] & EPHEMERAL


def write_a_week(fake: FakeDiscord) -> None:
    """Two thousand messages in a channel, and as many in a private thread of it and in a channel that bo is not in."""
    for number in range(2_000):
        fake.world.message(GENERAL, ANN, f"message {number}: the ferry from pier {number % 9} is late")
        fake.world.message(SECRET if number % 2 else STAFF, ANN, f"message {number}: the vermilion ferry is late")


async def test_a_week_of_two_thousand_messages_is_read_in_bounded_calls_and_noted_with_progress_and_cost(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        write_a_week(talk.fake)
        before = len(talk.fake.calls)
        talk.says[:] = [
            f"<execute>{json.dumps([{'name': 'read_channel', 'args': WEEK}])}</execute>",
            "Ferries were late.",
        ]
        await talk.fake.say(BO, f"{ME} catch me up", DM_OF[BO])
        shown = await caught_up(talk, "Ferries were late.", before)
        told = json.loads(talk.model.requests[-1][-1].text.removeprefix("<results>").partition("\n</results>")[0])[0]
    notes = [request for request in talk.model.requests if request[0].text == FOLD]
    asked = 2 + len(notes)
    assert 2 <= len(notes) <= 12
    assert "PARTIAL" not in told["content"]
    assert "2,000 messages" in told["content"]
    assert f"/channels/10/{GENERAL}/" in told["content"]
    assert f"{1_000 * asked:,} tokens in, {100 * asked:,} out" in shown
    assert not any("vermilion" in one.text for request in talk.model.requests for one in request)


async def test_the_rehearsal_model_reads_as_much_and_notes_what_a_few_messages_say(tmp_path: Path) -> None:
    async with talking(tmp_path, rehearse) as talk:
        write_a_week(talk.fake)
        before = len(talk.fake.calls)
        await talk.fake.say(BO, f"{ME} catch me up on <#{GENERAL}> since yesterday", DM_OF[BO])
        shown = await caught_up(talk, "**Sources**", before)
    assert len(talk.model.requests) <= 2 + 12
    assert "2,000 messages" in shown
    assert "Ann: message 0: the ferry from pier 0 is late [2]" in shown
    assert not any("vermilion" in one.text for request in talk.model.requests for one in request)


async def caught_up(talk: Talk, words: str, before: int) -> str:
    """All that was shown, once an answer with these words ended, which took no more calls than it may."""
    await talk.fake.until(
        lambda: any(words in str(call.body) and "tokens in" in str(call.body) for call in talk.fake.calls)
    )
    async with asyncio.timeout(PATIENCE_S):
        await talk.host.turns.idle()
    calls = talk.fake.calls[before:]
    read = [call for call in calls if call.method == "GET" and call.path.endswith("/messages")]
    shown = "\n".join(str(call.body) for call in calls if call.body and "content" in call.body)
    assert 20 <= len(read) <= 22
    assert "of about 2,000 messages read" in shown
    return shown


WEEK = {"where": "#general", "since": "3 days"}
