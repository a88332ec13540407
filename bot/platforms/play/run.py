"""Serves the page of `cogency play`, on this machine only, and takes in what its people write.

Rules
     A client without the token receives nothing: the page sends it as a WebSocket subprotocol, from the fragment of
     its address, which no HTTP request contains. Requests of other pages (Origin), or under other names (Host), are
     refused. Each person has a socket of their own, which only receives what they may see.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Final, NoReturn, TypeVar, assert_never

from cachetools import LRUCache
from starlette.applications import Starlette
from starlette.requests import Request as PageRequest
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent.errors import CogencyError, Refused, SettingsError
from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.repeats import repeats_of
from agent.shown_replies import ShownPage
from bot.chat import intake as message_intake
from bot.chat.askers import Requester
from bot.chat.attachments.kinds import naming
from bot.chat.commands.declaration import CommandCall, CommandMeant
from bot.chat.host import Host
from bot.chat.intake import MessageFacts, decide, is_stop
from bot.chat.message_events import QuestionToAll
from bot.chat.open_questions import is_open_question
from bot.chat.reply.surface import OutFile, Surface
from bot.chat.texts import replies as reply_texts
from bot.chat.web_server import serving
from bot.models.commands import MODEL_COMMAND
from bot.platforms import texts as platforms_texts
from bot.platforms.play import commands
from bot.platforms.play.acting import PlayHands
from bot.platforms.play.approving import PlayApprovers
from bot.platforms.play.attachments import PlayFiles, attached
from bot.platforms.play.commands import PlayCaller, PlayHost
from bot.platforms.play.inbound import PlaySchedules, asked_by_command, mentions_bot, read_message, without_mention
from bot.platforms.play.requests import (
    MAX_FRAME_BYTES,
    Body,
    EditMessage,
    PressButton,
    PressOffer,
    RemoveMessage,
    Request,
    SayMessage,
    number_of,
    read_request,
)
from bot.platforms.play.surface import (
    MessageLog,
    PlayMessage,
    PlaySurface,
    clear,
    file_fields,
    html_of,
    render_message,
)
from bot.platforms.play.workspace import (
    BOT,
    BOT_NAME,
    CHANNELS,
    PEOPLE,
    SOURCE,
    PlayChannel,
    PlayMembership,
    PlayPerson,
    channel_names,
    direct_channel,
    known_as,
)

T = TypeVar("T")

HOST: Final = "127.0.0.1"
STATIC: Final = Path(__file__).parent / "static"
TYPES: Final[Mapping[str, str]] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
WRONG_HOST: Final = HTTPStatus.MISDIRECTED_REQUEST
PROTOCOL: Final = "cogency-play"
WRONG_TOKEN: Final = 4403  # The close code of a socket whose token is not that of this start
BAD_FRAME: Final = 4400
MAX_RUNNING: Final = 20  # Requests of one page that run at once; further ones wait in its socket
DM_IDLE: Final = timedelta(hours=6)  # A direct message after this long a silence starts a new conversation
MAX_DONE: Final = 1_000  # Commands that a page may send again because it missed their answer
FRAME_MESSAGES: Final = 250  # Messages in one frame: those of a page's start take a few


@dataclass(frozen=True, slots=True)
class PlaySettings:
    """`port`: None for the default one, or any other if that is taken. `zone`: the machine's. `opened` gets the page's
    address.
    """

    messages: MessageLog
    token: str
    zone: str
    opened: Callable[[str], None]
    port: int | None = None


USUAL_PORT: Final = 8766


async def serve(host: Host, settings: PlaySettings, clock: Clock) -> NoReturn:
    """Serve the page. Returns only by cancellation. Raises SettingsError if no port can be used."""
    intake = PlayIntake(PlayHost(host, settings.messages, clock, settings.zone))
    page = PlayPage(intake, settings.token)
    ports = [USUAL_PORT, 0] if settings.port is None else [settings.port]
    async with AsyncExitStack() as stack:
        stack.callback(host.platforms.unregister, SOURCE)
        address = await _listening(stack, page.app(), ports)
        await _serve(intake, page, address, settings)


async def _listening(stack: AsyncExitStack, app: ASGIApp, ports: Sequence[int]) -> str:
    """Serve at the first of these ports that is free; return the address. Raises SettingsError."""
    for port in ports:
        with suppress(OSError):
            return await stack.enter_async_context(serving(app, HOST, port, message_bytes=MAX_FRAME_BYTES))
    raise SettingsError(platforms_texts.PLAY_PORT_TAKEN.format(port=ports[0]))


async def _serve(intake: "PlayIntake", page: "PlayPage", address: str, settings: PlaySettings) -> NoReturn:
    page.served_at(address)
    intake.play = play = PlayHost(intake.play.host, settings.messages, intake.play.clock, settings.zone, address)

    def surface_for(incoming: Incoming) -> Surface:
        return PlaySurface(play.log, incoming, partial(commands.show_waiting, play, incoming))

    async def delete(shown_there: ShownPage) -> None:
        clear(play.log, shown_there)

    platforms = play.host.platforms
    files = PlayFiles(play.log)
    platforms.register_fetcher(SOURCE, files.fetch, files.files_now)
    platforms.register_deletion(SOURCE, delete)
    platforms.ask_readers(SOURCE, PlayMembership())
    platforms.register_schedules(SOURCE, PlaySchedules(settings.zone))
    platforms.register_approvers(SOURCE, PlayApprovers(play))
    platforms.register_names(SOURCE, channel_names)
    platforms.register_hands(SOURCE, PlayHands(play.log, address))
    platforms.register_surface(SOURCE, surface_for)
    await intake.catch_up()
    settings.opened(f"{address}/#token={settings.token}")
    await asyncio.Event().wait()
    raise AssertionError


class PlayIntake:
    """Take in what people write, edit, delete and press, and pass it to the host.

    The messages of one channel are handled in order. An error is shown to the person who caused it only.
    """

    def __init__(self, play: PlayHost) -> None:
        self.play = play
        self._orders = {channel: asyncio.Lock() for channel in CHANNELS}
        self._used_commands = LRUCache[str, bool](MAX_DONE)  # The keys of commands that were carried out

    async def catch_up(self) -> None:
        """Take in messages that the previous process stored and did not take in."""
        for message in self.play.log.pending():
            await self._take(message, late=True)

    async def handle(self, person: PlayPerson, request: Request) -> Body | None:
        """Carry out a request; return what its answer contains beside "done". Raises CogencyError."""
        match request:
            case SayMessage():
                await self._say(person, request)
            case EditMessage(message, text):
                await self._edit(self._own(person, message), text)
            case RemoveMessage(message):
                await self._remove(self._own(person, message))
            case PressOffer(message, offer):
                page = self._seen(person, message)
                if offer not in page.offers:
                    raise Refused(platforms_texts.NO_SUCH_REPLY)
                await self._show_refusal(
                    self._caller(person, page), partial(commands.press_offer, page=page, request=request)
                )
            case PressButton(message):
                page = self._seen(person, message)
                return await self._show_refusal(
                    self._caller(person, page), partial(commands.press, message=page, request=request)
                )
            case _:
                assert_never(request)
        return None

    async def _show_refusal(self, caller: PlayCaller, do: Callable[[PlayCaller], Awaitable[T]]) -> T | None:
        """Run `do`; show an error to its presser where they are."""
        try:
            return await do(caller)
        except CogencyError as error:
            commands.refuse(caller, error)
            return None

    async def _say(self, person: PlayPerson, request: SayMessage) -> None:
        channel, key = CHANNELS.get(request.channel), f"{person.id} {request.key}"
        if channel is None or person.id not in channel.members:
            raise Refused(platforms_texts.PLAY_NOT_THERE)
        if request.thread:
            root = self._seen(person, request.thread)
            if channel.direct or root.channel != channel.id or root.thread:
                raise Refused(platforms_texts.PLAY_NOT_THERE)
        if not (request.text.strip() or request.files):
            raise Refused(platforms_texts.PLAY_EMPTY)
        async with self._orders[channel.id]:
            # The page sends a message again if it got no answer: it must not be asked twice.
            if request.key and (self.play.log.has_key(key) or key in self._used_commands):
                return
            text = asked_by_command(request.text, channel)
            order = commands.read_order(text.strip(), self.play.clock.now()) if text.startswith("/") else None
            if order is not None and request.files:
                raise Refused(platforms_texts.PLAY_COMMAND_FILES)
            if order is None:
                files = tuple(file_fields(OutFile(file.name, file.data)) for file in request.files)
                fields = {"text": text, "thread": request.thread, "key": key, "files": files}
                await self._take(self.play.log.add(channel.id, person.id, taken=False, **fields))
                return
            self._used_commands[key] = True
        await self._obey(PlayCaller(self.play, person, channel, request.thread), order, request.text)

    async def _obey(self, caller: PlayCaller, order: CommandMeant | str, written: str) -> None:
        if isinstance(order, str):
            commands.send_ephemeral(caller, text=order)
        else:
            await self._show_refusal(caller, partial(commands.carry_out, meant=order, written=written))

    async def _take(self, message: PlayMessage, *, late: bool = False) -> None:
        """Handle a message, and mark it as taken in."""
        person, channel = PEOPLE[message.author], CHANNELS[message.channel]
        caller = PlayCaller(self.play, person, channel, message.thread)
        try:
            await self._dispatch(caller, message, late=late)
        except CogencyError as error:
            if not late:
                commands.refuse(caller, error)
        self.play.log.change(message.id, taken=True)

    async def _dispatch(self, caller: PlayCaller, message: PlayMessage, *, late: bool) -> None:
        host, channel = self.play.host, caller.where
        incoming = await self._incoming(caller, message)
        mentioned = mentions_bot(message.text)
        order = commands.read_order(incoming.text, incoming.time)
        participants = await host.conversations.participants(incoming.conversation) if message.thread else None
        facts = MessageFacts(
            author=incoming.person.id,
            direct=channel.direct,
            mentioned=mentioned,
            participants=participants,
            stops=is_stop(incoming.text),
            orders=order is not None,
            late=late,
            to_everybody=not message.thread and is_open_question(message.text),
        )
        decision = decide(facts)
        if isinstance(decision, message_intake.TALK) and not (channel.direct or late):
            host.events.talked(SOURCE, channel.id, incoming.person.id, message.id)
        if isinstance(decision, message_intake.Stop):
            decision = await self._stop(decision, caller, incoming)
        match decision:
            case message_intake.Answer():
                await host.messages.submit(incoming)
            case message_intake.Consider():

                async def read() -> Incoming:
                    return incoming

                question = QuestionToAll(
                    incoming.source, channel.id, message.id, incoming.person.id, read, host.messages.submit
                )
                host.events.asked_all(question)
            case message_intake.StoreAsContext():
                await host.messages.record_context_message(incoming)
            case message_intake.RunCommand():
                assert order is not None  # noqa: S101 -- that is what is obeyed
                thread_caller = PlayCaller(self.play, caller.player, channel, message.thread)
                await self._obey(thread_caller, order, "")
            case message_intake.Ignore():
                pass
            case _:
                assert_never(decision)

    async def _incoming(self, caller: PlayCaller, message: PlayMessage) -> Incoming:
        play, channel, text = self.play, caller.where, without_mention(message.text)
        now, conversation = play.clock.now(), ""
        if channel.direct:
            direct, base = play.host.direct_messages, known_as(channel.id)
            conversation = (
                await direct.current(base)
                if is_stop(text)
                else await direct.conversation_of(base, message.id, now, idle=DM_IDLE)
            )
        incoming = read_message(
            caller.player,
            channel,
            message.id,
            text,
            now,
            play.zone,
            thread=message.thread,
            conversation=conversation,
            address=play.address,
        )
        return replace(incoming, files=attached(message))

    async def _stop(
        self, stop: message_intake.Stop, caller: PlayCaller, incoming: Incoming
    ) -> message_intake.AfterStop:
        host = self.play.host

        async def stopped() -> bool:
            await host.admission.admit_order(Requester.wrote(incoming), incoming.authority, incoming.person.time_zone)
            if muted := await host.events.stopped(SOURCE, incoming.channel, incoming.conversation):
                commands.send_ephemeral(caller, text=platforms_texts.AMBIENT_MUTED)
            return await host.turns.stop_conversation(incoming.conversation) or muted

        async def nothing_runs() -> None:
            commands.send_ephemeral(caller, text=reply_texts.NOTHING_RUNNING)

        async def refused(refusal: Refused) -> None:
            raise refusal

        return await message_intake.stop_by_word(stop, stopped, nothing_runs, refused)

    async def _edit(self, message: PlayMessage, text: str) -> None:
        if not text.strip():
            raise Refused(platforms_texts.PLAY_EMPTY)
        self.play.host.events.changed(SOURCE, message.channel, message.id)
        async with self._orders[message.channel]:
            self.play.log.change(message.id, text=text, edited=True)
            new_text = naming(without_mention(text), attached(message))
            for message_id in (message.id, *repeats_of(message.id)):
                known = await self.play.host.events.edited(SOURCE, message.channel, message_id, new_text)
                if not known and message_id != message.id:
                    return

    async def _remove(self, message: PlayMessage) -> None:
        self.play.host.events.changed(SOURCE, message.channel, message.id)
        async with self._orders[message.channel]:
            self.play.log.remove(message.id)
            await self.play.host.events.deleted(SOURCE, message.channel, {message.id, *repeats_of(message.id)})

    def _seen(self, person: PlayPerson, message: str) -> PlayMessage:
        found = self.play.log.of(message)
        if found is None or not found.is_seen_by(person.id):
            raise Refused(platforms_texts.PLAY_NOT_THERE)
        return found

    def _own(self, person: PlayPerson, message: str) -> PlayMessage:
        found = self._seen(person, message)
        if found.author != person.id:
            raise Refused(platforms_texts.PLAY_NOT_YOURS)
        return found

    def _caller(self, person: PlayPerson, page: PlayMessage) -> PlayCaller:
        return PlayCaller(self.play, person, CHANNELS[page.channel], page.thread)


# The page and its sockets.


@dataclass(slots=True)
class PlayPage:
    intake: PlayIntake
    token: str
    hosts: frozenset[str] = frozenset()

    def served_at(self, address: str) -> None:
        port = address.rpartition(":")[2]
        self.hosts = frozenset({f"{HOST}:{port}", f"localhost:{port}"})

    def app(self) -> ASGIApp:
        routes = [
            Route("/", self._file, methods=["GET"]),
            Route("/static/{name}", self._file, methods=["GET"]),
            WebSocketRoute("/socket/{person}", self._socket),
        ]
        return PageGuard(Starlette(routes=routes), lambda: self.hosts)

    async def _file(self, request: PageRequest) -> Response:
        name = str(request.path_params.get("name", "index.html"))
        if (content := _files().get(name)) is None:
            return PlainTextResponse(HTTPStatus.NOT_FOUND.phrase, HTTPStatus.NOT_FOUND)
        return Response(content, media_type=TYPES[Path(name).suffix])

    async def _socket(self, socket: WebSocket) -> None:
        subprotocols: list[str] = [*socket.scope["subprotocols"], "", ""]
        person = PEOPLE.get(str(socket.path_params["person"]))
        await socket.accept(PROTOCOL if subprotocols[0] == PROTOCOL else None)
        if person is None or not secrets.compare_digest(subprotocols[1].encode(), self.token.encode()):
            await socket.close(WRONG_TOKEN)
            return
        sending = asyncio.ensure_future(self._send_changes(socket, person))
        try:
            with suppress(WebSocketDisconnect, RuntimeError):  # the library raises either for one that is gone
                await self._receive(socket, person)
        finally:
            sending.cancel()
            await asyncio.wait({sending})

    async def _send_changes(self, socket: WebSocket, person: PlayPerson) -> None:
        """Send everything that this person may see, and then every change."""
        messages, last_seen = self.intake.play.log, socket.query_params.get("since", "")
        since = int(last_seen) if last_seen.isascii() and last_seen.isdecimal() and len(last_seen) < 10 else 0
        is_new_log = socket.query_params.get("log") != messages.name
        since = 0 if is_new_log else since
        with suppress(WebSocketDisconnect, RuntimeError), messages.watching() as changed:
            await socket.send_json(await self._hello(person, anew=is_new_log))
            while True:
                changed.clear()
                last_change, messages_changed = messages.since(since, person.id)
                for first in range(0, len(messages_changed), FRAME_MESSAGES):
                    part = messages_changed[first : first + FRAME_MESSAGES]
                    await socket.send_json(
                        {"type": "changed", "messages": [render_message(message) for message in part]}
                    )
                await socket.send_json({"type": "at", "change": last_change})
                since = last_change
                await changed.wait()

    async def _hello(self, person: PlayPerson, *, anew: bool) -> Body:
        play = self.intake.play
        caller = commands.PlayCaller(play, person, direct_channel(person.id))
        model = await play.host.commands[MODEL_COMMAND.name].run(CommandCall(words="", caller=caller, pressed=True))
        return {
            "type": "hello",
            "log": self.intake.play.log.name,
            "anew": anew,
            "person": person.id,
            "bot": BOT,
            "names": {BOT: BOT_NAME, **{item.id: item.name for item in PEOPLE.values()}},
            "model": model.text,
            "channels": [_channel(item) for item in CHANNELS.values() if person.id in item.members],
        }

    async def _receive(self, socket: WebSocket, person: PlayPerson) -> None:
        running = set[asyncio.Task[None]]()
        try:
            while True:
                frame = await socket.receive_text()
                if len(running) >= MAX_RUNNING:
                    await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                task = asyncio.create_task(self._answer(socket, person, frame))
                running.add(task)
                task.add_done_callback(running.discard)
        except KeyError:  # a binary frame, which the page never sends
            await socket.close(BAD_FRAME)
        finally:
            # Requests are completed even if the page is gone.
            if running:
                await asyncio.wait(running)

    async def _answer(self, socket: WebSocket, person: PlayPerson, frame: str) -> None:
        # The page waits for an answer, so it gets this one after an unexpected error, too, which asyncio logs.
        answer: Body = {"type": "refused", "number": number_of(frame), "why": platforms_texts.PLAY_FAILED}
        try:
            answer["number"], request = read_request(frame)
            done = await self.intake.handle(person, request) or {}
            answer = {"type": "done", "number": answer["number"], **done}
        except CogencyError as error:
            answer["why"] = platforms_texts.failure(error)
        finally:
            with suppress(WebSocketDisconnect, RuntimeError):
                await socket.send_json(answer)


def _channel(channel: PlayChannel) -> Body:
    readers = [PEOPLE[person].name for person in PEOPLE if person in channel.members]
    others = [PEOPLE[person].name for person in PEOPLE if person not in channel.members]
    description = platforms_texts.PLAY_PUBLIC
    if channel.direct:
        description = platforms_texts.PLAY_DIRECT.format(person=readers[0], others=" or ".join(others))
    elif others:
        description = platforms_texts.PLAY_PRIVATE.format(readers=" and ".join(readers))
    offered = [[item.name, item.hint, item.summary] for item in commands.offered_in(channel) if item.run is not None]
    return {
        "id": channel.id,
        "name": channel.name,
        "kind": "direct" if channel.direct else "private" if others else "public",
        "html": html_of(description),
        "commands": offered,
    }


def _files() -> Mapping[str, bytes]:
    """Return the page's files, by name. No other file is served."""
    return {file.name: file.read_bytes() for file in STATIC.iterdir() if file.suffix in TYPES}


@dataclass(frozen=True, slots=True)
class PageGuard:
    """Only accepts requests to this address, and restricts what the page may load."""

    app: ASGIApp
    hosts: Callable[[], frozenset[str]]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict[bytes, bytes](scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        is_host_known = host in self.hosts()
        if scope["type"] == "websocket":
            origin = headers.get(b"origin", b"").decode("latin-1")
            if not is_host_known or origin != f"http://{host}":
                await send({"type": "websocket.close", "code": WRONG_TOKEN})  # before it is accepted: 403
                return
            await self.app(scope, receive, send)
            return
        if not is_host_known:
            await PlainTextResponse(WRONG_HOST.phrase, WRONG_HOST)(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_guards(host)]}
            await send(message)

        await self.app(scope, receive, guarded)


def _guards(host: str) -> list[tuple[bytes, bytes]]:
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src ws://{host}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]
