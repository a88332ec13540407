"""Messages on Discord that are more than their text: alerts, forwarded messages, polls; real turns, and forgetting."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.providers.scripted import ScriptedProvider
from bot.chat.host import Host
from bot.chat.message_parts import CARD, FORWARDED, UNREADABLE, UNREADABLE_LINK
from bot.forgetting.retention import SWEEP_AFTER
from bot.platforms import texts as platforms_texts
from tests.fakes.alerts import ON_DISCORD, Alert
from tests.fakes.discord_bot import WINDOW_S, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, GENERAL, OTHER_BOT, STAFF, Payload, seen, text_file
from tests.fakes.fast_clock import FastClock, MovedClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.flows.bot import live_host
from tests.flows.forgetting_bot import forgetting_host, holds, looks_up

ME = f"<@{BOT}>"
LOOK_S = 0.01
FORWARD: Payload = {"message_reference": {"type": 1, "message_id": "5", "channel_id": STAFF, "guild_id": "10"}}


def snapshot(words: str, **more: Any) -> Payload:
    shown: Payload = {"type": 0, "content": words, "embeds": [], "attachments": [], "flags": 0, "components": []}
    return {"message": {**shown, "timestamp": "2026-11-28T10:00:00+00:00", "edited_timestamp": None, **more}}


def card(words: str) -> Payload:
    return {"type": "rich", "title": words}


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 -- neither a host nor a database notifies anybody
            await asyncio.sleep(LOOK_S)


async def post(fake: FakeDiscord, payload: Payload, channel: str = GENERAL) -> Payload:
    """An app posts by a webhook."""
    return await fake.say(OTHER_BOT, payload.get("content", ""), channel, **_without_content(payload), webhook_id="77")


def _without_content(payload: Payload) -> Payload:
    return {name: value for name, value in payload.items() if name != "content"}


@asynccontextmanager
async def talking(folder: Path) -> AsyncGenerator[tuple[FakeDiscord, Host, ScriptedProvider], None]:
    clock, model = MovedClock(speed=1.0), ScriptedProvider(lambda _: "Done.")
    async with (
        running_discord(clock, window_s=WINDOW_S) as fake,
        live_host(folder, model, clock) as host,
        serving(fake, host),
    ):
        yield fake, host, model


@asynccontextmanager
async def listening(**more: Any) -> AsyncGenerator[tuple[FakeDiscord, RecordingHost], None]:
    clock, host = FastClock(speed=1.0), recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host, **more):
        yield fake, host


async def given(model: ScriptedProvider, host: Host, requests: int) -> str:
    """Return all that the model was given for its answer number `requests`."""
    await until(lambda: len(model.requests) == requests)
    async with asyncio.timeout(PATIENCE_S):
        await host.turns.idle()
    return "\n".join(message.text for message in model.requests[-1])


@pytest.mark.parametrize("alert", ON_DISCORD, ids=str)
async def test_investigate_gives_the_model_all_that_an_alert_shows(alert: Alert, tmp_path: Path) -> None:
    async with talking(tmp_path) as (fake, host, model):
        posted = await post(fake, alert.payload)
        await fake.reply(ANN, f"{ME} investigate", posted)
        told = await given(model, host, 1)
        assert [words for words in alert.says if words not in told] == []
        assert "(a bot)" in told


async def test_in_an_alerts_thread_a_later_question_sees_it_as_it_is_then_and_what_other_apps_wrote(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as (fake, host, model):
        alert = await post(fake, {"embeds": [card("[FIRING:1] DiskFull")]})
        thread = fake.world.start_thread(GENERAL, alert["id"], "incident") | {"owner_id": ANN}
        fake.world.channels[alert["id"]] = thread
        await fake.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        await fake.say(ANN, f"{ME} investigate", alert["id"])
        assert "[FIRING:1] DiskFull" in await given(model, host, 1)
        alert["embeds"] = [card("[RESOLVED] DiskFull")]
        await post(fake, {"embeds": [card("Resolved by auto-scaling")]}, alert["id"])
        await fake.say(OTHER_BOT, "done, see the log", alert["id"], type=20)
        await fake.say(ANN, "is it over?", alert["id"])
        told = await given(model, host, 2)
        assert all(words in told for words in ("[RESOLVED] DiskFull", "Resolved by auto-scaling", "done, see the log"))
        assert "[FIRING:1]" not in told


async def test_what_another_app_says_to_the_bot_is_no_order_and_no_question() -> None:
    async with listening() as (fake, host):
        for words in (f"{ME} investigate", f"{ME} stop", f"{ME} /forget all"):
            await post(fake, {"content": words, "embeds": [card("[FIRING:1] DiskFull")]})
        await fake.say(ANN, f"{ME} hello")
        await until(lambda: host.taken)
        assert [one.text for one in host.taken] == ["hello"]
        assert host.stopped == []


async def test_a_forwarded_message_is_read_with_its_cards_and_files_and_is_not_the_senders_words() -> None:
    async with listening() as (fake, host):
        file = text_file("log.txt", f"http://{fake.address}/cdn/log.txt", 3)
        original = snapshot("look", embeds=[card("Build 471 failed")], attachments=[file])
        await fake.write(ANN, "what is this?", message_snapshots=[original], **FORWARD)
        await fake.write(ANN, "and this?", message_snapshots=[snapshot("")], **FORWARD)
        await until(lambda: len(host.taken) == 2)
        first, second = host.taken
        assert first.text == "what is this?"
        assert [(one.source, one.text) for one in first.quoted] == [
            (FORWARDED, "look\nBuild 471 failed\n(attached file log.txt)")
        ]
        assert [(one.name, one.source) for one in first.files] == [("log.txt", "file of a forwarded message")]
        assert [one.text for one in second.quoted] == [UNREADABLE]


async def test_polls_and_stickers_are_the_words_of_their_sender_and_cards_are_not() -> None:
    poll: Payload = {
        "question": {"text": "Which day?"},
        "answers": [{"answer_id": 1, "poll_media": {"text": "Monday"}}],
        "expiry": "2026-11-28T10:00:00+00:00",
        "allow_multiselect": False,
        "layout_type": 1,
    }
    preview = {"type": "article", "title": "vermilion", "url": "https://example.org"}
    async with listening() as (fake, host):
        await fake.write(ANN, "", sticker_items=[{"id": "5", "name": "Wave", "format_type": 1}])
        await fake.write(ANN, "", poll=poll)
        await fake.write(ANN, "see https://example.org", embeds=[preview, card("a post")])
        await fake.write(ANN, "what is this?", embeds=[card("Build 471 failed")])
        await until(lambda: len(host.taken) == 4)
        assert [one.text for one in host.taken] == [
            "(sticker: #Wave)",
            "(poll: Which day?, open until 2026-11-28 10:00 UTC)\n- Monday (0 votes)",
            "see https://example.org",
            "what is this?",
        ]
        assert host.taken[2].quoted == ()
        assert [(one.source, one.text) for one in host.taken[3].quoted] == [(CARD, "Build 471 failed")]


async def test_a_link_into_an_archived_thread_is_read() -> None:
    async with listening() as (fake, host):
        thread = fake.world.start_thread(GENERAL, "7100", "old")
        thread["thread_metadata"]["archived"] = True
        said = fake.world.message("7100", BO, "", embeds=[card("Build 471 failed")], webhook_id="77")
        await fake.say(ANN, f"{ME} what was https://discord.com/channels/10/7100/{said['id']} about?")
        await until(lambda: host.taken)
        assert [one.text for one in host.taken[0].quoted] == ["Build 471 failed"]


async def test_a_link_into_an_archived_thread_of_a_channel_that_the_asker_cannot_read_is_not() -> None:
    async with listening() as (fake, host):
        thread = fake.world.start_thread(STAFF, "7101", "old")
        thread["thread_metadata"]["archived"] = True
        said = fake.world.message("7101", ANN, "the vermilion plan")
        await fake.say(BO, f"{ME} what was https://discord.com/channels/10/7101/{said['id']} about?")
        await until(lambda: host.taken)
        assert [one.text for one in host.taken[0].quoted] == [UNREADABLE_LINK]


async def test_an_edited_card_is_an_edit_of_what_is_stored() -> None:
    async with listening(allowed_bots=frozenset({OTHER_BOT})) as (fake, host):
        asked = await fake.say(ANN, f"{ME} hello")
        thread = fake.world.start_thread(GENERAL, asked["id"], "hello")
        await fake.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        await until(lambda: host.taken)
        alert = await fake.say(OTHER_BOT, "", asked["id"], embeds=[card("[FIRING:1] DiskFull")])
        await until(lambda: host.overheard)
        assert [one.text for one in host.overheard] == ["[FIRING:1] DiskFull"]
        alert["embeds"] = [card("[RESOLVED] DiskFull")]
        await fake.change(alert, "")
        await until(lambda: host.texts[GENERAL, alert["id"]] == "[RESOLVED] DiskFull")


async def test_what_discord_changes_about_a_question_with_a_forwarded_message_is_no_edit(tmp_path: Path) -> None:
    """Discord reports a message once more when a thread is started from it: what the answer made stays."""
    clock, model = MovedClock(speed=1.0), ScriptedProvider(looks_up)
    async with (
        running_discord(clock, window_s=1.0) as fake,
        forgetting_host(tmp_path, model, clock) as host,
        serving(fake, host),
    ):
        asked = await fake.say(ANN, f"{ME} note my canoe is red", message_snapshots=[snapshot("hm")], **FORWARD)
        await given(model, host, 2)
        assert not holds(tmp_path, "> hm")
        asked["flags"] = 1 << 5
        await fake.dispatch("MESSAGE_UPDATE", fake.world.of_guild(asked))
        await fake.say(ANN, f"{ME} hello")
        await given(model, host, 3)
        assert not holds(tmp_path, "> hm")


async def test_the_menu_asks_about_all_that_a_message_shows() -> None:
    alert = next(one for one in ON_DISCORD if one.service == "PagerDuty")
    async with listening() as (fake, host):
        chosen = await fake.choose_menu(ANN, platforms_texts.ASK_ABOUT_THIS, await post(fake, alert.payload))
        await fake.until(lambda: chosen.window)
        await fake.submit(ANN, chosen.window, "what is broken?")
        await until(lambda: host.taken)
        (quoted,) = host.taken[0].quoted
        assert quoted.author.endswith("(a bot)")
        assert [words for words in alert.says if words not in quoted.text] == []


async def test_ask_in_an_alerts_thread_brings_the_alert() -> None:
    async with listening() as (fake, host):
        alert = await post(fake, {"embeds": [card("[FIRING:1] DiskFull")]})
        thread = fake.world.start_thread(GENERAL, alert["id"], "incident") | {"owner_id": ANN}
        fake.world.channels[alert["id"]] = thread
        await fake.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        await fake.command(ANN, "ask", alert["id"], question="what is broken?")
        await until(lambda: host.taken)
        assert [one.text for one in host.taken[0].quoted] == ["[FIRING:1] DiskFull"]


async def test_of_a_stored_alert_the_old_words_go_with_an_edit_and_all_with_its_deletion(tmp_path: Path) -> None:
    clock, model = MovedClock(speed=1.0), ScriptedProvider(looks_up)
    async with (
        running_discord(clock, window_s=1.0) as fake,
        forgetting_host(tmp_path, model, clock) as host,
        serving(fake, host, allowed_bots=frozenset({OTHER_BOT})),
    ):
        asked = await fake.say(ANN, f"{ME} hello")
        await given(model, host, 1)
        alert = await fake.say(OTHER_BOT, "", asked["id"], embeds=[card("vermilion alarm")])
        await until(lambda: holds(tmp_path, "vermilion alarm"))
        alert["embeds"] = [card("turquoise calm")]
        await fake.change(alert, "")
        await until(lambda: holds(tmp_path, "turquoise calm"))
        await gone(tmp_path, clock, "vermilion")
        await fake.take_back(alert)
        await gone(tmp_path, clock, "turquoise")


async def test_words_that_came_in_a_forwarded_message_are_forgotten_and_a_search_proves_it(tmp_path: Path) -> None:
    clock, model = MovedClock(speed=1.0), ScriptedProvider(looks_up)
    async with (
        running_discord(clock, window_s=1.0) as fake,
        forgetting_host(tmp_path, model, clock) as host,
        serving(fake, host),
    ):
        asked = await fake.say(BO, f"{ME} hello")
        await given(model, host, 1)
        carried = snapshot("it is vermilion", embeds=[card("a turquoise hull")])
        await fake.say(ANN, "my canoe", asked["id"], message_snapshots=[carried], **FORWARD)
        await until(lambda: holds(tmp_path, "it is vermilion"))
        assert holds(tmp_path, "a turquoise hull")
        called = await fake.command(ANN, "forget", GENERAL, what="about canoe")
        await fake.until(lambda: seen(fake.world.messages.get(called.original, {"content": "", "components": []})))
        question = fake.world.messages[called.original]
        assert "my canoe" in seen(question)
        await fake.press(ANN, question, "Forget")
        await fake.until(lambda: seen(question).startswith("Forgotten: "))
        assert "A search confirmed that these texts are no longer where they were stored" in seen(question)
        assert not holds(tmp_path, "vermilion")
        assert not holds(tmp_path, "turquoise")


async def gone(folder: Path, clock: MovedClock, words: str) -> None:
    """Nobody waits for it to be erased, and soon it is."""
    async with asyncio.timeout(PATIENCE_S):
        while holds(folder, words):
            clock.leap(SWEEP_AFTER)
            await asyncio.sleep(LOOK_S)
