"""Numbers of a spreadsheet show as their cells do."""

from decimal import Decimal
from fractions import Fraction
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.chat.attachments.number_format import BUILT_IN, MAX_CODE_CHARS, general_number, shown_number
from tests.patience import cpu_s

ACCOUNTING = '_-* #,##0.00 "€"_-;-* #,##0.00 "€"_-;_-* "-"?? "€"_-;_-@_-'
PHONE = "[<=9999999]###-####;(###) ###-####"


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        ("0.125", "0.0%", "12.5%"),
        ("0.125", "0%", "13%"),
        ("-0.5", "0.0%", "-50.0%"),
        ("1234.5", '"$"#,##0.00', "$1,234.50"),
        ("-1234.5", "#,##0.00_);[Red](#,##0.00)", "(1,234.50)"),
        ("12.5", "#,##0.00 [$€-407]", "12.50 €"),
        ("1234.5", ACCOUNTING, "1,234.50 €"),
        ("0", ACCOUNTING, "- €"),
        ("420", "00000", "00420"),
        ("123456789", "000-00-0000", "123-45-6789"),
        ("5551234", PHONE, "555-1234"),
        ("2125551234", PHONE, "(212) 555-1234"),
        ("1234567", '0.0,,"M"', "1.2M"),
        ("1234567", '#,##0,"K"', "1,235K"),
        ("1234567.891", "#,##0.00", "1,234,567.89"),
        ("12.50", "0.##", "12.5"),
        ("12", "0.##", "12"),
        ("0.5", ".00", ".50"),
        ("12345.678", "0.00E+00", "1.23E+04"),
        ("1", '"Yes";"Yes";"No"', "Yes"),
        ("0", '"Yes";"Yes";"No"', "No"),
        ("3", '[>5]"high";"low"', "low"),
        ("-3", '[<0]0" below";0', "3 below"),
        ("-3", "[Red]-0.0;[Blue]0.0", "3.0"),
        ("12", "0 \\m", "12 m"),
    ],
)
def test_a_number_shows_as_in_its_cell(number: str, code: str, shown: str) -> None:
    assert shown_number(Decimal(number), code) == shown


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        ("1.5", BUILT_IN["12"], "1 1/2"),
        ("3.14159265", BUILT_IN["13"], "3 14/99"),
        ("3.14159265", "# ???/???", "3 16/113"),
        ("0.5", "# ?/?", "1/2"),
        ("-0.5", "# ?/?", "-1/2"),
        ("-2.25", "# ?/?;[Red](# ?/?)", "(2 1/4)"),
        ("2", "# ?/?", "2"),
        ("0", "# ?/?", "0"),
        ("0.99", "# ?/?", "1"),
        ("-0.01", "# ?/?", "0"),
        ("1.375", "# ?/8", "1 3/8"),
        ("1.5", "# ?/8", "1 4/8"),
        ("0.0625", "# ?/8", "1/8"),
        ("99.99", "# ?/8", "100"),
        ("0.3", "# ??/16", "5/16"),
        ("0.25", "# ??/100", "25/100"),
        ("1.5", "?/?", "3/2"),
        ("0.25", "0 ?/?", "0 1/4"),
        ("2", "# 0/0", "2 0/1"),
        ("1234.5", "#,##0 ?/?", "1,234 1/2"),
        ("1.5", '# ?/?"', "1 1/2"),
        ("1.5", '# ?/?\\"', '1 1/2"'),
        ("1.5", '# ?/? "in"', "1 1/2 in"),
        ("1.5", "# ?? / ??", "1 1 / 2"),
    ],
)
def test_a_fraction_shows_as_in_its_cell(number: str, code: str, shown: str) -> None:
    assert shown_number(Decimal(number), code) == shown


@given(st.decimals(0, 1, places=9), st.integers(1, 2))
def test_a_fraction_is_the_nearest_with_so_many_digits(number: Decimal, digits: int) -> None:
    shown = shown_number(number, f"0 {'?' * digits}/{'?' * digits}")
    whole, _, fraction = shown.partition(" ")
    shown_value = Fraction(whole) + Fraction(fraction or "0")
    distances = (abs(Fraction(round(number * below), below) - Fraction(number)) for below in range(1, 10**digits))
    assert abs(shown_value - Fraction(number)) == min(distances)


def test_a_fraction_of_a_number_with_a_million_decimals_is_read_at_once() -> None:
    began = process_time()
    assert shown_number(Decimal("1e-999999"), "# ?/?") == "0"
    assert shown_number(Decimal("0." + "3" * 10_000), f"# {'?' * 100}/{'?' * 100}") == "1/3"
    assert process_time() - began < cpu_s(0.5)


@pytest.mark.parametrize("code", ["", "General", "# ?/?/?", "#.?/?", "# ?/", ";;;", "##0.0E+0", "[Red]"])
def test_of_a_format_that_shows_nothing_or_is_not_known_nothing_comes(code: str) -> None:
    assert not shown_number(Decimal("0.5"), code)


def test_a_number_beyond_what_cells_show_stays_as_it_is() -> None:
    assert not shown_number(Decimal("1e300"), "#,##0")


@pytest.mark.parametrize("sign", ["#", "0,", '"', "[>1", "\\", ";", "E+0", "[", "%"])
def test_of_a_long_format_only_what_excel_allows_counts(sign: str) -> None:
    long = sign * 40_000
    assert shown_number(Decimal("12345.678"), long) == shown_number(Decimal("12345.678"), long[:MAX_CODE_CHARS])


@pytest.mark.parametrize(
    ("number", "code", "shown"),
    [
        ("12345.5", "0." + "0" * 60, "12345.5" + "0" * 59),
        ("5", "0" + "%" * 40, "5" + "0" * 80 + "%" * 40),
        ("NaN", "0.00", ""),
    ],
)
def test_many_places_and_what_is_no_number_raise_nothing(number: str, code: str, shown: str) -> None:
    assert shown_number(Decimal(number), code) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("8.1999999999999993", "8.2"),
        ("0.30000000000000004", "0.3"),
        ("1e-7", "1e-07"),
        ("00420", "00420"),
        ("e.g.", "e.g."),
    ],
)
def test_a_number_has_the_digits_of_excel(value: str, shown: str) -> None:
    assert general_number(value) == shown
