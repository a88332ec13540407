"""Where pages are posted, and what their failures mean: a real client over HTTP, with a scripted Discord."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import TypeVar

import discord
import pytest

from agent.incoming import Incoming, Person
from agent.memory.audience import PersonAudience, Place
from bot.chat.reply.surface import (
    PageContent,
    PageFound,
    PageGone,
    PageKey,
    PageLimited,
    PageLocked,
    PageQueued,
    PageRef,
    PageUnsent,
    ReplyAction,
)
from bot.platforms.discord.buttons import Components
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.http_client import BoundedClient
from bot.platforms.discord.reply_to import Address, token_until
from bot.platforms.discord.rest import Rest
from bot.platforms.discord.run import point_at
from bot.platforms.discord.surface import DiscordSurface
from tests.fakes.clock import NOON
from tests.fakes.discord_bot import by_the_bot, edits_of, settings
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_rest import Interaction
from tests.fakes.discord_world import ANN, BOT, DM_OF, EPHEMERAL, GENERAL, VOICE, seen
from tests.fakes.fast_clock import FastClock

T = TypeVar("T")

FIRST, SECOND = PageKey(1, 0), PageKey(1, 1)
SUPPRESSED = 1 << 2
STOP = frozenset({ReplyAction.STOP})


class Clock(FastClock):
    """Real time that can be moved ahead."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead.total_seconds()


@dataclass
class Room:
    fake: FakeDiscord
    connection: Connection
    clock: Clock
    rest: Rest

    def surface(self, address: Address, message: str = "7") -> DiscordSurface:
        incoming = Incoming(
            source="discord",
            event_id=message,
            channel=address.channel,
            message_id=message,
            conversation="discord:20",
            person=Person(f"discord:{ANN}", "Ann"),
            place=Place(PersonAudience(f"discord:{ANN}")),
            text="?",
            time=NOON,
            reply_to=address.encode(),
        )
        return DiscordSurface(self.connection, incoming, self.waiting)

    async def waiting(self, turn: int) -> list[Components]:
        return [[{"type": 10, "content": f"Turn {turn} waits."}]]

    def asked(self, *, private: bool = False, follows: bool = False, number: str = "8") -> DiscordSurface:
        """Return the surface of an acknowledged `/ask`, or of a press (`follows`)."""
        world, token = self.fake.world, f"token-{number}"
        if token not in self.fake.rest.interactions:
            interaction = Interaction(number, token, ANN, GENERAL, world.clock.monotonic(), acknowledged=True)
            flags = EPHEMERAL if private else 0
            interaction.original = world.message(GENERAL, BOT, "", flags=flags, token=token)["id"]
            self.fake.rest.interactions[token] = interaction
        until = token_until(self.clock.now())
        return self.surface(Address(GENERAL, ANN, "", "", number, BOT, token, until, private, follows))


async def in_turn(there: Room, write: Callable[[], Awaitable[T]]) -> T:
    """Retry a queued write, as a live reply does."""
    while True:
        try:
            return await write()
        except PageQueued as queued:
            await there.clock.sleep(queued.wait_s)


@asynccontextmanager
async def room(*, log_in: bool = True) -> AsyncGenerator[Room, None]:
    clock = Clock(speed=1.0)
    async with running_discord(clock, window_s=1.0) as fake:
        point_at(settings(fake))
        connection = Connection(clock, 0.24)
        client = BoundedClient(intents=discord.Intents.none())
        async with client:
            await client.login(TOKEN)
            rest = Rest(client)
            if log_in:
                connection.log_in(rest)
            yield Room(fake, connection, clock, rest)
        await connection.close()


@pytest.fixture
async def there() -> AsyncGenerator[Room, None]:
    async with room() as made:
        yield made


async def test_a_page_notifies_nobody_and_shows_no_embeds(there: Room) -> None:
    surface = there.surface(Address(GENERAL, ANN))
    page = await surface.post(FIRST, PageContent("@everyone <@41> https://example.org"))
    await surface.edit(page, PageContent("@everyone again", final=True))
    for call in there.fake.calls[-2:]:
        assert call.body["allowed_mentions"] == {"parse": [], "replied_user": False}
        assert call.body["flags"] & SUPPRESSED
    assert there.fake.world.shown(GENERAL) == ["@everyone again"]


@pytest.mark.slow
async def test_posting_the_same_page_again_makes_no_second_message(there: Room) -> None:
    async def posted(key: PageKey, text: str, message: str = "7") -> PageRef:
        surface = there.surface(Address(GENERAL, ANN), message=message)
        return await in_turn(there, lambda: surface.post(key, PageContent(text, final=True)))

    page = await posted(FIRST, "Blue.")
    assert await posted(FIRST, "Blue.") == page
    assert await posted(SECOND, "And red.") != page
    assert await posted(FIRST, "Green.", message="9") != page
    assert there.fake.world.shown(GENERAL) == ["Blue.", "And red.", "Green."]


async def test_a_page_that_a_dead_process_had_posted_is_found_and_left_as_it_is(there: Room) -> None:
    page = await there.surface(Address(GENERAL, ANN)).post(FIRST, PageContent("Bl"))
    again = there.surface(Address(GENERAL, ANN))
    with pytest.raises(PageFound) as found:
        await in_turn(there, lambda: again.post(FIRST, PageContent("Blue.", final=True)))
    assert found.value.page == page
    assert there.fake.world.shown(GENERAL) == ["Bl"]


@pytest.mark.slow
async def test_a_page_whose_answer_was_lost_is_posted_once(there: Room) -> None:
    there.fake.rest.fail("POST", "/messages$", 502, lost=True)
    await there.surface(Address(GENERAL, ANN)).post(FIRST, PageContent("Blue.", final=True))
    assert there.fake.world.shown(GENERAL) == ["Blue."]


async def test_a_message_that_was_deleted_is_gone(there: Room) -> None:
    surface = there.surface(Address(GENERAL, ANN))
    page = await surface.post(FIRST, PageContent("Blue."))
    await surface.delete(page)
    with pytest.raises(PageGone):
        await surface.edit(page, PageContent("Blue boat.", final=True))
    with pytest.raises(PageGone):
        await surface.delete(page)


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (404, 10003, PageGone),
        (403, 50001, PageGone),
        (403, 50013, PageGone),
        (400, 30046, PageLocked),
        (403, 50005, PageLocked),
        (400, 50083, PageLocked),
        (400, 50035, PageUnsent),
        (503, 0, PageUnsent),
    ],
)
async def test_what_a_failed_edit_means(there: Room, status: int, code: int, error: type[Exception]) -> None:
    surface = there.surface(Address(GENERAL, ANN))
    page = await surface.post(FIRST, PageContent("Blue."))
    there.fake.rest.fail("PATCH", "/messages/", status, code)
    with pytest.raises(error):
        await surface.edit(page, PageContent("Blue boat.", final=True))


async def test_a_long_limit_is_handed_on_and_a_short_one_waited_for(there: Room) -> None:
    surface = there.surface(Address(GENERAL, ANN))
    page = await in_turn(there, partial(surface.post, FIRST, PageContent("Blue.")))
    google = {"Via": "1.1 google"}
    there.fake.rest.fail("PATCH", "/messages/", 429, headers=google, body={"retry_after": 0.2})
    await in_turn(there, partial(surface.edit, page, PageContent("Blue boat.")))
    there.fake.rest.fail("PATCH", "/messages/", 429, headers=google, body={"retry_after": 60.0})
    with pytest.raises(PageLimited) as limited:
        await in_turn(there, partial(surface.edit, page, PageContent("Blue boats.")))
    assert limited.value.retry_after_s == 60.0
    there.fake.rest.fail("PATCH", "/messages/", 429, body={"retry_after": 0.2})  # from a proxy that is not Discord's
    with pytest.raises(PageLimited):
        await in_turn(there, partial(surface.edit, page, PageContent("Blue boats.")))


async def test_a_server_that_is_away_leaves_the_page_unsent() -> None:
    async with room() as there:
        surface = there.surface(Address(GENERAL, ANN))
        address = there.fake.address
    with pytest.raises(PageUnsent):
        await surface.post(FIRST, PageContent("Blue."))
    assert address


async def test_a_reply_that_goes_on_before_the_bot_is_logged_in_waits_for_it() -> None:
    async with room(log_in=False) as there:
        posting = asyncio.create_task(
            there.surface(Address(GENERAL, ANN)).post(FIRST, PageContent("Blue.", final=True))
        )
        await asyncio.sleep(0)
        assert not posting.done()
        there.connection.log_in(there.rest)
        await posting
        assert there.fake.world.shown(GENERAL) == ["Blue."]


async def test_a_thread_that_somebody_else_started_is_used(there: Room) -> None:
    asked = there.fake.world.message(GENERAL, ANN, "?")
    there.fake.world.start_thread(GENERAL, asked["id"], "theirs")
    await there.surface(Address(GENERAL, ANN, asked["id"], "ours")).post(FIRST, PageContent("Blue.", final=True))
    assert there.fake.world.shown(asked["id"]) == ["Blue."]


async def test_where_no_thread_can_be_started_the_reply_stands_in_place(there: Room) -> None:
    for channel, code in [(GENERAL, 50013), (VOICE, 0)]:
        asked = there.fake.world.message(channel, ANN, "?")
        if code:
            there.fake.rest.fail("POST", "/threads$", 403, code)
        surface = there.surface(Address(channel, ANN, asked["id"], "the boat"), message=asked["id"])
        await in_turn(there, partial(surface.post, FIRST, PageContent("Blue.")))
        await in_turn(there, partial(surface.post, SECOND, PageContent("And red.", final=True)))
        one, two = by_the_bot(there.fake)[-2:]
        assert one["message_reference"]["message_id"] == asked["id"]
        assert "message_reference" not in two
        assert there.fake.world.shown(channel) == ["Blue.", "And red."]


async def test_a_question_that_was_deleted_meanwhile_is_not_answered(there: Room) -> None:
    with pytest.raises(PageGone):
        await there.surface(Address(GENERAL, ANN, "12345", "the boat")).post(FIRST, PageContent("Blue.", final=True))
    assert by_the_bot(there.fake) == []


@pytest.mark.slow
async def test_replies_in_one_channel_share_its_pace(there: Room) -> None:
    async def reply(number: str) -> None:
        surface = there.surface(Address(GENERAL, ANN), message=number)
        page = await in_turn(there, partial(surface.post, FIRST, PageContent("0")))
        for text in "123":
            await in_turn(there, partial(surface.edit, page, PageContent(text)))

    await asyncio.gather(reply("1"), reply("2"))
    times = edits_of(there.fake, GENERAL)
    assert len(times) == 6
    assert all(later - earlier > 0.2 for earlier, later in pairwise(times))
    assert all(call.status != 429 for call in there.fake.calls)


async def test_an_answer_of_an_interaction_is_edited_by_its_token_and_then_in_the_channel(there: Room) -> None:
    surface = there.asked()
    page = await in_turn(there, partial(surface.post, FIRST, PageContent("Bl")))
    await in_turn(there, partial(surface.edit, page, PageContent("Blue")))
    there.clock.ahead = timedelta(minutes=15)
    await in_turn(there, partial(surface.edit, page, PageContent("Blue.", final=True)))
    assert there.fake.world.shown(GENERAL) == ["Blue."]
    assert len(by_the_bot(there.fake)) == 1
    assert len(edits_of(there.fake, GENERAL)) == 1


async def test_a_private_answer_is_locked_when_its_token_ends_and_goes_on_in_the_dm(there: Room) -> None:
    surface = there.asked(private=True)
    page = await surface.post(FIRST, PageContent("Bl"))
    there.clock.ahead = timedelta(minutes=15)
    with pytest.raises(PageLocked):
        await surface.edit(page, PageContent("Blue.", final=True))
    await surface.post(SECOND, PageContent("ue.", final=True))
    assert there.fake.world.shown(DM_OF[ANN]) == ["ue."]
    assert there.fake.world.shown(GENERAL) == []


async def test_a_token_that_discord_ends_early_counts_as_ended(there: Room) -> None:
    surface = there.asked(private=True)
    there.fake.rest.fail("PATCH", "@original$", 401, 50027)
    await surface.post(FIRST, PageContent("Blue.", final=True))
    assert there.fake.world.shown(DM_OF[ANN]) == ["Blue."]


async def test_a_dm_that_is_closed_is_gone(there: Room) -> None:
    surface = there.asked(private=True)
    there.clock.ahead = timedelta(minutes=15)
    there.fake.rest.fail("POST", "/messages$", 403, 50007)
    with pytest.raises(PageGone):
        await surface.post(FIRST, PageContent("Blue.", final=True))


async def test_typing_is_shown_until_the_first_page(there: Room) -> None:
    surface = there.surface(Address(GENERAL, ANN))
    await surface.status("Thinking…")
    await surface.status("Searching past threads…")
    await there.fake.until(lambda: there.fake.calls[-1].path.endswith("/typing"))
    await surface.status("")
    await surface.post(FIRST, PageContent("Blue.", final=True))
    assert sum(call.path.endswith("/typing") for call in there.fake.calls) == 1


async def test_a_deferred_interaction_needs_no_typing(there: Room) -> None:
    await there.asked().status("Thinking…")
    assert not any(call.path.endswith("/typing") for call in there.fake.calls)


async def test_a_page_of_an_earlier_process_is_edited_by_what_its_id_says(there: Room) -> None:
    page = await there.surface(Address(GENERAL, ANN)).post(FIRST, PageContent("Bl"))
    again = there.surface(Address(GENERAL, ANN))
    await again.edit(PageRef(page.id), PageContent("Blue.", final=True))
    assert there.fake.world.shown(GENERAL) == ["Blue."]


def below(there: Room, page: PageRef) -> list[str]:
    """The labels of the buttons below a page."""
    message = there.fake.world.messages[page.id.split("/")[1]]
    return [button["label"] for row in message["components"] for button in row["components"]]


@pytest.mark.slow
@pytest.mark.parametrize("where", ["a channel", "an interaction"])
async def test_a_growing_page_can_be_stopped_and_a_complete_one_not(there: Room, where: str) -> None:
    surface = there.asked() if where == "an interaction" else there.surface(Address(GENERAL, ANN))
    page = await in_turn(there, partial(surface.post, FIRST, PageContent("Bl", offers=STOP)))
    assert below(there, page) == ["Stop"]
    await in_turn(there, partial(surface.edit, page, PageContent("Blu", offers=STOP)))
    assert below(there, page) == ["Stop"]
    assert "components" not in there.fake.calls[-1].body
    await in_turn(there, partial(surface.edit, page, PageContent("Blue.", final=True)))
    assert below(there, page) == []
    await in_turn(
        there, partial(surface.edit, page, PageContent("Blue.", final=True, offers=frozenset({ReplyAction.CONTINUE})))
    )
    assert below(there, page) == ["Continue"]


async def test_a_button_of_a_dead_process_goes_with_the_last_edit_of_the_next(there: Room) -> None:
    page = await there.surface(Address(GENERAL, ANN)).post(FIRST, PageContent("Blue.", offers=STOP))
    again = there.surface(Address(GENERAL, ANN))
    with pytest.raises(PageFound):
        await in_turn(there, lambda: again.post(FIRST, PageContent("Blue.", final=True)))
    await again.edit(page, PageContent("Blue.", final=True))
    assert below(there, page) == []


async def test_what_follows_a_press_is_a_message_of_its_own(there: Room) -> None:
    asked = there.asked(private=True)
    cut = await asked.post(FIRST, PageContent("Half", final=True))
    until = token_until(there.clock.now())
    address = Address(GENERAL, ANN, "", "", "8", BOT, "token-8", until, private=True, follows=True)
    more = await there.surface(address).post(FIRST, PageContent("the rest", final=True))
    assert more != cut
    first, second = by_the_bot(there.fake)
    assert (first["content"], second["content"]) == ("Half", "the rest")
    assert second["flags"] & EPHEMERAL


@pytest.mark.parametrize("follows", [False, True])
async def test_what_a_dead_process_had_posted_behind_an_interactions_answer_is_found(
    there: Room, *, follows: bool
) -> None:
    before, after = (there.asked(follows=follows) for _ in range(2))
    other = there.asked(number="9")
    await other.post(PageKey(2, 0), PageContent("Another answer."))
    await in_turn(there, lambda: other.post(PageKey(2, 1), PageContent("Its second page.")))
    pages = [await in_turn(there, partial(before.post, PageKey(1, at), PageContent(f"Page {at}."))) for at in range(3)]
    await before.send_ephemeral("For you alone.")
    missing = PageKey(1, 3)
    assert await after.find(missing) is None
    found = [await after.find(PageKey(1, at)) for at in range(3)]
    assert found == ([*pages] if follows else [None, *pages[1:]]), "the answer itself is written anew in its place"


async def test_only_behind_a_command_that_can_still_be_answered_is_what_waits_shown_unasked(there: Room) -> None:
    asked = there.asked()
    await asked.show_waiting(7)
    (shown,) = (one for one in by_the_bot(there.fake) if "Turn 7 waits." in seen(one))
    assert shown["flags"] & EPHEMERAL
    await there.surface(Address(GENERAL, ANN)).show_waiting(8)
    there.clock.ahead = timedelta(minutes=15)
    await asked.show_waiting(9)
    assert not any("Turn 8" in seen(one) or "Turn 9" in seen(one) for one in by_the_bot(there.fake))


async def test_where_the_bot_may_not_look_back_the_page_is_posted(there: Room) -> None:
    surface = there.asked()
    there.fake.rest.fail("GET", "/messages$", 403, 50001)
    assert await surface.find(SECOND) is None
