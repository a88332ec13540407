"""How entries of the memory read."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from agent.memory.profile import ProfileEntry, ProfileField
from agent.records import Receipt, Remembered
from bot.host import MemoryAnswer
from bot.memory import view
from bot.memory.numbers import Numbers
from tests.fakes.facts import fact

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LINK = "https://chat.example/m/7"


def shown(*known: Remembered, zone: str = "UTC") -> list[str]:
    numbers = Numbers().including(view.key_of(one) for one in known)
    return [view.line(entry) for entry in view.listed(known, numbers, ZoneInfo(zone), own_words=())]


def test_a_fact_is_shown_literally_with_its_date_and_its_source() -> None:
    tea = fact("1", "p", "I like *tea*", "person:p", NOON, permalink=LINK)
    assert shown(tea) == [f"1. I like \\*tea\\* ([2026-11-21]({LINK}), between us)"]


def test_what_was_learned_says_what_it_is_and_where_it_may_be_used() -> None:
    vim = ProfileEntry(1, ProfileField.PREFERENCES, "Vim", "team:T", (7,), NOON, "editor", 0.9, LINK)
    rust = ProfileEntry(2, ProfileField.GOALS, "learn Rust", "group:G", (), NOON, everywhere=True)
    assert shown(vim, rust) == [
        f"1. Preference: editor: Vim ([2026-11-21]({LINK}), in a public channel)",
        "2. Goal: learn Rust (2026-11-21, in a private place, your correction, used everywhere)",
    ]


def test_days_are_those_of_the_persons_time_zone() -> None:
    late = fact("1", "p", "tea", "person:p", NOON.replace(hour=20))
    assert shown(late, zone="Asia/Tokyo") == ["1. tea (2026-11-22, between us)"]


def test_an_erasing_claims_no_more_than_its_receipt() -> None:
    assert view.erased_text(Receipt({"profile": 1}, 0, bytes_gone=True)) == view.ERASED
    assert view.erased_text(Receipt({"profile": 1}, 0, bytes_gone=False)) == f"{view.ERASED} {view.LATER}"
    assert view.erased_text(Receipt({"profile": 1}, 0, bytes_gone=False, kept_by_server=True)) == view.ERASED
    assert view.STILL_FOUND in view.erased_text(Receipt({"profile": 1}, 1, bytes_gone=True))


def test_an_answer_without_entries_is_its_text() -> None:
    assert view.as_list(MemoryAnswer("Nothing.")) == "Nothing."
