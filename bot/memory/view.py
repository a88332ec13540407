"""What `/memory` shows and says, as Markdown. Pure.

Rules. Every entry says where it came from: the day, with the link to the message where there is one, and the kind of
place. What people wrote is shown literally. An entry's number is text: Markdown counts the items of its own lists anew.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from datetime import tzinfo
from typing import Final
from zlib import crc32

from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, audience_of
from agent.memory.facts import CORRECTION, FACTS_KEPT, FACTS_MADE_ROOM, Fact, Scope
from agent.memory.profile import ProfileEntry, ProfileField
from agent.records import Receipt, Remembered
from bot.host import MemoryAnswer, ShownEntry
from bot.memory import words
from bot.memory.numbers import Numbers
from bot.wording import literal, shortened

BACKSLASH: Final = "\\"
"""At the end of a shortened text, what it escaped is gone."""
PAGE: Final = 6
"""Entries on a page: with their buttons they fit one message on every platform, and one screen of a phone."""

HEADING: Final = "This is what I remember about you:"
NOTHING: Final = "I remember nothing about you yet. Write “remember that …” and I will."
GONE: Final = "There is no such entry any more; `/memory` shows the list."
NO_NUMBER: Final = "There is no entry {number} in your list; `/memory` shows it."
DELETED: Final = (
    "Deleted {said}. `/memory undo` brings it back within a minute; then it is erased. I will not learn it again from "
    "the same message, which stays until you `/forget` it."
)
BACK: Final = "It is back: {said}."
ELSEWHERE: Final = "what you deleted, where it was said"
NOT_BACK: Final = "There is nothing to bring back: what was deleted is erased after a minute."
LATER: Final = "Old bytes may stay in the database files until the next clean-up."
STILL_FOUND: Final = "**A search afterwards still finds it.** Please tell whoever runs this bot."
CORRECTED: Final = "Corrected: your own words stand there now, instead of {said}."
SAID_CHARS: Final = 200
"""Of an entry, where a sentence names it."""
BETWEEN_US: Final = "You said them to me alone, so I use them where only you read, unless you choose “use everywhere”."
NO_SECRETS: Final = "That looks like a password or a key: I keep no secrets, so nothing was changed."
TOO_LONG: Final = "That is longer than an entry may be ({most} characters), so nothing was changed."
USED_EVERYWHERE: Final = (
    "From now on I use it in all replies to you, and in nobody else's. Whoever reads such a reply may read it, too."
)
USED_HERE: Final = "From now on I use it only where it was said."
SAME: Final = "It says exactly that already."
BOUND: Final = "Somebody with greater authority has set that, so nothing was changed."
FULL: Final = (
    "That is as much as I keep for one place ({most} facts): for what is new, the oldest goes that was replaced, or "
    "that no answer has drawn on for longest."
)
BUSY: Final = "I was learning something at that very moment, so nothing was changed; please try again."
NOT_YOUR_WORDS: Final = "That did not come from your own words alone, so I can use it only where it was said."
EXPORTED: Final = "This is everything that I know about you."
NOT_THE_MANAGER: Final = (
    "Only those who manage this channel may decide that for everybody; `/memory pause here` is for you alone."
)

ASSUMED: Final[Mapping[Scope, str]] = {
    Scope.HYPOTHETICAL: " (only assumed, in one conversation)",
    Scope.DRAFT: " (a draft, in one conversation)",
    Scope.SESSION: " (for one conversation)",
    Scope.TASK: " (for one question)",
}
"""Behind what does not hold everywhere."""
FIELDS: Final[Mapping[ProfileField, str]] = {
    ProfileField.COMMUNICATION_STYLE: "How you like answers",
    ProfileField.GOALS: "Goal",
    ProfileField.PREFERENCES: "Preference",
    ProfileField.PROJECTS: "Project",
    ProfileField.EXPERTISE_AREAS: "You know well",
    ProfileField.CONSTRAINTS: "Limit",
    ProfileField.INTERESTS: "Interest",
    ProfileField.SUCCESS_PATTERNS: "What helped you",
    ProfileField.FAILURE_PATTERNS: "What did not help you",
}
"""What the entries of a profile are called."""


def key_of(one: Remembered) -> str:
    """What stands for it in words and buttons: for exactly what it says now.

    A fact is never edited. An entry that says something else, as more was learned, is another one for whoever decides.
    """
    if not isinstance(one, ProfileEntry):
        return f"f:{one.id}"
    return f"p:{one.id}-{crc32(f'{one.field} {one.said}'.encode('utf-8', 'replace')):08x}"


def named(one: Remembered) -> str:
    """What an entry says, in a sentence."""
    text = f"{FIELDS[one.field]}: {literal(one.said)}" if isinstance(one, ProfileEntry) else literal(one.said)
    return f"“{shortened(text, SAID_CHARS).rstrip(BACKSLASH)}”"


def listed(
    known: Sequence[Remembered], numbers: Numbers, zone: tzinfo, own_words: Container[str]
) -> tuple[ShownEntry, ...]:
    """These, in the order of their numbers, which `numbers` holds; days are of `zone`.

    `own_words`: the ids of the facts that say nothing but what the person wrote themselves. What was learned comes from
    nothing else.
    """
    shown = (_entry(one, numbers.of[key_of(one)], zone, own_words) for one in known)
    return tuple(sorted(shown, key=lambda entry: entry.number))


def page_of(known: Sequence[Remembered], numbers: Numbers, page: int) -> tuple[list[Remembered], int, int]:
    """What stands on a page, the number of it and of all pages; the nearest page, if there is no such one."""
    pages = max(1, -(-len(known) // PAGE))
    here = min(max(page, 1), pages)
    in_order = sorted(known, key=lambda one: numbers.of[key_of(one)])
    return in_order[(here - 1) * PAGE : here * PAGE], here, pages


def as_list(answer: MemoryAnswer) -> str:
    """The answer with its entries as text, for where there are no buttons."""
    lines = [f"- {line(entry)}" for entry in answer.entries]
    if answer.pages > 1:
        another = answer.page % answer.pages + 1
        lines += ["", f"Page {answer.page} of {answer.pages}; `/memory page {another}` shows another."]
    return "\n".join([answer.text, "", *lines]) if lines else answer.text


def line(entry: ShownEntry, most: int | None = None) -> str:
    """One entry on one line; of its text at most so many characters."""
    text = entry.text if most is None else shortened(entry.text, most).rstrip(BACKSLASH)
    return f"**{entry.number}** {text} ({entry.source})"


def deleted_text(one: Remembered, number: int | None, receipt: Receipt) -> str:
    """An entry was deleted, and can be brought back. It claims no more than the receipt does."""
    done = DELETED.format(said=f"entry {number}, {named(one)}" if number else named(one))
    return f"{done} {STILL_FOUND}" if receipt.found_again else done


def corrected_text(one: Remembered, receipt: Receipt, *, narrower: bool = False) -> str:
    """It was deleted, and the person's words are in its place; `narrower`: they may be used in fewer places."""
    done = CORRECTED.format(said=named(one))
    return _proved(f"{done} {BETWEEN_US}" if narrower else done, receipt)


def pause_text(*, on: bool, here: bool, for_everybody: bool) -> str:
    """Learning was paused, or goes on."""
    whom = "anybody says" if for_everybody else "you say"
    where = " in this channel" if here else ""
    if not on:
        return f"I learn again from what {whom}{where}."
    asked = "somebody asks" if for_everybody else "you ask"
    back = _back(here=here, for_everybody=for_everybody)
    return (
        f"I have stopped learning from what {whom}{where}. What is said meanwhile is never learned, unless {asked} me "
        f"to remember it; {back} What is remembered already stays; `/memory` shows it."
    )


def lasting_text(pauses: Sequence[words.Pause]) -> str:
    """Which pauses hold where this is read; "" for none."""
    return "\n".join(
        f"Learning is paused{' in this channel' if one.here else ''}{' for everybody' if one.for_everybody else ''}; "
        f"{_back(here=one.here, for_everybody=one.for_everybody)}"
        for one in pauses
    )


def full_text(known: Sequence[Remembered]) -> str:
    """What is said where a place holds as much as it may; "" where none does."""
    many = Counter(one.audience for one in known if isinstance(one, Fact))
    return FULL.format(most=FACTS_KEPT) if max(many.values(), default=0) >= FACTS_KEPT - FACTS_MADE_ROOM else ""


def help_text() -> str:
    """What can be written, and what it does."""
    return "\n".join(f"- `{written}`: {what}" for written, what in words.HELP.items())


def _entry(one: Remembered, number: int, zone: tzinfo, own_words: Container[str]) -> ShownEntry:
    if isinstance(one, ProfileEntry):
        text, plain, own = f"{FIELDS[one.field]}: {literal(one.said)}", one.text, True
    else:
        review = " (this rests on something that has changed)" if one.needs_review else ""
        text, plain, own = literal(one.said) + ASSUMED.get(one.scope, "") + review, one.value, one.id in own_words
    return ShownEntry(
        key_of(one),
        number,
        text,
        _source(one, zone),
        may_go_everywhere=own and not one.everywhere,
        everywhere=one.everywhere,
        plain=plain,
    )


def _back(*, here: bool, for_everybody: bool) -> str:
    where = f"{' here' if here else ''}{' for everybody' if for_everybody else ''}"
    return f"`/memory resume{where}` goes on."


def _proved(done: str, receipt: Receipt) -> str:
    if receipt.found_again:
        return f"{done} {STILL_FOUND}"
    return done if receipt.bytes_gone or receipt.kept_by_server else f"{done} {LATER}"


def _source(one: Remembered, zone: tzinfo) -> str:
    is_entry = isinstance(one, ProfileEntry)
    said = (one.time if is_entry else one.timestamp).astimezone(zone).date().isoformat()
    when = f"[{said}]({one.permalink})" if one.permalink else said
    stated = not one.sources if is_entry else one.source == CORRECTION
    notes = (["your correction"] if stated else []) + (["used everywhere"] if one.everywhere else [])
    return ", ".join([when, _where(one.audience), *notes])


def _where(audience: str) -> str:
    """The kind of place in which it was said; the link leads to the place itself."""
    match audience_of(audience):
        case PersonAudience():
            return "between us"
        case GroupAudience():
            return "in a private place"
        case TeamAudience():
            return "in a public channel"
