"""Slack's agents in memory: their sessions, their status lines and their suggested prompts. No product code.

It follows the documentation: a session belongs to a thread; after an hour of work it is idle again; a line disappears
after two minutes, or with a message; a line sets a session to working, an empty one to idle.
"""

from dataclasses import dataclass, field
from typing import Any

from agent.ports.clock import Clock
from tests.fakes.slack_faults import Refusal
from tests.fakes.slack_things import FakeChannel, Object

STATUSES = ("active", "processing", "suspended", "closed")
PROCESSING_S = 3_600.0
LINE_S = 120.0
TITLE_CHARS = 200


@dataclass
class FakeSession:
    """`lines` are all that were shown, in order, each with its rotating texts."""

    clock: Clock
    title: str = ""
    initiator: str = ""
    lines: list[tuple[str, tuple[str, ...]]] = field(default_factory=list[tuple[str, tuple[str, ...]]])
    changes: list[str] = field(default_factory=list[str])
    _working_since: float | None = None
    _line_since: float | None = None

    @property
    def status(self) -> str:
        if self._working_since is not None:
            if self.clock.monotonic() - self._working_since < PROCESSING_S:
                return "processing"
            return "active"
        return self.changes[-1] if self.changes else "active"

    @property
    def line(self) -> str:
        """Return the current line."""
        shown = self._line_since is not None and self.clock.monotonic() - self._line_since < LINE_S
        return self.lines[-1][0] if shown else ""

    def set(self, status: str) -> None:
        self.changes.append(status)
        self._working_since = self.clock.monotonic() if status == "processing" else None
        if status != "processing":
            self._line_since = None

    def say(self, line: str, rotating: tuple[str, ...]) -> None:
        self.set("processing" if line else "active")
        if line:
            self.lines.append((line, rotating))
            self._line_since = self.clock.monotonic()

    def written_to(self) -> None:
        """A message was posted in the thread."""
        self._line_since = None


class Agents:
    """`enabled`: whether the app is an agent at all. `prompts`: the suggestions in each channel."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.enabled = True
        self.sessions: dict[tuple[str, str], FakeSession] = {}
        self.prompts: dict[str, tuple[tuple[str, str], ...]] = {}

    def written(self, channel: str, thread_ts: str) -> None:
        """The bot posted a message."""
        if (session := self.sessions.get((channel, thread_ts))) is not None:
            session.written_to()

    def works(self, channel: str, thread_ts: str) -> None:
        """A stream began."""
        if self.enabled:
            self.sessions.setdefault((channel, thread_ts), FakeSession(self.clock)).set("processing")

    def rests(self, channel: str, thread_ts: str, status: str) -> None:
        """A stream ended, with this as its session's status."""
        if self.enabled:
            self.sessions[channel, thread_ts].set(status)

    def set_status(self, channel: FakeChannel, args: Object) -> Object:
        """agents.sessions.setStatus"""
        self._agents_only("feature_disabled")
        if args.get("status") not in STATUSES:
            raise Refusal("invalid_status")
        if not args.get("thread_ts"):
            raise Refusal("thread_ts_required")
        title, initiator = args.get("title") or "", args.get("initiator_user_id") or ""
        if len(title) > TITLE_CHARS:
            raise Refusal("invalid_arguments")
        if initiator and initiator not in channel.members:
            raise Refusal("user_not_in_channel")
        key = (channel.id, args["thread_ts"])
        if key not in self.sessions:
            self.sessions[key] = FakeSession(self.clock, title, initiator)
        self.sessions[key].set(args["status"])
        return {"status": args["status"], "title": self.sessions[key].title}

    def rename(self, channel: FakeChannel, args: Object) -> Object:
        """agents.sessions.rename"""
        self._agents_only("feature_disabled")
        session = self.sessions.get((channel.id, args.get("thread_ts") or ""))
        if session is None:
            raise Refusal("session_not_found")
        if not 1 <= len(args.get("title") or "") <= TITLE_CHARS:
            raise Refusal("invalid_title")
        session.title = args["title"]
        return {"title": session.title}

    def set_line(self, channel: FakeChannel, args: Object) -> Object:
        """assistant.threads.setStatus, which apps that are no agents may call, too"""
        rotating: list[Any] = args.get("loading_messages") or []
        if len(rotating) > 10 or not all(isinstance(one, str) and 1 <= len(one) <= 50 for one in rotating):
            raise Refusal("invalid_arguments")
        if not args.get("thread_ts"):
            raise Refusal("invalid_thread_ts")
        session = self.sessions.setdefault((channel.id, args["thread_ts"]), FakeSession(self.clock))
        session.say(args["status"], tuple(rotating))
        return {}

    def suggest(self, channel: FakeChannel, args: Object) -> Object:
        """assistant.threads.setSuggestedPrompts"""
        self._agents_only("not_agent_app")
        prompts: list[Object] = args.get("prompts") or []
        if not 1 <= len(prompts) <= 4 or not all(one.get("title") and one.get("message") for one in prompts):
            raise Refusal("invalid_arguments")
        if not args.get("thread_ts"):  # accepted from an agent, without an effect
            self.prompts[channel.id] = tuple((one["title"], one["message"]) for one in prompts)
        return {}

    def _agents_only(self, otherwise: str) -> None:
        if not self.enabled:
            raise Refusal(otherwise)
