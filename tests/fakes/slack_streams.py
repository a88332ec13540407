"""Slack's native streams in memory: their limits, their lifetime, and the content of their messages. No product code.

It follows the documentation, and where that is silent what others have measured: a stream ends 300 seconds after its
start, even if it is appended to, and takes 10,600 bytes, details of cards counted twice.
"""

from dataclasses import dataclass, field
from typing import Any

from agent.ports.clock import Clock
from tests.fakes.slack_agent import Agents
from tests.fakes.slack_blocks import message_problems
from tests.fakes.slack_faults import Refusal
from tests.fakes.slack_things import TEAM, FakeChannel, FakeMessage, Object

LIFETIME_S = 300.0
MOST_BYTES = 10_600
CHUNK_CHARS = 12_000
CARD_CHARS = 256
CARD_STATUSES = ("pending", "in_progress", "complete", "error")
FINISHED = ("complete", "error")


@dataclass
class FakeStream:
    """`cards` by their ids, as they are in the message; `stopped` by a reader."""

    message: FakeMessage
    began: float
    size: int = 0
    open: bool = True
    stopped: bool = False
    cards: dict[str, Object] = field(default_factory=dict[str, Any])

    def take(self, args: Object, now: float) -> None:
        """Append the content of a request, all of it or nothing."""
        if args.get("markdown_text") and args.get("chunks"):
            raise Refusal("invalid_arguments")
        written = [{"type": "markdown_text", "text": args["markdown_text"]}] if args.get("markdown_text") else []
        chunks: list[Object] = args.get("chunks") or written
        for chunk in chunks:
            _check(chunk, self.cards)
        size = self.size + sum(map(_bytes, chunks))
        if size > MOST_BYTES:
            raise Refusal("msg_too_long")
        self.size = size
        text = "".join(chunk["text"] for chunk in chunks if chunk["type"] == "markdown_text")
        for chunk in chunks:
            if chunk["type"] == "task_update":
                self._update(chunk)
        if text:
            self.message.versions.append((now, self.message.text + text))

    def _update(self, chunk: Object) -> None:
        card = self.cards.setdefault(chunk["id"], {"details": ""})
        details = card["details"] + chunk.get("details", "")
        card |= {**chunk, "details": details}


class Streams:
    """All streams, by channel and time stamp, also those that have ended. `enabled`: whether streams are available."""

    def __init__(self, clock: Clock, agents: Agents, team: str = TEAM) -> None:
        self.team = team
        self.clock = clock
        self.agents = agents
        self.enabled = True
        self.all: dict[tuple[str, str], FakeStream] = {}

    def of(self, message: FakeMessage) -> FakeStream:
        return self.all[message.channel, message.ts]

    def check_start(self, channel: FakeChannel, args: Object) -> None:
        """Raise the refusals that precede a message."""
        if not self.enabled:
            raise Refusal("unknown_method")
        if not args.get("thread_ts"):
            raise Refusal("invalid_thread_ts")
        if channel.kind != "im":
            if args.get("recipient_user_id") not in channel.members:
                raise Refusal("missing_recipient_user_id")
            if args.get("recipient_team_id") != self.team:
                raise Refusal("missing_recipient_team_id")
        if args.get("task_display_mode", "timeline") not in ("timeline", "plan"):
            raise Refusal("invalid_arguments")

    def start(self, message: FakeMessage, args: Object) -> None:
        """chat.startStream"""
        stream = FakeStream(message, self.clock.monotonic())
        stream.take(args, stream.began)
        self.all[message.channel, message.ts] = stream
        self.agents.works(message.channel, message.thread_ts)

    def append(self, message: FakeMessage, args: Object) -> None:
        """chat.appendStream"""
        stream = self._open(message)
        if not (args.get("markdown_text") or args.get("chunks")):
            raise Refusal("no_text")
        stream.take(args, self.clock.monotonic())

    def stop(self, message: FakeMessage, args: Object) -> None:
        """chat.stopStream"""
        stream = self._open(message)
        blocks: list[Object] = args.get("blocks") or []
        if message_problems(blocks):
            raise Refusal("invalid_blocks")
        if args.get("session_status", "active") not in ("active", "processing", "suspended", "closed"):
            raise Refusal("invalid_arguments")
        stream.take(args, self.clock.monotonic())
        stream.open = False
        message.blocks = blocks
        message.metadata = args.get("metadata") or {}
        self.agents.rests(message.channel, message.thread_ts, args.get("session_status", "active"))

    def streams(self, message: FakeMessage) -> bool:
        """Return whether the message is a stream that has not ended."""
        stream = self.all.get((message.channel, message.ts))
        if stream is not None and self.clock.monotonic() - stream.began >= LIFETIME_S:
            stream.open = False
        return stream is not None and stream.open

    def replaced(self, message: FakeMessage) -> None:
        """Its message was edited as a whole: all cards are removed."""
        if (stream := self.all.get((message.channel, message.ts))) is not None:
            stream.cards.clear()

    def stopped_by_reader(self, message: FakeMessage) -> None:
        """A reader pressed Slack's own Stop button."""
        self.of(message).stopped = True

    def _open(self, message: FakeMessage) -> FakeStream:
        if not self.streams(message):
            raise Refusal("message_not_in_streaming_state")
        stream = self.of(message)
        if stream.stopped:
            stream.open = False
            raise Refusal("stopped_by_user")
        return stream


def _check(chunk: Object, cards: dict[str, Object]) -> None:
    match chunk.get("type"):
        case "markdown_text":
            if not isinstance(chunk.get("text"), str) or not 1 <= len(chunk["text"]) <= CHUNK_CHARS:
                raise Refusal("invalid_chunks")
        case "task_update":
            known = chunk.get("id") in cards
            if not chunk.get("id") or not (chunk.get("title") or known) or chunk.get("status") not in CARD_STATUSES:
                raise Refusal("invalid_chunks")
            if any(len(chunk.get(name, "")) > CARD_CHARS for name in ("title", "details", "output")):
                raise Refusal("invalid_chunks")
            if chunk.get("output") and cards.get(chunk["id"], {}).get("output"):
                raise Refusal("invalid_chunks")
        case _:
            raise Refusal("invalid_chunks")


def _bytes(chunk: Object) -> int:
    names = ("text", "title", "details", "details", "output")
    return sum(len(chunk.get(name, "").encode()) for name in names)
