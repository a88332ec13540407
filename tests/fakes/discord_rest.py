"""Discord's REST API on loopback, as documented, for one application.

`tests.fakes.discord_requests` records and limits the requests, `tests.fakes.discord_world` holds the messages.

Implemented rules: 2,000 characters; nonces; edits of one's own messages only; one thread for each message; interactions
that are acknowledged within three seconds and can be answered for fifteen minutes.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from aiohttp import web

from tests.fakes.discord_requests import API, Handler, Refused, Requests
from tests.fakes.discord_world import (
    ANN,
    BOT,
    COMPONENTS_V2,
    DM_OF,
    EPHEMERAL,
    LOADING,
    Payload,
    World,
    archived,
    parts,
    text_file,
    user,
    without_content,
)

ACKNOWLEDGE_S = 3.0
TOKEN_LIFE_S = 900.0
FOLLOW_UPS = 5  # For an interaction that only its person's installation allows
PANEL_PARTS, PANEL_CHARS = 40, 4_000
PIN_MESSAGES, MANAGE_CHANNELS, MANAGE_THREADS, CREATE_EVENTS = 1 << 51, 1 << 4, 1 << 34, 1 << 44
FORUM, REQUIRE_TAG = 15, 1 << 4
MAX_FILES, MAX_FILE_BYTES = 10, 10 * 1024 * 1024


@dataclass
class Interaction:
    id: str
    token: str
    asker: str
    channel: str
    began: float
    # The same in real time: however fast the clock runs, an acknowledgement has three real seconds.
    arrived: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    original: str = ""
    acknowledged: bool = False
    window: Payload = field(default_factory=dict[str, Any])  # The window that was opened for it
    choices: list[str] = field(default_factory=list[str])  # The suggestions while a user typed
    by_person: bool = False  # Whether only the person has installed the bot, not the server
    followed: int = 0


class FakeRest(Requests):
    def __init__(self, world: World, allowance: int, window_s: float) -> None:
        super().__init__(world.clock, allowance, window_s)
        self.world = world
        self.commands: list[Payload] = []
        self.interactions: dict[str, Interaction] = {}
        self.files: dict[str, bytes] = {}
        self.message_content = True
        self.gateway_url = ""
        self.shards_recommended = 1
        self.members = 12  # For each server, as Discord counts them
        self.session_starts: Payload = {"total": 1000, "remaining": 990, "reset_after": 0, "max_concurrency": 1}
        self.application: Payload = {}  # Differences of the application from the usual
        self.announce: Callable[[str, Payload], Awaitable[None]] | None = None
        self.reactions: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        self.events: dict[str, Payload] = {}
        self._nonces: dict[str, str] = {}

    def add_to(self, app: web.Application) -> None:
        routes: list[tuple[str, str, Handler]] = [
            ("GET", "/users/@me", self._me),
            ("GET", "/users/@me/guilds", self._my_guilds),
            ("GET", "/gateway/bot", self._gateway),
            ("GET", "/applications/@me", self._application),
            ("GET", "/oauth2/applications/@me", self._application),
            ("PUT", "/applications/{application}/commands", self._put_commands),
            ("GET", "/applications/{application}/commands", self._get_commands),
            ("POST", "/users/@me/channels", self._open_dm),
            ("GET", "/users/{person}", self._get_user),
            ("GET", "/guilds/{guild}", self._get_guild),
            ("DELETE", "/users/@me/guilds/{guild}", self._leave),
            ("GET", "/guilds/{guild}/channels", self._get_channels),
            ("GET", "/guilds/{guild}/threads/active", self._get_threads),
            ("GET", "/guilds/{guild}/members/{member}", self._get_member),
            ("GET", "/channels/{channel}", self._get_channel),
            ("PATCH", "/channels/{channel}", self._change_channel),
            ("GET", "/channels/{channel}/thread-members/{member}", self._get_thread_member),
            ("GET", "/channels/{channel}/threads/archived/public", self._get_archived),
            ("POST", "/channels/{channel}/typing", self._type),
            ("GET", "/channels/{channel}/messages", self._history),
            ("POST", "/channels/{channel}/messages", self._send),
            ("GET", "/channels/{channel}/messages/{message}", self._get_message),
            ("PATCH", "/channels/{channel}/messages/{message}", self._edit),
            ("DELETE", "/channels/{channel}/messages/{message}", self._delete),
            ("POST", "/channels/{channel}/messages/{message}/threads", self._start_thread),
            ("POST", "/channels/{channel}/threads", self._start_alone),
            ("PUT", "/channels/{channel}/messages/{message}/reactions/{emoji}/@me", self._react),
            ("DELETE", "/channels/{channel}/messages/{message}/reactions/{emoji}/@me", self._unreact),
            ("PUT", "/channels/{channel}/messages/pins/{message}", self._pin),
            ("DELETE", "/channels/{channel}/messages/pins/{message}", self._unpin),
            ("POST", "/guilds/{guild}/scheduled-events", self._create_event),
            ("GET", "/guilds/{guild}/scheduled-events/{event}", self._read_event),
            ("PATCH", "/guilds/{guild}/scheduled-events/{event}", self._edit_event),
            ("DELETE", "/guilds/{guild}/scheduled-events/{event}", self._delete_event),
            ("POST", "/channels/{channel}/polls/{message}/expire", self._end_poll),
            ("POST", "/interactions/{interaction}/{token}/callback", self._call_back),
            ("POST", "/webhooks/{application}/{token}", self._follow_up),
            ("GET", "/webhooks/{application}/{token}/messages/{message}", self._read_answer),
            ("PATCH", "/webhooks/{application}/{token}/messages/{message}", self._edit_answer),
            ("DELETE", "/webhooks/{application}/{token}/messages/{message}", self._delete_answer),
        ]
        for method, path, handle in routes:
            app.router.add_route(method, API + path, self.handler(handle))
        app.router.add_route("*", API + "/{path:.*}", self.handler(self._unknown))
        app.router.add_get("/cdn/{name}", self._file)

    async def _unknown(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        self.violations.append(f"{request.method} {request.path}: FakeRest.add_to in {__name__} has no handler")
        raise Refused(404, 0, "404: Not Found")

    def forget_nonces(self) -> None:
        """Some minutes pass, and a nonce no longer identifies its message."""
        self._nonces.clear()

    # What the application may do

    async def _me(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        return user(BOT)

    async def _my_guilds(self, request: web.Request, body: Payload) -> list[Payload]:  # noqa: ARG002 -- all handlers have one signature
        counts: Payload = {"approximate_member_count": self.members} if "with_counts" in request.query else {}
        names = self.world.guilds.items()
        return [{"id": number, "name": name, "permissions": self.world.bot_may, **counts} for number, name in names]

    async def _gateway(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        return {"url": self.gateway_url, "shards": self.shards_recommended, "session_start_limit": self.session_starts}

    async def _application(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        about: Payload = {"id": BOT, "name": "cogency", "description": "", "icon": None, "summary": "", "team": None}
        about |= {"bot_public": True, "bot_require_code_grant": False, "verify_key": "00", "flags": 0}
        return {**about, "owner": user(ANN), **self.application}

    async def _put_commands(self, request: web.Request, body: Any) -> list[Payload]:  # noqa: ARG002 -- all handlers have one signature
        common: Payload = {
            "version": "1",
            "type": 1,
            "default_member_permissions": None,
            "nsfw": False,
            "description": "",
        }
        self.commands = [{**common, **command, "id": self.world.new_id(), "application_id": BOT} for command in body]
        return self.commands

    async def _get_commands(self, request: web.Request, body: Payload) -> list[Payload]:  # noqa: ARG002 -- all handlers have one signature
        """Return commands; translations only if requested; default values are omitted, as Discord does."""
        whole = request.query.get("with_localizations") == "true"
        return [_read_back(command, whole=whole) for command in self.commands]

    async def _open_dm(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        person = str(body["recipient_id"])
        return {"id": DM_OF[person], "type": 1, "last_message_id": None, "recipients": [user(person)]}

    async def _get_user(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        if (person := request.match_info["person"]) in self.world.without_account:
            raise Refused(404, 10013, "Unknown User")
        return user(person)

    async def _get_guild(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        return self._guild(request)

    async def _get_channels(self, request: web.Request, body: Payload) -> list[Payload]:  # noqa: ARG002 -- all handlers have one signature
        return self._guild(request)["channels"]

    async def _get_threads(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        return {"threads": self._guild(request)["threads"], "members": []}

    def _guild(self, request: web.Request) -> Payload:
        if (guild := request.match_info["guild"]) not in self.world.guilds:
            raise Refused(404, 10004, "Unknown Guild")
        return self.world.guild(guild)

    async def _leave(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        guild = request.match_info["guild"]
        if self.world.guilds.pop(guild, None) is None:
            raise Refused(404, 10004, "Unknown Guild")
        await self._tell("GUILD_DELETE", {"id": guild})

    async def _get_member(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        guild, person = request.match_info["guild"], request.match_info["member"]
        if person in self.world.absent or (person, guild) in self.world.absent_from:
            raise Refused(404, 10007, "Unknown Member")
        return self.world.member(person)

    async def _get_thread_member(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        person, thread = request.match_info["member"], self._channel(request)
        if person not in self.world.in_thread.get(thread["id"], ()):
            raise Refused(404, 10007, "Unknown Member")
        return {"id": thread["id"], "user_id": person, "join_timestamp": "2026-01-01T00:00:00+00:00", "flags": 0}

    async def _get_channel(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        return self._channel(request)

    async def _change_channel(self, request: web.Request, body: Payload) -> Payload:
        """Change a channel's topic, or a thread: its name, its tags, and whether it is archived; an archived one
        accepts no other change.
        """
        thread = self._channel(request)
        if "topic" in body:
            return await self._set_topic(thread, body)
        state = thread["thread_metadata"]
        if state["archived"] and body.get("archived") is not False:
            raise Refused(400, 50083, "Thread is archived")
        if "name" in body and not 1 <= len(body["name"]) <= 100:
            raise Refused(400, 50035, "Invalid Form Body")
        if "applied_tags" in body:
            thread["applied_tags"] = self._tags(thread, [*map(str, body["applied_tags"])])
        thread["name"] = body.get("name", thread["name"])
        state["archived"] = body.get("archived", state["archived"])
        await self._tell("THREAD_UPDATE", thread)
        return thread

    async def _set_topic(self, channel: Payload, body: Payload) -> Payload:
        if not (int(self.world.bot_may) | int(self.world.everyone_may)) & MANAGE_CHANNELS:
            raise Refused(403, 50013, "Missing Permissions")
        if len(body["topic"] or "") > (4_096 if channel["type"] == FORUM else 1_024):
            raise Refused(400, 50035, "Invalid Form Body")
        channel["topic"] = body["topic"]
        await self._tell("CHANNEL_UPDATE", channel)
        return channel

    def _tags(self, thread: Payload, tags: list[str]) -> list[str]:
        forum = self.world.channels[thread["parent_id"]]
        if not (int(self.world.bot_may) | int(self.world.everyone_may)) & MANAGE_THREADS:
            raise Refused(403, 50013, "Missing Permissions")
        if forum.get("flags", 0) & REQUIRE_TAG and not tags:
            raise Refused(400, 40067, "A tag is required to create a forum post in this channel")
        if not {*tags} <= {tag["id"] for tag in forum["available_tags"]}:
            raise Refused(400, 50035, "Invalid Form Body")
        return tags

    async def _get_archived(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        parent, limit, before = request.match_info["channel"], int(request.query["limit"]), request.query.get("before")
        threads = [one for one in self.world.channels.values() if one["parent_id"] == parent and archived(one)]
        times = {one["id"]: one["thread_metadata"]["archive_timestamp"] for one in threads}
        found = [one for one in threads if before is None or times[one["id"]] < before]
        found = sorted(found, key=lambda one: times[one["id"]], reverse=True)
        return {"threads": found[:limit], "members": [], "has_more": len(found) > limit}

    async def _type(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        return None

    async def _history(self, request: web.Request, body: Payload) -> list[Payload]:  # noqa: ARG002 -- all handlers have one signature
        messages = self.world.said_in(request.match_info["channel"], newest_first=True)
        before, after = int(request.query.get("before", 1 << 63)), int(request.query.get("after", 0))
        seen = [
            message for message in messages if after < int(message["id"]) < before and not message["flags"] & EPHEMERAL
        ]
        limit = int(request.query.get("limit", 50))
        page = seen[-limit:] if after else seen[:limit]
        in_server = request.match_info["channel"] not in DM_OF.values()
        return page if self.message_content or not in_server else [_without_words(message) for message in page]

    async def _get_message(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        return self._message(request)

    async def _send(self, request: web.Request, body: Payload) -> Payload:
        channel = request.match_info["channel"]
        if channel not in self.world.channels and channel not in DM_OF.values():
            raise Refused(404, 10003, "Unknown Channel")
        if channel in self.world.closed_dms:
            raise Refused(403, 50007, "Cannot send messages to this user")
        _check_shown(body)
        await self._revive(channel)
        nonce = str(body.get("nonce") or "")
        if len(nonce) > 25:
            raise Refused(400, 50035, "Invalid Form Body")
        if body.get("enforce_nonce") and nonce in self._nonces:
            return self.world.messages[self._nonces[nonce]]
        shown = {"flags": body.get("flags", 0), "components": body.get("components", [])}
        if "poll" in body:
            shown["poll"] = {**body["poll"], "expired": False}
        message = self.world.message(channel, BOT, body.get("content") or "", nonce=nonce, **shown)
        self._keep_files(message, body)
        if "message_reference" in body:
            message["type"] = 19
            message["message_reference"] = {
                "type": 0,
                "channel_id": channel,
                "guild_id": self.world.channels.get(channel, {}).get("guild_id"),
                **body["message_reference"],
            }
        if nonce:
            self._nonces[nonce] = message["id"]
        await self._tell("MESSAGE_CREATE", self.world.of_guild(message))
        return message

    async def _revive(self, channel: str) -> None:
        """Unarchive a thread when a message is written in it, unless it is locked."""
        state: Payload = self.world.channels.get(channel, {}).get("thread_metadata", {})
        if state.get("locked"):
            raise Refused(400, 160005, "Thread is locked")
        if state.get("archived"):
            state["archived"] = False
            await self._tell("THREAD_UPDATE", self.world.channels[channel])

    async def _edit(self, request: web.Request, body: Payload) -> Payload:
        message = self._message(request)
        if message["author"]["id"] != BOT:
            raise Refused(403, 50005, "Cannot edit a message authored by another user")
        state: Payload = self.world.channels.get(message["channel_id"], {}).get("thread_metadata", {})
        if state.get("archived"):
            raise Refused(400, 50083, "Thread is archived")
        return self._changed(message, body)

    async def _delete(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        del self.world.messages[self._message(request)["id"]]

    async def _start_thread(self, request: web.Request, body: Payload) -> Payload:
        message = self._message(request)
        if message["id"] in self.world.channels:
            raise Refused(400, 160004, "A thread has already been created for this message")
        if self._channel(request)["type"] not in {0, 5}:
            raise Refused(400, 50024, "Cannot execute action on this channel type")
        if not 1 <= len(body["name"]) <= 100:
            raise Refused(400, 50035, "Invalid Form Body")
        thread = self.world.start_thread(message["channel_id"], message["id"], body["name"])
        await self._tell("THREAD_CREATE", {**thread, "newly_created": True})
        starter = self.world.message(thread["id"], message["author"]["id"], "", type=21)
        await self._tell("MESSAGE_CREATE", self.world.of_guild(starter))
        return thread

    async def _start_alone(self, request: web.Request, body: Payload) -> Payload:
        """Start a thread without a message, or a post in a forum, whose first message has the thread's id."""
        channel = self._channel(request)
        in_forum = channel["type"] == FORUM
        if channel["type"] not in {0, 5, FORUM}:
            raise Refused(400, 50024, "Cannot execute action on this channel type")
        fits = "message" in body if in_forum else body.get("type") == (10 if channel["type"] == 5 else 11)
        if not fits or not 1 <= len(body["name"]) <= 100:
            raise Refused(400, 50035, "Invalid Form Body")
        known = {tag["id"] for tag in channel.get("available_tags", ())}
        chosen = [str(tag) for tag in body.get("applied_tags", ())]
        if not known >= {*chosen} or (channel.get("flags", 0) & REQUIRE_TAG and not chosen):
            raise Refused(400, 40067, "A tag is required to create a forum post in this channel")
        thread = self.world.start_thread(channel["id"], self.world.new_id(), body["name"], body.get("type", 11))
        if in_forum:
            _check_shown(body["message"])
            thread["applied_tags"] = chosen
        await self._tell("THREAD_CREATE", {**thread, "newly_created": True})
        if in_forum:
            shown = {"flags": body["message"].get("flags", 0)}
            message = self.world.message(thread["id"], BOT, body["message"]["content"], id=thread["id"], **shown)
            await self._tell("MESSAGE_CREATE", self.world.of_guild(message))
            return {**thread, "message": message}
        return thread

    async def _react(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        message, emoji = self._message(request), request.match_info["emoji"]
        marked = self.reactions[message["channel_id"], message["id"]]
        if emoji not in marked:
            marked.append(emoji)

    async def _unreact(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        message, emoji = self._message(request), request.match_info["emoji"]
        marked = self.reactions[message["channel_id"], message["id"]]
        if emoji not in marked:
            raise Refused(404, 10014, "Unknown Emoji")
        marked.remove(emoji)

    async def _end_poll(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        message = self._message(request)
        if message["author"]["id"] != BOT:
            raise Refused(403, 50013, "Missing Permissions")
        if "poll" not in message:
            raise Refused(400, 520001, "This message does not have a poll")
        message["poll"]["expired"] = True
        return message

    async def _pin(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        self._pinnable(request)["pinned"] = True

    async def _unpin(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        self._pinnable(request)["pinned"] = False

    def _pinnable(self, request: web.Request) -> Payload:
        message = self._message(request)
        if not (int(self.world.bot_may) | int(self.world.everyone_may)) & PIN_MESSAGES:
            raise Refused(403, 50013, "Missing Permissions")
        return message

    # Scheduled events: https://docs.discord.com/developers/resources/guild-scheduled-event

    async def _create_event(self, request: web.Request, body: Payload) -> Payload:
        if not (int(self.world.bot_may) | int(self.world.everyone_may)) & CREATE_EVENTS:
            raise Refused(403, 50013, "Missing Permissions")
        guild = self._guild(request)["id"]
        id_ = self.world.new_id()
        event = {"id": id_, "guild_id": guild, "creator_id": BOT, "status": 1, "entity_id": None}
        usual: Payload = {"channel_id": None, "entity_metadata": None, "scheduled_end_time": None, "description": None}
        self._check_event({**usual, **body})
        self.events[id_] = {**usual, **body, **event}
        return self.events[id_]

    def _check_event(self, event: Payload) -> None:
        """Check the fields that each kind of event requires."""
        external = event["entity_type"] == 3
        metadata: Payload = event["entity_metadata"] or {}
        place_fits = (event["channel_id"] is None) is external and bool(metadata.get("location")) is external
        if not place_fits or (external and event["scheduled_end_time"] is None):
            raise Refused(400, 50035, "Invalid Form Body")
        if datetime.fromisoformat(event["scheduled_start_time"]) <= self.world.clock.now():
            raise Refused(400, 50035, "Cannot schedule event in the past.")

    def _event(self, request: web.Request) -> Payload:
        if request.match_info["event"] not in self.events:
            raise Refused(404, 10070, "Unknown Guild Scheduled Event")
        return self.events[request.match_info["event"]]

    async def _read_event(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        return self._event(request)

    async def _edit_event(self, request: web.Request, body: Payload) -> Payload:
        event = self._event(request)
        self._check_event({**event, **body})
        event |= body
        return event

    async def _delete_event(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        del self.events[self._event(request)["id"]]

    # Interactions

    async def _call_back(self, request: web.Request, body: Payload) -> Payload:
        interaction = self.interactions.get(request.match_info["token"])
        if interaction is None or asyncio.get_running_loop().time() - interaction.arrived > ACKNOWLEDGE_S:
            raise Refused(404, 10062, "Unknown interaction")
        if interaction.acknowledged:
            raise Refused(400, 40060, "Interaction has already been acknowledged.")
        interaction.acknowledged = True
        data: Payload = body.get("data") or {}
        kind = body["type"]
        if kind == 4:
            _check_shown(data)
        if kind in {4, 5}:
            flags = data.get("flags", 0) | (LOADING if kind == 5 else 0)
            message = self._add_answer(interaction, data.get("content") or "", flags)
            message["components"] = data.get("components", [])
            interaction.original = message["id"]
        elif kind == 7:
            self._changed(self.world.messages[interaction.original], data)
        elif kind == 9:
            interaction.window = data
        elif kind == 8:
            interaction.choices = [choice["name"] for choice in data["choices"]]
        about = {"id": interaction.id, "type": 2, "response_message_id": interaction.original}
        return {"interaction": about}

    async def _follow_up(self, request: web.Request, body: Payload) -> Payload:
        interaction = self._interaction(request)
        _check_shown(body)
        interaction.followed += 1
        if interaction.by_person and interaction.followed > FOLLOW_UPS:
            raise Refused(400, 40094, "This interaction has reached the maximum number of follow up messages")
        message = self._add_answer(interaction, body.get("content") or "", body.get("flags", 0))
        message["components"] = body.get("components", [])
        self._keep_files(message, body)
        return message

    async def _read_answer(self, request: web.Request, body: Payload) -> Payload:  # noqa: ARG002 -- all handlers have one signature
        return self._answer_of(request)

    async def _edit_answer(self, request: web.Request, body: Payload) -> Payload:
        message = self._answer_of(request)
        self._changed(message, body)
        message["flags"] &= ~LOADING
        return message

    def _changed(self, message: Payload, body: Payload) -> Payload:
        """Change the fields that are given; all others stay."""
        flags = message["flags"] & COMPONENTS_V2 | body.get("flags", 0)
        if {"content", "components"} & body.keys():
            current = {"content": message["content"], "components": message["components"]}
            _check_shown({**current, **body, "flags": flags})
        message["flags"] |= flags & COMPONENTS_V2
        message["components"] = body.get("components", message["components"])
        if "files" in body:
            message["files"] = body["files"]
        if "content" in body:
            self.world.edit(message, body["content"] or "")
        return message

    async def _delete_answer(self, request: web.Request, body: Payload) -> None:  # noqa: ARG002 -- all handlers have one signature
        del self.world.messages[self._answer_of(request)["id"]]

    def _keep_files(self, message: Payload, body: Payload) -> None:
        """Store attachments: under "files" with the content, under "attachments" as other users see them."""
        files: dict[str, str] = body.get("files") or {}
        if len(files) > MAX_FILES or any(len(content) > MAX_FILE_BYTES for content in files.values()):
            raise Refused(413, 40005, "Request entity too large")
        message["files"] = files
        about = {one["filename"]: one.get("description") for one in body.get("attachments") or ()}
        message["attachments"] = [
            text_file(name, "", len(content)) | ({"description": about[name]} if about.get(name) else {})
            for name, content in files.items()
        ]

    def _add_answer(self, interaction: Interaction, content: str, flags: int) -> Payload:
        metadata: Payload = {"id": interaction.id, "type": 2, "user": user(interaction.asker)}
        metadata |= {"original_response_message_id": interaction.original} if interaction.original else {}
        about = {"webhook_id": BOT, "token": interaction.token, "interaction_metadata": metadata}
        return self.world.message(interaction.channel, BOT, content, flags=flags, **about)

    def _interaction(self, request: web.Request) -> Interaction:
        interaction = self.interactions.get(request.match_info["token"])
        if interaction is None or not interaction.acknowledged:
            raise Refused(404, 10015, "Unknown Webhook")
        if self.world.clock.monotonic() - interaction.began > TOKEN_LIFE_S:
            raise Refused(401, 50027, "Invalid Webhook Token")
        return interaction

    def _answer_of(self, request: web.Request) -> Payload:
        interaction = self._interaction(request)
        message_id = request.match_info["message"]
        found = self.world.messages.get(interaction.original if message_id == "@original" else message_id)
        if found is None or (found.get("token") != interaction.token and found["id"] != interaction.original):
            raise Refused(404, 10008, "Unknown Message")
        return found

    def _message(self, request: web.Request) -> Payload:
        found = self.world.messages.get(request.match_info["message"])
        wrong = found is None or found["channel_id"] != request.match_info["channel"] or found["flags"] & EPHEMERAL
        if found is None or wrong:
            raise Refused(404, 10008, "Unknown Message")
        return found

    def _channel(self, request: web.Request) -> Payload:
        number = request.match_info["channel"]
        for person, direct in DM_OF.items():
            if direct == number:
                return {"id": number, "type": 1, "last_message_id": None, "recipients": [user(person)]}
        channel = self.world.channels.get(number)
        if channel is None:
            raise Refused(404, 10003, "Unknown Channel")
        return channel

    async def _tell(self, event: str, data: Payload) -> None:
        if self.announce is not None:
            await self.announce(event, data)

    async def _file(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self.files:
            raise web.HTTPNotFound
        return web.Response(body=self.files[name], content_type="text/plain")


def _without_words(message: Payload) -> Payload:
    """Return a message as an application without the message content intent reads it, also in the history."""
    return {key: value for key, value in without_content({**message, "guild_id": ""}).items() if key != "guild_id"}


def _read_back(part: object, *, whole: bool) -> Any:
    """Return a part of a command, as it is read back."""
    if isinstance(part, list):
        return [_read_back(each, whole=whole) for each in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    hidden = set[str]() if whole else {"name_localizations", "description_localizations"}
    usual: tuple[object, ...] = (False, [])
    return {
        key: _read_back(value, whole=whole)
        for key, value in cast("Payload", part).items()
        if key not in hidden and value not in usual
    }


def _check_shown(body: Payload) -> None:
    """Check the message: text, optionally with rows of buttons below; or a panel of components alone."""
    content: str = body.get("content") or ""
    components: list[Payload] = body.get("components") or []
    inside = [*parts({"components": components})]
    if any(len(part.get("custom_id", "")) > 100 or len(part.get("label") or "") > 80 for part in inside):
        raise Refused(400, 50035, "Invalid Form Body")
    if body.get("flags", 0) & COMPONENTS_V2:
        chars = sum(len(part["content"]) for part in inside if part["type"] == 10)
        if content or not inside or len(inside) > PANEL_PARTS or chars > PANEL_CHARS:
            raise Refused(400, 50035, "Invalid Form Body")
        return
    if not (content.strip() or body.get("files") or body.get("poll")):
        raise Refused(400, 50006, "Cannot send an empty message")
    rows = all(row["type"] == 1 and len(row["components"]) <= 5 for row in components)
    if len(content) > 2000 or not rows or len(components) > 5:
        raise Refused(400, 50035, "Invalid Form Body")
