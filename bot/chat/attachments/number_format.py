"""Shows a number of a spreadsheet as its number format does: "12.5%", "$1,234.50", "00420". Pure.

Why: what people see in a cell is this text, and they ask about that; a postal code without its zeros is another one.

Rules.
- The form is that of an English Excel: a comma between thousands and a point before decimals.
- A format that is not understood changes nothing, as fractions. Nor does one that shows nothing, so that no value gets
  lost.
- Dates and durations are not shown here.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Final

# Formats that files name by number only. Those of amounts (5 to 8, 42, 44) are in the currency of whoever opens the
# file, so they show none.
BUILT_IN: Final = {
    "1": "0",
    "2": "0.00",
    "3": "#,##0",
    "4": "#,##0.00",
    "9": "0%",
    "10": "0.00%",
    "11": "0.00E+00",
    **dict.fromkeys(("5", "6", "37", "38", "41", "42"), "#,##0;(#,##0)"),
    **dict.fromkeys(("7", "8", "39", "40", "43", "44"), "#,##0.00;(#,##0.00)"),
}
MAX_CODE_CHARS: Final = 255  # Excel's own limit
_DIGITS: Final = 15  # Excel's own precision
# From here on Excel has no digits of its own: the number is shown as it is stored.
_MOST: Final = Decimal(10) ** _DIGITS
# No number is rounded but to the places of its format: these have at most MAX_CODE_CHARS, and each may be a "%".
_EXACT: Final = Context(prec=_DIGITS + 3 * MAX_CODE_CHARS)

_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\]]*)\]?|(?P<exponent>E[+-]0+)|(?P<general>General)|'
    r"(?P<sign>.)",
    re.IGNORECASE | re.DOTALL,
)
_SECTION: Final = re.compile(r'((?:"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]?|[^;])*)(?:;|\Z)', re.DOTALL)
_CONDITION: Final = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d{1,15}(?:\.\d{1,15})?)")
_COMPARISONS: Final[Mapping[str, Callable[[Decimal, Decimal], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_PLACES: Final = frozenset("0#?")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A place for a digit ("0", "#" or "?"), or literal text."""

    text: str
    is_place: bool = False


@dataclass(slots=True)
class _Section:
    """One of the forms that a format has for positive, negative and zero numbers. `whole`, `fraction`: what is shown on
    both sides of the decimal point.
    """

    whole: list[_Piece] = field(default_factory=list[_Piece])
    fraction: list[_Piece] = field(default_factory=list[_Piece])
    condition: tuple[str, Decimal] | None = None
    has_places: bool = False
    has_point: bool = False
    is_grouped: bool = False
    has_exponent: bool = False
    scale: int = 0
    """The power of ten by which the number is multiplied before it is shown."""
    is_known: bool = True

    @property
    def pieces(self) -> list[_Piece]:
        return [*self.whole, *self.fraction]


def general_number(value: str) -> str:
    """Return a stored number with the digits that Excel has of it: "8.2" for "8.1999999999999993"; other texts stay."""
    try:
        return f"{float(value):.{_DIGITS}g}" if "." in value or "e" in value.lower() else value
    except ValueError:
        return value


def shown_number(number: Decimal, code: str) -> str:
    """Return the number as a cell with the format `code` shows it; "" if that is not known, or nothing."""
    sections = _sections(code[:MAX_CODE_CHARS])
    if not (sections and number.is_finite() and abs(number) < _MOST):
        return ""
    section, is_signed = _chosen(sections, number)
    if section is None or not section.is_known:
        return ""
    shown = _shown(section, abs(number)).strip()
    has_sign = is_signed and number < 0 and any("1" <= sign <= "9" for sign in shown)
    return f"-{shown}" if has_sign else shown


def _chosen(sections: Sequence[_Section], number: Decimal) -> tuple[_Section | None, bool]:
    """Return the section for a number, and whether a negative one keeps its sign in it."""
    if any(section.condition for section in sections):
        fitting = (
            one for one in sections if one.condition is None or _COMPARISONS[one.condition[0]](number, one.condition[1])
        )
        section = next(fitting, None)
        sign, bound = (section and section.condition) or ("", Decimal())
        return section, not (sign in {"<", "<="} and bound <= 0)
    if number < 0 and len(sections) > 1:
        return sections[1], False
    return sections[2 if number == 0 and len(sections) > 2 else 0], True


@lru_cache(maxsize=512)
def _sections(code: str) -> tuple[_Section, ...]:
    return tuple(map(_parsed, _SECTION.findall(code)[:-1][:3]))


def _parsed(code: str) -> _Section:
    section, commas = _Section(), 0
    for token in _TOKEN.finditer(code):
        pieces = section.fraction if section.has_point else section.whole
        sign = token["sign"] or ""
        if token["bracket"] is not None:
            if condition := _CONDITION.fullmatch(token["bracket"]):
                section.condition = condition[1], Decimal(condition[2])
            elif token["bracket"].startswith("$"):  # a currency, with the number of a language
                pieces.append(_Piece(token["bracket"][1:].partition("-")[0]))
        elif token["general"]:
            section.is_known = False
        elif token["exponent"]:
            section.has_exponent = True
        elif sign in _PLACES:
            # A comma between places groups the digits; behind the last place it divides by a thousand.
            section.is_grouped = section.is_grouped or commas > 0
            commas = 0
            section.has_places = True
            pieces.append(_Piece(sign, is_place=True))
        elif sign == "," and section.has_places:
            commas += 1
        elif sign == "." and not section.has_point:
            section.has_point = True
            section.scale -= 3 * commas
            commas = 0
        elif sign == "/" and section.has_places:  # a fraction
            section.is_known = False
        else:
            section.scale += 2 * (sign == "%")
            pieces.append(_Piece(token["quoted"] or token["escaped"] or sign))
    section.scale -= 3 * commas
    return section


def _shown(section: _Section, number: Decimal) -> str:
    decimals = sum(piece.is_place for piece in section.fraction)
    if section.has_exponent:
        return f"{float(number):.{decimals}E}" if sum(piece.is_place for piece in section.whole) == 1 else ""
    if not section.has_places:
        return "".join(piece.text for piece in section.pieces)
    scaled = number.scaleb(section.scale, _EXACT).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _EXACT)
    whole, _, fraction = f"{scaled:f}".partition(".")
    before, after = _whole(section, whole.lstrip("0")), _fraction(section, fraction)
    return f"{before}.{after}" if after[:1].isdecimal() else before + after


def _whole(section: _Section, digits: str) -> str:
    """Fill the places before the point from the right; the first one takes all digits that are left."""
    shown, places, done = list[str](), sum(piece.is_place for piece in section.whole), 0
    for piece in reversed(section.whole):
        if not piece.is_place:
            shown.append(piece.text)
            continue
        places -= 1
        for _ in range(1 if places else max(1, len(digits) - done)):
            digit = digits[-1 - done] if done < len(digits) else "0" * (piece.text == "0")
            if digit and section.is_grouped and done and done % 3 == 0:
                shown.append(",")
            shown.append(digit)
            done += 1
    return "".join(reversed(shown))


def _fraction(section: _Section, digits: str) -> str:
    """Fill the places behind the point, without the zeros at the end that only a "0" shows."""
    places = "".join(piece.text for piece in section.fraction if piece.is_place)
    end = len(places)
    while end and places[end - 1] != "0" and digits[end - 1] == "0":
        end -= 1
    left = iter(digits[:end])
    return "".join(next(left, "") if piece.is_place else piece.text for piece in section.fraction)
