"""The shards of Discord's gateway that processes share by leases (`agent.ports.shard_leases.ShardLeases`).

Every RENEW_S the leases are renewed; the answer says which shards to take and which to give back. A shard resumes the
session of the process that held it before: no event is lost, and events that were already taken in arrive twice and are
deduplicated. A resumed session does not list its servers again: each server is requested, at the latest before its
first event is handled.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import timedelta
from functools import partial
from typing import Any, Final, cast

import aiohttp
import discord
import yarl
from cachetools import LRUCache
from discord.gateway import DiscordWebSocket, ReconnectWebSocket
from discord.http import Route

from agent.errors import StoreError
from agent.ports.shard_leases import SHARD_LEASE, HeldShard, ShardSession
from bot.chat.backoff import Backoff
from bot.chat.caches import SingleFlight
from bot.chat.host import Host
from bot.chat.replicas import Replicas
from bot.chat.telemetry import ShardLeft, ShardTaken
from bot.chat.texts.formatting import counted
from bot.chat.watermark import Watermark
from bot.platforms.discord.client import ShardedClient
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.places import SOURCE, UNREADABLE, Readable

log = logging.getLogger(__name__)

RENEW_S: Final = 2.0  # How often leases are renewed: a killed process's shards are taken over within eleven seconds
MARGIN_S: Final = 1.0  # A process that could not renew its lease stops this long before the lease expires
# Discord requires five seconds between two new sessions of one bucket, by its own clock.
IDENTIFY_GAP: Final = timedelta(seconds=5.5)
# How long a permission to begin one is valid: another process may have one after the gap, while this one is suspended.
IDENTIFY_WITHIN_S: Final = 4.0
# How long received events may take to be stored before a shard is given back; the rest is delivered again.
DRAIN_S: Final = 2.0
FILL_S: Final = 1.0  # How long a session waits for its servers to be loaded. The rest is loaded while it runs.
FILL_AT_ONCE: Final = 4
REMOTE_GUILD_S: Final = 5.0  # How long the state of a server of another process is reused
RECOMMENDED_S: Final = 3_600.0  # How often Discord is asked for the recommended number of shards
PAGE: Final = 200
SERVERS_KEPT: Final = 256
RESUMABLE: Final = 4_000  # Any close code but 1000 and 1001, which end the session
_INTENTS_REFUSED: Final = 4014

_UNREACHABLE = (discord.HTTPException, discord.GatewayNotFound, aiohttp.ClientError, OSError, TimeoutError)

_current_runner: ContextVar["ShardRunner"] = ContextVar("the shard whose events are handled")


class ShardSocket(DiscordWebSocket):
    """Loads a server before an event of it is handled. The library has no public hook for that."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, *, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(socket, loop=loop)
        _current_runner.get().socket = self

    async def received_message(self, msg: Any, /) -> None:  # noqa: ANN401 -- the library's
        if isinstance(msg, bytes):
            msg = self._decompressor.decompress(msg)
        if msg is not None:
            await _current_runner.get().prepare(msg)
            await super().received_message(msg)


class ShardRunner:
    """The connection of one shard, while this process holds it."""

    def __init__(self, client: "LeasedClient", shard: HeldShard, session: ShardSession) -> None:
        self.client = client
        self.shard = shard
        self.since = session.heard or (client.listening.first if shard.had_another else None)
        self.socket: ShardSocket | None = None
        self._session = session if session.session else None
        self._pending: dict[asyncio.Task[None], int] = {}
        self._is_taken_over = self._session is not None
        self._has_started = False
        self._is_up = False
        self._is_node_down = False  # The node of the gateway that holds the session could not be reached just now
        self._filling: asyncio.Task[None] | None = None
        self._is_listed = False
        self._is_behind = session.behind
        self._catching_up: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None

    def start(self) -> asyncio.Task[None]:
        self._running = asyncio.create_task(self._run())
        return self._running

    def track(self, task: asyncio.Task[None]) -> None:
        """Keep the sequence of the current event out of the stored session until this task has ended."""
        self._pending[task] = (self.socket.sequence if self.socket is not None else None) or 0
        task.add_done_callback(lambda done: self._pending.pop(done, None))

    def session(self) -> ShardSession:
        """Return the session with which another process could continue now."""
        missed, listening = self.client.record(self.shard.number), self.client.listening
        is_complete = self._is_up and missed.connected and not missed.behind and not listening.owes
        heard = self.client.clock.now() if is_complete else None
        self.since = heard or self.since
        position = self._position()
        if position is None or (sequence := min([position.sequence + 1, *self._pending.values()]) - 1) < 1:
            return ShardSession(heard)
        return ShardSession(heard, position.session, position.resume_url, sequence, behind=missed.behind)

    def discard_backlog(self) -> None:
        """This process started a new session: `on_shard_ready` catches up on it, and `_catch_up` is not needed."""
        self._is_behind = False
        self._is_listed = True
        if self._catching_up is not None:
            self._catching_up.cancel()

    async def _catch_up(self) -> None:
        """Read what was missed before a session that another process started without catching up."""
        await self._fill()
        await self.client.on_shard_ready(self.shard.number)

    def _fill(self) -> asyncio.Task[None]:
        """Load the servers that a session does not list which another process started. Returns the one task for it."""
        if self._filling is None:
            self._filling = asyncio.create_task(self._fill_until_loaded())
        return self._filling

    async def _fill_until_loaded(self) -> None:
        backoff = Backoff(1.0, 30.0)
        while not await self.client.fill(self.shard.number):
            await self.client.clock.sleep(backoff.failed())

    def knows_servers(self) -> bool:
        """Return whether its own session has listed the shard's servers, or all are loaded."""
        return self._is_listed or (self._filling is not None and self._filling.done() and not self._filling.cancelled())

    def _position(self) -> ShardSession | None:
        socket = self.socket
        if socket is None or not socket.session_id or socket.sequence is None:
            return self._session
        return ShardSession(None, socket.session_id, str(socket.gateway), socket.sequence)

    async def end(self) -> ShardSession:
        """Close the connection so that the session can be resumed; return it once events are stored (up to DRAIN_S)."""
        candidates = (self._running, self._filling, self._catching_up)
        tasks = [cast("asyncio.Task[object]", task) for task in candidates if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.socket is not None:
            with suppress(OSError, aiohttp.ClientError):
                await self.socket.close(RESUMABLE)
        if self._pending:
            await asyncio.wait({*self._pending}, timeout=DRAIN_S)
        session = self.session()
        self._is_up = False
        return session

    async def prepare(self, text: str) -> None:
        """Load the server of this event before the event is handled."""
        if not self._lacks_servers():
            return
        message = json.loads(text)
        data, event = message.get("d"), message.get("t")
        if message.get("op") != DiscordWebSocket.DISPATCH or not isinstance(data, dict) or event == "GUILD_CREATE":
            return
        if event in ("READY", "RESUMED"):
            self._has_started = True
            return
        payload = cast("dict[str, Any]", data)
        number = payload.get("id" if event in ("GUILD_UPDATE", "GUILD_DELETE") else "guild_id")
        if number is not None:
            await self.client.fill_before(str(event), int(number), payload)

    def _lacks_servers(self) -> bool:
        """Return whether events may concern servers that are not loaded, or channels deleted before the load."""
        if self._filling is None:
            return False
        all_loaded = self._filling.done() and not self._filling.cancelled()
        return not (all_loaded and self._has_started)

    async def _run(self) -> None:
        _current_runner.set(self)
        backoff = Backoff(1.0, 30.0)
        while True:
            try:
                await self._listen(backoff)
            except ReconnectWebSocket as reconnect:
                self._session = self._position() if reconnect.resume else None
                self.down()
            except discord.ConnectionClosed as closed:
                self.down()
                if closed.code == _INTENTS_REFUSED:
                    raise discord.PrivilegedIntentsRequired(self.shard.number) from None
                raise
            except _UNREACHABLE as error:
                # A session's node may be gone for good: every second attempt is made where new sessions begin.
                self._is_node_down = not (self._is_up or self._is_node_down)
                self._session = self._position()
                self.down()
                pause = backoff.failed()
                log.warning("Discord: shard %d: %s; retrying in %.0f s", self.shard.number, type(error).__name__, pause)
                await self.client.clock.sleep(pause)

    async def _listen(self, backoff: Backoff) -> None:
        session, number = self._session, self.shard.number
        if session is None:
            async with self.client.identify_lock(number):
                await ShardSocket.from_client(self.client, shard_id=number)
                await self.client.note_identified(number)
        else:
            if self._is_taken_over and self._filling is None:
                await asyncio.wait({self._fill()}, timeout=FILL_S)
            await ShardSocket.from_client(
                self.client,
                gateway=None if self._is_node_down else yarl.URL(session.resume_url),
                shard_id=number,
                session=session.session,
                sequence=session.sequence,
                resume=True,
            )
            if self._is_behind and self._catching_up is None:
                self._catching_up = asyncio.create_task(self._catch_up())
        self._is_up, self._is_node_down = True, False
        socket = self.socket
        assert socket is not None  # noqa: S101 -- set by ShardSocket itself
        while True:
            await socket.poll_event()
            backoff.worked()

    def down(self) -> None:
        self._is_up = False
        self.client.dispatch("disconnect")
        self.client.dispatch("shard_disconnect", self.shard.number)
        self.socket = None


class LeasedClient(ShardedClient):
    """Runs the shards that the leases assign to this process; there may be none."""

    def __init__(
        self,
        host: Host,
        settings: DiscordOptions,
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
        self._recommended_at = float("-inf")
        self._shard_count_wanted = settings.chosen.shards
        self._woken = asyncio.Event()
        self._concurrency = 1
        self._identify_locks: dict[int, asyncio.Lock] = {}
        self._loading: dict[int, asyncio.Task[discord.Guild | None]] = {}
        self._guild_flights = SingleFlight[discord.Guild | None]()
        self._other_guilds: LRUCache[int, tuple[float, discord.Guild | None]] = LRUCache(SERVERS_KEPT)

    # The leases

    async def connect(self, *, reconnect: bool = True) -> None:  # noqa: ARG002 -- the library's
        """Run this process's shards until the client is closed. Raises what ends a connection permanently."""
        running: set[asyncio.Task[None]] = set()
        while not self.is_closed():
            self._woken.clear()
            renewing = asyncio.create_task(self._renew_leases())
            try:
                remaining_s = SHARD_LEASE.total_seconds() - MARGIN_S - (self.clock.monotonic() - self._renewed)
                if self._runners and not (await asyncio.wait({renewing}, timeout=max(0.0, remaining_s)))[0]:
                    await self._drop(*self._runners)
                running |= await renewing
            finally:
                renewing.cancel()
            sleeping, waking = asyncio.create_task(self.clock.sleep(RENEW_S)), asyncio.create_task(self._woken.wait())
            try:
                await asyncio.wait({sleeping, waking, *running}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                sleeping.cancel()
                waking.cancel()
            for ended in [task for task in running if task.done()]:
                running.discard(ended)
                if not ended.cancelled():
                    ended.result()

    async def _renew_leases(self) -> set[asyncio.Task[None]]:
        """Renew the leases, give shards back and take others; return the tasks of the shards taken."""
        started_at, leases, owner = self.clock.monotonic(), self._shared.leases, self._shared.owner
        try:
            count_wanted = await self._count_wanted(started_at)
            sessions = {shard: runner.session() for shard, runner in self._runners.items()}
            heard = self.listening.until
            share = await leases.share(owner, self.clock.now(), SHARD_LEASE, sessions, count=count_wanted, heard=heard)
        except StoreError as error:
            log.warning("Discord: the leases of its shards could not be renewed: %s", error)
            if self.clock.monotonic() - self._renewed > SHARD_LEASE.total_seconds() - MARGIN_S:
                await self._drop(*self._runners)
            return set()
        self._renewed = started_at
        await self._drop(*(shard for shard in self._runners if shard not in share.kept | share.excess))
        # A shard with a new session is given back once its session can be resumed: Discord allows few new sessions.
        excess = share.excess & self._runners.keys()  # without those dropped while the database was slow
        outdated = {shard for shard in excess if shard.count != share.count}
        await self._give_back(*outdated, *(held for held in excess - outdated if not self.record(held.number).behind))
        if outdated:
            self._woken.set()  # the last process to give its shards back creates the new ones
        if share.count != self.shard_count:
            log.info("Discord: %s for all processes", counted(share.count, "shard", "shards"))
        self.shard_count = self._connection.shard_count = share.count
        self._connection.shard_ids = range(share.count)
        started = set[asyncio.Task[None]]()
        for shard, session in share.taken.items():
            how = "whose process had stopped responding" if session.orphaned else "which was free"
            log.info("Discord: took shard %d of %d, %s", shard.number, shard.count, how)
            self.connection.telemetry.record(ShardTaken(SOURCE, shard.number, orphaned=session.orphaned))
            self._runners[shard] = runner = ShardRunner(self, shard, session)
            if session.behind:
                self._shards.session_taken_over(shard.number, runner.since)
            started.add(runner.start())
        if not self._runners:
            self.first_connected.set()
            self._host.platforms.connected(SOURCE)
        return started

    async def _count_wanted(self, now: float) -> int:
        """Return the number of shards: the one in the settings, or Discord's recommendation, requested each hour."""
        if self._settings.chosen.shards is None and (
            self._shard_count_wanted is None or now - self._recommended_at >= RECOMMENDED_S
        ):
            self._recommended_at = now
            try:
                recommended = int((await self._gateway_info()).get("shards", 1))
            except _UNREACHABLE:
                if self._shard_count_wanted is None:
                    raise
            else:  # fewer shards would interrupt working ones
                self._shard_count_wanted = max(1, recommended, self.shard_count or 1)
        assert self._shard_count_wanted is not None  # noqa: S101 -- set, or just asked for
        return self._shard_count_wanted

    async def _gateway_info(self) -> Mapping[str, Any]:
        info: Mapping[str, Any] = await self.http.request(Route("GET", "/gateway/bot"))
        self._concurrency = max(1, int(info.get("session_start_limit", {}).get("max_concurrency", 1)))
        return info

    async def _give_back(self, *shards: HeldShard) -> None:
        """Stop these shards and release their leases, so that other processes resume the sessions."""
        sessions = dict(zip(shards, await asyncio.gather(*(self._runners[held].end() for held in shards)), strict=True))
        for shard in shards:
            log.info("Discord: released shard %d of %d", shard.number, shard.count)
            self._forget(shard)
        if sessions:
            try:
                await self._shared.leases.give_back(self._shared.owner, sessions)
            except StoreError as error:  # they are taken over when the lease expires
                log.warning("Discord: shards could not be released: %s", error)

    async def _drop(self, *shards: HeldShard) -> None:
        """Stop these shards, whose leases another process may already hold."""
        for shard in shards:
            log.warning("Discord: another process took shard %d of %d", shard.number, shard.count)
        await asyncio.gather(*(self._runners[shard].end() for shard in shards))
        for shard in shards:
            self._forget(shard)

    def _forget(self, shard: HeldShard) -> None:
        """Remove a shard and its servers, whose cached state is no longer updated."""
        if self._runners.pop(shard, None) is None:
            return  # the lease ended while a renewal was waiting, which then failed: both drop the shard
        self.connection.telemetry.record(ShardLeft(SOURCE, shard.number))
        self._shards.drop(shard.number)
        for guild in [guild for guild in self.guilds if (guild.id >> 22) % shard.count == shard.number]:
            self._cache._remove_guild(guild)  # noqa: SLF001 -- the library has no API for giving a shard away

    async def close(self) -> None:
        if not self.is_closed() and self._closing_task is None:
            await self._give_back(*self._runners)
            with suppress(StoreError):
                await self._shared.leases.leave(self._shared.owner)
        await super().close()

    # Sessions

    def identify_lock(self, number: int) -> asyncio.Lock:
        """Return the lock that lets one socket of a bucket at a time wait for its turn to identify."""
        return self._identify_locks.setdefault(number % self._concurrency, asyncio.Lock())

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:  # noqa: ARG002 -- the library's
        """Wait until a session may start, by Discord's limits and those shared with other processes."""
        while True:
            limit = (await self._gateway_info()).get("session_start_limit", {})
            asked = self.clock.monotonic()
            if int(limit.get("remaining", 1)) < 1:
                pause = max(1.0, int(limit.get("reset_after", 0)) / 1_000)
                log.warning("Discord allows no more sessions today; shard %s waits for %.0f s", shard_id, pause)
            else:
                pause = await self._turn_to_identify((shard_id or 0) % self._concurrency)
            if not pause and self.clock.monotonic() - asked < IDENTIFY_WITHIN_S:
                return
            self.first_connected.set()  # it waits in line: nothing is wrong
            await self.clock.sleep(pause)

    async def _turn_to_identify(self, bucket: int) -> float:
        try:
            return await self._shared.leases.identify(bucket, self.clock.now(), IDENTIFY_GAP)
        except StoreError:
            return RENEW_S

    async def note_identified(self, number: int) -> None:
        """A busy process may have sent it seconds after it was allowed to: the gap counts from now."""
        with suppress(StoreError):
            await self._shared.leases.identified(number % self._concurrency, self.clock.now())

    def _schedule_event(self, *args: Any, **kwargs: Any) -> asyncio.Task[None]:  # noqa: ANN401 -- the library's
        """Register the task of an event with its shard.

        The library does not report when the handling of an event has ended; until then its sequence is not passed on.
        (For messages read from history, `behind` has this effect.)
        """
        task = cast("asyncio.Task[None]", super()._schedule_event(*args, **kwargs))  # pyright: ignore[reportUnknownMemberType] -- the library's
        if (runner := _current_runner.get(None)) is not None and args[1] not in ("on_ready", "on_shard_ready"):
            runner.track(task)
        return task

    def silence(self) -> float:
        return super().silence() if any(runner.socket is not None for runner in self._runners.values()) else 0.0

    async def wait_until_ready(self) -> None:
        """Wait for the first connection only: not all servers are ever loaded here; missing ones are requested."""
        await self.first_connected.wait()

    async def on_shard_connect(self, shard_id: int) -> None:
        runner = next((candidate for shard, candidate in self._runners.items() if shard.number == shard_id), None)
        if runner is not None:
            runner.discard_backlog()
        self._shards.began(shard_id, runner.since if runner is not None else None)
        self._woken.set()  # store the session soon: a process that takes over after a kill can then resume it

    async def on_shard_resumed(self, shard_id: int) -> None:
        self.first_connected.set()
        await super().on_shard_resumed(shard_id)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        if not self.record(guild.shard_id).behind:
            await self._turn_away(self._servers.others([guild]))

    # Servers

    def _connections(self) -> int:
        return len(self._runners)

    def knows_servers(self) -> bool:
        return bool(self._runners) and all(runner.knows_servers() for runner in self._runners.values())

    def holds(self, number: int) -> bool:
        """Return whether this process serves a server."""
        return any((number >> 22) % shard.count == shard.number for shard in self._runners)

    async def fill(self, number: int) -> bool:
        """Load the servers of a shard whose session does not list them; return whether all were loaded."""
        after, slots, failures = 0, asyncio.Semaphore(FILL_AT_ONCE), list[int]()

        async def load(guild: int) -> None:
            async with slots:
                try:
                    await self._load(guild)
                except UNREADABLE:
                    failures.append(guild)

        while True:
            try:
                params = {"limit": PAGE, "after": after}
                page = await self.http.request(Route("GET", "/users/@me/guilds"), params=params)
            except UNREADABLE as error:
                log.warning("Discord does not say which servers the bot is in: %s", type(error).__name__)
                return False
            ids = sorted(int(guild["id"]) for guild in page)
            guild_ids = [guild_id for guild_id in ids if (guild_id >> 22) % (self.shard_count or 1) == number]
            await asyncio.gather(*map(load, guild_ids))
            if len(ids) < PAGE or ids[-1] <= after:
                return not failures
            after = ids[-1]

    async def fill_before(self, event: str, number: int, data: Mapping[str, Any]) -> None:
        """Load a server before an event of it is handled. Raises UNREADABLE; the session is then resumed again."""
        guild = await self._load(number)
        if guild is None and event == "GUILD_DELETE":
            unavailable = self._cache._get_or_create_unavailable_guild(number)  # noqa: SLF001 -- without it the event is dropped
            self._cache._add_guild(unavailable)  # noqa: SLF001 -- without it the event is dropped
        elif guild is not None and event == "CHANNEL_DELETE" and guild.get_channel(int(data["id"])) is None:
            self._connection.parsers["CHANNEL_CREATE"](data)  # it was deleted before its server was loaded

    async def _load(self, number: int) -> discord.Guild | None:
        """Return a server; cache it, if this process serves it, as the gateway would. Events then update it."""
        if (known := super().get_guild(number)) is not None:
            return known
        if number not in self._loading:
            self._loading[number] = asyncio.create_task(self._fetch_guild(number))
            self._loading[number].add_done_callback(lambda _: self._loading.pop(number, None))
        guild = await asyncio.shield(self._loading[number])
        if guild is not None and super().get_guild(number) is None and self.holds(number):
            self._cache._add_guild(guild)  # noqa: SLF001 -- the library fills its cache from the gateway only
        return super().get_guild(number) or guild

    async def _fetch_guild(self, number: int) -> discord.Guild | None:
        """Return a server by HTTP requests; None if the bot is not in it. Raises UNREADABLE."""
        me = self.user.id if self.user is not None else 0
        paths = ("", "/channels", "/threads/active", f"/members/{me}")
        try:
            responses: list[Any] = await asyncio.gather(
                *(self.http.request(Route("GET", "/guilds/{guild_id}" + path, guild_id=number)) for path in paths)
            )
        except (discord.Forbidden, discord.NotFound):
            return None
        guild, channels, threads, member = responses
        contents = {"channels": channels, "threads": threads["threads"], "members": [member], "unavailable": False}
        data = cast("Any", {**guild, "emojis": [], "stickers": [], **contents})
        return discord.Guild(data=data, state=self._connection)

    def get_guild(self, id: int, /) -> discord.Guild | None:  # noqa: A002 -- the library's
        """Also returns servers of other processes that were requested within REMOTE_GUILD_S."""
        asked_at, other = self._other_guilds.get(id, (float("-inf"), None))
        return super().get_guild(id) or (other if self.clock.monotonic() - asked_at <= REMOTE_GUILD_S else None)

    async def guild_elsewhere(self, number: int) -> discord.Guild | None:
        if (known := super().get_guild(number)) is not None and known.get_role(known.id) is not None:
            return known
        asked_at, guild = self._other_guilds.get(number, (float("-inf"), None))
        if self.clock.monotonic() - asked_at > REMOTE_GUILD_S:
            return await self._guild_flights.load(number, partial(self._fetch_other, number))
        return guild

    async def _fetch_other(self, number: int) -> discord.Guild | None:
        now = self.clock.monotonic()
        guild = await self._fetch_guild(number)
        self._other_guilds[number] = now, guild
        return guild

    async def fetch_channel(self, channel_id: int, /) -> Any:  # noqa: ANN401 -- the library's union
        """Fetch a channel. If its server is not cached, set its current state, which decides who can read it."""
        channel = await super().fetch_channel(channel_id)
        if isinstance(channel, Readable | discord.CategoryChannel) and channel.guild.get_role(channel.guild.id) is None:
            guild = await self.guild_elsewhere(channel.guild.id)
            if guild is None:
                raise discord.InvalidData(str(channel.guild.id))
            channel.guild = guild
        return channel
