"""The connections to Discord's gateway that this process shares with others, by leases (`agent.ports.ShardLeases`).

Every LOOK_S the leases are renewed, and say what to take and what to give back. A shard goes on where another process
was (RESUME): nothing is lost, and what had been taken in comes twice and counts once. Such a session does not tell of
its servers again: each is asked for, at the latest before its first event is read.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import Any, Final, cast

import aiohttp
import discord
import yarl
from cachetools import LRUCache
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import Route

from agent.errors import StoreError
from agent.ports import SHARD_LEASE, HeldShard, ShardSession
from bot.caches import Backoff, Replicas
from bot.host import Host
from bot.platforms.discord.client import ShardedClient
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.options import DiscordSettings
from bot.platforms.discord.places import SOURCE, UNREADABLE, Readable
from bot.telemetry import ShardLeft, ShardTaken
from bot.texts.formatting import counted
from bot.turns.watermark import Watermark

log = logging.getLogger(__name__)

LOOK_S: Final = 2.0  # With the lease: what a killed process held is another's within eleven seconds
MARGIN_S: Final = 1.0  # So long before its lease is over a process that could not renew it listens no more
# Discord asks for five seconds between two sessions of one bucket, as it sees them.
IDENTIFY_GAP: Final = timedelta(seconds=5.5)
# How long what has arrived may take to be stored before a shard is given back; what takes longer comes again.
DRAIN_S: Final = 2.0
FILL_S: Final = 1.0  # How long a session waits for its servers to be known. The rest is asked for while it is served.
FILL_AT_ONCE: Final = 4
KNOWN_S: Final = 5.0  # How long a server that another process listens to is taken for what it was
RECOMMENDED_S: Final = 3_600.0  # How often Discord is asked for how many connections it recommends
PAGE: Final = 200
SERVERS_KEPT: Final = 256
RESUMABLE: Final = 4_000  # Any code but 1000 and 1001, which end the session for good
_INTENTS_REFUSED: Final = 4014

_UNREACHABLE = (discord.HTTPException, discord.GatewayNotFound, aiohttp.ClientError, OSError, TimeoutError)

_reading: ContextVar["ShardRunner"] = ContextVar("the shard whose events are read")


class ShardSocket(DiscordWebSocket):
    """Lets a server become known before an event of it is read. The library has no public way to that."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(socket, loop=loop)
        _reading.get().socket = self

    async def received_message(self, msg: Any, /) -> None:  # noqa: ANN401 -- the library's
        if isinstance(msg, bytes):
            msg = self._decompressor.decompress(msg)
        if msg is not None:
            await _reading.get().prepare(msg)
            await super().received_message(msg)


class ShardRunner:
    """One connection, as long as this process holds it."""

    def __init__(self, client: "LeasedClient", shard: HeldShard, session: ShardSession) -> None:
        self.client = client
        self.shard = shard
        self.since = session.heard or (client.listening.first if shard.had_another else None)
        self.socket: ShardSocket | None = None
        self._session = session if session.session else None
        self._pending: dict[asyncio.Task[None], int] = {}
        self._is_new_here = self._session is not None
        self._told = False
        self._is_up = False
        self._filling: asyncio.Task[bool] | None = None
        self._is_behind = session.behind
        self._catching_up: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None

    def start(self) -> asyncio.Task[None]:
        self._running = asyncio.create_task(self._run())
        return self._running

    def follow(self, task: asyncio.Task[None]) -> None:
        """What came with the event that is just read is taken in when this has ended."""
        self._pending[task] = (self.socket.sequence if self.socket is not None else None) or 0
        task.add_done_callback(lambda done: self._pending.pop(done, None))

    def session(self) -> ShardSession:
        """With what another process would go on now."""
        missed, listening = self.client.record(self.shard.number), self.client.listening
        whole = self._is_up and missed.connected and not missed.behind and not listening.owes
        heard = self.client.clock.now() if whole else None
        self.since = heard or self.since
        where = self._where()
        if where is None or (sequence := min([where.sequence + 1, *self._pending.values()]) - 1) < 1:
            return ShardSession(heard)
        return ShardSession(heard, where.session, where.resume_url, sequence, behind=missed.behind)

    def begins_anew(self) -> None:
        """A session of this process, which tells of its servers; what was missed is read when it has."""
        self._is_behind = False
        if self._catching_up is not None:
            self._catching_up.cancel()

    async def _catch_up(self) -> None:
        """Read what was said before the session that another process began, and did not catch up on."""
        backoff = Backoff(1.0, 30.0)
        while self._filling is None or not await self._filling:
            await self.client.clock.sleep(backoff.failed())
            self._filling = asyncio.create_task(self.client.fill(self.shard.number))
        await self.client.on_shard_ready(self.shard.number)

    def _where(self) -> ShardSession | None:
        socket = self.socket
        if socket is None or not socket.session_id or socket.sequence is None:
            return self._session
        return ShardSession(None, socket.session_id, str(socket.gateway), socket.sequence)

    async def end(self) -> ShardSession:
        """Listen no more, so that the session can be resumed; where it is when all that arrived is stored."""
        started = (self._running, self._filling, self._catching_up)
        tasks = [cast("asyncio.Task[object]", task) for task in started if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.socket is not None:
            with suppress(OSError, aiohttp.ClientError):
                await self.socket.close(RESUMABLE)
        if self._pending:
            await asyncio.wait({*self._pending}, timeout=DRAIN_S)
        left = self.session()
        self._is_up = False
        return left

    async def prepare(self, text: str) -> None:
        """Whatever has to be known before this event is read."""
        if not self._lacks_servers():
            return
        told = json.loads(text)
        data, event = told.get("d"), told.get("t")
        if told.get("op") != DiscordWebSocket.DISPATCH or not isinstance(data, dict) or event == "GUILD_CREATE":
            return
        if event in ("READY", "RESUMED"):
            self._told = True
            return
        payload = cast("dict[str, Any]", data)
        number = payload.get("id" if event in ("GUILD_UPDATE", "GUILD_DELETE") else "guild_id")
        if number is not None:
            await self.client.fill_before(str(event), int(number), payload)

    def _lacks_servers(self) -> bool:
        """Whether events may come of servers that are not known, or of what was gone when they became known."""
        if self._filling is None:
            return False
        known = self._filling.done() and not self._filling.cancelled() and self._filling.result()
        return not (known and self._told)

    async def _run(self) -> None:
        _reading.set(self)
        backoff = Backoff(1.0, 30.0)
        while True:
            try:
                await self._listen(backoff)
            except ReconnectWebSocket as again:
                self._session = self._where() if again.resume else None
                self.down()
            except discord.ConnectionClosed as closed:
                self.down()
                if closed.code == _INTENTS_REFUSED:
                    raise discord.PrivilegedIntentsRequired(self.shard.number) from None
                raise
            except _UNREACHABLE as error:
                self._session = self._where()
                self.down()
                pause = backoff.failed()
                log.warning("Discord: shard %d: %s; again in %.0f s", self.shard.number, type(error).__name__, pause)
                await self.client.clock.sleep(pause)

    async def _listen(self, backoff: Backoff) -> None:
        session, number = self._session, self.shard.number
        if session is None:
            async with self.client.beginning(number):
                await ShardSocket.from_client(self.client, shard_id=number)
        else:
            if self._is_new_here and self._filling is None:
                self._filling = asyncio.create_task(self.client.fill(number))
                await asyncio.wait({self._filling}, timeout=FILL_S)
            await ShardSocket.from_client(
                self.client,
                gateway=yarl.URL(session.resume_url),
                shard_id=number,
                session=session.session,
                sequence=session.sequence,
                resume=True,
            )
            if self._is_behind and self._catching_up is None:
                self._catching_up = asyncio.create_task(self._catch_up())
        self._is_up = True
        socket = self.socket
        assert socket is not None  # noqa: S101 -- it has said so itself
        while True:
            await socket.poll_event()
            backoff.worked()

    def down(self) -> None:
        self._is_up = False
        self.client.dispatch("disconnect")
        self.client.dispatch("shard_disconnect", self.shard.number)
        self.socket = None


class LeasedClient(ShardedClient):
    """Holds those shards that the leases give to this process, which may be none."""

    def __init__(
        self,
        host: Host,
        settings: DiscordSettings,
        connection: Connection,
        listening: Watermark,
        shared: Replicas,
        *,
        message_content: bool = True,
    ) -> None:
        super().__init__(host, settings, connection, listening, message_content=message_content, shard_count=1)
        self.clock = connection.clock
        self.listening = listening
        self._shared = shared
        self._cache = cast("Any", self._connection)
        self._runners: dict[HeldShard, ShardRunner] = {}
        self._renewed = self.clock.monotonic()
        self._asked = float("-inf")
        self._wanted = settings.shards
        self._woken = asyncio.Event()
        self._concurrency = 1
        self._begins: dict[int, asyncio.Lock] = {}
        self._learning: dict[int, asyncio.Task[discord.Guild | None]] = {}
        self._lately: LRUCache[int, tuple[float, discord.Guild | None]] = LRUCache(SERVERS_KEPT)

    # The leases

    async def connect(self, *, reconnect: bool = True) -> None:  # noqa: ARG002 -- the library's
        """Hold this process's part until it is closed. Raises what ends a connection for good."""
        running: set[asyncio.Task[None]] = set()
        while not self.is_closed():
            self._woken.clear()
            looking = asyncio.create_task(self._look())
            try:
                left = SHARD_LEASE.total_seconds() - MARGIN_S - (self.clock.monotonic() - self._renewed)
                if self._runners and not (await asyncio.wait({looking}, timeout=max(0.0, left)))[0]:
                    await self._drop(*self._runners)
                running |= await looking
            finally:
                looking.cancel()
            sleeping, waking = asyncio.create_task(self.clock.sleep(LOOK_S)), asyncio.create_task(self._woken.wait())
            try:
                await asyncio.wait({sleeping, waking, *running}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                sleeping.cancel()
                waking.cancel()
            for ended in [task for task in running if task.done()]:
                running.discard(ended)
                if not ended.cancelled():
                    ended.result()

    async def _look(self) -> set[asyncio.Task[None]]:
        """Renew, give back and take; what was started."""
        began, leases, owner = self.clock.monotonic(), self._shared.leases, self._shared.owner
        try:
            wanted = await self._how_many(began)
            sessions = {shard: runner.session() for shard, runner in self._runners.items()}
            heard = self.listening.until
            part = await leases.share(owner, self.clock.now(), SHARD_LEASE, sessions, count=wanted, heard=heard)
        except StoreError as error:
            log.warning("Discord: the leases of its shards could not be renewed: %s", error)
            if self.clock.monotonic() - self._renewed > SHARD_LEASE.total_seconds() - MARGIN_S:
                await self._drop(*self._runners)
            return set()
        self._renewed = began
        await self._drop(*(shard for shard in self._runners if shard not in part.kept | part.excess))
        # One that was just begun is given back when it can be gone on with: Discord allows few new sessions.
        others = {shard for shard in part.excess if shard.count != part.count}
        await self._give_back(*others, *(one for one in part.excess - others if not self.record(one.number).behind))
        if others:
            self._woken.set()  # the last one to give back makes the new ones
        if part.count != self.shard_count:
            log.info("Discord: %s for all processes", counted(part.count, "shard", "shards"))
        self.shard_count = self._connection.shard_count = part.count
        self._connection.shard_ids = range(part.count)
        started = set[asyncio.Task[None]]()
        for shard, session in part.taken.items():
            how = "whose process gave no sign of life" if session.orphaned else "which was free"
            log.info("Discord: holds shard %d of %d now, %s", shard.number, shard.count, how)
            self.connection.telemetry.tell(ShardTaken(SOURCE, shard.number, orphaned=session.orphaned))
            self._runners[shard] = runner = ShardRunner(self, shard, session)
            if session.behind:
                self._shards.goes_on(shard.number, runner.since)
            started.add(runner.start())
        if not self._runners:
            self.first_connected.set()
            self._host.platforms.connected(SOURCE)
        return started

    async def _how_many(self, now: float) -> int:
        """How many shards this process wants: the number that is set, or what Discord recommends, asked each hour."""
        if self._settings.shards is None and (self._wanted is None or now - self._asked >= RECOMMENDED_S):
            self._asked = now
            try:
                recommended = int((await self._told_of_gateway()).get("shards", 1))
            except _UNREACHABLE:
                if self._wanted is None:
                    raise
            else:  # fewer would interrupt what works
                self._wanted = max(1, recommended, self.shard_count or 1)
        assert self._wanted is not None  # noqa: S101 -- set, or just asked for
        return self._wanted

    async def _told_of_gateway(self) -> Mapping[str, Any]:
        told: Mapping[str, Any] = await self.http.request(Route("GET", "/gateway/bot"))
        self._concurrency = max(1, int(told.get("session_start_limit", {}).get("max_concurrency", 1)))
        return told

    async def _give_back(self, *shards: HeldShard) -> None:
        """Stop listening, and leave these to others, who go on where this was."""
        sessions = dict(zip(shards, await asyncio.gather(*(self._runners[one].end() for one in shards)), strict=True))
        for shard in shards:
            log.info("Discord: gives shard %d of %d back", shard.number, shard.count)
            self._forget(shard)
        if sessions:
            try:
                await self._shared.leases.give_back(self._shared.owner, sessions)
            except StoreError as error:  # then they are taken when the lease is over
                log.warning("Discord: shards could not be given back: %s", error)

    async def _drop(self, *shards: HeldShard) -> None:
        """Another process may hold these already."""
        for shard in shards:
            log.warning("Discord: shard %d of %d is lost to another process", shard.number, shard.count)
        await asyncio.gather(*(self._runners[shard].end() for shard in shards))
        for shard in shards:
            self._forget(shard)

    def _forget(self, shard: HeldShard) -> None:
        """What is known of its servers grows old from now on."""
        del self._runners[shard]
        self.connection.telemetry.tell(ShardLeft(SOURCE, shard.number))
        self._shards.drop(shard.number)
        for guild in [guild for guild in self.guilds if (guild.id >> 22) % shard.count == shard.number]:
            self._cache._remove_guild(guild)  # noqa: SLF001 -- the library gives no shard away

    async def close(self) -> None:
        if not self.is_closed() and self._closing_task is None:
            await self._give_back(*self._runners)
            with suppress(StoreError):
                await self._shared.leases.leave(self._shared.owner)
        await super().close()

    # Sessions

    def beginning(self, number: int) -> asyncio.Lock:
        """Of one bucket one socket at a time waits for its turn to identify."""
        return self._begins.setdefault(number % self._concurrency, asyncio.Lock())

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:  # noqa: ARG002 -- the library's
        """Until a session may begin: by Discord's limits, and by what other processes begin."""
        while True:
            limit = (await self._told_of_gateway()).get("session_start_limit", {})
            if int(limit.get("remaining", 1)) < 1:
                pause = max(1.0, int(limit.get("reset_after", 0)) / 1_000)
                log.warning("Discord allows no more sessions today; shard %s waits for %.0f s", shard_id, pause)
            else:
                pause = await self._turn_to_identify((shard_id or 0) % self._concurrency)
            if not pause:
                return
            self.first_connected.set()  # it stands in line: nothing is wrong
            await self.clock.sleep(pause)

    async def _turn_to_identify(self, bucket: int) -> float:
        try:
            return await self._shared.leases.identify(bucket, self.clock.now(), IDENTIFY_GAP)
        except StoreError:
            return LOOK_S

    def _schedule_event(self, *args: Any, **kwargs: Any) -> asyncio.Task[None]:  # noqa: ANN401 -- the library's
        """The library does not say when what an event caused has ended; until then its sequence is not passed on. (For
        what is read from history `behind` says that.)
        """
        task = cast("asyncio.Task[None]", super()._schedule_event(*args, **kwargs))  # pyright: ignore[reportUnknownMemberType] -- the library's
        if (runner := _reading.get(None)) is not None and args[1] not in ("on_ready", "on_shard_ready"):
            runner.follow(task)
        return task

    def silence(self) -> float:
        return super().silence() if any(runner.socket is not None for runner in self._runners.values()) else 0.0

    async def wait_until_ready(self) -> None:
        """All servers are never known here; what is missing is asked for."""
        await self.first_connected.wait()

    async def on_shard_connect(self, shard_id: int) -> None:
        runner = next((one for shard, one in self._runners.items() if shard.number == shard_id), None)
        if runner is not None:
            runner.begins_anew()
        self._shards.began(shard_id, runner.since if runner is not None else None)
        self._woken.set()  # who goes on here after a kill needs no new session

    async def on_shard_resumed(self, shard_id: int) -> None:
        self.first_connected.set()
        await super().on_shard_resumed(shard_id)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        if not self.record(guild.shard_id).behind:
            await self._turn_away(self._servers.others([guild]))

    # Servers

    def _connections(self) -> int:
        return len(self._runners)

    def holds(self, number: int) -> bool:
        """Whether this process listens to a server."""
        return any((number >> 22) % shard.count == shard.number for shard in self._runners)

    async def fill(self, number: int) -> bool:
        """Get to know the servers of a shard whose session tells of none; whether all are known."""
        after, places, known = 0, asyncio.Semaphore(FILL_AT_ONCE), list[bool]()

        async def learn(guild: int) -> None:
            async with places:
                try:
                    await self._learn(guild)
                except UNREADABLE:
                    known.append(False)

        while True:
            try:
                asked = {"limit": PAGE, "after": after}
                page = await self.http.request(Route("GET", "/users/@me/guilds"), params=asked)
            except UNREADABLE as error:
                log.warning("Discord does not say in which servers the bot is: %s", type(error).__name__)
                return False
            ids = sorted(int(guild["id"]) for guild in page)
            here = [one for one in ids if (one >> 22) % (self.shard_count or 1) == number]
            await asyncio.gather(*map(learn, here))
            if len(ids) < PAGE or ids[-1] <= after:
                return all(known)
            after = ids[-1]

    async def fill_before(self, event: str, number: int, data: Mapping[str, Any]) -> None:
        """Before an event of a server is read. Raises UNREADABLE: then the session is resumed once more."""
        guild = await self._learn(number)
        if guild is None and event == "GUILD_DELETE":
            told = self._cache._get_or_create_unavailable_guild(number)  # noqa: SLF001 -- else nobody is told of it
            self._cache._add_guild(told)  # noqa: SLF001 -- as above
        elif guild is not None and event == "CHANNEL_DELETE" and guild.get_channel(int(data["id"])) is None:
            self._connection.parsers["CHANNEL_CREATE"](data)  # it was gone when its server became known

    async def _learn(self, number: int) -> discord.Guild | None:
        """Keep a server of this process as the gateway would have told of it; events change it from then on."""
        if (known := super().get_guild(number)) is not None:
            return known
        if number not in self._learning:
            self._learning[number] = asyncio.create_task(self._ask_for(number))
            self._learning[number].add_done_callback(lambda _: self._learning.pop(number, None))
        guild = await asyncio.shield(self._learning[number])
        if guild is not None and super().get_guild(number) is None and self.holds(number):
            self._cache._add_guild(guild)  # noqa: SLF001 -- the library fills its cache by the gateway alone
        return super().get_guild(number) or guild

    async def _ask_for(self, number: int) -> discord.Guild | None:
        """None for one that the bot is not in. Raises UNREADABLE."""
        me = self.user.id if self.user is not None else 0
        paths = ("", "/channels", "/threads/active", f"/members/{me}")
        try:
            told: list[Any] = await asyncio.gather(
                *(self.http.request(Route("GET", "/guilds/{guild_id}" + path, guild_id=number)) for path in paths)
            )
        except (discord.Forbidden, discord.NotFound):
            return None
        guild, channels, threads, member = told
        held = {"channels": channels, "threads": threads["threads"], "members": [member], "unavailable": False}
        data = cast("Any", {**guild, "emojis": [], "stickers": [], **held})
        return discord.Guild(data=data, state=self._connection)

    def get_guild(self, id: int, /) -> discord.Guild | None:  # noqa: A002 -- the library's
        """Of another process's servers those that were asked for moments ago."""
        asked_at, lately = self._lately.get(id, (float("-inf"), None))
        return super().get_guild(id) or (lately if self.clock.monotonic() - asked_at <= KNOWN_S else None)

    async def guild_elsewhere(self, number: int) -> discord.Guild | None:
        if (known := super().get_guild(number)) is not None and known.get_role(known.id) is not None:
            return known
        asked_at, guild = self._lately.get(number, (float("-inf"), None))
        if self.clock.monotonic() - asked_at > KNOWN_S:
            now = self.clock.monotonic()
            guild = await self._ask_for(number)
            self._lately[number] = now, guild
        return guild

    async def fetch_channel(self, channel_id: int, /) -> Any:  # noqa: ANN401 -- the library's union
        """Of a server that is not known here: with the server as it is now, since who can read it is asked of that."""
        channel = await super().fetch_channel(channel_id)
        if isinstance(channel, Readable | discord.CategoryChannel) and channel.guild.get_role(channel.guild.id) is None:
            guild = await self.guild_elsewhere(channel.guild.id)
            if guild is None:
                raise discord.InvalidData(str(channel.guild.id))
            channel.guild = guild
        return channel
