"""Ephemeral panels stay within Discord's limits, whatever they contain."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.forgetting_plans import PAUSE, PAUSED
from bot.chat.commands.declaration import AnyCommand, ArgumentKind
from bot.chat.panels import Panel, PanelAction, PanelPart, as_part
from bot.chat.ports import ModelMenu
from bot.chat.texts.formatting import zone_names
from bot.forgetting.requests import MAX_TOKEN_CHARS
from bot.memory import commands as memory
from bot.memory.answers import MemoryAnswer, ShownEntry
from bot.memory.commands import memory_panel
from bot.memory.listing import PAGE
from bot.models.commands import model_panel
from bot.platforms.discord import interactions, panels
from bot.platforms.discord.caller import ENTRY_CHARS
from bot.platforms.discord.members import ZONE
from bot.platforms.discord.panels import press_of
from bot.platforms.discord.settings_command import PLACES, PRIVATE, SETTINGS, YES, settings_panel
from bot.platforms.discord.slash_commands import COMMANDS
from tests.fakes.discord_world import parts

PERSON = 2**63
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MAX_PARTS, MAX_CHARS, MAX_ID, MAX_LABEL, MAX_OPTIONS, MAX_IN_ROW = 40, 4_000, 100, 80, 25, 5  # Discord's limits

LINK = "[2026-11-21](https://discord.com/channels/9223372036854775807/9223372036854775807/9223372036854775807)"
WORDS = st.characters(exclude_categories=["C", "Z"])
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


def fits(panel: Panel, command: AnyCommand) -> bool:
    layout, _ = panels.laid_out(panel, command, PERSON)
    return _is_taken(layout.to_components())


def _is_taken(components: Sequence[Any]) -> bool:
    shown = [*parts({"components": components})]
    ids = [part["custom_id"] for part in shown if "custom_id" in part]
    return (
        1 <= len(shown) <= MAX_PARTS
        and len(set(ids)) == len(ids)
        and sum(len(part["content"]) for part in shown if part["type"] == 10) <= MAX_CHARS
        and all(_is_well_made(part) for part in shown)
    )


def _is_well_made(part: dict[str, Any]) -> bool:
    ids = len(part.get("custom_id", "")) <= MAX_ID and len(part.get("label") or "") <= MAX_LABEL
    rows = part["type"] != 1 or 1 <= len(part["components"]) <= MAX_IN_ROW
    options = part["type"] != 3 or 1 <= len({option["value"] for option in part["options"]}) <= MAX_OPTIONS
    return ids and rows and options and (part["type"] != 10 or bool(part["content"]))


@pytest.mark.slow
@given(TEXTS, st.lists(ENTRIES, max_size=PAGE, unique_by=lambda one: one.key), st.integers(1, 999), st.booleans())
def test_a_page_of_the_list_fits_a_panel(text: str, entries: list[ShownEntry], page: int, undone: bool) -> None:
    answer = MemoryAnswer(text, tuple(entries), page, page + 1, undo="p:2147483648-deadbeef" if undone else "")
    assert fits(memory_panel(answer, ENTRY_CHARS), memory.COMMAND)


@given(ENTRIES, st.integers(1, 10**6))
def test_an_entry_fits_a_panel_with_all_that_may_be_decided_about_it(entry: ShownEntry, page: int) -> None:
    answer = MemoryAnswer("", (entry,), page, page, opened=True)
    assert fits(memory_panel(answer, ENTRY_CHARS), memory.COMMAND)


@pytest.mark.slow
@given(
    MENUS,
    st.booleans(),
    st.booleans(),
    st.sampled_from([*PLACES, "gone"]),
    st.sampled_from(["", *zone_names()]),
)
def test_the_settings_fit_a_panel(menu: ModelMenu, paused: bool, private: bool, place: str, zone: str) -> None:
    own = ({PAUSE: PAUSED} if paused else {}) | ({PRIVATE: YES} if private else {})
    model = as_part(model_panel(menu, with_names=False), "model")
    learning = PanelPart("**Learning**: off", (PanelAction("Resume learning", "memory resume"),))
    shown = settings_panel((model, learning), own | {ZONE: zone}, {"channel": place, "team": place}, NOON)
    assert fits(shown, SETTINGS)


@given(TEXTS)
def test_any_text_fits_a_panel(text: str) -> None:
    assert _is_taken(interactions.layout(interactions.panel_text(text)).to_components())


# The ids of buttons


@pytest.mark.slow
@given(st.integers(0, PERSON * 2 - 1), st.sampled_from([*COMMANDS]), st.text(WORDS, max_size=MAX_TOKEN_CHARS))
def test_a_button_says_by_its_id_what_it_tells_its_command(person: int, command: AnyCommand, words: str) -> None:
    flags = {one.name: True for one in command.arguments if one.kind is ArgumentKind.FLAG}
    layout, _ = panels.laid_out(Panel("?", (PanelAction("Yes", words),), boxes=flags), command, person)
    (button,) = [part for part in parts({"components": layout.to_components()}) if part["type"] == 2]
    press = press_of(button["custom_id"])
    assert press is not None
    assert (press.person, press.name, press.words, press.opens) == (person, command.name, words, False)
    assert press.options(command).keys() == flags.keys()
    assert len(button["custom_id"]) <= MAX_ID


@pytest.mark.parametrize("button", ["", "forget", "c:x:forget::thread", "c:1:forget:y:thread", "d:1:forget::", "other"])
def test_other_buttons_tell_no_command_anything(button: str) -> None:
    assert press_of(button) is None
