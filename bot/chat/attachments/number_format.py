"""Shows a number of a spreadsheet as its number format does: "12.5%", "$1,234.50", "1 1/2", "00420". Pure.

Why: what people see in a cell is this text, and they ask about that; a postal code without its zeros is another one.

Rules.
- The form is that of an English Excel: a comma between thousands and a point before decimals.
- A format that is not understood changes nothing. Nor does one that shows nothing, so that no value gets lost.
- Fractions are the nearest with so many digits below the line, or with the format's own number there. The blanks that
  align them in a column are left out.
- Dates and durations are not shown here.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import takewhile
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
    "12": "# ?/?",
    "13": "# ??/??",
    **dict.fromkeys(("5", "6", "37", "38", "41", "42"), "#,##0;(#,##0)"),
    **dict.fromkeys(("7", "8", "39", "40", "43", "44"), "#,##0.00;(#,##0.00)"),
}
MAX_CODE_CHARS: Final = 255  # Excel's own limit
_DIGITS: Final = 15  # Excel's own precision
# From here on Excel has no digits of its own: the number is shown as it is stored.
_MOST: Final = Decimal(10) ** _DIGITS
# No number is rounded but to the places of its format: these have at most MAX_CODE_CHARS, and each may be a "%".
_EXACT: Final = Context(prec=_DIGITS + 3 * MAX_CODE_CHARS)

# Decimals that can tell two fractions apart whose denominators have _DIGITS digits. A number may have far more.
_FRACTION_PLACES: Final = Decimal(1).scaleb(-2 * _DIGITS)

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


@dataclass(frozen=True, slots=True)
class _Ratio:
    """The pieces of a fraction: "# ?/? in". `whole` is what stands before it, with the whole number if it has places;
    `fixed`: the denominator that the format names.
    """

    whole: Sequence[_Piece]
    between: str
    numerator: Sequence[_Piece]
    line: str
    denominator: Sequence[_Piece]
    fixed: int | None
    after: str

    @property
    def has_whole(self) -> bool:
        return any(piece.is_place for piece in self.whole)


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
    line: int | None = None
    """The index in `whole` of the "/" of a fraction."""
    ratio: _Ratio | None = None

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
    if section.ratio is not None:
        shown, is_zero = _shown_ratio(section, section.ratio, abs(number))
    else:
        shown = _shown(section, abs(number))
        is_zero = not any("1" <= sign <= "9" for sign in shown)
    return f"-{shown.strip()}" if is_signed and number < 0 and not is_zero else shown.strip()


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
        elif sign == "/" and section.has_places:
            section.is_known = section.is_known and section.line is None and not section.has_point
            section.line = len(section.whole)
            pieces.append(_Piece(sign))
        else:
            section.scale += 2 * (sign == "%")
            pieces.append(_Piece(token["quoted"] or token["escaped"] or sign))
    section.scale -= 3 * commas
    if section.line is not None:
        section.ratio = _ratio(section.whole[: section.line], section.whole[section.line + 1 :])
        section.is_known = section.is_known and section.ratio is not None and not section.has_exponent
    return section


def _ratio(before: Sequence[_Piece], after: Sequence[_Piece]) -> _Ratio | None:
    """Return the fraction with these pieces before and after its line; None if it is not understood."""
    top = _while(before[::-1], lambda piece: not piece.text.strip())
    numerator = _while(before[::-1][len(top) :], lambda piece: piece.is_place)
    whole = before[: len(before) - len(top) - len(numerator)]
    last = max((number for number, piece in enumerate(whole) if piece.is_place), default=-1)
    bottom = _while(after, lambda piece: not piece.text.strip())
    rest = after[len(bottom) :]
    named = _while(rest, lambda piece: piece.text.isdecimal()) if rest and rest[0].text in _NAMED else ()
    denominator = named or _while(rest, lambda piece: piece.is_place)
    rest = rest[len(denominator) :]
    if not (numerator and denominator) or any(piece.is_place or piece.text.isdecimal() for piece in rest):
        return None
    fixed = int(_text(named)) if named else None
    line = f"{_text(top)}/{_text(bottom)}"
    return _Ratio(
        whole[: last + 1] or whole, _text(whole[last + 1 :]) if last >= 0 else "", numerator[::-1], line, denominator,
        fixed, _text(rest),
    )  # fmt: skip


_NAMED: Final = frozenset("123456789")


def _while(pieces: Sequence[_Piece], fits: Callable[[_Piece], bool]) -> Sequence[_Piece]:
    return list(takewhile(fits, pieces))


def _text(pieces: Sequence[_Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _shown_ratio(section: _Section, ratio: _Ratio, number: Decimal) -> tuple[str, bool]:
    """Return the fraction, and whether it is zero."""
    exact = Fraction(number.scaleb(section.scale, _EXACT).quantize(_FRACTION_PLACES, ROUND_HALF_UP, _EXACT))
    if ratio.fixed is None:
        nearest = exact.limit_denominator(10 ** min(len(ratio.denominator), _DIGITS) - 1)
        above, below = nearest.numerator, nearest.denominator
    else:
        above, below = (2 * exact * ratio.fixed + 1) // 2, ratio.fixed  # rounded half up
    is_zero, whole = above == 0, 0
    if ratio.has_whole:
        whole, above = divmod(above, below)
    shown = _filled(ratio.whole, str(whole or ""), grouped=section.is_grouped)
    if ratio.has_whole and above == 0 and not any(piece.text == "0" for piece in ratio.numerator):
        has_digit = any(sign.isdecimal() for sign in shown)
        return f"{shown}{'' if has_digit else '0'}{ratio.after}", is_zero
    over = _filled(ratio.numerator, str(above or ""), grouped=False) or "0"
    under = str(below) if ratio.fixed is not None else _filled(ratio.denominator, str(below), grouped=False)
    gap = ratio.between if shown.strip() else ratio.between.lstrip()
    return f"{shown}{gap}{over}{ratio.line}{under}{ratio.after}", is_zero


def _shown(section: _Section, number: Decimal) -> str:
    decimals = sum(piece.is_place for piece in section.fraction)
    if section.has_exponent:
        return f"{float(number):.{decimals}E}" if sum(piece.is_place for piece in section.whole) == 1 else ""
    if not section.has_places:
        return "".join(piece.text for piece in section.pieces)
    scaled = number.scaleb(section.scale, _EXACT).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _EXACT)
    whole, _, fraction = f"{scaled:f}".partition(".")
    before = _filled(section.whole, whole.lstrip("0"), grouped=section.is_grouped)
    after = _fraction(section, fraction)
    return f"{before}.{after}" if after[:1].isdecimal() else before + after


def _filled(pieces: Sequence[_Piece], digits: str, *, grouped: bool) -> str:
    """Fill the places from the right; the first one takes all digits that are left."""
    shown, places, done = list[str](), sum(piece.is_place for piece in pieces), 0
    for piece in reversed(pieces):
        if not piece.is_place:
            shown.append(piece.text)
            continue
        places -= 1
        for _ in range(1 if places else max(1, len(digits) - done)):
            digit = digits[-1 - done] if done < len(digits) else "0" * (piece.text == "0")
            if digit and grouped and done and done % 3 == 0:
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
