"""All messages that the page of `cogency play` shows, each with the number of its last change.

A page that reconnects asks for what changed since the last number that it knows, and receives the current state of each
changed message.
"""

import asyncio
import json
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from html import escape
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from agent.errors import SettingsError
from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.shown_replies import ShownPage, ShownReply
from bot.chat.attachments.kinds import picture_type
from bot.chat.reply.surface import (
    Limits,
    OutFile,
    PageContent,
    PageFound,
    PageGone,
    PageKey,
    PageRef,
    ReplyAction,
    ReplyEnd,
)
from bot.platforms import texts as platforms_texts
from bot.platforms.play.inbound import PlayAddress
from bot.platforms.play.requests import Body
from bot.platforms.play.workspace import BOT, CHANNELS, PEOPLE

MAX_MESSAGES: Final = 2_000  # More than anyone tries in a day; the oldest are dropped
# A longer text is not rendered: the time for nested marks grows faster than the text.
MAX_MARKDOWN_CHARS: Final = 12_000
LIMITS: Final = Limits(
    page_chars=4_000,  # a browser renders this ten times a second easily
    edit_interval_s=0.1,
    offers=frozenset(ReplyAction),
    steps=True,
)


@dataclass(frozen=True, slots=True)
class PlayMessage:
    """`only`: the only person who sees it, "" for every member. `key`: identifies it for a repeated request.

    `status`: not a message, but what the bot currently does. `panel`: of a command, with the actions of its buttons.
    For a page of a reply: `grows` while it is written, its `turn` and `conversation`, and the actions below it.
    """

    id: str
    channel: str
    author: str
    time: str = ""
    text: str = ""
    thread: str = ""
    only: str = ""
    key: str = ""
    edited: bool = False
    gone: bool = False
    status: bool = False
    taken: bool = True
    """Whether the bot has taken it in."""
    grows: bool = False
    conversation: str = ""
    turn: int = 0
    offers: tuple[str, ...] = ()
    note: str = ""
    steps: tuple[tuple[str, str, str], ...] = ()
    asked: str = ""
    """The command that it answers."""
    panel: Body = field(default_factory=dict[str, Any])
    files: tuple[tuple[str, ...], ...] = ()
    """Of each its name and its text; of a picture, and of others that are no text, the bytes in Base64 and the type."""
    marks: tuple[str, ...] = ()
    """The bot's reactions, as characters, and the sign of a pinned message."""

    def encode(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value not in ("", (), {})})

    @classmethod
    def decode(cls, text: str) -> "PlayMessage":
        fields: dict[str, Any] = json.loads(text)
        rows: Any = ("steps", "files")
        fields |= {name: tuple(tuple(row) for row in fields.get(name, ())) for name in rows}
        fields |= {name: tuple(fields.get(name, ())) for name in ("offers", "marks")}
        return cls(**fields)

    def is_seen_by(self, person: str) -> bool:
        return person in CHANNELS[self.channel].members and self.only in ("", person)

    def file(self, number: int) -> bytes | None:
        """Return the content of one of its files, from 0; None if there is none of this number."""
        if number >= len(self.files):
            return None
        _, content, *about = self.files[number]
        return b64decode(content) if about else content.encode()


class MessageFile:
    """Stores the messages of a workspace for the next start. Deleted text is also overwritten in the file."""

    def __init__(self, path: Path | None) -> None:
        """`path` None stores them in memory. Raises SettingsError if the file is not such a database."""
        self._file = sqlite3.connect(":memory:" if path is None else path, isolation_level=None)
        with self._translate_errors(path):
            self._file.execute("PRAGMA secure_delete=ON")
            self._file.execute("PRAGMA journal_mode=MEMORY")
            self._file.execute("PRAGMA synchronous=OFF")  # messages survive the end of the process, not of the machine
            self._file.execute("CREATE TABLE IF NOT EXISTS message (id TEXT PRIMARY KEY, change INTEGER, body TEXT)")
            self._file.execute("CREATE TABLE IF NOT EXISTS name (name TEXT PRIMARY KEY, value TEXT)")
        if path is not None:
            path.chmod(0o600)

    @contextmanager
    def _translate_errors(self, path: Path | None) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            self._file.close()
            raise SettingsError(platforms_texts.PLAY_NO_FILE.format(file=path)) from error

    def name(self, name: str, new: Callable[[], str]) -> str:
        """Return the value stored under this name; if there is none, store the one that `new` returns."""
        self._file.execute("INSERT OR IGNORE INTO name VALUES (?, ?)", (name, new()))
        return self._file.execute("SELECT value FROM name WHERE name = ?", (name,)).fetchone()[0]

    def messages(self) -> list[tuple[int, PlayMessage]]:
        """Return the messages with the numbers of their last changes, in that order."""
        rows = self._file.execute("SELECT change, body FROM message ORDER BY change")
        return [(change, PlayMessage.decode(body)) for change, body in rows]

    def keep(self, change: int, message: PlayMessage) -> None:
        row = (message.id, change, message.encode())
        self._file.execute("INSERT OR REPLACE INTO message VALUES (?, ?, ?)", row)

    def drop(self, message: str) -> None:
        self._file.execute("DELETE FROM message WHERE id = ?", (message,))

    def close(self) -> None:
        self._file.close()


class MessageLog:
    """All messages of the workspace."""

    def __init__(self, file: MessageFile, clock: Clock, new_id: Callable[[], str], limit: int = MAX_MESSAGES) -> None:
        self._file = file
        self._clock = clock
        self._limit = limit
        self._messages: dict[str, tuple[int, PlayMessage]] = {}  # In the order of their last changes
        self._keys: dict[str, str] = {}
        self._watching: set[asyncio.Event] = set()
        self.name = file.name("log", new_id)  # Tells a page whether the change numbers it knows belong to this log
        for change, message in file.messages():
            self._messages[message.id] = change, message
            self._keys |= {message.key: message.id} if message.key else {}
        self._last = max((change for change, _ in self._messages.values()), default=0)
        self._newest = max((int(message_id) for message_id in self._messages if message_id.isdecimal()), default=0)

    def of(self, message: str) -> PlayMessage | None:
        """Return the message; None if there is none, or if it was deleted."""
        found = self._messages.get(message)
        return None if found is None or found[1].gone else found[1]

    def with_key(self, key: str) -> PlayMessage | None:
        return self.of(self._keys.get(key, ""))

    def has_key(self, key: str) -> bool:
        """Return whether a message of this key was ever added."""
        return key in self._keys

    def pending(self) -> list[PlayMessage]:
        """Return the messages that the bot has not yet taken in, oldest first."""
        messages = [message for _, message in self._messages.values() if not (message.taken or message.gone)]
        return sorted(messages, key=lambda message: int(message.id))

    def add(self, channel: str, author: str, **fields: Any) -> PlayMessage:  # noqa: ANN401 -- fields of the message
        self._newest += 1
        message = PlayMessage(str(self._newest), channel, author, self._clock.now().isoformat(), **fields)
        if message.key:
            self._keys[message.key] = message.id
        self._put(message)
        if len(self._messages) > self._limit:
            self._drop_oldest()
        return message

    def change(self, message: str, **fields: Any) -> PlayMessage | None:  # noqa: ANN401 -- fields of the message
        """Return the changed message; None if it was deleted."""
        if (before := self.of(message)) is None:
            return None
        after = replace(before, **fields)
        if after != before:
            self._put(after)
        return after

    def remove(self, message: str) -> None:
        """Delete a message; only the fact of its deletion is kept."""
        if (before := self.of(message)) is not None:
            self._put(
                PlayMessage(before.id, before.channel, before.author, "", only=before.only, key=before.key, gone=True)
            )

    def status(self, name: str, channel: str, thread: str, text: str) -> None:
        """Show what the bot is doing there; "" removes it. `name`: the reply's."""
        id_ = f"status-{channel}-{name}"
        if text:
            self._put(PlayMessage(id_, channel, BOT, "", text=text, thread=thread, status=True))
        elif self.of(id_) is not None:
            self._put(PlayMessage(id_, channel, BOT, "", status=True, gone=True))

    def since(self, change: int, person: str) -> tuple[int, list[PlayMessage]]:
        """Return the number of the last change, and the messages that changed since `change` for this person."""
        found = list[PlayMessage]()
        for number, message in reversed(self._messages.values()):
            if number <= change:
                break
            if message.is_seen_by(person):
                found.append(message)
        return self._last, found[::-1]

    @contextmanager
    def watching(self) -> Generator[asyncio.Event]:
        """Yield an event that is set by each change until the block ends."""
        changed = asyncio.Event()
        self._watching.add(changed)
        try:
            yield changed
        finally:
            self._watching.discard(changed)

    def _put(self, message: PlayMessage) -> None:
        self._last += 1
        self._messages.pop(message.id, None)
        self._messages[message.id] = self._last, message
        if not message.status:
            self._file.keep(self._last, message)
        for changed in self._watching:
            changed.set()

    def _drop_oldest(self) -> None:
        """Drop the oldest message that is not being written."""
        oldest = next(
            (
                message
                for _, message in self._messages.values()
                if message.gone or not (message.grows or message.status)
            ),
            None,
        )
        if oldest is not None:
            del self._messages[oldest.id]
            self._keys.pop(oldest.key, None)
            self._file.drop(oldest.id)


# Messages as JSON for the page.


def render_message(message: PlayMessage) -> Body:
    """Return the message without internal fields."""
    if message.gone:
        return {"id": message.id, "channel": message.channel, "gone": True}
    body: Body = {
        "id": message.id,
        "channel": message.channel,
        "thread": message.thread,
        "author": message.author,
        "time": message.time,
        "html": html_of(message.text),
        "only": message.only,
        "edited": message.edited,
        "status": message.status,
        "grows": message.grows,
        "note": message.note,
        "asked": message.asked,
        "steps": [list(step) for step in message.steps],
        "offers": [offer.value for offer in ReplyAction if offer.value in message.offers],
        "files": [list(file) for file in message.files],
        "marks": list(message.marks),
        "panel": _panel(message.panel),
    }
    if message.author in PEOPLE:
        body["text"] = message.text  # for editing
    return body


def _panel(panel: Body) -> Body | None:
    """Return the panel with its texts as HTML, and its buttons without their words."""
    if not panel:
        return None
    parts = [{**part, "html": html_of(part["text"])} for part in panel["parts"]]
    buttons = [{name: button[name] for name in ("label", "danger", "confirm", "opens")} for button in panel["buttons"]]
    return {**panel, "parts": parts, "buttons": buttons}


@lru_cache(maxsize=1_000)
def html_of(markdown: str) -> str:
    """Render text of people and models as HTML; HTML in the text is escaped."""
    if len(markdown) > MAX_MARKDOWN_CHARS:
        return f"<pre>{escape(markdown)}</pre>\n"
    return _markdown().render(markdown)


@cache
def _markdown() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.disable(["image"])
    parser.add_render_rule("link_open", _link)
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _cell)
    return parser


def _link(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Mapping[str, Any], env: Mapping[str, Any]
) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer")
    tokens[index].attrSet("target", "_blank")
    return renderer.renderToken(tokens, index, options, env)  # pyright: ignore[reportArgumentType] -- wider than it says


def _cell(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Mapping[str, Any], env: Mapping[str, Any]
) -> str:
    """Name the alignment of a cell by a class: the page's policy allows no styles in elements."""
    alignment = str(tokens[index].attrs.pop("style", "")).partition(":")[2]
    if alignment:
        tokens[index].attrSet("class", alignment)
    return renderer.renderToken(tokens, index, options, env)  # pyright: ignore[reportArgumentType] -- wider than it says


# The surface of a reply.


class PlaySurface:
    def __init__(self, log: MessageLog, asked: Incoming, waiting: Callable[[int], Awaitable[None]]) -> None:
        """`waiting`: shows the asker what a turn waits for."""
        self._log = log
        self._asked = asked
        self._waiting = waiting
        self._address = PlayAddress.decode(asked.reply_to)

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def find(self, key: PageKey) -> PageRef | None:
        found = self._log.with_key(self._key(key))
        return None if found is None else PageRef(found.id)

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        if (found := await self.find(key)) is not None:
            raise PageFound(found)
        fields = {"key": self._key(key), "conversation": self._asked.conversation}
        return PageRef(self._add(**fields, **_page_fields(look, look.turn or key.turn)).id)

    async def edit(self, page: PageRef, look: PageContent) -> None:
        before = self._log.of(page.id)
        if before is None or self._log.change(page.id, **_page_fields(look, look.turn or before.turn)) is None:
            raise PageGone("the message is gone")

    async def delete(self, page: PageRef) -> None:
        self._log.remove(page.id)

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- it is found by its key
        if (found := await self.find(key)) is not None:
            return (found,)
        return (PageRef(self._add(key=self._key(key), files=tuple(map(file_fields, files))).id),)

    async def send_ephemeral(self, text: str) -> None:
        self._add(text=text, only=self._address.person)

    async def show_waiting(self, turn: int) -> None:
        await self._waiting(turn)

    async def status(self, text: str) -> None:
        self._log.status(self._asked.event_id, self._address.channel, self._address.thread, text)

    def begin(self, *, resumed: bool) -> None:
        """Nothing is shown before the first status."""

    def finish(self, end: ReplyEnd) -> None:  # noqa: ARG002 -- a process that continues the turn shows its own status
        self._log.status(self._asked.event_id, self._address.channel, self._address.thread, "")

    def _add(self, **fields: Any) -> PlayMessage:  # noqa: ANN401 -- fields of the message
        return self._log.add(self._address.channel, BOT, thread=self._address.thread, **fields)

    def _key(self, key: PageKey) -> str:
        return f"{self._asked.event_id} {key}"


def file_fields(file: OutFile) -> tuple[str, ...]:
    """Return a file in the form of `PlayMessage.files`."""
    media_type = picture_type(file.content)
    if media_type is None:
        with suppress(UnicodeDecodeError):
            return file.name, file.content.decode()
    fields = file.name, b64encode(file.content).decode(), media_type or "application/octet-stream"
    return (*fields, file.alt) if file.alt else fields


def _page_fields(look: PageContent, turn: int) -> dict[str, Any]:
    return {
        "text": look.text,
        "grows": not look.final,
        "turn": turn,
        "note": look.note,
        "offers": tuple(sorted(look.offers)),
        "steps": tuple((step.title, step.state.value, step.output) for step in look.steps),
    }


def clear(log: MessageLog, forgotten: ShownPage) -> None:
    """Remove forgotten text from the page."""
    if forgotten.what is ShownReply.PAGE:
        log.remove(forgotten.page)
    elif forgotten.what is ShownReply.KEPT and (page := log.of(forgotten.page)) is not None:
        offers = tuple(offer for offer in page.offers if offer != ReplyAction.UNDO)
        log.change(page.id, text=platforms_texts.undone(page.text), offers=offers)
