"""What stands for a file whose content the model does not get, and how a file is named to it. Pure.

Above: `bot.attachments.reading`. Below: `bot.attachments.kinds`.
"""

from dataclasses import replace
from typing import Final

from agent.records import ATTACHED, Incoming
from bot.attachments.kinds import Kind, plain_type

MAX_NAMES: Final = 5
"""Of files that stand in the words of their message for as long as it is kept."""
MAX_NAME_CHARS: Final = 80
"""Of a file's name: as much as tells it from others; it is text that a stranger chose."""
_END_CHARS: Final = 12
"""What stays of a long name's end: the ending, and a number before it."""

TOO_MANY: Final = "only the first files of a message are read"
UNREACHABLE: Final = "it could not be fetched"
LATE: Final = "it could not be read in time"
WRONG_KIND: Final = "files of this kind cannot be read here"
OFFICE: Final = "office files cannot be read here; exported as PDF or as text they can"
NO_TEXT: Final = "it says that it is text, but it is not"
NOT_A_PICTURE: Final = "it is not the picture that it says it is"
NOT_A_PDF: Final = "it is not the PDF that it says it is"
LOCKED: Final = "it is a PDF that is locked with a password"
SCANNED: Final = "its pages hold no text: they may be pictures, as of a scan"
BROKEN_PDF: Final = "it is a PDF that cannot be read: it is damaged, or made too intricately"
UNHEARD: Final = "sound cannot be listened to here"
NOT_UNDERSTOOD: Final = "it could not be turned into text just now"
SILENT: Final = "no words can be heard in it"


def too_large(what: str, most: int) -> str:
    """`most`: in bytes."""
    return f"{what} may have {most // 1_000_000} MB at most"


def not_read(media_type: str, size: int, reason: str) -> str:
    """What stands for the file; `size` in bytes, as far as it is known."""
    known = f"{size:,} bytes" if size > 0 else "size unknown"
    return f"(not read: {reason}; {shown(plain_type(media_type)) or 'unknown kind'}, {known})"


def shown(name: str) -> str:
    """A name as one bounded line, without what hides letters or turns their order round."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in name).split())
    if len(line) <= MAX_NAME_CHARS:
        return line
    return f"{line[: MAX_NAME_CHARS - _END_CHARS - 1]}…{line[-_END_CHARS:]}"


def with_names(asked: Incoming) -> Incoming:
    """A message whose words name its own files, so that what is said later can still refer to them. Those of a question
    that is asked again do so already.
    """
    names = [shown(file.name) for file in asked.files if file.source == ATTACHED and not file.spoken]
    if not names:
        return asked
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    note = f"\n(attached: {', '.join(names[:MAX_NAMES])}{more})"
    return asked if asked.text.endswith(note) else replace(asked, text=f"{asked.text}{note}")


def of_kind(kind: Kind) -> str:
    """Why files of this kind are not even fetched."""
    return OFFICE if kind is Kind.OFFICE else WRONG_KIND
