"""Discord on loopback: the gateway over real WebSockets, and the REST API of `tests.fakes.discord_rest` beside it.

The gateway sends HELLO, accepts IDENTIFY and RESUME, replays what a resumed session missed, and answers an unknown
session with INVALID SESSION. A wrong token closes with 4004, an intent that was not granted with 4014. Several clients
may be connected: each has its own session, which gets every event. `drop` loses sockets; events in the meantime wait
for the resume.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import WSMsgType, web

from agent.ports.clock import Clock
from tests.fakes.discord_requests import API, TOKEN, Call
from tests.fakes.discord_rest import FakeRest, Interaction
from tests.fakes.discord_world import (
    ALL_PERMISSIONS,
    BOT,
    DM_OF,
    GENERAL,
    GUILD,
    Payload,
    World,
    parts,
    user,
    without_content,
)
from tests.patience import LOOK_S, PATIENCE_S, is_so

MESSAGE_CONTENT = 1 << 15
DISPATCH, HEARTBEAT, IDENTIFY, RESUME, INVALID_SESSION, HELLO, ACK = 0, 1, 2, 6, 9, 10, 11


IDENTIFY_GAP_S = 5.0
ELSEWHERE = "11"  # A server that the bot is not a member of


@dataclass(eq=False)
class Session:
    """The events that one client received, and the socket through which it receives more."""

    events: list[Payload] = field(default_factory=list[Payload])
    shard: tuple[int, int] = (0, 1)
    socket: web.WebSocketResponse | None = None
    resumes: list[float] = field(default_factory=list[float])  # When it was resumed, by the event loop's clock


class FakeDiscord:
    """Use `running_discord`. `world` is the state, `rest.calls` the requests."""

    def __init__(self, clock: Clock, *, allowance: int = 5, window_s: float = 5.0) -> None:
        self.world = World(clock)
        self.rest = FakeRest(self.world, allowance, window_s)
        self.rest.announce = self.dispatch
        self.rest.changed = self._notice
        self.grant_message_content = True
        self.heartbeat_s = 41.25
        self.elsewhere = False  # Commands come from a server that has not installed the bot, but their person has
        self.app_may = ALL_PERMISSIONS  # The bot's permissions, as sent with an interaction
        self.member_may = ALL_PERMISSIONS  # The permissions of a command's user, in its channel
        self._silent: set[web.WebSocketResponse] = set()
        self.gateway_token = TOKEN
        self.close_identify = 0  # The code with which every session is refused, if any
        self.refuse_sockets = False
        self.late_guilds: set[str] = set()  # Not described after READY, until a test does it
        self.refused = 0
        self.identified = 0
        self.resumed = 0
        self.address = ""
        self.node_url = ""  # Where READY says that its session is resumed; "" for the address of new ones
        # Errors of clients that divide its connections among them, which Discord would refuse.
        self.shard_violations: list[str] = []
        self._identified_at: dict[int, float] = {}
        self._sessions: dict[str, Session] = {}
        self._transports: dict[web.WebSocketResponse, asyncio.Transport | None] = {}
        self._changed = asyncio.Event()

    @property
    def api_base_url(self) -> str:
        return f"http://{self.address}{API}"

    @property
    def gateway_url(self) -> str:
        return f"ws://{self.address}/gateway"

    @property
    def calls(self) -> list[Call]:
        return self.rest.calls

    async def until(self, happened: Callable[[], object]) -> None:
        """Wait until the condition holds; checked after each request and gateway event, and periodically.

        A request that Discord would not understand fails the test at once: what it waits for may never come.
        """
        async with asyncio.timeout(PATIENCE_S):
            while not is_so(happened):
                assert not self.rest.violations, self.rest.violations[:5]
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._changed.wait()

    # What users do

    async def say(self, person: str, content: str, channel: str = GENERAL, **more: Any) -> Payload:
        """A person writes a message."""
        message = self.world.message(channel, person, content, **more)
        await self.dispatch("MESSAGE_CREATE", self.world.of_guild(message))
        return message

    async def write(self, person: str, content: str, **more: Any) -> Payload:
        """A person writes a direct message to the bot."""
        return await self.say(person, content, DM_OF[person], **more)

    async def reply(self, person: str, content: str, to: Payload) -> Payload:
        """A person replies to a message, without notifying its author."""
        reference = {"type": 0, "message_id": to["id"], "channel_id": to["channel_id"]}
        return await self.say(
            person, content, to["channel_id"], type=19, message_reference=reference, referenced_message=to
        )

    async def post_in_forum(self, person: str, title: str, content: str, forum: str) -> Payload:
        """A person starts a post, which is a thread with the id of its first message."""
        number = self.world.new_id()
        thread = self.world.start_thread(forum, number, title)
        thread |= {"owner_id": person, "applied_tags": []}
        await self.dispatch("THREAD_CREATE", {**thread, "newly_created": True})
        return await self.say(person, content, number, id=number)

    async def tag(self, post: str, *tags: str) -> None:
        """Somebody sets the tags of a post in Discord."""
        self.world.channels[post]["applied_tags"] = [*tags]
        await self.dispatch("THREAD_UPDATE", self.world.channels[post])

    async def change(self, message: Payload, content: str) -> None:
        """A person edits their message."""
        self.world.edit(message, content)
        await self.dispatch("MESSAGE_UPDATE", self.world.of_guild(message))

    async def unfold(self, message: Payload) -> None:
        """Discord adds the preview of a link; it arrives as an edit without a user."""
        await self.dispatch("MESSAGE_UPDATE", self.world.of_guild({**message, "edited_timestamp": None, "embeds": []}))

    async def take_back(self, message: Payload) -> None:
        """A person deletes their message."""
        del self.world.messages[message["id"]]
        gone = {"id": message["id"], "channel_id": message["channel_id"]}
        await self.dispatch("MESSAGE_DELETE", self.world.of_guild({**gone, "author": message["author"]}))

    async def again(self, message: Payload) -> None:
        """Deliver the same event once more."""
        await self.dispatch("MESSAGE_CREATE", self.world.of_guild(message))

    async def repeat_interaction(self) -> None:
        """Deliver the last command or button once more."""
        events = [*self._sessions.values()][-1].events
        last = next(event for event in reversed(events) if event["t"] == "INTERACTION_CREATE")
        await self.dispatch(last["t"], last["d"])

    async def command(self, person: str, name: str, channel: str = GENERAL, /, **options: object) -> Interaction:
        """A person uses a slash command."""
        known = next(command for command in self.rest.commands if command["name"] == name)
        files = [cast("Payload", value) for value in options.values() if isinstance(value, dict)]
        data: Payload = {
            "id": known["id"],
            "name": name,
            "type": 1,
            "options": [_option(key, value) for key, value in options.items()],
            "resolved": {"attachments": {file["id"]: file for file in files}},
        }
        return await self._interact(person, channel, 2, data)

    async def choose_menu(self, person: str, name: str, message: Payload) -> Interaction:
        """A person chooses an entry of a message's menu of apps."""
        known = next(command for command in self.rest.commands if command["name"] == name and command["type"] == 3)
        resolved = {"messages": {message["id"]: message}}
        data = {"id": known["id"], "name": name, "type": 3, "target_id": message["id"], "resolved": resolved}
        return await self._interact(person, message["channel_id"], 2, data)

    async def complete(
        self, person: str, name: str, option: str, typed: str, channel: str = GENERAL, /, **options: object
    ) -> Interaction:
        """A person types a part of an option of a slash command, which the bot may complete; others are filled in."""
        known = next(command for command in self.rest.commands if command["name"] == name)
        given = [_option(key, value) for key, value in options.items()]
        given.append({"name": option, "type": 3, "value": typed, "focused": True})
        data = {"id": known["id"], "name": name, "type": 1, "options": given}
        return await self._interact(person, channel, 4, data)

    async def press(self, person: str, message: Payload, label: str) -> Interaction:
        """A person presses a button of a message."""
        custom_id = next(part["custom_id"] for part in parts(message) if part["type"] == 2 and _called(part, label))
        return await self.press_id(person, message, custom_id)

    async def press_id(self, person: str, message: Payload, custom_id: str) -> Interaction:
        """A person's own program presses a button with this id, which the message need not have."""
        data = {"custom_id": custom_id, "component_type": 2}
        return await self._interact(person, message["channel_id"], 3, data, message=message)

    async def choose(self, person: str, message: Payload, label: str) -> Interaction:
        """A person chooses one of the options of a message's menu, by the beginning of its label."""
        menus = [part for part in parts(message) if part["type"] == 3]
        menu, value = next(
            (menu, option["value"]) for menu in menus for option in menu["options"] if option["label"].startswith(label)
        )
        data = {"custom_id": menu["custom_id"], "component_type": 3, "values": [value]}
        return await self._interact(person, message["channel_id"], 3, data, message=message)

    async def choose_in(self, person: str, message: Payload, menu: str, value: str) -> Interaction:
        """A person chooses this value in a message's menu whose id has this ending."""
        custom_id = next(part["custom_id"] for part in parts(message) if part.get("custom_id", "").endswith(f":{menu}"))
        data = {"custom_id": custom_id, "component_type": 3, "values": [value]}
        return await self._interact(person, message["channel_id"], 3, data, message=message)

    async def submit(
        self, person: str, window: Payload, text: str, message: Payload | None = None, channel: str = GENERAL
    ) -> Interaction:
        """A person types into the only field of a window, which was opened from a message if any, and submits it."""
        (row,) = window["components"]
        (field,) = row["components"]
        filled = {"type": 1, "components": [{"type": 4, "custom_id": field["custom_id"], "value": text}]}
        data = {"custom_id": window["custom_id"], "components": [filled]}
        if message is None:
            return await self._interact(person, channel, 5, data)
        return await self._interact(person, message["channel_id"], 5, data, message=message)

    async def fill_in(self, person: str, window: Payload, message: Payload, /, **filled: str) -> Interaction:
        """A person fills in a form's window, which was opened from a message, and submits it; other fields keep their
        values.
        """
        labels: list[Payload] = []
        for label in window["components"]:
            field = label["component"]
            usual = [option["value"] for option in field.get("options", ()) if option.get("default")]
            usual += [str(one["id"]) for one in field.get("default_values", ())]
            usual += [field["value"]] if "value" in field else []
            given = usual
            if field["custom_id"] in filled:
                chosen = filled[field["custom_id"]]
                given = chosen.split() if field["type"] == 3 else [chosen]
            value = {"value": "".join(given)} if field["type"] == 4 else {"values": given}
            sent = {"type": field["type"], "custom_id": field["custom_id"], **value}
            labels.append({"type": 18, "component": sent})
        data = {"custom_id": window["custom_id"], "components": labels}
        return await self._interact(person, message["channel_id"], 5, data, message=message)

    async def react(self, person: str, emoji: str, message: Payload, *, take_back: bool = False) -> None:
        """A person adds an emoji to a message, or removes it."""
        event: Payload = {
            "user_id": person,
            "channel_id": message["channel_id"],
            "message_id": message["id"],
            "message_author_id": message["author"]["id"],
            "emoji": {"id": None, "name": emoji},
            "burst": False,
            "type": 0,
        }
        if message["channel_id"] in self.world.channels:
            event |= {"guild_id": self.world.guild_of(message["channel_id"]), "member": self.world.member(person)}
        await self.dispatch("MESSAGE_REACTION_REMOVE" if take_back else "MESSAGE_REACTION_ADD", event)

    async def _interact(self, person: str, channel: str, kind: int, data: Payload, **more: Any) -> Interaction:
        token = f"interaction-{self.world.new_id()}"
        interaction = Interaction(self.world.new_id(), token, person, channel, self.world.clock.monotonic())
        interaction.by_person = self.elsewhere
        if "message" in more:
            interaction.original = more["message"]["id"]
        self.rest.interactions[token] = interaction
        direct = channel in DM_OF.values()
        event: Payload = {
            "id": interaction.id,
            "application_id": BOT,
            "type": kind,
            "token": token,
            "version": 1,
            "channel_id": channel,
            "locale": "en-GB",
            "app_permissions": self.app_may,
            "entitlements": [],
            "attachment_size_limit": 10_485_760,
            "authorizing_integration_owners": {"1": person} if self.elsewhere else {"0": "0" if direct else GUILD},
            "context": 1 if direct else 0,
            "data": data,
            **more,
        }
        if direct:
            event |= {"user": user(person), "channel": {"id": channel, "type": 1, "recipients": [user(person)]}}
        else:
            server = ELSEWHERE if self.elsewhere else self.world.guild_of(channel)
            event |= {
                "guild_id": server,
                "guild": {"id": server, "features": [], "locale": "en-GB"},
                "channel": {**self.world.channels[channel], "guild_id": server, "permissions": ALL_PERMISSIONS},
                "member": self.world.member(person, permissions=self.member_may),
            }
        await self.dispatch("INTERACTION_CREATE", event)
        return interaction

    # The gateway

    async def dispatch(self, event: str, data: Payload) -> None:
        """Send an event on every session; without a socket it waits there."""
        if event == "MESSAGE_CREATE" and not self.rest.message_content:
            data = without_content(data)
        for session in [*self._sessions.values()]:
            if _hears(session, str(data.get("guild_id") or 0)):
                await self._tell(session, event, data)

    async def _tell(self, session: Session, event: str, data: Payload) -> None:
        envelope = {"op": DISPATCH, "t": event, "d": data, "s": len(session.events) + 1}
        session.events.append(envelope)
        if session.socket is not None and session.socket not in self._silent:
            with suppress(ConnectionError):
                await session.socket.send_json(envelope)
        self._notice()

    @property
    def connected(self) -> list[Session]:
        """Return the sessions that have a socket now, oldest first."""
        return [session for session in self._sessions.values() if session.socket is not None]

    def drop(self, *sessions: Session) -> None:
        """Lose the sockets of these sessions (all sockets, if none is named) without a close frame."""
        lost = [session.socket for session in sessions] if sessions else [*self._transports]
        for session in self.connected:
            if session.socket in lost:
                session.socket = None
        for transport in [self._transports[socket] for socket in lost if socket is not None]:
            if transport is not None:
                transport.abort()

    def fall_silent(self) -> None:
        """From now on no frame comes through the sockets, though they stay open."""
        self._silent |= self._transports.keys()

    def forget_sessions(self, *sessions: Session) -> None:
        """These sessions (all, if none is named) can no longer be resumed."""
        remaining = {name: one for name, one in self._sessions.items() if sessions and one not in sessions}
        self._sessions = remaining

    async def serve_gateway(self, request: web.Request) -> web.WebSocketResponse:
        if self.refuse_sockets:
            self.refused += 1
            self._notice()
            raise web.HTTPServiceUnavailable
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._transports[socket] = request.transport
        interval = round(self.heartbeat_s * 1000)
        await socket.send_json({"op": HELLO, "d": {"heartbeat_interval": interval}, "s": None, "t": None})
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await self._hear(socket, message.json())
            self._notice()
        del self._transports[socket]
        for name, session in [*self._sessions.items()]:
            if session.socket is socket:
                session.socket = None
                if socket.close_code in (1000, 1001):
                    del self._sessions[name]
        self._notice()
        return socket

    async def _hear(self, socket: web.WebSocketResponse, sent: Payload) -> None:
        match sent["op"]:
            case 1 if socket in self._silent:
                pass
            case 1:
                await socket.send_json({"op": ACK, "d": None, "s": None, "t": None})
            case 2:
                await self._identify(socket, sent["d"])
            case 6:
                await self._resume(socket, sent["d"])
            case _:
                pass

    async def _identify(self, socket: web.WebSocketResponse, data: Payload) -> None:
        wants_content = bool(data["intents"] & MESSAGE_CONTENT)
        if self.close_identify:
            await socket.close(code=self.close_identify)
            return
        if data["token"] != self.gateway_token:
            await socket.close(code=4004)
            return
        if wants_content and not self.grant_message_content:
            await socket.close(code=4014)
            return
        self.rest.message_content = wants_content
        self.identified += 1
        name = f"session-{self.identified}"
        number, count = data.get("shard", [0, 1])
        if not 0 <= number < count:
            await socket.close(code=4010)
            return
        self._note_identify(number, count)
        session = self._sessions[name] = Session(shard=(number, count), socket=socket)
        guilds = [guild for guild in self.world.guilds if _hears(session, guild)]
        ready = {
            "v": 10,
            "user": user(BOT),
            "session_id": name,
            "resume_gateway_url": self.node_url or self.gateway_url,
            "guilds": [{"id": guild, "unavailable": True} for guild in guilds],
            "application": {"id": BOT, "flags": 0},
            "shard": [number, count],
        }
        await self._tell(session, "READY", ready)
        for guild in guilds:
            if guild not in self.late_guilds:
                await self._tell(session, "GUILD_CREATE", self.world.guild(guild))

    async def _resume(self, socket: web.WebSocketResponse, data: Payload) -> None:
        session = self._sessions.get(data["session_id"])
        if session is None:
            await socket.send_json({"op": INVALID_SESSION, "d": False, "s": None, "t": None})
            return
        if data["seq"] > len(session.events):
            await socket.close(code=4007)
            return
        self.resumed += 1
        if session.socket is not None:
            self.shard_violations.append(f"the session of shard {session.shard} is held by two")
        session.socket = socket
        session.resumes.append(asyncio.get_running_loop().time())
        for envelope in [envelope for envelope in session.events if envelope["s"] > data["seq"]]:
            await socket.send_json(envelope)
        await self._tell(session, "RESUMED", {})

    def _note_identify(self, number: int, count: int) -> None:
        starts = self.rest.session_starts
        if starts["remaining"] < 1:
            self.shard_violations.append("a session was begun beyond the day's limit")
        starts["remaining"] -= 1
        bucket, now = number % starts["max_concurrency"], asyncio.get_running_loop().time()
        if now - self._identified_at.get(bucket, float("-inf")) < IDENTIFY_GAP_S:
            self.shard_violations.append(f"a session of bucket {bucket} was begun too soon")
        self._identified_at[bucket] = now
        if any(session.shard == (number, count) for session in self.connected):
            self.shard_violations.append(f"shard {number} of {count} has two sessions")
        if others := sorted({session.shard for session in self.connected if session.shard[1] != count}):
            self.shard_violations.append(f"shard {number} of {count} began while {others} listened")

    def _notice(self) -> None:
        self._changed.set()


def _hears(session: Session, guild: str) -> bool:
    """Return whether the events of a server go to this session; direct messages, of no server, go to the first."""
    number, count = session.shard
    return (int(guild) >> 22) % count == number


def _option(name: str, value: object) -> Payload:
    """Return a filled-in option of a command: a switch, a file, or text."""
    if isinstance(value, dict):
        return {"name": name, "type": 11, "value": cast("Payload", value)["id"]}
    return {"name": name, "type": 5 if isinstance(value, bool) else 3, "value": value}


def _called(button: Payload, label: str) -> bool:
    """Return a button's label, or its emoji."""
    emoji: Payload = button.get("emoji") or {}
    return label in {button.get("label"), emoji.get("name")}


@asynccontextmanager
async def running_discord(
    clock: Clock, *, allowance: int = 5, window_s: float = 5.0
) -> AsyncGenerator[FakeDiscord, None]:
    """Run a fake Discord on a free port, until the block ends."""
    fake = FakeDiscord(clock, allowance=allowance, window_s=window_s)
    app = web.Application()
    fake.rest.add_to(app)
    app.router.add_get("/gateway", fake.serve_gateway)
    app.router.add_get("/gateway/", fake.serve_gateway)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        fake.address = f"{host}:{port}"
        fake.rest.gateway_url = fake.gateway_url
        yield fake
        assert not fake.rest.violations, fake.rest.violations[:5]
    finally:
        await runner.cleanup()
