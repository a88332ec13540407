"""Finds keys, passwords and card numbers in a text, which memory must never store. Pure.

Rules
  A secret is recognised by its vendor's prefix, by the words before it ("password: …"), by a valid check digit (card
  numbers), by its place in an address ("//user:secret@host", "?token=…"), or because it looks random: long, without
  words, with letters and digits mixed. Random but public ids (UUIDs, other parts of an address) are no secrets.
  A false alarm is better than a stored key: the person gets a notice, and can write it differently.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from agent.messages import confusable_skeleton
from agent.patterns import compile_later

HIDDEN: Final = "[secret]"

RANDOM_CHARS: Final = 20  # Shorter tokens need a prefix or a word: names of products and files look random, too
# Entropy of a character. Sixteen different digits of a hexadecimal key have up to 4, English words up to 3.5.
RANDOM_BITS: Final = 3.3
# How often the kind of a character (digit, small, capital) changes, for each character: above 0.4 in random text,
# below 0.2 in CamelCase.
RANDOM_CHANGES: Final = 0.3

# Vendors give their keys prefixes so that scanners find them; each has the least length that its vendor issues, so that
# words do not match.
_PREFIXES: Final = compile_later(
    r"""\b(?:
      sk-[A-Za-z0-9_-]{16,} | (?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,} | whsec_[A-Za-z0-9]{16,}
    | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,} | gl(?:pat|ptt|rt)-[A-Za-z0-9_-]{16,}
    | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{10,}
    | (?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16} | AIza[A-Za-z0-9_-]{30,} | ya29\.[A-Za-z0-9_-]{20,}
    | (?:npm|hf|dckr_pat|shpat|shpss|dop_v1|glsa|xai|gsk)_[A-Za-z0-9_-]{16,} | xai-[A-Za-z0-9]{16,}
    | pypi-[A-Za-z0-9_-]{16,} | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}
    )""",
    re.VERBOSE,
)
# A signed token (JWT): three words with dots between them, the first with "eyJ", which begins JSON in base64. It is
# looked for from the beginning of a word, and "eyJ" within it: with "eyJ" first, "eyJ-eyJ-…" is read to its end again
# from each of its parts.
_SIGNED: Final = compile_later(r"(?<![\w-])(?P<first>[\w-]{11,}+)\.[\w-]{8,}+\.[\w-]*+", re.ASCII)
_SIGNED_BEGINNING: Final = compile_later(r"\beyJ[\w-]{8}", re.ASCII)
# Without its end, too: a message that was cut still shows the key.
_PRIVATE_KEY: Final = compile_later(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)
_NAMES: Final = (
    r"passwords?|passwd|passphrase|passcode|pwd|pin(?:\ code)?|cvv|cvc|api[\ _-]?key|secret(?:[\ _-]key)?|"
    r"access[\ _-]?(?:key|token)|auth[\ _-]?token|bearer|token|private[\ _-]key|"
    r"passwort|kennwort|mot\ de\ passe|contraseña|senha|wachtwoord|пароль"
)
_NAMES_WITHOUT_BLANKS: Final = "パスワード|暗証番号|密码|密碼|口令|비밀번호"
# A value is a secret by the name before it. What was removed already ("[secret …") is not taken for a value again.
_NAMED: Final = compile_later(
    rf"(?:(?<![^\W_])(?:{_NAMES})|{_NAMES_WITHOUT_BLANKS})(?:\ (?:for|of|to)\ [\w.-]+(?:\ [\w.-]+)?)?\s*"
    r"(?:(?P<sign>[:=：＝])|\bis\b|\bist\b|\best\b|\bes\b|は|是)"
    r"\s*(?P<quote>[\"'`“‘«]?)(?!\[secret)(?P<value>[^\s\"'`“”‘’«»、。，]{3,})",
    re.IGNORECASE,
)
_NAME: Final = compile_later(rf"(?<![^\W_])(?:{_NAMES})(?![^\W_])|{_NAMES_WITHOUT_BLANKS}", re.IGNORECASE)
_WORD: Final = compile_later(r"[^\W\d_]+(?:[-'][^\W\d_]+)*[.,;!?…)]*")
# No scheme in use is longer; without a bound a long text of dots and dashes takes seconds.
_ADDRESS: Final = compile_later(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s<>\"']+", re.IGNORECASE)
# Passwords before "@", and parameters that carry keys: the rest of the address is worth keeping.
_IN_ADDRESS: Final = compile_later(
    r"(?<=://)[^/\s:@]*:(?!\[secret)(?P<password>[^/\s@]+)@"
    r"|[?&#;](?:[\w-]*(?:token|key|secret|passw(?:or)?d|signature)|sig|pwd|code)=(?!\[secret)(?P<value>[^&#\s]{6,})",
    re.IGNORECASE,
)
_CARD: Final = compile_later(r"(?<![\d.,-])[2-6]\d{3}(?:[ -]?\d){9,15}(?![\d-])")
_TOKEN: Final = compile_later(rf"[A-Za-z0-9+/_=-]{{{RANDOM_CHARS},}}")
_UUID: Final = compile_later(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX: Final = compile_later(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{32,}", re.IGNORECASE)
_BETWEEN: Final = compile_later(r"[/=]")


def names_secret(text: str) -> bool:
    """Return whether a text names a kind of secret, as a question for one does, also in letters that look alike."""
    return _NAME.search(text) is not None or _NAME.search(confusable_skeleton(text)) is not None


def has_secret(text: str) -> bool:
    return next(_secrets(text), None) is not None


def without_secrets(text: str) -> str:
    """Return the text with each secret hidden."""
    spans: list[tuple[int, int]] = []
    for start, end in sorted(_secrets(text)):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    for start, end in reversed(spans):
        text = f"{text[:start]}{HIDDEN}{text[end:]}"
    return text


def _secrets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of secrets, which may overlap."""
    for pattern in (_PRIVATE_KEY, _PREFIXES):
        yield from (match.span() for match in pattern.finditer(text))
    for match in _SIGNED.finditer(text):
        if (beginning := _SIGNED_BEGINNING.search(text, match.start(), match.end("first"))) is not None:
            yield beginning.start(), match.end()
    yield from (match.span("value") for match in _NAMED.finditer(text) if _is_secret(match))
    yield from (match.span() for match in _CARD.finditer(text) if _is_card(match[0]))
    addresses = [match.span() for match in _ADDRESS.finditer(text)]
    for start, end in addresses:
        for match in _IN_ADDRESS.finditer(text, start, end):
            yield match.span("password" if match["password"] else "value")
    before = 0  # How many addresses end before the token: both are in their order
    for match in _TOKEN.finditer(text):
        while before < len(addresses) and addresses[before][1] <= match.start():
            before += 1
        inside = before < len(addresses) and addresses[before][0] <= match.start()
        if not inside and any(map(_looks_random, _BETWEEN.split(match[0]))):
            yield match.span()


def _is_secret(match: "re.Match[str]") -> bool:
    """Return whether a match is a secret: "password: swordfish", "is s3cret", but not "the password is stored"."""
    return bool(match["sign"] or match["quote"]) or _WORD.fullmatch(match["value"]) is None


def _is_card(number: str) -> bool:
    """Return whether these are 13 to 19 digits with a valid check digit (Luhn)."""
    digits = [int(char) for char in reversed(number) if char.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return 13 <= len(digits) <= 19 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _looks_random(token: str) -> bool:
    if len(token) < RANDOM_CHARS or _UUID.fullmatch(token) is not None:
        return False
    if _HEX.fullmatch(token) is not None:
        return True
    kinds = [_kind(char) for char in token]
    changes = sum(kind != next_kind for kind, next_kind in pairwise(kinds))
    return (
        len({*kinds} & {"a", "A", "1"}) > 1
        and "1" in kinds
        and changes >= RANDOM_CHANGES * len(token)
        and (_entropy(token) >= RANDOM_BITS)
    )


def _kind(char: str) -> str:
    return "1" if char.isdigit() else "A" if char.isupper() else "a" if char.islower() else char


def _entropy(token: str) -> float:
    """Return the entropy of the token in bits for each character."""
    return -sum(count / len(token) * math.log2(count / len(token)) for count in Counter(token).values())


# Sensitive personal data: health, belief, politics, origin, sexuality, offences.
#
# Rules
#   The kinds are those of GDPR, articles 9 and 10. They are learned only if the person asked for it ("remember …").
#   The prompt says the same to the model; this list applies if the model ignores it. In doubt the text is not learned,
#   because a person can always ask to remember it.

_WORDS: Final = """
diagnos* disease* illness* cancer tumo?r* diabet* asthma* allerg* depression depressed anxiety adhd autis* bipolar
schizophren* dementia epilep* hiv covid pregnan* miscarriage* abortion* menopaus* therapist* psychiatr* psychotherap*
medication* antidepress* insulin surgery chemotherap* disability disabilities disabled wheelchair* addiction* addicted
alcoholi* obes* insomnia burnout biometric* biopsy genetic_test* blood_pressure blood_sugar sick_leave mental_health
religio* church mosque synagogue christian* catholic* protestant* muslim* islam* jewish judaism hindu* buddhis* atheis*
mormon* ramadan kosher halal baptis* prays praying
political* votes_for voted republican* democrat democrats socialist* communist* labour_party party_member*
trade_union* union_member* labor_union*
ethnic* racial skin_colo?r immigration_status asylum refugee*
gay lesbian* bisexual* transgender* homosexual* heterosexual* queer sexual* sex_life gender_identity
convicted conviction criminal_record* arrested imprisoned on_parole
krankheit* krebs depressionen schwanger* gewerkschaft* konfession embaraz* enfermedad* enceinte maladie* sindicato
"""
_CJK: Final = "病気 妊娠 宗教 信仰 うつ病 障害 持病 癌 がん 生病 疾病 怀孕 懷孕 抑郁 憂鬱 残疾 殘疾 政党 임신 종교 질병"


def _pattern(word: str) -> str:
    """Return the pattern of a word of the list: `*` is any ending, `?` makes a letter optional, `_` is a blank."""
    return word.replace("*", r"\w*").replace("_", r"[\s-]+")


def _grouped(words: Sequence[str]) -> str:
    """Return a pattern for any of the words, grouped by first letter, which fails fast at most positions of a text."""
    by_letter = {word[0]: [_pattern(other[1:]) for other in words if other[0] == word[0]] for word in words}
    return "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items())


_SENSITIVE: Final = compile_later(rf"\b(?:{_grouped(_WORDS.split())})\b|{'|'.join(_CJK.split())}", re.IGNORECASE)
# Who asks for something sensitive to be remembered gets it remembered.
_ASKED: Final = compile_later(
    r"\b(?:remember|memori[sz]e|don'?t forget|do not forget|keep in mind|make a note|note down|note that"
    r"|merk\w* dir|vergiss nicht|recuerda|no olvides|acuérdate|retiens|souviens-toi|n'oublie pas|ricorda|lembre|onthoud"
    r"|запомни)\b|覚えて|記憶して|忘れないで|记住|記住|记得|記得|기억해",
    re.IGNORECASE,
)


def is_sensitive(text: str) -> bool:
    return _SENSITIVE.search(text) is not None


def asks_to_remember(text: str) -> bool:
    return _ASKED.search(text) is not None
