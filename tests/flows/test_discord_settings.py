"""`/settings` on Discord: what people choose for themselves, what managers choose for others, and that it counts."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from agent.errors import StoreUnavailable
from agent.memory.forgetting_plans import PAUSE, PAUSED
from bot.chat.texts import replies as reply_texts
from bot.memory import texts as memory_texts
from bot.models.service import MODEL
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.members import ZONE
from bot.platforms.discord.settings import DiscordSettings
from bot.platforms.discord.settings_command import PRIVATE, REPLIES, YES
from store.preferences import SqlPreferences
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, EPHEMERAL, GENERAL, GUILD, Payload, labels, parts, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import OTHER, RecordingHost, recording_host
from tests.fakes.store import store_in_memory

NOTHING_SPECIAL = str(1 << 10 | 1 << 16)  # A member who manages nothing: may view channels, and read what was said
HERE, ALL_OVER = f"channel:{GENERAL}", f"team:{GUILD}"


@asynccontextmanager
async def recording(
    *, managing: bool = True, **settings: Any
) -> AsyncGenerator[tuple[FakeDiscord, RecordingHost], None]:
    clock, host = FastClock(speed=1.0), recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        if not managing:
            fake.member_may = fake.world.everyone_may = NOTHING_SPECIAL
        async with serving(fake, host, **settings):
            yield fake, host


async def opened(fake: FakeDiscord, person: str = BO, channel: str = GENERAL) -> Payload:
    called = await fake.command(person, "settings", channel)
    await fake.until(lambda: called.original and seen(fake.world.messages[called.original]))
    panel = fake.world.messages[called.original]
    assert panel["flags"] & EPHEMERAL
    return panel


def menus(panel: Payload) -> list[str]:
    """What each menu of the panel changes."""
    return [part["custom_id"].rpartition(":")[2] for part in parts(panel) if part["type"] == 3]


def chosen(panel: Payload, menu: str) -> list[str]:
    return [
        option["value"]
        for part in parts(panel)
        if part["type"] == 3 and part["custom_id"].endswith(f":{menu}")
        for option in part["options"]
        if option.get("default")
    ]


async def test_somebody_chooses_the_model_that_answers_them() -> None:
    async with recording() as (fake, host):
        panel = await opened(fake)
        assert chosen(panel, "model") == ["ollama:usual"]
        await fake.choose(BO, panel, "ollama:other")
        await fake.until(lambda: chosen(panel, "model") == ["ollama:other"])
        assert host.store.chosen[f"discord:{BO}"] == {MODEL: OTHER}


async def test_somebody_pauses_what_is_learned_from_them_and_goes_on() -> None:
    async with recording() as (fake, host):
        panel = await opened(fake)
        pressed = await fake.press(BO, panel, memory_texts.STOP_LEARNING)
        await fake.until(lambda: pressed.acknowledged and host.store.chosen[f"discord:{BO}"][PAUSE] == PAUSED)
        panel = await opened(fake)
        assert "I do not learn" in seen(panel)
        await fake.press(BO, panel, memory_texts.LEARN_AGAIN)
        await fake.until(lambda: host.store.chosen[f"discord:{BO}"][PAUSE] != PAUSED)
        assert "I do not learn" not in seen(await opened(fake))


async def test_answers_to_commands_are_private_by_choice_unless_said_otherwise() -> None:
    async with recording() as (fake, host):
        panel = await opened(fake)
        await fake.press(BO, panel, "Show only to me")
        await fake.until(lambda: "only you see them" in seen(panel))
        assert host.store.chosen[f"discord:{BO}"] == {PRIVATE: YES}
        for question, options in {"one?": {}, "two?": {"private": False}}.items():
            asked = await fake.command(BO, "ask", question=question, **options)
            await fake.until(lambda asked=asked: asked.original)
        flags = [message["flags"] & EPHEMERAL for message in by_the_bot(fake)[-2:]]
        assert [bool(flag) for flag in flags] == [True, False]


async def test_in_a_direct_message_the_choice_says_that_it_is_about_other_places() -> None:
    async with recording() as (fake, _):
        panel = await opened(fake, channel=DM_OF[BO])
        assert "outside direct messages**: everyone there can see them" in seen(panel)
        assert "for everyone here" not in seen(panel)


async def test_whose_choice_cannot_be_found_out_is_answered_in_private() -> None:
    class Lost(SqlPreferences):
        async def all_of(self, owner: str) -> dict[str, str]:
            if owner == f"discord:{BO}":
                raise StoreUnavailable(owner)
            return await SqlPreferences.all_of(self, owner)

    store = store_in_memory()
    host = recording_host(replace(store, preferences=Lost(store.database)))
    clock = FastClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host):
        asked = await fake.command(BO, "ask", question="one?")
        await fake.until(lambda: asked.original)
        assert fake.world.messages[asked.original]["flags"] & EPHEMERAL
        called = await fake.command(BO, "settings")
        await fake.until(
            lambda: called.original and seen(fake.world.messages[called.original]) == platforms_texts.UNAVAILABLE
        )


async def test_managers_choose_where_mentions_are_answered_in_a_channel_and_in_the_server() -> None:
    async with recording() as (fake, host):
        panel = await opened(fake)
        assert menus(panel) == ["model", "zone", "channel", "team"]
        await fake.choose_in(BO, panel, "channel", "place")
        await fake.until(lambda: chosen(panel, "channel") == ["place"])
        await fake.choose_in(BO, panel, "team", "chain")
        await fake.until(lambda: chosen(panel, "team") == ["chain"])
        assert (host.store.chosen[HERE], host.store.chosen[ALL_OVER]) == ({REPLIES: "place"}, {REPLIES: "chain"})
        await fake.choose_in(BO, panel, "team", "usual")
        await fake.until(lambda: chosen(panel, "team") == ["usual"])
        assert ALL_OVER not in host.store.chosen


async def test_somebody_says_where_their_clock_stands_and_from_then_on_their_questions_tell_it() -> None:
    async with recording() as (fake, host):
        await fake.say(BO, f"<@{BOT}> before", GENERAL)
        await fake.until(lambda: host.taken)
        assert host.taken[0].person.time_zone == ""
        panel = await opened(fake)
        assert "is not set" in seen(panel)
        assert len(next(part for part in parts(panel) if part.get("custom_id", "").endswith(":zone"))["options"]) == 25
        await fake.choose_in(BO, panel, "zone", "other")
        await fake.until(lambda: "start typing a city" in seen(panel))
        await fake.choose_in(BO, panel, "zone", "Asia/Tokyo")
        await fake.until(lambda: chosen(panel, "zone") == ["Asia/Tokyo"])
        assert "(Asia/Tokyo)" in seen(panel)
        await fake.say(BO, f"<@{BOT}> after", GENERAL)
        asked = await fake.command(BO, "ask", question="and by command?")
        await fake.until(lambda: asked.original and len(host.taken) == 3)
        assert [one.person.time_zone for one in host.taken[1:]] == ["Asia/Tokyo"] * 2


async def test_a_zone_is_found_by_its_city_while_it_is_typed_and_taken_by_it() -> None:
    async with recording() as (fake, host):
        typed = await fake.complete(BO, "settings", "zone", "new yo")
        await fake.until(lambda: typed.choices)
        assert typed.choices == ["America/New_York"]
        for words, kept in {"vienna": "Europe/Vienna", "Nowhere": "Europe/Vienna", "utc": "UTC"}.items():
            called = await fake.command(BO, "settings", zone=words)
            await fake.until(lambda called=called: called.original and seen(fake.world.messages[called.original]))
            assert host.store.chosen[f"discord:{BO}"] == {ZONE: kept}


async def test_what_means_a_day_asks_for_the_zone_where_none_is_known_and_is_then_read_in_it() -> None:
    clock, host = FastClock(speed=1.0), recording_host()
    await host.know(f"discord:{BO}", "The boat is blue.", clock.now())
    async with running_discord(clock, window_s=WINDOW_S) as fake, serving(fake, host):
        called = await fake.command(BO, "forget", what="since   monday")
        await fake.until(lambda: called.original and seen(fake.world.messages[called.original]))
        panel = fake.world.messages[called.original]
        assert "(UTC)" in seen(panel)
        await fake.choose_in(BO, panel, "zone since monday", "Europe/Berlin")
        await fake.until(lambda: "(Europe/Berlin)" in seen(panel))
        assert not [part for part in parts(panel) if part["type"] == 3]


async def test_who_manages_nothing_is_offered_only_what_is_theirs() -> None:
    async with recording(managing=False) as (fake, host):
        panel = await opened(fake)
        assert menus(panel) == ["model", "zone"]
        forged = {**panel, "components": [_menu(f"c:{int(BO):x}:settings::team", "chain"), *panel["components"]]}
        pressed = await fake.choose_in(BO, forged, "team", "chain")
        await fake.until(lambda: pressed.acknowledged)
        await opened(fake)
        assert ALL_OVER not in host.store.chosen


async def test_a_role_that_the_operator_named_makes_a_manager() -> None:
    async with recording(managing=False, chosen=DiscordSettings(managers=frozenset({"35"}))) as (fake, _):
        assert menus(await opened(fake)) == ["model", "zone"]
    clock, host = FastClock(speed=1.0), recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        fake.member_may = fake.world.everyone_may = NOTHING_SPECIAL
        fake.world.roles_of[BO] = ["35"]
        async with serving(fake, host, chosen=DiscordSettings(managers=frozenset({"35"}))):
            assert menus(await opened(fake)) == ["model", "zone", "channel", "team"]


async def test_in_a_dm_there_is_nothing_to_decide_for_others() -> None:
    async with recording() as (fake, _):
        assert menus(await opened(fake, BO, DM_OF[BO])) == ["model", "zone"]


async def test_nobody_else_uses_the_panel() -> None:
    async with recording() as (fake, host):
        panel = await opened(fake)
        await fake.press(ANN, panel, "Show only to me")
        await fake.until(lambda: any(seen(message) == reply_texts.NOT_YOURS for message in by_the_bot(fake)))
        assert not {f"discord:{ANN}", f"discord:{BO}"} & host.store.chosen.keys()


async def test_the_panel_works_after_a_restart() -> None:
    clock, host = FastClock(speed=1.0), recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        async with serving(fake, host):
            panel = await opened(fake)
        async with serving(fake, host):
            await fake.press(BO, panel, "Show only to me")
            await fake.until(lambda: "Show to everyone" in labels(panel))


def _menu(custom_id: str, value: str) -> Payload:
    options = [{"label": value, "value": value}]
    return {"type": 1, "components": [{"type": 3, "custom_id": custom_id, "options": options}]}
