"""What a person sees of a message, as the platforms' `message_content` modules return it. Pure.

Rules
- A message is more than its text: it may show cards of apps, and forward messages of others.
- Words that its author did not write are kept apart (`Enclosed`): they are read as others' words, and are never orders
  or facts of the author.
- What cannot be read is named in one line.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from agent.incoming import Quoted

MAX_CHARS: Final = 40_000  # Of one message with all that it shows; both platforms keep less of a message's own text
MAX_DEPTH: Final = 8  # Cards in cards in forwarded messages: more nesting than people make or see

FORWARDED: Final = "a forwarded message"
CARD: Final = "an app's card, attached to this message"
EMAIL: Final = "an email that was sent to this channel"

UNREADABLE: Final = "(a forwarded message that I cannot read)"
UNREADABLE_LINK: Final = "(a linked message that I cannot read)"
UNREADABLE_REPLIED: Final = "(a message that I cannot read)"
UNREADABLE_THREAD: Final = "(the thread above this message, which I cannot read)"
NOT_IN_TIME: Final = "(other parts of this message could not be read in time)"
UNREADABLE_PART: Final = "(a part of this message that I cannot read: {kind})"
TOO_DEEP: Final = "(this message is nested too deeply: I read only part of it)"
TOO_LONG: Final = "(this message is too long: I read only the beginning)"

FileT = TypeVar("FileT")


@dataclass(frozen=True, slots=True)
class Enclosed:
    """Words in a message beside those that its author wrote.

    `source`: FORWARDED, CARD or EMAIL. `author`: "" if unknown. `pages`: see `agent.incoming.Quoted`.
    """

    source: str
    author: str
    text: str
    pages: tuple[str, ...] = ()

    @property
    def may_be_ours(self) -> bool:
        """Whether the bot itself may have written them. The platforms do not say who wrote a forwarded message."""
        return self.source == FORWARDED

    @property
    def quotation(self) -> str:
        """Who wrote the words, and the words, with each line marked as quoted, so that they are not taken for the
        sender's.
        """
        author = f" by {' '.join(self.author.split())}" if self.author else ""
        return "\n".join(f"> {line}" for line in (f"({self.source}{author})", *self.text.splitlines()))


@dataclass(frozen=True)  # without slots: with them, Python cannot construct a frozen generic class by its alias
class MessageContent(Generic[FileT]):
    """`text`: what the author wrote. `files`: those of the forwarded messages, as the platform describes them."""

    text: str = ""
    enclosed: tuple[Enclosed, ...] = ()
    files: tuple[FileT, ...] = ()

    @property
    def whole(self) -> str:
        """All that the message shows, as one text."""
        return "\n".join(filter(None, (self.text, *(part.quotation for part in self.enclosed))))

    @property
    def may_hold_ours(self) -> bool:
        return any(part.may_be_ours for part in self.enclosed)

    def quotes(self, readable: Callable[[str], str], somebody: str) -> tuple[Quoted, ...]:
        """Return what is enclosed as quotes for the model. `somebody`: an author who is not known."""
        return tuple(
            Quoted(part.source, readable(part.author) or somebody, readable(part.text), part.pages, part.may_be_ours)
            for part in self.enclosed
        )


def shows_enclosed(whole: str) -> bool:
    """Whether this is the whole of a message that encloses something."""
    return any(f"({source}" in whole for source in (FORWARDED, CARD, EMAIL))


def bounded(lines: Iterable[str], limit: int = MAX_CHARS) -> str:
    """Return the lines that are not empty as one text; after `limit` characters, a note in place of the rest. A block
    of code that is cut is closed: what is pasted in one that stays open would count as its writer's words.
    """
    taken, chars = list[str](), 0
    for line in filter(None, lines):
        if chars + len(line) > limit:
            taken.append(line[: limit - chars])
            taken += ["```"] if "\n".join(taken).count("```") % 2 else []
            taken.append(TOO_LONG)
            break
        taken.append(line)
        chars += len(line) + 1
    return "\n".join(filter(None, taken)).strip("\n")
