"""A feature declares its settings as fields of a frozen dataclass; their order is that of `.env.example`."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from bot.settings import parsers
from bot.settings.declaration import (
    WITH_PASSWORD,
    Secrecy,
    Section,
    as_written,
    declared_settings,
    in_order,
    secret_setting,
    setting,
)
from bot.settings.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Boats:
    length: int = setting("BOAT_LENGTH", parsers.whole(1, 99), 7, section=Section.BOUNDS, description="How long it is.")
    is_afloat: bool = setting(
        "BOAT_AFLOAT", parsers.switch, default=True, section=Section.ANSWERS, description="Whether it floats."
    )
    width: int = setting("BOAT_WIDTH", parsers.whole(1, 9), 2, section=Section.BOUNDS, description="How wide it is.")
    key: Secret | None = secret_setting("BOAT_KEY", section=Section.ANSWERS, description="Opens the cabin.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sails:
    area: int = setting(
        "SAIL_AREA",
        parsers.whole(1, 99),
        30,
        section=Section.BOUNDS,
        description="How large it is.",
        example="25",
        after="BOAT_LENGTH",
    )
    reefs: int = setting(
        "SAIL_REEFS", parsers.whole(1, 3), 2, section=Section.BOUNDS, description="How often it reefs."
    )
    color: str = setting("SAIL_COLOR", parsers.text, "", section=Section.ANSWERS, description="Its color.")
    loft: str = setting(
        "SAIL_LOFT",
        parsers.text,
        "sqlite:////loft",
        section=Section.STORAGE,
        description="Where it is stored.",
        sensitivity=WITH_PASSWORD,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    count: int = setting(
        "LINE_COUNT", parsers.whole(1, 9), 3, section=Section.BOUNDS, description="How many.", after="SAIL_AREA"
    )


def names(groups: Sequence[type]) -> list[str]:
    return [declared.name for declared in in_order(groups)]


def test_a_field_has_its_default_and_can_be_given() -> None:
    assert (Boats().length, Boats().is_afloat, Boats().key) == (7, True, None)
    assert Boats(length=9).length == 9
    assert repr(Sails(loft="postgresql://u:hunter2@db/loft")) == "Sails(area=30, reefs=2, color='')"


def test_what_is_declared_is_found_by_the_name_of_the_field() -> None:
    declared = declared_settings(Boats)
    assert [*declared] == ["length", "is_afloat", "width", "key"]
    assert (declared["length"].name, declared["length"].default_text, declared["length"].example) == (
        "BOAT_LENGTH",
        "7",
        "7",
    )
    assert declared["is_afloat"].example == "on"
    assert (declared["key"].sensitivity.secrecy, declared["key"].example) == (Secrecy.VALUE, "")
    assert declared_settings(Sails)["area"].example == "25"


def test_settings_are_listed_by_section_then_by_dataclass_then_as_declared() -> None:
    assert names([Boats]) == ["BOAT_AFLOAT", "BOAT_KEY", "BOAT_LENGTH", "BOAT_WIDTH"]


def test_a_setting_that_says_what_it_comes_after_takes_the_next_ones_of_its_dataclass_along() -> None:
    listed = ["SAIL_LOFT", "BOAT_AFLOAT", "BOAT_KEY", "SAIL_COLOR"]
    bounds = ["BOAT_LENGTH", "SAIL_AREA", "LINE_COUNT", "SAIL_REEFS", "BOAT_WIDTH"]
    assert names([Boats, Sails, Lines]) == [*listed, *bounds]
    assert names([Lines, Boats, Sails]) == [*listed, *bounds], "it may follow one that follows another"


def test_a_setting_that_follows_none_is_an_error() -> None:
    with pytest.raises(ValueError, match="LINE_COUNT follows SAIL_AREA, which is not declared"):
        in_order([Boats, Lines])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "on"), (False, "off"), (9.0, "9"), (1.5, "1.5"), (0, "0"), (12, "12"), ("a", "a"),
        (Section.WEB, "Web"),
        (None, ""), ((), ""), ({}, ""), (frozenset[str](), ""), ("", ""),
    ],
)  # fmt: skip
def test_a_value_is_written_as_an_operator_would_write_it(value: object, text: str) -> None:
    assert as_written(value) == text
