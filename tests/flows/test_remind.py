"""`/remind` and `/schedules` as Discord and Slack show them: buttons, menus and windows carry whole words."""

from datetime import UTC, datetime
from pathlib import Path

from agent.providers.scripted import ScriptedProvider
from agent.schedules.definitions import Schedule
from bot.schedules import texts as schedule_texts
from bot.schedules.commands import CHANGE
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, GENERAL, Payload, labels, parts, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.hosts import ServedHost
from tests.flows.bot import live_host
from tests.flows.test_discord_forms import opened


async def shown(fake: FakeDiscord, beginning: str) -> Payload:
    await fake.until(lambda: any(seen(one).startswith(beginning) for one in by_the_bot(fake)))
    return next(one for one in reversed(by_the_bot(fake)) if seen(one).startswith(beginning))


async def kept(host: ServedHost) -> list[Schedule]:
    return await host.schedules.schedules.of_person(f"discord:{ANN}")


async def test_on_discord_the_zone_is_chosen_first_what_is_unclear_asked_and_a_window_changes_it(
    tmp_path: Path,
) -> None:
    clock = FastClock(datetime(2026, 11, 23, 9, 20, tzinfo=UTC), speed=1.0)
    async with (
        running_discord(clock) as fake,
        live_host(tmp_path, ScriptedProvider(lambda _: "Hello."), clock) as host,
        serving(fake, host),
    ):
        await fake.command(ANN, "remind", GENERAL, words="me tomorrow at 3 to water *all* the plants")
        asked = await shown(fake, schedule_texts.ZONE_FIRST)
        await fake.choose(ANN, asked, "10:20, UTC+01:00 · Berlin")
        which = await shown(fake, schedule_texts.WHICH)
        assert labels(which) == ["Tue, Nov 24, 2026, 03:00", "Tue, Nov 24, 2026, 15:00"]
        assert await kept(host) == []
        await fake.press(ANN, which, "Tue, Nov 24, 2026, 15:00")
        done = await shown(
            fake, "I will remind you in a direct message: **Tuesday, November 24, 15:00 Europe/Berlin**."
        )
        (one,) = await kept(host)
        assert (one.definition.words, one.definition.direct, one.definition.source) == (
            "water *all* the plants",
            True,
            "discord",
        )
        window = await opened(fake, ANN, done, CHANGE.label)
        fields = {field["custom_id"]: field for field in parts(window) if "custom_id" in field}
        assert fields["what"]["value"] == "water *all* the plants"
        await fake.fill_in(ANN, window, done, when="every Friday at 9:00")
        await shown(fake, "Changed. **Friday, November 27, 09:00 Europe/Berlin; then every Friday at 09:00")
        await fake.command(ANN, "schedules", GENERAL)
        listed = await shown(fake, schedule_texts.YOURS)
        await fake.press(ANN, listed, "Cancel")
        await shown(fake, "Canceled: “water \\*all\\* the plants”")
        assert await kept(host) == []
