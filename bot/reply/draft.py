"""What a reply says so far: folds the agent's events into visible text and a status line. Pure.

Above: `bot.reply.live`. Below: `agent.events`, `agent.reply_text`.
"""

from typing import assert_never

from agent.events import (
    AgentEvent,
    CallFinished,
    CallStarted,
    HandleClosed,
    HandleOpened,
    IterationStarted,
    ModelSwitched,
    NoticeArrived,
    ReplyEnded,
    TextArrived,
    TurnEnded,
)
from agent.reply_text import ReplyText

THINKING = "Thinking…"

STATUS_LINES = {
    "recall": "Searching past threads…",
    "remember": "Making a note…",
}


def status_line(tool: str) -> str:
    """What a person reads while this tool runs."""
    return STATUS_LINES.get(tool) or f"Using {tool.replace('_', ' ')}…"


class Draft:
    """Feed it with `see`. `status` is what the bot is doing now, "" when the reply itself shows it."""

    def __init__(self) -> None:
        self._reply = ReplyText()
        self._whole: str | None = None
        self._ended = False
        self.status = ""

    def see(self, event: AgentEvent) -> None:
        match event:
            case IterationStarted():
                self._begin_part()
                self.status = THINKING
            case TextArrived(text):
                self._add(text)
            case NoticeArrived(text):
                self._begin_part()
                self._add(text)
            case ReplyEnded():
                self._ended = True
            case CallStarted(_, call):
                self.status = status_line(call.name)
            case CallFinished() | ModelSwitched() | HandleOpened() | HandleClosed():
                pass
            case TurnEnded(_, text):
                self.end(text)
            case _:
                assert_never(event)

    def end(self, text: str | None = None) -> None:
        """Nothing more comes. `text` is the whole reply, if somebody else knows it better."""
        self._whole = self._reply.text if text is None else text
        self.status = ""

    @property
    def final(self) -> bool:
        """Nothing more comes at all: the turn has ended."""
        return self._whole is not None

    @property
    def complete(self) -> bool:
        """The answer is said to its end, so that none of its Markdown is unfinished."""
        return self._ended or self.final

    @property
    def text(self) -> str:
        """The whole text if it is complete; else without whitespace at its end, so that it only ever grows."""
        if self._whole is not None:
            return self._whole
        return self._reply.text if self._ended else self._reply.settled

    def _begin_part(self) -> None:
        self._reply.begin_part()
        self._ended = False

    def _add(self, text: str) -> None:
        self._reply.add(text)
        if not text.isspace():
            self._ended = False
            self.status = ""
