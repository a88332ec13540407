"""Panels and forms in a terminal: what is typed in place of buttons."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.panels import FieldKind, FormField, Panel, PanelAction, PanelForm
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.panels import choices_text, field_prompt, field_value, mistake_in, typed_actions

COLOURS = {"0": "White", "1": "Red", "2": "Reddish", "3": "7"}
PICK = FormField("colour", "Colour", FieldKind.PICK, optional=True, choices=COLOURS)
PICKS = FormField("colours", "Colours", FieldKind.PICKS, choices=COLOURS)
BOX = FormField("keep", "My replies", FieldKind.BOX, hint="Keep them")


def form(*fields: FormField) -> PanelForm:
    def mistakes(filled: Mapping[str, str]) -> Mapping[str, str]:
        return {name: "Not that." for name, value in filled.items() if value == "bad"}

    return PanelForm("f", "Open…", "Title", "Send", fields, lambda filled: json.dumps(dict(filled)), mistakes)


def test_a_panel_asks_only_if_something_can_be_typed_for_its_buttons() -> None:
    assert typed_actions(Panel("", (PanelAction("Delete", "delete 1"),))) == {}


def test_what_can_be_typed_is_said_with_the_labels_of_the_buttons() -> None:
    actions = (
        PanelAction("Open…", form=form(), typed=("y", "yes")),
        PanelAction("Always", typed=("always",)),
        PanelAction("No", typed=("n", "no")),
        PanelAction("Cancel", typed=("",)),
        PanelAction("Help"),
    )
    assert choices_text(Panel("", actions)) == (
        "Write `yes` for “Send”, `always`, or `no`. Anything else means “Cancel”."
    )
    assert choices_text(Panel("", actions[:1])) == "Write `yes` for “Send”."


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("1", "0"),
        (" red ", "1"),
        ("redd", "2"),
        ("w", "0"),
        ("", "1"),
        ("4", "3"),
        ("re", None),
        ("7", None),
        ("0", None),
        ("²", None),
        ("1, 2", None),
        ("none of them", None),
        ("9" * 5_000, None),
    ],
)
def test_a_choice_is_a_number_a_name_or_the_beginning_of_one_name(typed: str, value: str | None) -> None:
    assert field_value(PICK, typed, "1") == value


@pytest.mark.parametrize(
    ("typed", "value"), [("1, 2", "0 1"), ("2 1 2", "1 0"), ("red,white", "1 0"), ("1, red", None), (",", None)]
)
def test_several_choices_are_separated_by_commas(typed: str, value: str | None) -> None:
    assert field_value(PICKS, typed, "") == value


def test_enter_keeps_the_value_takes_the_first_choice_and_ticks_no_box() -> None:
    choice = FormField("scope", "That means", FieldKind.CHOICE, choices={"about": "A subject", "time": "A time"})
    assert [field_value(item, "", "") for item in (choice, BOX, FormField("name", "Name"))] == ["about", "", ""]
    assert field_value(choice, "", "time") == "time"
    assert [field_value(BOX, typed, "") for typed in ("y", "no")] == ["yes", ""]
    assert field_prompt(choice, "") == (
        "**That means**. Type the number of your choice. Press Enter for 1.\n1. A subject\n2. A time"
    )


def test_a_prompt_shows_what_others_wrote_literally_and_what_enter_means() -> None:
    field = FormField("0", "*Name*", hint="(at most 20 characters)", optional=True)
    assert field_prompt(field, "") == r"**\*Name\*** (at most 20 characters). Press Enter to skip it."
    assert field_prompt(FormField("0", "Name"), "_a_") == r"**Name**. Press Enter for \_a\_."
    assert field_prompt(PICKS, "2 0").startswith(
        "**Colours**. Type the numbers of your choices. Press Enter for 3, 1.\n"
    )
    assert (
        field_prompt(BOX, "")
        == "**My replies** Keep them. Type the number of your choice. Press Enter for 2.\n1. Yes\n2. No"
    )


@pytest.mark.parametrize(
    ("field", "value", "mistake"),
    [
        (FormField("a", "A"), "", platforms_texts.FILL_REQUIRED),
        (FormField("a", "A", optional=True), "", ""),
        (FormField("a", "A", FieldKind.BOX), "", ""),
        (FormField("a", "A", max_chars=2), "abc", platforms_texts.FILL_TOO_LONG.format(most=2)),
        (FormField("a", "A", max_chars=2), "bad", "Not that."),
        (FormField("a", "A"), "good", ""),
    ],
)
def test_a_value_is_checked_by_its_form_and_by_its_field(field: FormField, value: str, mistake: str) -> None:
    other = FormField("b", "B")
    assert mistake_in(form(field, other), field, {"a": value}) == mistake


@given(st.text(max_size=40), st.sampled_from([PICK, PICKS]))
def test_whatever_is_typed_only_values_of_choices_come_of_it(typed: str, field: FormField) -> None:
    value = field_value(field, typed, "")
    assert value is None or set(value.split()) <= set(COLOURS)
