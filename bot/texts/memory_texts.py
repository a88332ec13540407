"""What people read about what is remembered, learned, forgotten and laid down for all. Pure."""

from collections.abc import Mapping
from typing import Final

from agent.records import Receipt
from bot.texts.formatting import counted

# --------------------------------------------------------------------------------------------------
# What was remembered

# How the line below an answer begins that says what was kept.
REMEMBERED = "*Remembered: "
# What stands in its place once that is taken back.
UNDONE = "*Undone: I no longer remember this.*"


def undone(text: str) -> str:
    """A reply whose last "Remembered …" is said to be taken back; its words stand there no more."""
    lines = text.split("\n")
    for at in reversed(range(len(lines))):
        if lines[at].startswith(REMEMBERED) and lines[at].endswith("*"):
            return "\n".join([*lines[:at], UNDONE, *lines[at + 1 :]])
    return text


def withheld_text(count: int) -> str:
    """What is told to the asker alone about what a search found for them elsewhere."""
    more = counted(count, "more result", "more results")
    verb = "is" if count == 1 else "are"
    return f"{more} from your direct messages or private channels {verb} not shown here: ask me in a direct message."


# --------------------------------------------------------------------------------------------------
# Forgetting

FORGET_WHICH = "What shall I forget? Write `thread`, `everything`, `2 hours`, `since Monday`, or `about` and a word."
FORGET_DECLINED = "Nothing was forgotten."
# What a person knows by name, in the order of a receipt, in singular and plural.
_KINDS = {
    "messages": ("message", "messages"),
    "facts": ("fact", "facts"),
    "profile": ("profile entry", "profile entries"),
    "summaries": ("summary", "summaries"),
}
# As previews and receipts count those in which something falls.
THREADS: Final = "conversations"


def amounts(counts: Mapping[str, int]) -> str:
    """How much of each kind, as a person knows them, and where: "2 messages, 1 fact, in 1 thread"; "nothing"."""
    known = [counted(counts[kind], *words) for kind, words in _KINDS.items() if counts.get(kind)]
    if records := sum(count for kind, count in counts.items() if kind not in {*_KINDS, THREADS}):
        known.append(counted(records, "internal record", "internal records"))
    if threads := counts.get(THREADS, 0):
        known.append(f"in {counted(threads, 'thread', 'threads')}")
    return ", ".join(known) or "nothing"


# As much as the search for proof shows: what somebody says elsewhere in words of their own is another text.
FOUND_NOTHING: Final = "A search afterwards finds none of these texts where they stood"


def receipt_text(receipt: Receipt) -> str:
    """What was erased, and what the search for proof says. It claims no more than the receipt does."""
    if not any(receipt.erased.values()) and not receipt.found_again:
        return "There was nothing to forget."
    done = f"Forgotten: {amounts(receipt.erased)}. {_proof(receipt)}"
    if receipt.related:
        stays = counted(receipt.related, "message", "messages")
        done = f"{done} {stays} elsewhere may say the same in other words: not forgotten."
    if receipt.replies:
        pages = counted(receipt.replies, "message", "messages")
        return f"{done} I am also deleting {pages} of mine where you see them; that may take a while."
    return done


def _proof(receipt: Receipt) -> str:
    if receipt.found_again:
        again = counted(receipt.found_again, "entry", "entries")
        return f"**A search afterwards still finds {again}.** Please tell whoever runs this bot."
    if receipt.bytes_gone:
        return f"{FOUND_NOTHING}, and their bytes are gone from the database files."
    if receipt.kept_by_server:
        return (
            f"{FOUND_NOTHING}. The database server's files and backups are kept by whoever runs it: "
            "old bytes stay there until its next vacuum, and until the backups run out."
        )
    return f"{FOUND_NOTHING}; old bytes may stay in the database files until the next clean-up."
