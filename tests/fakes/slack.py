"""Slack on loopback: the Web API over HTTP, events over sockets or HTTP, `response_url`s and files.

`async with FakeSlack(clock) as slack`, then point the adapter at `slack.url`. User actions are `say`, `command`,
`shortcut`, `click` and `submit`; Slack's own are `deliver`, `refresh` and `faults`. Wait with `until`.
"""

import asyncio
import json
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Any, Self

from aiohttp import WSMsgType, web

from agent.ports.clock import Clock
from bot.platforms.slack.sockets import USER_TASKS
from tests.fakes.slack_clicks import action_of, state_of
from tests.fakes.slack_faults import Fault, limited
from tests.fakes.slack_http import Posts
from tests.fakes.slack_oauth import Installs, client_of
from tests.fakes.slack_sdk_spec import problems
from tests.fakes.slack_state import HOME, RateLimited, Refusal, Workspace
from tests.fakes.slack_things import (
    APP,
    RESPONSES,
    TEAM,
    FakeApp,
    FakeEphemeral,
    FakeMessage,
    Object,
    ResponseUrl,
)
from tests.patience import LOOK_S, PATIENCE_S, is_so

REPEAT_S = 10.0  # Real time, which a busy machine may need to acknowledge an envelope


@dataclass
class FakeSlack:
    """`state` is the workspace; `add` adds another, and the token selects one. `acks` holds the answer to each
    envelope, by its id.
    """

    clock: Clock
    scopes: str = ""
    over_http: bool = False  # Events are requests instead of frames of sockets; `posts` sends them
    state: Workspace = field(init=False)
    acks: dict[str, Object] = field(default_factory=dict[str, Object])
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    # What is refused for good: the error code of each method, by its channel.
    refusing: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    sockets: list[web.WebSocketResponse] = field(default_factory=list[web.WebSocketResponse])
    delivered: set[str] = field(default_factory=set[str])
    sent: dict[str, Object] = field(default_factory=dict[str, Any])  # The envelopes, by id
    opened: int = 0
    most_open: int = 0
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    file_tokens: list[str] = field(default_factory=list[str])
    stuck: set[str] = field(default_factory=set[str])  # Files whose content never arrives
    # Methods that are not answered until their event is set.
    stalled: dict[str, asyncio.Event] = field(default_factory=dict[str, asyncio.Event])
    # Requests that Slack's own SDK could not have made; checked at the end.
    violations: list[str] = field(default_factory=list[str])
    url: str = ""
    socket_url: str = ""  # Where clients connect their sockets, if something is between
    expiring: bool = False  # Whether each new `response_url` counts as older than half an hour
    installs: Installs | None = None  # The installations of a distributed app

    def __post_init__(self) -> None:
        self.state = Workspace(self.clock)
        self.states = {HOME.id: self.state}
        self.posts = Posts(self.clock, self._acknowledge)
        self._numbers = count(1)
        self._waiting: list[Object] = []
        self._last: Object = {}
        self._urls: dict[str, ResponseUrl] = {}
        self._changed = asyncio.Event()
        self._silent: web.WebSocketResponse | None = None
        self._of: dict[web.WebSocketResponse, str] = {}  # The id of each socket's app
        self._transports: dict[web.WebSocketResponse, asyncio.Transport | None] = {}

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/api/{method}", self._api)
        app.router.add_get("/link", self._link)
        app.router.add_post("/respond/{id}", self._respond)
        app.router.add_get("/files-pri/{name}", self._file)
        app.router.add_post("/upload/{id}", self._uploaded)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._host = f"127.0.0.1:{self._runner.addresses[0][1]}"
        self.url = f"http://{self._host}/api"
        self.state.upload_to = f"http://{self._host}/upload/"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.posts.close()
        for socket in [*self.sockets]:
            await socket.close()
        await self._runner.cleanup()
        assert kind is not None or not self.violations, self.violations[:5]

    async def until(self, happened: Callable[[], object]) -> None:
        """Wait until the condition holds; it is checked after all traffic, and periodically.

        A call that Slack would not understand fails the test at once: what it waits for may never come.
        """
        async with asyncio.timeout(PATIENCE_S):
            while not is_so(happened):
                assert not self.violations, self.violations[:5]
                self._changed.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._changed.wait()

    async def connected(self, sockets: int = 1) -> None:
        await self.until(lambda: len(self.sockets) == sockets)

    def add(self, who: FakeApp) -> Workspace:
        """Add a workspace. Messages are in one list, so that the two may share channels."""
        there = self.states[who.id] = Workspace(self.clock, who)
        there.messages, there.new_ts, there.upload_to = self.state.messages, self.state.new_ts, self.state.upload_to
        self.posts.apps[who.id] = who
        return there

    def sockets_of(self, who: FakeApp) -> list[web.WebSocketResponse]:
        return [socket for socket in self.sockets if self._of[socket] == who.id]

    def sockets_for(self, envelope: Object) -> list[web.WebSocketResponse]:
        """Return the sockets of the app that it is meant for."""
        return [one for one in self.sockets if self._of[one] == envelope["payload"].get("api_app_id", APP)]

    # What users do

    async def say(self, user: str, channel: str, text: str, thread_ts: str = "", **more: Any) -> FakeMessage:
        """A user writes; the bot receives it as from Slack: a mention is two events."""
        message = self.state.write(user, channel, text, thread_ts, **more)
        for state in self.states.values():
            if channel in state.channels:
                for event in self.events_of(message, state):
                    shared = {"is_ext_shared_channel": state.channels[channel].facts.get("is_ext_shared", False)}
                    await self.deliver(self.envelope(event, who=state.who, **shared))
        return message

    def events_of(self, message: FakeMessage, state: Workspace | None = None) -> list[Object]:
        """Return the events that the app of a workspace receives."""
        state = state or self.state
        channel, bot = state.channels[message.channel], state.who.user
        author = state.users.get(message.user)
        event = {**message.wire(), "channel": channel.id, "event_ts": message.ts}
        home = str(author.info["team_id"]) if author else state.who.team
        event |= {"team": home, **({"user_team": home, "source_team": home} if home != state.who.team else {})}
        if self.state.searchable:
            event |= {"assistant_thread": {"action_token": self.state.action_token(message.user)}}
        events: list[Object] = []
        if bot in channel.members:
            if f"<@{bot}>" in message.text and channel.kind != "im":
                organization = {"user_team": state.who.enterprise} if state.who.enterprise else {}
                events.append({**event, **organization, "type": "app_mention"})
            subtype = {"subtype": "file_share"} if message.files else {}
            events.append({**event, **subtype, "channel_type": channel.event_type})
        return events

    async def command(self, user: str, channel: str, command: str, text: str = "", who: FakeApp = HOME) -> str:
        """A user runs a slash command of an app; return the envelope's id."""
        trigger = f"trigger-{next(self._numbers)}"
        body = {"command": command, "text": text, "user_id": user, "channel_id": channel, "team_id": who.team}
        body |= {"api_app_id": who.id}
        return await self.deliver(
            self._envelope(
                "slash_commands", {**body, "trigger_id": trigger, "response_url": self._response_url(channel, user)}
            )
        )

    async def shortcut(self, user: str, callback_id: str, message: FakeMessage) -> str:
        body = {"type": "message_action", "callback_id": callback_id, "message": message.wire()}
        return await self._interact(user, message.channel, body)

    async def click(
        self,
        user: str,
        shown: FakeEphemeral | FakeMessage,
        label: str,
        number: int = 0,
        *,
        ticked: bool = False,
        sure: bool = True,
    ) -> str:
        """A user clicks the element with this label below a message; of several the one with that number, from 0.

        `ticked`: after ticking every box there. `sure`: their answer to a confirmation; if they decline, no event is
        sent.
        """
        action = action_of(shown.blocks, user, label, number, sure=sure)
        if action is None:
            return ""
        alone = isinstance(shown, FakeEphemeral)
        where: Object = {"is_ephemeral": True} if alone else {"message_ts": shown.ts}
        where |= {"thread_ts": shown.thread_ts} if shown.thread_ts else {}
        container: Object = {"type": "message", "channel_id": shown.channel, **where}
        body: Object = {"type": "block_actions", "actions": [action], "container": container}
        body |= {"state": state_of(shown.blocks, ticked=ticked)}
        if isinstance(shown, FakeMessage):
            body |= {"message": {**shown.wire(), "blocks": shown.blocks}}
        return await self._interact(user, shown.channel, body, shown if alone else None)

    async def shortcut_anywhere(self, user: str, callback_id: str) -> str:
        """A user uses a global shortcut, which belongs to no channel."""
        return await self.interact(user, {"type": "shortcut", "callback_id": callback_id})

    async def fill_in(self, user: str, view: Object, **values: Object) -> str:
        """A user fills in the fields of a window, each with the state that Slack reports of it, and submits it."""
        state = {name: {name: value} for name, value in values.items()}
        return await self.interact(user, {"type": "view_submission", "view": {**view, "state": {"values": state}}})

    async def react(self, user: str, message: FakeMessage, name: str, *, added: bool = True) -> str:
        """A user adds a reaction to a message, or removes it."""
        event: Object = {"type": "reaction_added" if added else "reaction_removed", "user": user, "reaction": name}
        item = {"type": "message", "channel": message.channel, "ts": message.ts}
        event |= {"item": item, "item_user": message.user, "event_ts": self.state.new_ts()}
        return await self.deliver(self.envelope(event))

    async def submit(self, user: str, view: Object, value: str) -> str:
        """A user types into the first field of a window, and submits it."""
        block = next(block for block in view["blocks"] if block["type"] == "input")
        values = {block["block_id"]: {block["element"]["action_id"]: {"type": "plain_text_input", "value": value}}}
        body = {"type": "view_submission", "view": {**view, "state": {"values": values}}}
        return await self.interact(user, body)

    async def interact(self, user: str, body: Object) -> str:
        """A user acts in a view, which is in no channel."""
        who: Object = {"user": {"id": user}, "team": {"id": TEAM}, "trigger_id": f"trigger-{next(self._numbers)}"}
        return await self.deliver(self._envelope("interactive", {**who, **body}))

    async def _interact(self, user: str, channel: str, body: Object, ephemeral: FakeEphemeral | None = None) -> str:
        url = self._response_url(channel, user, ephemeral)
        state = next(one for one in self.states.values() if channel in one.channels)
        who: Object = {"user": {"id": user}, "team": {"id": state.who.team}, "api_app_id": state.who.id}
        who |= {"channel": {"id": channel}, "response_url": url}
        return await self.deliver(
            self._envelope("interactive", {**who, **body, "trigger_id": f"trigger-{next(self._numbers)}"})
        )

    # What Slack does

    def envelope(self, event: Object, event_id: str = "", who: FakeApp = HOME, **body: Any) -> Object:
        """Return an event as the Events API wraps it for an app."""
        about: Object = {"team_id": who.team, "api_app_id": who.id, "type": "event_callback", "event": event}
        about |= {"event_id": event_id or f"Ev{next(self._numbers)}", "event_time": 1, "is_ext_shared_channel": False}
        about |= {"authorizations": [{"team_id": who.team, "user_id": who.user, "is_bot": True}]}
        if who.enterprise:
            about |= {"enterprise_id": who.enterprise, "context_enterprise_id": who.enterprise}
            about["authorizations"][0] |= {"enterprise_id": who.enterprise, "is_enterprise_install": False}
        return self._envelope("events_api", {**about, **body})

    async def deliver(self, envelope: Object, socket: int = -1, attempt: int = 0) -> str:
        """Send it through one socket, or as soon as there is one; return the envelope's id, which identifies its ack.

        Over HTTP `socket` is the process that it goes to first; -1 is the next in turn.
        """
        sockets = self.sockets_for(envelope)
        if not sockets and not self.over_http:
            self._waiting.append(envelope)
            return envelope["envelope_id"]
        self.delivered.add(envelope["envelope_id"])
        self.sent[envelope["envelope_id"]] = envelope
        self._last = envelope
        if self.over_http:
            self.posts.deliver(envelope, None if socket < 0 else socket, attempt)
            return envelope["envelope_id"]
        retry = {"retry_attempt": attempt, "retry_reason": "timeout"} if attempt else {}
        with suppress(ConnectionError):  # lost with its socket, as on a real network
            await sockets[socket].send_json({**envelope, **retry})
        return envelope["envelope_id"]

    def _acknowledge(self, envelope_id: str, ack: Object) -> None:
        self.acks[envelope_id] = ack
        self._changed.set()

    async def acked(self, envelope_id: str) -> Object:
        """Return the answer to the envelope."""
        await self._acknowledged(lambda: envelope_id in self.acks)
        return self.acks[envelope_id]

    async def repeat(self) -> None:
        """Deliver the last envelope once more."""
        await self.deliver(self._last)

    async def acknowledged(self) -> None:
        """Wait until all envelopes are acknowledged; the work that they caused may still be running."""
        await self._acknowledged(lambda: self.delivered <= self.acks.keys())

    async def settled(self) -> None:
        """Wait until all envelopes are acknowledged, and an adapter in this event loop does no more work for them: most
        commands are acknowledged before they are executed.
        """
        await self._acknowledged(lambda: self.delivered <= self.acks.keys() and not asked_now())

    async def _acknowledged(self, happened: Callable[[], object]) -> None:
        """Wait until this is true. An envelope that is not acknowledged in time is sent again, as Slack does: its
        socket may have been replaced meanwhile.
        """
        async with asyncio.timeout(PATIENCE_S):
            while not is_so(happened):
                with suppress(TimeoutError):
                    async with asyncio.timeout(REPEAT_S):
                        await self.until(happened)
                        return
                if not self.over_http:
                    for lost in self.delivered - self.acks.keys():
                        await self.deliver(self.sent[lost], attempt=1)

    async def refresh(self, reason: str = "refresh_requested") -> None:
        """Announce that the latest socket will be closed."""
        await self.sockets[-1].send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "fake"}})

    def drop(self, socket: int = -1) -> None:
        """Lose a socket without a close frame."""
        lost = self._transports[self.sockets.pop(socket)]
        if lost is not None:
            lost.abort()

    def fall_silent(self) -> None:
        """From now on no frame comes through the latest socket, though it stays open."""
        self._silent = self.sockets[-1]

    # The network

    def _envelope(self, kind: str, payload: Object) -> Object:
        return {
            "envelope_id": f"envelope-{next(self._numbers)}",
            "type": kind,
            "accepts_response_payload": kind != "events_api",
            "payload": payload,
        }

    async def _api(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        args: Object = dict(request.query)
        if request.content_type == "application/json":
            args |= json.loads(await request.text() or "{}")
        elif request.can_read_body:
            args |= dict(await request.post())
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.installs is not None and method == "oauth.v2.access":
            args |= client_of(request.headers.get("Authorization", ""))
        self.violations += problems(method, args)
        if method in self.stalled:
            self.state.stalling.append(method)
            self._changed.set()
            await self.stalled[method].wait()
        fault = self.faults[method].popleft() if self.faults[method] else Fault()
        if fault.hangs:
            if fault.lost:
                self._state(token).perform(method, args, token)
            await asyncio.Event().wait()  # until the client or the test ends
        try:
            if fault.error or (fault.status != 200 and not fault.lost):
                return _failed(fault)
            self._refuse(method, args)
            if self.installs is None:
                answer = self._state(token).perform(method, args, token)
            elif method in self.installs.methods:
                answer = self.installs.methods[method](args, token)
            else:
                answer = self.state.perform(method, args, self.installs.meant(token))
            if method == "apps.connections.open":
                link = self.socket_url or f"ws://{self._host}/link"
                answer = {"url": f"{link}?ticket={next(self._numbers)}&app={self._state(token).who.id}"}
            headers = {"X-OAuth-Scopes": self.scopes} if self.scopes else {}
            return _failed(fault) if fault.lost else web.json_response({"ok": True, **answer}, headers=headers)
        except Refusal as refusal:
            return web.json_response({"ok": False, "error": str(refusal), **refusal.more})
        except RateLimited as refusal:
            return _failed(limited(refusal.retry_after_s))
        finally:
            self._changed.set()

    def _refuse(self, method: str, args: Object) -> None:
        """Raises Refusal if it is refused for good."""
        if code := self.refusing.get((method, str(args.get("channel") or args.get("user", "")))):
            self.state.denials.append((method, code))
            raise Refusal(code)

    def _state(self, token: str) -> Workspace:
        """Return the workspace of a token; the first one refuses unknown tokens."""
        known = (state for state in self.states.values() if token in (state.who.bot_token, state.who.app_token))
        return next(known, self.state)

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(autoping=False)
        await socket.prepare(request)
        self._transports[socket] = request.transport
        self._of[socket] = request.query.get("app", APP)
        self.sockets.append(socket)
        self.opened += 1
        self.most_open = max(self.most_open, len(self.sockets))
        await socket.send_json(
            {"type": "hello", "num_connections": len(self.sockets), "connection_info": {"app_id": self._of[socket]}}
        )
        waiting, self._waiting = self._waiting, []
        for envelope in waiting:
            await self.deliver(envelope)
        self._changed.set()
        async for message in socket:
            if message.type is WSMsgType.PING and socket is not self._silent:
                await socket.pong(message.data)
            if message.type is WSMsgType.TEXT:
                ack: Object = json.loads(message.data)
                self._acknowledge(ack["envelope_id"], ack)
        del self._transports[socket]
        if socket in self.sockets:
            self.sockets.remove(socket)
        self._changed.set()
        return socket

    def _response_url(self, channel: str, user: str, ephemeral: FakeEphemeral | None = None) -> str:
        key = f"r{next(self._numbers)}"
        if not self.expiring:
            self._urls[key] = ResponseUrl(channel, user, ephemeral)
        return f"http://{self._host}/respond/{key}"

    async def _respond(self, request: web.Request) -> web.Response:
        url = self._urls.get(request.match_info["id"])
        if url is None or url.used >= RESPONSES:
            return web.Response(status=404, text="used_url" if url else "expired_url")
        fault = self.faults["response_url"].popleft() if self.faults["response_url"] else None
        if fault is None or fault.lost:
            url.used += 1
            self._show(url, await request.json(), str(request.url))
        if fault is None:
            return web.Response(text="ok")
        if fault.hangs:
            await asyncio.Event().wait()  # until the client or the test ends
        return _failed(fault)

    def _show(self, url: ResponseUrl, body: Object, address: str) -> None:
        state = next((one for one in self.states.values() if url.channel in one.channels), self.state)
        text = "\n".join(b["text"] for b in body.get("blocks", []) if b["type"] == "markdown") or body.get("text", "")
        if body.get("delete_original"):
            state.ephemerals = [ephemeral for ephemeral in state.ephemerals if ephemeral is not url.ephemeral]
        elif body.get("replace_original") and url.ephemeral is not None:
            url.ephemeral.text, url.ephemeral.blocks = text, body.get("blocks", [])
        else:
            state.ephemerals.append(
                FakeEphemeral(url.channel, url.user, text, body.get("blocks", []), body.get("thread_ts", ""), address)
            )
        self._changed.set()

    def response_url(self, channel: str, user: str) -> str:
        """Return a `response_url` that Slack has just issued."""
        return self._response_url(channel, user)

    def expire_all(self) -> None:
        """Every `response_url` is now older than half an hour."""
        self._urls.clear()

    def upload(self, name: str, content: bytes, mimetype: str = "text/plain") -> Object:
        """Return a file as a message carries it."""
        self.files[name] = content
        address = f"http://{self._host}/files-pri/{name}"
        file: Object = {"id": f"F{name}", "name": name, "mimetype": mimetype, "size": len(content)}
        self.state.shared[file["id"]] = {**file, "url_private_download": address}
        return {**self.state.shared[file["id"]]}

    async def _uploaded(self, request: web.Request) -> web.Response:
        content = await request.read()
        fault = self.faults["upload"].popleft() if self.faults["upload"] else Fault()
        if not fault.hangs or fault.lost:
            self.state.uploaded[request.match_info["id"]] = content
            self._changed.set()
        if fault.hangs:
            await asyncio.Event().wait()  # until the client or the test ends
        return web.Response(text="OK")

    async def _file(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.file_tokens.append(token)
        name = request.match_info["name"]
        if name in self.stuck:
            await asyncio.Event().wait()  # until the client disconnects
        ours = {state.who.bot_token for state in self.states.values()}
        if token not in ours and (self.installs is None or not self.installs.counts(token)):
            return web.Response(status=302, headers={"Location": "/signin"})
        return web.Response(body=self.files[name])


def asked_now() -> list[asyncio.Task[object]]:
    """Return the tasks of adapters that a user's action started."""
    return [task for task in asyncio.all_tasks() if task.get_name() == USER_TASKS]


def _failed(fault: Fault) -> web.Response:
    headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
    if not fault.error:
        return web.Response(status=fault.status, text="<html>upstream error</html>", content_type="text/html")
    return web.json_response({"ok": False, "error": fault.error}, status=fault.status, headers=headers)
