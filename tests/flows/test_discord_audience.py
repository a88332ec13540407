"""Two people, two servers, direct messages, private and public channels and threads on Discord: what is known where,
and who is told so.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from agent.providers.scripted import ScriptedProvider
from bot.chat.caches import MAX_AGE_S
from bot.chat.host import Host
from tests.fakes.canoe import answer
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import (
    ALL_PERMISSIONS,
    ANN,
    BO,
    BOT,
    DM_OF,
    EPHEMERAL,
    GENERAL,
    QUAY,
    STAFF,
    VIEW,
    Payload,
)
from tests.fakes.fast_clock import MovedClock
from tests.flows.bot import live_host

ME = f"<@{BOT}>"
PLACES = [(ANN, DM_OF[ANN]), (BO, DM_OF[BO]), (ANN, GENERAL), (BO, GENERAL), (ANN, STAFF), (BO, STAFF)]


MANAGE_THREADS = 1 << 34
# A public channel of the second server, and a private thread of the first one's general channel.
LANDING, SECRET = "60", "7001"
BOTH = [
    *((person, place) for place in (GENERAL, LANDING) for person in (ANN, BO)),
    *((person, DM_OF[person]) for person in (ANN, BO)),
    (ANN, SECRET),
]


@dataclass
class Talk:
    clock: MovedClock
    fake: FakeDiscord
    host: Host
    model: ScriptedProvider

    async def ask(self, person: str, channel: str, text: str) -> None:
        """Ask, and wait for the answer."""
        before = len(by_the_bot(self.fake))
        await self.fake.say(person, f"{ME} {text}", channel)
        await self.fake.until(lambda: len(by_the_bot(self.fake)) > before)
        await self.idle()

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()

    async def knows(self, person: str, channel: str) -> bool:
        """Whether the model is given anything vermilion when this person asks here."""
        before = len(self.model.requests)
        await self.ask(person, channel, "which colour has the thing?")
        return any("vermilion" in message.text for request in self.model.requests[before:] for message in request)

    async def knowing(self, places: Sequence[tuple[str, str]] = PLACES) -> set[tuple[str, str]]:
        """In which places which person would be told of it."""
        return {place for place in places if await self.knows(*place)}

    def told(self) -> list[Payload]:
        """What was told about what was left out."""
        return [one for one in self.fake.world.messages.values() if "not shown here" in one["content"]]


@asynccontextmanager
async def talking(folder: Path, **chosen: object) -> AsyncGenerator[Talk, None]:
    """Ann, who owns both servers, and bo, who may read the staff's channel by an exception, and manages no threads."""
    clock = MovedClock(speed=1.0)
    model = ScriptedProvider(answer)
    async with running_discord(clock) as fake:
        exception = {"id": BO, "type": 1, "allow": str(VIEW), "deny": "0"}
        fake.world.channels[STAFF]["permission_overwrites"].append(exception)
        fake.world.guilds[QUAY] = "quay"
        fake.world.open_channel(LANDING, "landing", guild=QUAY)
        fake.world.start_thread(GENERAL, SECRET, "secret", kind=12)
        fake.world.everyone_may = str(int(ALL_PERMISSIONS) & ~MANAGE_THREADS)
        async with live_host(folder, model, clock) as host, serving(fake, host, **chosen):
            yield Talk(clock, fake, host, model)


async def test_who_leaves_the_server_is_told_nothing_of_it_any_more(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(BO, STAFF, "remember my canoe, it is vermilion")
        await talk.ask(BO, GENERAL, "remember my canoe, it is vermilion")
        assert await talk.knows(BO, DM_OF[BO])
        talk.fake.world.absent.add(BO)
        talk.clock.ahead_s += MAX_AGE_S + 1
        assert not await talk.knows(BO, DM_OF[BO])


async def test_what_was_told_in_public_is_known_in_the_server_and_in_its_persons_dm(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(BO, GENERAL, "remember my canoe, it is vermilion")
        assert await talk.knowing() == {(BO, DM_OF[BO]), (BO, GENERAL), (BO, STAFF)}


async def test_the_caller_of_a_command_alone_is_told_that_more_was_found_in_their_dm(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(BO, DM_OF[BO], "my canoe is vermilion")
        await talk.fake.command(BO, "ask", question="which colour has the canoe?")
        await talk.fake.until(talk.told)
        (told,) = talk.told()
        assert told["flags"] & EPHEMERAL
        assert told["content"].startswith("1 more result from your direct messages")
        await talk.ask(BO, GENERAL, "which colour has the canoe?")  # nobody could be told alone
        await talk.idle()
    assert talk.told() == [told]
    assert not any("not shown here" in message.text for request in talk.model.requests for message in request)


async def test_what_was_told_in_one_server_is_not_known_in_another(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(BO, LANDING, "remember my canoe, it is vermilion")
        assert await talk.knowing(BOTH) == {(BO, LANDING)}


async def test_direct_messages_belong_to_the_home_server(tmp_path: Path) -> None:
    async with talking(tmp_path, home=frozenset({QUAY})) as talk:
        await talk.ask(BO, LANDING, "remember my canoe, it is vermilion")
        assert await talk.knowing(BOTH) == {(BO, LANDING), (BO, DM_OF[BO])}


async def test_what_was_told_in_a_private_thread_is_known_there_and_to_its_readers_in_their_dm(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.fake.world.in_thread[SECRET] = {ANN}
        await talk.ask(ANN, SECRET, "remember my canoe, it is vermilion")
        assert await talk.knowing([*BOTH, (ANN, STAFF)]) == {(ANN, SECRET), (ANN, DM_OF[ANN])}
        assert not await talk.knows(BO, DM_OF[BO])


async def test_what_was_told_in_public_is_known_in_a_private_thread_of_its_server(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask(BO, GENERAL, "remember my canoe, it is vermilion")
        assert await talk.knowing([*BOTH, (BO, SECRET)]) == {(BO, GENERAL), (BO, SECRET), (BO, DM_OF[BO])}
