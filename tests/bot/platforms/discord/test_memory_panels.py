"""What one person alone is shown stays within Discord's limits, whatever it holds."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.host import MemoryAnswer, ModelMenu, ShownEntry
from bot.memory import view
from bot.platforms.discord import interactions, memory_panels, preferences
from bot.platforms.discord.interactions import Panel
from bot.platforms.discord.preferences import ChosenSettings
from tests.fakes.discord_world import parts

PERSON = 2**63
MAX_PARTS, MAX_CHARS, MAX_ID, MAX_LABEL, MAX_OPTIONS, MAX_IN_ROW = 40, 4_000, 100, 80, 25, 5
"""Discord's limits."""

LINK = "[2026-11-21](https://discord.com/channels/9223372036854775807/9223372036854775807/9223372036854775807)"
TEXTS = st.text(min_size=1, max_size=6_000)
ENTRIES = st.builds(
    ShownEntry,
    key=st.integers(1, 2**31).map(lambda number: f"p:{number}"),
    number=st.integers(1, 2**31),
    text=TEXTS,
    source=st.just(f"{LINK}, in a private place, your correction, used everywhere"),
    may_go_everywhere=st.booleans(),
    everywhere=st.booleans(),
)
MENUS = st.builds(
    ModelMenu,
    current=st.text(min_size=1, max_size=300),
    why=TEXTS,
    allowed=st.lists(st.text(min_size=1, max_size=120), max_size=40, unique=True).map(tuple),
)


def fits(panel: Panel) -> bool:
    shown = [*parts({"components": panel.to_components()})]
    return (
        1 <= len(shown) <= MAX_PARTS
        and sum(len(part["content"]) for part in shown if part["type"] == 10) <= MAX_CHARS
        and all(_is_well_made(part) for part in shown)
    )


def _is_well_made(part: dict[str, Any]) -> bool:
    ids = len(part.get("custom_id", "")) <= MAX_ID and len(part.get("label") or "") <= MAX_LABEL
    rows = part["type"] != 1 or 1 <= len(part["components"]) <= MAX_IN_ROW
    options = part["type"] != 3 or 1 <= len({option["value"] for option in part["options"]}) <= MAX_OPTIONS
    return ids and rows and options and (part["type"] != 10 or bool(part["content"]))


@given(TEXTS, st.lists(ENTRIES, max_size=view.PAGE), st.integers(1, 999), st.integers(0, 999))
def test_a_page_of_the_list_fits_a_panel(text: str, entries: list[ShownEntry], page: int, more: int) -> None:
    assert fits(memory_panels.list_panel(MemoryAnswer(text, tuple(entries), page, page + more), PERSON))


@given(ENTRIES, st.integers(1, 10**6))
def test_an_entry_fits_a_panel_with_all_that_may_be_decided_about_it(entry: ShownEntry, page: int) -> None:
    shown = memory_panels.entry_panel(entry, page, PERSON)
    assert fits(shown)
    ids = [part["custom_id"] for part in parts({"components": shown.to_components()}) if part["type"] == 2]
    assert all(memory_panels.memory_press(each) is not None for each in ids)


@given(MENUS, st.booleans(), st.booleans(), st.sampled_from([None, *preferences.PLACES, "gone"]))
def test_the_settings_fit_a_panel(menu: ModelMenu, paused: bool, private: bool, place: str | None) -> None:
    assert fits(preferences.settings_panel(ChosenSettings(menu, paused, private, place, place), PERSON))


@given(TEXTS)
def test_any_text_fits_a_panel(text: str) -> None:
    assert fits(interactions.panel(interactions.panel_text(text)))
