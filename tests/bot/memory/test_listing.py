"""How memory entries are shown."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from agent.memory.forgetting_plans import Receipt
from agent.memory.layers import Remembered
from agent.memory.profile import ProfileEntry, ProfileField
from bot.memory import requests as view
from bot.memory import texts as memory_texts
from bot.memory.listing import corrected_text, deleted_text, entry_line, key_of, listed_entries
from bot.memory.numbers import EntryNumbers
from tests.fakes.facts import fact

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
LINK = "https://chat.example/m/7"


def shown(*known: Remembered, zone: str = "UTC") -> list[str]:
    numbers = EntryNumbers().including(key_of(one) for one in known)
    return [entry_line(entry) for entry in listed_entries(known, numbers, ZoneInfo(zone), self_stated=())]


def test_a_fact_is_shown_literally_with_its_date_and_its_source() -> None:
    tea = fact("1", "p", "I like *tea*", "person:p", NOON, permalink=LINK)
    assert shown(tea) == [f"**1** I like \\*tea\\* ([2026-11-21]({LINK}), in a direct message)"]


def test_what_was_learned_says_what_it_is_and_where_it_may_be_used() -> None:
    vim = ProfileEntry(1, ProfileField.PREFERENCES, "Vim", "team:T", (7,), NOON, "editor", 0.9, LINK)
    rust = ProfileEntry(2, ProfileField.GOALS, "learn Rust", "group:G", (), NOON, everywhere=True)
    assert shown(vim, rust) == [
        f"**1** Preference: editor: Vim ([2026-11-21]({LINK}), in a public channel)",
        "**2** Goal: learn Rust (2026-11-21, in a private place, your correction, used everywhere)",
    ]


def test_days_are_those_of_the_persons_time_zone() -> None:
    late = fact("1", "p", "tea", "person:p", NOON.replace(hour=20))
    assert shown(late, zone="Asia/Tokyo") == ["**1** tea (2026-11-22, in a direct message)"]


def test_an_erasing_claims_no_more_than_its_receipt() -> None:
    tea = fact("1", "p", "I like *tea*", "person:p", NOON)
    done = memory_texts.CORRECTED.format(said="“I like \\*tea\\*”")
    assert corrected_text(tea, Receipt({"facts": 1}, 0, bytes_gone=True)) == done
    assert corrected_text(tea, Receipt({"facts": 1}, 0, bytes_gone=False)) == f"{done} {memory_texts.LATER}"
    assert corrected_text(tea, Receipt({"facts": 1}, 0, bytes_gone=False, kept_by_server=True)) == done
    assert memory_texts.STILL_FOUND in corrected_text(tea, Receipt({"facts": 1}, 1, bytes_gone=True))


def test_a_deletion_says_which_entry_went_and_how_it_comes_back() -> None:
    tea = fact("1", "p", "I like tea", "person:p", NOON)
    said = deleted_text(tea, 4, Receipt({"facts": 1}, 0, bytes_gone=False))
    assert said.startswith("Deleted entry 4, “I like tea”. You can restore it with `/memory undo` within a minute. ")
    assert memory_texts.STILL_FOUND in deleted_text(tea, 4, Receipt({"facts": 1}, 1, bytes_gone=False))


def test_what_an_entry_is_called_changes_with_what_it_says() -> None:
    vim = ProfileEntry(1, ProfileField.PREFERENCES, "Vim", "team:T", (7,), NOON, "editor", 0.9, LINK)
    emacs = replace(vim, text="Emacs")
    assert key_of(vim) == key_of(replace(vim, sources=(7, 8), confidence=1.0)) != key_of(emacs)
    assert view.read_memory_request(view.delete_words(key_of(vim))) == view.DeleteEntry(key_of(vim))
