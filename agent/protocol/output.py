"""What a parser lets out: text in order with events, without the whitespace that a removed block leaves. Pure.

Above: `agent.protocol.parser`. Below: `agent.events`.

Rules.
- A block that stood on lines of its own takes its last line break with it. Before the first visible text, blank lines
  that follow a block go too. Everywhere else the text is what the model wrote, character for character.
- After `<summary>` opened, nothing is visible any more: the reply is complete.
"""

from enum import Enum, auto

from agent.events import CallsArrived, CallsRejected, ProtocolEvent, ReplyEnded, TextArrived


class Gap(Enum):
    """Where the text stands after something was removed from it."""

    NONE = auto()
    IN_LINE = auto()
    """Behind it, in a line that had text before: blanks go."""
    OWN_LINE = auto()
    """Behind it, in a line of its own: blanks go, and the line break."""
    NO_TEXT_YET = auto()
    """On a later line, with nothing visible before: blank lines go."""


class Output:
    def __init__(self) -> None:
        self.gap = Gap.NONE
        self.visible = False
        """Something that is not blank was said."""
        self.last = ""
        """The last piece that was said."""
        self._events: list[ProtocolEvent] = []
        self._text: list[str] = []
        self._muted = False

    def say(self, text: str) -> None:
        """Text as the model wrote it."""
        if not text:
            return
        self.last = text
        self.gap = Gap.NONE
        if self._muted:
            return
        self._text.append(text)
        self.visible = self.visible or not text.isspace()

    def pass_on(self, text: str) -> list[ProtocolEvent] | None:
        """`say` and `take` in one, for printable text when nothing waits; None if there may be a tag in it."""
        if "<" in text:
            return None
        if not text or self._muted:
            self.last = text or self.last
            return []
        self.last = text
        self.visible = self.visible or not text.isspace()
        return [TextArrived(text)]

    def say_line_start(self, blanks: str, text: str) -> None:
        """The first text of a line, or behind a block, and the blanks before it."""
        if self.gap in (Gap.IN_LINE, Gap.OWN_LINE):
            blanks = ""
        self.say(blanks + text)

    def say_blank_line(self, blanks: str) -> None:
        """Nothing but blanks stood between the last line break, or block, and this line break."""
        match self.gap:
            case Gap.NONE:
                self.say(blanks + "\n")
            case Gap.IN_LINE:
                self.say("\n")
            case Gap.OWN_LINE | Gap.NO_TEXT_YET:
                self.gap = Gap.NONE if self.visible else Gap.NO_TEXT_YET

    def emit(self, event: ProtocolEvent) -> None:
        if self._text:
            self._flush()
        if isinstance(event, ReplyEnded):
            if self._muted:
                return
            self._muted = True
        self._events.append(event)

    def take(self) -> list[ProtocolEvent]:
        """Everything since the last time."""
        if self._text:
            self._flush()
        events, self._events = self._events, []
        return events

    def _flush(self) -> None:
        self._events.append(TextArrived("".join(self._text)))
        self._text.clear()


def ends_stream(event: ProtocolEvent) -> bool:
    return isinstance(event, CallsArrived | CallsRejected)
