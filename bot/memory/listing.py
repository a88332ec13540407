"""Entries of the memory as Markdown that people read. Pure.

Rules. Every entry shows its source: the day, with a link to the message where there is one, and the kind of place.
People's text is escaped and shown literally. An entry's number is written as text, because Markdown renumbers lists.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from datetime import tzinfo
from typing import Final
from zlib import crc32

from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, audience_of
from agent.memory.facts import CORRECTION, FACTS_KEPT, FACTS_MADE_ROOM, Fact
from agent.memory.forgetting_plans import Receipt
from agent.memory.layers import Remembered
from agent.memory.profile import ProfileEntry
from agent.memory.review import Review
from bot.chat.texts.formatting import counted, literal, shortened
from bot.memory import texts as memory_texts
from bot.memory.answers import ShownEntry
from bot.memory.numbers import EntryNumbers
from bot.memory.requests import REPLACED, PauseLearning

BACKSLASH: Final = "\\"  # Left at the end of a shortened text, it would escape what follows
# Entries per page: with their buttons they fit one message on every platform, and one screen of a phone.
PAGE: Final = 6
TERMINAL_PAGE: Final = 24  # Without buttons each entry is a line or two, and a terminal is scrolled
QUOTE_CHARS: Final = 200  # Of an entry's text, where a sentence quotes it


_NO_REVIEWS: Final[Mapping[str, Review]] = {}


def key_of(item: Remembered) -> str:
    """Return the key that refers to an entry, with its present text, in commands and buttons: "f:ID" or "p:ID-HASH".

    A fact is never edited. A profile entry's text changes as more is learned; its key then changes, too, so that a
    decision never applies to a text that the person has not seen.
    """
    if not isinstance(item, ProfileEntry):
        return f"f:{item.id}"
    return f"p:{item.id}-{crc32(f'{item.field} {item.full_text}'.encode('utf-8', 'replace')):08x}"


def entry_sentence(item: Remembered) -> str:
    """Return an entry's text, quoted and shortened for use in a sentence."""
    text = (
        f"{memory_texts.FIELDS[item.field]}: {literal(item.full_text)}"
        if isinstance(item, ProfileEntry)
        else literal(item.text)
    )
    return f"“{shortened(text, QUOTE_CHARS).rstrip(BACKSLASH)}”"


def listed_entries(
    items: Sequence[Remembered],
    numbers: EntryNumbers,
    zone: tzinfo,
    self_stated: Container[str],
    former: Sequence[Fact] = (),
    valid: Sequence[Fact] = (),
    reviews: Mapping[str, Review] = _NO_REVIEWS,
) -> tuple[ShownEntry, ...]:
    """Return the entries as they are shown, in their order; their numbers are in `numbers`, and days are of `zone`.

    `self_stated`: the ids of facts that come from the person's own words alone. Profile entries always do.
    `former`: the superseded facts; `valid`: the others, also those of other pages; `reviews`: by the entries' keys.
    """
    replaced: dict[str, list[str]] = {}
    for fact in former:
        if fact.superseded_by is not None:
            replaced.setdefault(fact.superseded_by, []).append(fact.text)
    by_id = {fact.id: fact for fact in valid}
    return tuple(
        _entry(
            item,
            numbers,
            zone,
            self_stated,
            () if isinstance(item, ProfileEntry) else replaced.get(item.id, ()),
            None if isinstance(item, ProfileEntry) else by_id.get(item.doubted_by or ""),
            reviews.get(key_of(item)),
        )
        for item in items
    )


def page_of(
    items: Sequence[Remembered],
    numbers: EntryNumbers,
    page: int,
    key: str | None = None,
    size: int = PAGE,
    first: Container[str] = (),
) -> tuple[list[Remembered], int, int]:
    """Return the entries of a page, its number and the count of pages; the nearest page if there is no such page.

    They are in the order of their numbers, those with the keys `first` before all others. `key`: of an entry; if it is
    listed, its page is returned instead of `page`. `size`: the entries per page.
    """
    in_order = sorted(items, key=lambda item: (key_of(item) not in first, numbers.by_key[key_of(item)]))
    index = next((index for index, item in enumerate(in_order) if key_of(item) == key), None)
    target, pages = page if index is None else index // size + 1, max(1, -(-len(items) // size))
    current = min(max(target, 1), pages)
    return in_order[(current - 1) * size : current * size], current, pages


def entry_line(entry: ShownEntry, limit: int | None = None) -> str:
    """Return one entry on one line, with up to `limit` characters of its text."""
    text = entry.text if limit is None else shortened(entry.text, limit).rstrip(BACKSLASH)
    return f"**{entry.number}** {text} ({entry.source})"


def deleted_text(item: Remembered, number: int | None, receipt: Receipt) -> str:
    """Return the sentence after a deletion that can be undone. It claims no more than the receipt does."""
    done = memory_texts.DELETED.format(
        said=f"entry {number}, {entry_sentence(item)}" if number else entry_sentence(item)
    )
    return f"{done} {memory_texts.STILL_FOUND}" if receipt.found_again else done


def corrected_text(item: Remembered, receipt: Receipt, *, narrower: bool = False) -> str:
    """Return the sentence after a correction; `narrower`: the new entry may be used in fewer places than the old."""
    sentence = memory_texts.CORRECTED.format(said=entry_sentence(item))
    return _with_proof(f"{sentence} {memory_texts.BETWEEN_US}" if narrower else sentence, receipt)


def lasting_text(pauses: Sequence[PauseLearning]) -> str:
    """Return the sentences about the pauses that apply at the viewer's place; "" for none."""
    return "\n".join(memory_texts.paused_text(here=pause.here, for_everybody=pause.for_everybody) for pause in pauses)


def review_text(count: int, *, numbered: bool) -> str:
    """Return the notice above entries that are offered for review; "" for none. `numbered`: there are no buttons."""
    if not count:
        return ""
    counted_entries = counted(count, "entry", "entries")
    return (memory_texts.TO_REVIEW_BY_NUMBER if numbered else memory_texts.TO_REVIEW).format(count=counted_entries)


def why_reviewed(review: Review | None, zone: tzinfo) -> str:
    """Return why an entry is offered for review, behind its text; "" if it is not."""
    if review is None:
        return ""
    day = review.since.astimezone(zone).date().isoformat()
    if review.by is None:
        return memory_texts.NOT_USED.format(day=day)
    policy = literal(shortened(review.by.text, QUOTE_CHARS)).rstrip(BACKSLASH)
    return memory_texts.OVERRULED.format(day=day, policy=policy)


def full_text(items: Sequence[Remembered]) -> str:
    """Return the notice that an audience holds as many facts as it may; "" where none does."""
    counts = Counter(item.audience for item in items if isinstance(item, Fact))
    largest = max(counts.values(), default=0) >= FACTS_KEPT - FACTS_MADE_ROOM
    return memory_texts.MEMORY_FULL.format(most=FACTS_KEPT) if largest else ""


def _entry(
    item: Remembered,
    numbers: EntryNumbers,
    zone: tzinfo,
    self_stated: Container[str],
    replaced: Sequence[str],
    doubter: Fact | None,
    due: Review | None,
) -> ShownEntry:
    """`replaced`: the texts of the facts that it superseded; `doubter`: the fact that may have replaced it."""
    doubt = instead = ""
    if isinstance(item, ProfileEntry):
        text, plain, in_own_words = f"{memory_texts.FIELDS[item.field]}: {literal(item.full_text)}", item.text, True
    else:
        review = " (needs review: something it is based on has changed)" if item.needs_review else ""
        if doubter is not None and (newer := numbers.by_key.get(key_of(doubter))) is not None:
            shown = literal(shortened(doubter.text, QUOTE_CHARS)).rstrip(BACKSLASH)
            doubt = memory_texts.MAY_BE_OUTDATED.format(number=newer, newer=shown)
        former = "; ".join(literal(shortened(text, QUOTE_CHARS)).rstrip(BACKSLASH) for text in replaced[:REPLACED])
        instead = memory_texts.REPLACED.format(before=former) if former else ""
        text, plain, in_own_words = (
            literal(item.text) + memory_texts.ASSUMED.get(item.scope, "") + review + doubt + instead,
            item.value,
            item.id in self_stated,
        )
    return ShownEntry(
        key_of(item),
        numbers.by_key[key_of(item)],
        text + why_reviewed(due, zone),
        _source(item, zone),
        may_go_everywhere=in_own_words and not item.everywhere,
        everywhere=item.everywhere,
        plain=plain,
        may_undo=bool(instead),
        may_settle=bool(doubt),
        may_keep=due is not None,
    )


def _with_proof(sentence: str, receipt: Receipt) -> str:
    if receipt.found_again:
        return f"{sentence} {memory_texts.STILL_FOUND}"
    return sentence if receipt.bytes_gone or receipt.kept_by_server else f"{sentence} {memory_texts.LATER}"


def _source(item: Remembered, zone: tzinfo) -> str:
    is_entry = isinstance(item, ProfileEntry)
    day = (item.time if is_entry else item.timestamp).astimezone(zone).date().isoformat()
    when = f"[{day}]({item.permalink})" if item.permalink else day
    stated = not item.sources if is_entry else item.source == CORRECTION
    notes = (["your correction"] if stated else []) + (["used everywhere"] if item.everywhere else [])
    return ", ".join([when, _where(item.audience), *notes])


def _where(audience: str) -> str:
    """Return the kind of place of an audience; the source's link leads to the place itself."""
    match audience_of(audience):
        case PersonAudience():
            return "in a direct message"
        case GroupAudience():
            return "in a private place"
        case TeamAudience():
            return "in a public channel"
