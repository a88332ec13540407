"""`/memory` on Discord: real discord.py over real sockets; what is known is kept by a store in memory."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from agent.memory.audience import Audience, PersonAudience, Place, TeamAudience, label
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.memory.review import UNUSED
from agent.messages import Message
from bot.chat.texts import replies as reply_texts
from bot.memory import texts as memory_texts
from bot.memory.commands import FILE_NAME
from bot.memory.listing import PAGE
from tests.fakes.answering_host import AnsweringHost
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, GUILD, STAFF, Payload, parts, seen
from tests.fakes.incoming import said
from tests.flows.test_discord_commands import answer_to, answered, buttons, talking

LINK = "https://discord.com/channels/1/2/3"


async def learn(
    host: AnsweringHost, *texts: str, person: str = ANN, audience: Audience | None = None, days_ago: int = 0
) -> None:
    """The bot has learned these interests of the person there, or in their direct messages."""
    partition = Partition(f"discord:{person}", label(audience or PersonAudience(f"discord:{person}")))
    place = Place(audience or PersonAudience(f"discord:{person}"))
    asked = (said("Hm.", person=f"discord:{person}", conversation=f"{person} elsewhere", place=place) for _ in texts)
    sources = [await host.store.hear(replace(one, permalink=LINK)) for one in asked]
    now = host.messages.clock.now() - timedelta(days=days_ago)
    insights = [Insight(ProfileField.INTERESTS, text, (id_,), now) for text, id_ in zip(texts, sources, strict=True)]
    before = await host.store.profiles.get(partition)
    assert await host.store.profiles.save(partition, learned(before, partition.audience, insights, 1, now))


def entries(message: Payload) -> list[str]:
    """The list, without where its entries came from."""
    texts = [part["content"] for part in parts(message) if part["type"] == 10]
    return [text.partition(" (")[0] for text in texts if re.match(r"\*\*\d", text)]


async def test_the_list_shows_to_the_caller_alone_with_links_and_buttons() -> None:
    async with talking([]) as (fake, host):
        await learn(host, "sailing", "rowing")
        shown = await answer_to(fake, ANN, "memory")
        assert shown["flags"] & EPHEMERAL
        day = host.messages.clock.now().date().isoformat()
        assert f"**1** Interest: sailing ([{day}]({LINK}), in a direct message)" in seen(shown)
        assert entries(shown) == ["**1** Interest: sailing", "**2** Interest: rowing"]
        others = await answer_to(fake, BO, "memory")
        assert (seen(others), buttons(others)) == (memory_texts.NOTHING_REMEMBERED, [])


async def test_in_a_dm_the_list_has_what_was_learned_in_public_as_long_as_they_are_a_member() -> None:
    for is_member, shown in ((True, ["**1** Interest: sailing"]), (False, [])):
        async with talking([]) as (fake, host):
            await learn(host, "sailing", audience=TeamAudience(f"discord:{GUILD}"))
            fake.world.absent |= set[str]() if is_member else {ANN}
            assert entries(await answer_to(fake, ANN, "memory", DM_OF[ANN])) == shown


async def test_an_entry_is_deleted_with_its_button_and_comes_back() -> None:
    async with talking([]) as (fake, host):
        await learn(host, "sailing", "rowing")
        shown = await answer_to(fake, ANN, "memory")
        assert buttons(shown) == ["Delete", "Correct", "Use everywhere"] * 2
        await fake.press(ANN, shown, "Delete")
        await fake.until(lambda: "Deleted entry 1, “Interest: sailing”." in seen(shown))
        assert entries(shown) == ["**2** Interest: rowing"]
        await fake.press(ANN, shown, "Undo")
        await fake.until(lambda: "Restored: “Interest: sailing”." in seen(shown))
        assert entries(shown) == ["**1** Interest: sailing", "**2** Interest: rowing"]
        assert "Undo" not in buttons(shown)


async def test_three_entries_that_nobody_used_are_offered_first_and_kept_or_deleted() -> None:
    async with talking([]) as (fake, host):
        await learn(host, *(f"island {number}" for number in range(1, PAGE)), days_ago=UNUSED.days)
        await learn(host, "sailing", "rowing")
        shown = await answer_to(fake, ANN, "memory")
        assert "3 entries may be out of date." in seen(shown)
        assert buttons(shown)[:12] == [*["Keep", "Correct", "Delete"] * 3, "Delete", "Correct", "Use everywhere"]
        await fake.press(ANN, shown, "Keep")
        await fake.until(lambda: "Kept: “Interest: island 1”." in seen(shown))
        assert entries(shown)[:3] == [f"**{number}** Interest: island {number}" for number in (2, 3, 4)]
        await fake.press(ANN, shown, "Delete")
        await fake.until(lambda: "Deleted entry 2, “Interest: island 2”." in seen(shown))
        assert entries(shown)[:3] == [f"**{number}** Interest: island {number}" for number in (3, 4, 5)]


async def test_an_entry_is_corrected_in_a_window() -> None:
    async with talking([]) as (fake, host):
        await learn(host, "sailing")
        shown = await answer_to(fake, ANN, "memory")
        pressed = await fake.press(ANN, shown, "Correct")
        await fake.until(lambda: pressed.window)
        assert pressed.window["components"][0]["component"]["value"] == "sailing"
        await fake.fill_in(ANN, pressed.window, shown, words="sailing, but only on lakes")
        await fake.until(lambda: "Corrected: your own words" in seen(shown))
        assert entries(shown) == ["**1** Interest: sailing, but only on lakes"]
        assert LINK not in seen(shown)


async def test_an_entry_is_used_everywhere_and_no_more() -> None:
    async with talking([]) as (fake, host):
        await learn(host, "sailing")
        shown = await answer_to(fake, ANN, "memory")
        await fake.press(ANN, shown, "Use everywhere")
        await fake.until(lambda: "used everywhere" in seen(shown))
        await fake.until(lambda: "Stop using everywhere" in buttons(shown))
        await fake.press(ANN, shown, "Stop using everywhere")
        await fake.until(lambda: memory_texts.USED_HERE in seen(shown))
        assert "used everywhere" not in seen(shown)


async def test_long_lists_have_pages_and_an_opened_entry_leads_back_to_its_own() -> None:
    async with talking([]) as (fake, host):
        await learn(host, *(f"island {number} {'far away ' * 20}" for number in range(PAGE + 1)))
        shown = await answer_to(fake, ANN, "memory")
        assert buttons(shown)[-1] == "Next page"
        await fake.press(ANN, shown, "Next page")
        await fake.until(lambda: "Page 2 of 2" in seen(shown))
        await fake.press(ANN, shown, f"Open {PAGE + 1}")
        await fake.until(lambda: "Back" in buttons(shown))
        assert f"island {PAGE} {'far away ' * 20}".strip() in seen(shown), "all of it"
        await fake.press(ANN, shown, "Back")
        await fake.until(lambda: "Page 2 of 2" in seen(shown))
        assert len(seen(shown)) <= 4_000


async def test_words_do_what_buttons_do_and_mistyped_ones_get_a_sentence() -> None:
    async with talking([]) as (fake, host):
        await learn(host, "sailing", "rowing")
        await answer_to(fake, ANN, "memory")
        assert entries(await answer_to(fake, ANN, "memory", words="delete 2")) == ["**1** Interest: sailing"]
        assert seen(await answer_to(fake, ANN, "memory", words="delete it")).startswith("Write the entry's number")


async def test_an_export_comes_as_a_file_with_the_private_answer() -> None:
    async with talking([]) as (fake, host):
        await learn(host, "sailing")
        shown = await answer_to(fake, ANN, "memory", words="export")
        assert shown["flags"] & EPHEMERAL
        assert seen(shown) == memory_texts.EXPORTED
        exported = json.loads(shown["files"][FILE_NAME])
        assert [(entry["text"], entry["source"]) for entry in exported["profile"]] == [("sailing", LINK)]


async def test_the_buttons_work_for_nobody_else() -> None:
    async with talking([]) as (fake, host):
        await learn(host, "sailing")
        shown = await answer_to(fake, ANN, "memory")
        refused = await fake.press(BO, shown, "Delete")
        await fake.until(lambda: refused.acknowledged)
        said = [seen(message) for message in fake.world.messages.values()]
        assert reply_texts.NOT_YOURS in said
        assert len(await host.store.profiles.all_entries(f"discord:{ANN}", frozenset({f"person:discord:{ANN}"}))) == 1


async def test_a_channel_is_paused_by_who_asks_for_themselves() -> None:
    async with talking([]) as (fake, host):
        shown = await answer_to(fake, ANN, "memory", words="pause here")
        assert "from what you say in this channel" in seen(shown)
        assert host.store.chosen == {f"discord:{ANN}": {f"learning in {GENERAL}": "paused"}}


async def test_each_entry_links_to_its_message_and_belongs_to_the_one_who_wrote_it() -> None:
    def answer(messages: Sequence[Message]) -> str:
        asked = re.search(r"remember (.*)", messages[-1].text)
        if "<results>" in messages[-1].text or asked is None:
            return "Done."
        return f"<execute>{json.dumps([{'name': 'remember', 'args': {'text': asked[1]}}])}\n</execute>"

    told = {
        "harmonium": (ANN, DM_OF[ANN]),
        "zeppelin": (ANN, GENERAL),
        "marzipan": (BO, GENERAL),
        "obsidian": (ANN, STAFF),
    }
    async with talking(answer) as (fake, host):
        said: dict[str, Payload] = {}
        for number, (thing, (person, channel)) in enumerate(told.items(), 1):
            said[thing] = await fake.say(person, f"<@{BOT}> remember {thing}", channel)
            await answered(fake, host, number)
        anns, bos = await answer_to(fake, ANN, "memory"), await answer_to(fake, BO, "memory")
    for thing, (person, _) in told.items():
        mine, others = (anns, bos) if person == ANN else (bos, anns)
        (line,) = [line for line in seen(mine).splitlines() if thing in line]
        assert f"/{said[thing]['channel_id']}/{said[thing]['id']})" in line
        assert thing not in others["content"]
