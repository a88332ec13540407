"""The texts of `/forget`."""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import assert_never

from agent.incoming import platform_of
from agent.memory.forgetting_plans import AboutTopic, During, Everything, OneThread, Preview, Receipt, Sample, Wish
from agent.memory.periods import TimeSpan
from bot.chat.texts.formatting import counted, literal, platform_name, shortened

FORGET_WHICH = "What should I forget? Write {ways}."
FORGET_DECLINED = "Nothing was forgotten."
FORGET_THREAD = "Forget this thread"
FORGET_THREAD_WHAT = (
    "Erase what you wrote to the bot in this thread, its answers, and what it remembered from them. You see a preview "
    "first."
)
EDITED_MEANWHILE = (
    "*You edited your question after I started. This answers the earlier version. To answer the new one, press "
    "Regenerate.*"
)
# What a person knows by name, in the order of a receipt, in singular and plural.
_KINDS = {
    "messages": ("message", "messages"),
    "facts": ("fact", "facts"),
    "profile": ("profile entry", "profile entries"),
    "documents": ("document", "documents"),
    "files": ("file saved by Python code", "files saved by Python code"),
    "schedules": ("schedule", "schedules"),
    "summaries": ("summary", "summaries"),
    "accounts": ("sign-in to a tool", "sign-ins to tools"),
    "tokens": ("API token", "API tokens"),
}
# As previews and receipts count those in which something falls.
THREADS = "conversations"
HOME_FORGET = "Forget what you told me"
FORGET_SECTION = "You see a preview before anything is erased."


def forget_ways(*, in_thread: bool) -> str:
    """What can be written after "forget", as it follows "Write"."""
    return f"{'`thread`, ' if in_thread else ''}`everything`, `2 hours`, `since Monday`, or `about` and a word"


def forget_which(*, in_thread: bool) -> str:
    return FORGET_WHICH.format(ways=forget_ways(in_thread=in_thread))


def amounts(counts: Mapping[str, int]) -> str:
    """How much of each kind, as a person knows them, and where: "2 messages, 1 fact, in 1 thread"; "nothing"."""
    known = [counted(counts[kind], *words) for kind, words in _KINDS.items() if counts.get(kind)]
    if records := sum(count for kind, count in counts.items() if kind not in {*_KINDS, THREADS}):
        known.append(counted(records, "internal record", "internal records"))
    if threads := counts.get(THREADS, 0):
        known.append(f"in {counted(threads, 'thread', 'threads')}")
    return ", ".join(known) or "nothing"


# As much as the search for proof shows: what somebody says elsewhere in words of their own is another text.
FOUND_NOTHING = "A search confirmed that these texts are no longer where they were stored"


NOT_LOGGED = (
    "**The forgetting log could not be written**, so restoring an older backup now would bring this back. Please tell "
    "my operator."
)


def receipt_text(receipt: Receipt) -> str:
    """What was erased, and what the search for proof says. It claims no more than the receipt does."""
    if not any(receipt.erased.values()) and not receipt.found_again:
        return "There was nothing to forget."
    done = f"Forgotten: {amounts(receipt.erased)}. {_proof(receipt)}"
    if not receipt.is_logged:
        done = f"{done} {NOT_LOGGED}"
    if receipt.related:
        stays = counted(receipt.related, "message", "messages")
        done = (
            f"{done} {stays} elsewhere may say the same thing in other words, or be based on what was forgotten. I "
            f"kept {_them(receipt.related)}."
        )
    if receipt.documents:
        done = f"{done} {_documents_stay(receipt.documents)}."
    if receipt.replies:
        pages = counted(receipt.replies, "message", "messages")
        done = f"{done} I am also deleting {pages} of mine that you can still see. That may take a while."
    if receipt.kept:
        done = f"{done} {_staying(receipt.kept)} visible to you, as you chose."
    if receipt.ephemeral:
        staying = _staying(receipt.ephemeral, " that only you see")
        done = f"{done} {staying} until you dismiss {_them(receipt.ephemeral)}."
    return done


def _staying(messages: int, which: str = "") -> str:
    return f"{counted(messages, 'message', 'messages')} of mine{which} {'stays' if messages == 1 else 'stay'}"


def _them(messages: int) -> str:
    return "it" if messages == 1 else "them"


def _proof(receipt: Receipt) -> str:
    if receipt.found_again:
        again = counted(receipt.found_again, "entry", "entries")
        return f"**I searched afterward and still found {again}.** Please tell my operator."
    if receipt.bytes_gone:
        return f"{FOUND_NOTHING}, and no trace of them is left in the database files."
    if receipt.kept_by_server:
        return (
            f"{FOUND_NOTHING}. Traces may remain in the database server's files until its next vacuum, and in "
            "backups until they expire."
        )
    return f"{FOUND_NOTHING}. Traces may remain in the database files until the next cleanup."


# How each wish is written, and what it does.
FORGET_HELP: Mapping[str, str] = {
    "/forget thread": "forget this thread: what you said in it, the answers to it, and what I remembered from it",
    "/forget 2 hours": "forget what you said in the last hours, days, or weeks; also “today”, “since Monday”",
    "/forget about Apollo": "forget what you said about a topic, and what I know about it",
    "/forget everything": "forget everything that you told me",
}
NO_THREAD = "There is no thread here. Write `/forget 2 hours`, `/forget about …`, or `/forget everything`."
FORGET_UNCLEAR = "I did not understand “{said}”. Write {ways}."
ABOUT_TOO_LONG = "Describe the topic in up to {limit} characters."
ABOUT_WHAT = "Name a topic, as in `/forget about Apollo`."
ABOUT_TOO_SHORT = (
    "Use a word of at least {limit} letters ({limit_cjk} in Chinese, Japanese, or Korean). Shorter words match almost "
    "every message."
)
OTHERS = "not shown here, because other people can read this conversation"
FORGET_CHANGED = "What you asked me to forget has changed since the preview. Nothing has been erased yet."
FORGETTING = "I am still working on your earlier `/forget` requests. Wait until they are done, then ask again."
FORGET_STOPPED = "I stopped the search. Nothing was forgotten."
NOTHING_SOUGHT = "There is no search to stop."
ERASING = "Erasing. This can take a while. I will post here when it is done."
FORGET_UNREADABLE = "This button no longer works. Use `/forget` again."
# No preview counts choices: whoever has asked once may have made some.
NOTHING_BUT_CHOICES = (
    "I have not stored any messages from you, and I know nothing about you. Do you want me to forget your preferences, "
    "such as your model?"
)


# Enough to recognise what was said; it stays on one or two lines of a phone.
_LINE_CHARS = 100


NOT_FOUND_BY_WORDS = (
    "Other people also wrote in these threads. I search my answers to them for the same words, so I may miss answers "
    "that say this in other words."
)


def forget_question(wish: Wish, preview: Preview, zone: tzinfo) -> str:
    """What will be forgotten, how much that is, and that it is for good."""
    if preview.is_empty and isinstance(wish, Everything):
        return NOTHING_BUT_CHOICES
    lines = [f"I will forget {_what(wish, zone)}. That is {amounts(preview.counts)}. This cannot be undone."]
    if preview.lines and isinstance(wish, During | AboutTopic):
        lines += ["", *_listed(preview.lines, sum(_things(preview).values()))]
    if preview.repetitions.count:
        told = counted(preview.repetitions.count, "answer", "answers")
        lines += ["", f"{told} of mine elsewhere used what you said there and will also be erased:"]
        lines += _listed(preview.repetitions.lines, preview.repetitions.count)
    if preview.related.count:
        lines += ["", f"{related_words(preview)} I keep them unless you choose otherwise:"]
        lines += _listed(preview.related.lines, preview.related.count)
    if preview.is_shared:
        lines += ["", NOT_FOUND_BY_WORDS]
    return "\n".join([*lines, *documents_left(preview.documents)])


def all_accounts(others: Sequence[str]) -> str:
    """The sentence that what falls is of several accounts. `others`: the ids of the connected ones."""
    platforms = " and ".join(dict.fromkeys(platform_name(platform_of(other)) for other in others))
    accounts = "account" if len(others) == 1 else "accounts"
    return f"This includes what you told me from your connected {accounts} on {platforms}."


def related_words(preview: Preview) -> str:
    """The sentence about messages that are possibly derived from what is erased, and why each may be."""
    same = counted(preview.related.count - preview.in_view, "message", "messages")
    said_again = f"{same} elsewhere may say the same thing in other words."
    if not preview.in_view:
        return said_again
    are_all = preview.related.count == preview.in_view
    more = "" if are_all else "more "
    in_view = counted(preview.in_view, f"{more}answer", f"{more}answers")
    which = "does not use the same words" if preview.in_view == 1 else "do not use the same words"
    written = (
        f"{in_view} of mine {which}, but I wrote {_them(preview.in_view)} while I could see what you want to forget."
    )
    return written if are_all else f"{said_again} {written}"


def documents_left(documents: Sample) -> list[str]:
    """The lines about documents that the person added and that stay, because they belong to their place."""
    if not documents.count:
        return []
    return ["", f"{_documents_stay(documents.count)}:", *_listed(documents.lines, documents.count)]


def _documents_stay(count: int) -> str:
    stays = counted(count, "document that you added is not included", "documents that you added are not included")
    return f"{stays}; to remove {_them(count)}, use `/knowledge`"


def looking(found: int) -> str:
    """It takes long to find what falls."""
    so_far = counted(found, "message", "messages")
    return f"Looking through what you said… {so_far} found so far. Nothing has been erased yet."


def _listed(lines: Sequence[str], count: int) -> list[str]:
    """These, shortened, and how many more there are."""
    shown = [f"- {literal(shortened(line, _LINE_CHARS))}" for line in lines]
    more = count - len(lines)
    return [*shown, f"- … and {more} more"] if more > 0 and lines else shown or [f"- {OTHERS}"]


def nothing_to_forget(wish: OneThread | During | AboutTopic, zone: tzinfo) -> str:
    """There is nothing that it could erase."""
    match wish:
        case AboutTopic(_, words):
            return f"I found nothing about “{literal(words)}” in what you said or in what I know about you."
        case OneThread():
            return "There is nothing to forget in this thread."
        case During(_, period):
            return f"There is nothing to forget {_span(period, zone)}."
        case _:
            assert_never(wish)


def _what(wish: Wish, zone: tzinfo) -> str:
    match wish:
        case OneThread():
            return "this thread: what you said in it, the answers to it, and what I remembered from it"
        case Everything():
            return "everything that you told me: all threads, and everything I remember about you"
        case During(_, period):
            return f"what you said everywhere {_span(period, zone)}"
        case AboutTopic(_, words):
            return f"everything that mentions “{literal(words)}”: what you said, the answers to it, and what I know"
        case _:
            assert_never(wish)


def _things(preview: Preview) -> dict[str, int]:
    """What falls, without where it stands."""
    return {kind: number for kind, number in preview.counts.items() if kind != THREADS}


def _span(period: TimeSpan, zone: tzinfo) -> str:
    since, until = (f"{time.astimezone(zone):%A %Y-%m-%d %H:%M}" for time in (period.since, period.until))
    return f"from {since} to {until} ({zone})"


COPY_STILL_KEPT = "{model} may still store part of an old turn; the bot will try to delete it again later."
