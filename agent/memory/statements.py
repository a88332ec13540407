"""What a sentence says, without a model: what about, which values, whether it denies or changes something. Pure.

    The deadline of Apollo │ is │ Friday          subject {deadline, apollo}   values {(weekday, friday)}
    Invoice 1001           │ is │ paid            subject {invoice, 1001}      said {paid}
    We │ host on AWS                              about "we"                   said {host, aws}

The subject of "X is Y" is X, with its names and numbers; where no verb of state is known, what stands before the first
value. "Ann is the lead" is about the lead. A number that names something (an invoice, a room) is an identifier, and no
value. Eight languages are read (`agent.memory.lexicon`). In Chinese and Japanese each Chinese character is a word.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from agent.memory import lexicon
from agent.memory.lexicon import FUNCTION_WORDS, folded
from agent.patterns import compile_later

# The version of `read`. The store keeps what was read beside the text; whoever changes what `read` says of any text
# counts this up, and it is read anew at the next start (a test compares what it says with what it said).
READER: Final = 10
WORD: Final = compile_later(r"[^\W_]+(?:['’][^\W_]+)*")
READ_CHARS: Final = 1_000  # Of one sentence: what is longer is a pasted text, and says too much to be compared
# Of a question, half of its beginning and half of its end, so that `read` sees both.
QUESTION_CHARS: Final = READ_CHARS - 1
READ_VALUES: Final = 60
# Of a long text, read for what it is about: a page and more from its beginning, and as much from its end, since people
# put a question before or behind what they paste. It takes milliseconds, in everybody's event loop.
TELLING_CHARS: Final = 6_000
_ABBREVIATED: Final = "|".join(
    rf"(?<=\b{short})" for short in ("Dr", "Mr", "Mrs", "Ms", "St", "Prof", "Sr", "Sra", "Nr", "Hr", "Fr")
)
_ORDINAL: Final = r"(?<=\d)[.](?=\s(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"  # German: "am 12. Juli".
_SENTENCE: Final = compile_later(
    rf"[^.!?\n。！？]*(?:(?:[.](?=\S)|(?:{_ABBREVIATED})[.](?=\s\S)|{_ORDINAL})[^.!?\n。！？]*)*(?:[.!?。！？]+|\n|$)"
)

# French: "l'adresse" is "le adresse".
_ELISION: Final = compile_later(r"(?<!\w)([cdjlmnst]|qu|jusqu|lorsqu|puisqu)['’](?=[^\W\d_]{2})", re.IGNORECASE)
_CYRILLIC_ENDING: Final = compile_later(
    r"(?<=[а-яё]{3})(?:ами|ями|ого|его|ому|ему|ыми|ими|ешь|ишь|ает|ют|ут|ов|ев|ей|ой|ый|ий|ая|яя|ое|ее|ые|ие|ую|юю|ом|ем|ам|ям"
    r"|ах|ях|[аеёиоуыэюяйь])$"
)
_CYRILLIC: Final = compile_later("[а-яё]", re.IGNORECASE)
_ANAPHOR: Final = compile_later(r"\b(?:that|it|this|them)\b")
# Who speaks, or how it is filed ("[Ann (Legal)]: …"): no part of what is said.
_LABEL: Final = compile_later(r"^\[[^\]\n]{1,80}\]:?\s*")
_SLOT: Final = 0xE000  # Where the private characters begin that stand for a sentence's values while it is read
_SLOTS: Final = compile_later(f"[\ue000-{chr(_SLOT + READ_VALUES)}]")
_PRIVATE: Final = compile_later("[\ue000-\uf8ff]")
_TOKEN: Final = compile_later(
    "[\ue000-\uf8ff]"  # a value
    r"|[A-Za-zÀ-ɏ0-9][A-Za-zÀ-ɏ0-9.+#/&-]*(?:['’][A-Za-z]+)*"
    r"|[\u3040-\u309f]+|[\u30a0-\u30ff]+|[\u3400-\u9fff々]|[^\W_]+"
)
_HIRAGANA: Final = compile_later(r"[\u3040-\u309f]+")
_KANA: Final = compile_later(r"[\u3040-\u309f]")
_HAN: Final = compile_later(r"[\u3400-\u9fff々]")
_PARTICLES: Final = compile_later(
    r"^(?:[はがをにでとのもへや]|から|まで|より|には|では|とは|です|ます|でした|ました|ません|でし|だ|さん|して|しています|いて|います"
    r"|している|いる|する|します|した|ない|なりました|なった|なり|ある|あります|こと|もの|ので|ため|もう|まだ|また)+"
)
_CJK_FUNCTION: Final = frozenset("的了吗呢吧就都被把将已也和与个们从每")
_SPACES: Final = compile_later(r"[\s,]+")
_THOUSANDS: Final = compile_later(r"k$")
_DATE: Final = compile_later(
    r"^([^\W\d]{3})[^\W\d]*\.?(\d+)(?:st|nd|rd|th)?|^(\d+)(?:st|nd|rd|th)?\.?(?:of|de)?([^\W\d]{3})[^\W\d]*"
)
# Words that say how something is said, and not what.
_NO_CONTENT: Final = (*(lexicon.ENDED, lexicon.CUE, lexicon.NEW), *(lexicon.FILLERS, lexicon.ADDS, lexicon.NEGATED))
_DIGIT: Final = compile_later(r"\d")
_NO_TELLING: Final = FUNCTION_WORDS | lexicon.OTHER_FUNCTION_WORDS | lexicon.PRONOUNS.keys()
_NO_WORD: Final = compile_later(r"[_\W]+")
_LAST_WORD: Final = compile_later(r"(?<!\w)(\w++)\s?$")
_FIRST_WORD: Final = compile_later(r"\s?([^\W\d_]+)")
_LETTERS: Final = compile_later(r"[^\W\d_]+")
_DETERMINER: Final = compile_later(
    r"^\s*(?:the|my|our|your|his|her|their|a|an|das|die|der|den|mein\w*|unser\w*|el|la|los|las|mi|nuestr\w+"
    r"|le|les|mon|ma|mes|notre|nos|votre|vos|o|os|meu|minha|noss[oa])\b",
    re.IGNORECASE,
)
_ROLE: Final = compile_later(
    r"^\s*(?:now |jetzt |ahora )?(?:the|our|my|der|die|das|unsere?|meine?|el|la|nuestr[oa]|mi)\s+\w", re.IGNORECASE
)
_PERFECT: Final = compile_later(rf"\s{{1,3}}(?:now\s{{1,3}})?(?:been\b|(?={lexicon.MOVES.pattern}))")
_FROM: Final = compile_later("从[^从，。；]{1,30}$")  # Chinese: from where a change leads, just before its verb
_WORK: Final = "工作"
_AT_WORK: Final = compile_later(rf"(?P<where>(?!家)[^，。；\ue000-\uf8ff]{{1,20}}?)(?:{_WORK}|上班|任职|就职)了?\W*$")
_AS_OF_NOW: Final = compile_later(r"\bas of (?:today|now|this (?:morning|week))\b,?", re.IGNORECASE)
_OBJECT_MOVED: Final = compile_later(
    r"\b(?:mov|switch|chang|reschedul|postpon|push|extend|rais|lower|increas|reduc|cut|set)(?:e|ed|ing)?(?: back)?\s+"
    r"(?P<what>(?:the|my|our|your|his|her|their)\s[^.,\ue000-\uf8ff]{1,60}?)(?:\s+from\s[^.]{1,40}?)?\s+(?:to|until|till|by)\b"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence, read. `subject`: what it is about; `said`: the words that say something of it; `content`: both;
    `about`: the person it is about, if only a pronoun says so; `verb`: what joins them, "" if it is "is";
    `names`: the subject's words that are written as names; `displaced`: words of what this takes the place of.

    `changes`: it announces a change; `adds`: it stands beside something ("also"); `negated`; `ended`: it was so, and is
    no more; `cancelled`; `past`: it tells what happened; `habit`: it tells what happens again and again; `anaphoric`:
    it speaks of "it" or "that"; `has_subject`: it says something of something: "X is Y".
    """

    text: str
    subject: frozenset[str]
    content: frozenset[str]
    values: frozenset[tuple[str, str]]
    names: frozenset[str]
    changes: bool
    anaphoric: bool
    has_subject: bool = False
    said: frozenset[str] = frozenset()
    about: str = ""
    verb: str = ""
    identifiers: frozenset[str] = frozenset()
    displaced: tuple[frozenset[str], ...] = ()
    moves: bool = False
    new: bool = False
    adds: bool = False
    negated: bool = False
    ended: bool = False
    cancelled: bool = False
    past: bool = False
    habit: bool = False
    resides: bool = False
    settles: bool = False
    decides: bool = False
    progress: bool = False
    unique: bool = False
    placed: bool = False
    definite: bool = False

    def kinds(self) -> frozenset[str]:
        return frozenset(kind for kind, _ in self.values)

    def of_kind(self, kind: str) -> frozenset[str]:
        return frozenset(value for kind_, value in self.values if kind_ == kind)


def telling_part(text: str, chars: int = TELLING_CHARS) -> str:
    """What is read of a text in order to know what it is about: all of it, or its beginning and its end."""
    half = chars // 2
    return text if len(text) <= chars else f"{text[:half]}\n{text[-half:]}"


def sentences(text: str) -> list[str]:
    return [found for match in _SENTENCE.finditer(text) if (found := match.group().strip())]


def first_sentence(text: str) -> str:
    """All before its first end that is no part of a word or a number."""
    found = _SENTENCE.match(text)
    return found.group() if found and found.group() else text


def without_label(text: str) -> str:
    """A sentence without the "[Ann (Legal)]: " before it."""
    return _LABEL.sub("", text)


def is_function_word(word: str) -> bool:
    """Also with its contraction: "we're" says as little as "we"."""
    return _uncontracted(word.lower()) in FUNCTION_WORDS


def _uncontracted(small: str) -> str:
    return small if small.isalnum() else small.replace("’", "'").partition("'")[0]


def announces_change(text: str) -> bool:
    small = folded(text[:READ_CHARS])
    return lexicon.CUE.search(small) is not None and lexicon.ADDS.search(small) is None


def held_before(text: str) -> bool:
    return lexicon.ONCE.search(folded(text[:READ_CHARS])) is not None


def is_update(text: str) -> bool:
    """Does it say itself that it replaces what was said about the same ("Update: …")?"""
    return lexicon.UPDATE.search(folded(without_label(text)[:READ_CHARS])) is not None


def restores(text: str) -> bool:
    return lexicon.RESTORES.search(folded(text[:READ_CHARS])) is not None


def states_in(statement: Statement) -> frozenset[str]:
    """How far it says that something is: words of change, and so no part of what it is about."""
    return frozenset(lexicon.PROGRESS.findall(folded(statement.text[:READ_CHARS])))


def stem(word: str) -> str:
    """A word without its English or Russian ending, roughly: enough to see that two words are one."""
    plain = word.lower().replace("’", "'").removesuffix("'s")
    if _CYRILLIC.match(plain):
        return _CYRILLIC_ENDING.sub("", plain)
    for ending in ("ing", "ed", "es", "s", "e"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3:
            return plain[: -len(ending)]
    return plain


def read_statement(text: str, *, about: str = "") -> Statement:
    """Read one sentence, or the value of a fact, whose key then says what it is `about`."""
    said = _PRIVATE.sub(" ", unicodedata.normalize("NFKC", without_label(text)[:READ_CHARS])[:READ_CHARS]).strip()
    said = lexicon.NUMERALS.sub(_digits, said)
    if "'" in said or "’" in said:
        said = _ELISION.sub(r"\1e ", said)
    said = _AS_OF_NOW.sub(" ", said[lead.end() :] if (lead := lexicon.LEAD_IN.match(folded(said))) else said)
    reason = lexicon.REASON.search(folded(said))
    if reason is not None and reason.start() > 0:
        said = said[: reason.start()]
    return _Reading(text, said, _NO_WORD.sub(" ", about) if about else "").statement()


class _Reading:
    """One sentence while it is read: its values stand as single private characters in `_rest`."""

    def __init__(self, text: str, said: str, topic: str) -> None:
        self._text = text
        self._said = said
        self._small = folded(said)
        self._topic = _content(topic)
        self._values: list[tuple[str, str]] = []
        self._rest = self._without_values(said)
        self._small_rest = folded(self._rest)

    def statement(self) -> Statement:
        small, rest, small_rest = self._small, self._rest, self._small_rest
        taken: list[str] = [
            match["old"] for pattern in _displacing(self._said) for match in pattern.finditer(self._said)
        ]
        displaced = tuple(words for one in taken if (words := _content(one)))
        marker, verb = self._joint(rest)
        before, after = (rest[: marker[0]], rest[marker[1] :]) if marker else self._without_joint(rest)
        if marker and not verb and _says_who(before, after):
            before, after = after, before
        gone: list[int] = []
        held = _in_charge(rest)
        if held is not None:
            marker, verb = held.span("who"), "负责"
            before, after = held["what"] + held["more"], held["who"]
        elif marker and (works := _AT_WORK.match(after)) is not None:
            after, verb = works["where"], _WORK
        elif lexicon.MOVES.match(small_rest, marker[0] if marker else len(rest)):
            left = _FROM.search(before)
            before, gone = (before[: left.start()], _slots_in(left.group())) if left else (before, [])
        moved = _OBJECT_MOVED.search(small_rest)
        if moved is not None:
            before, after = rest[slice(*moved.span("what"))], rest[moved.end() :]
        decided = lexicon.DECIDES.search(small_rest)
        if decided is not None:
            before, after = (rest[slice(*decided.span(part))] for part in ("purpose", "what"))
        identifiers, values = self._sorted_values(rest, marker)
        subject = _content(before) | {self._values[slot][1] for slot in _slots_in(before) if slot not in values}
        subject |= {self._values[slot][1] for slot in _slots_in(before) if marker is not None or moved is not None}
        subject -= frozenset(word for words in displaced for word in words)
        predicate = _content(after) or frozenset({after.strip()} if held else ())
        moves = lexicon.MOVES.search(small) is not None
        if moves and not subject and predicate and values:
            subject, predicate = predicate, frozenset[str]()
        own = bool(subject)
        pronoun = "" if held else _pronoun(before if marker else rest)
        kept = frozenset(
            self._values[slot]
            for slot in values
            if slot not in gone and (marker is None or moved is not None or slot not in _slots_in(before))
        )
        if verb and decided is None:
            predicate |= {stem(verb)}
        subject = subject or self._topic
        content = subject | predicate | self._topic | identifiers
        subjects = folded(before)
        many = lexicon.MANY.search(subjects) is not None
        return Statement(
            text=self._text,
            subject=subject,
            content=content,
            values=kept,
            names=frozenset(stem(word) for run in _names(before) for word in run.split()),
            changes=announces_change(self._text),
            anaphoric=_ANAPHOR.search(folded(self._text[:READ_CHARS])) is not None,
            has_subject=bool(own and (marker or moved)),
            said=predicate,
            about=pronoun,
            verb="" if decided is not None else verb,
            identifiers=identifiers,
            displaced=displaced,
            moves=moves,
            new=lexicon.NEW.search(small) is not None,
            adds=lexicon.ADDS.search(small_rest) is not None,
            negated=lexicon.NEGATED.search(small) is not None,
            ended=lexicon.ENDED.search(small) is not None,
            cancelled=lexicon.CANCELLED.search(small) is not None,
            past=lexicon.PAST.search(small) is not None,
            habit=lexicon.HABIT.search(small) is not None,
            resides=lexicon.RESIDES.search(small) is not None,
            decides=decided is not None,
            progress=lexicon.PROGRESS.search(small) is not None,
            settles=lexicon.SETTLES.search(small) is not None,
            unique=lexicon.UNIQUE.search(subjects) is not None and not many,
            placed=lexicon.PLACED.search(small_rest) is not None and not many,
            definite=_DETERMINER.match(before) is not None or bool(_HAN.search(before) or _CYRILLIC.search(before)),
        )

    def _without_values(self, said: str) -> str:
        small = self._small
        counts = _DIGIT.search(said) is not None
        for kind, pattern in lexicon.KINDS:
            if len(self._values) >= READ_VALUES:
                break
            text = said if kind in lexicon.CASED else small
            if (
                (kind in lexicon.COUNTED and not counts)
                or (kind == "address" and "@" not in text)
                or pattern.search(text) is None
            ):
                continue
            parts, done = list[str](), 0
            for match in islice(pattern.finditer(text), READ_VALUES - len(self._values)):
                self._values.append((kind, _canonical(kind, match.group())))
                parts += [said[done : match.start()], chr(_SLOT + len(self._values) - 1)]
                done = match.end()
            said = "".join([*parts, said[done:]])
            small = folded(said)
        return said

    def _joint(self, rest: str) -> tuple[tuple[int, int] | None, str]:
        """Where the subject ends and what is said of it begins, and the verb between them, if it says something."""
        small = self._small_rest
        copula = next((one for one in lexicon.COPULAS.finditer(small) if rest[: one.start()].strip()), None)
        state = lexicon.STATE_CJK.search(rest)
        if state is not None and (copula is None or state.start() < copula.start()) and rest[: state.start()].strip():
            word = state.group()
            plain = lexicon.MOVES.match(word) or word.startswith("定")
            return state.span(), "" if plain else _SAME_VERBS.get(word, word)
        for match in WORD.finditer(rest):
            if copula is not None and match.start() >= copula.start():
                break
            if match.group().lower() in lexicon.STATE_VERBS and (
                rest[: match.start()].strip() or _is_spanish_verb(match)
            ):
                follows = copula is not None and not rest[match.end() : copula.start()].strip()
                if follows and copula is not None:
                    return copula.span(), ""
                word = match.group().lower()
                perfect = _PERFECT.match(small, match.end())
                end = perfect.end() if perfect else match.end()
                return (match.start(), end), "" if perfect else word
        if copula is None:
            return None, ""
        end = copula.end()
        if (second := lexicon.COPULAS.match(small, end + 1)) is not None:
            end = second.end()
        return (copula.start(), end), ""

    def _without_joint(self, rest: str) -> tuple[str, str]:
        """Cut before the first of: a value, a verb of change, a state."""
        small = self._small_rest
        found = [one.search(small) for one in (_SLOTS, lexicon.PREDICATE)]
        found += [one.search(rest) for one in _displacing(rest)]
        cut = min((match.start() for match in found if match is not None), default=len(rest))
        if lexicon.MOVES.search(small) is not None and _KANA.search(rest) is not None:
            cut = 0  # in Japanese the object stands before the verb, and a subject would have its particle
        return rest[:cut], rest[cut:]

    def _sorted_values(self, rest: str, marker: tuple[int, int] | None) -> tuple[frozenset[str], list[int]]:
        """What names something, and the slots of the values that are left."""
        identifiers: set[str] = set()
        values: list[int] = []
        for match in _SLOTS.finditer(rest):
            slot = ord(match.group()) - _SLOT
            kind, value = self._values[slot]
            if kind == "number" and self._names_something(rest, match.start(), match.end(), marker):
                identifiers.add(value)
            else:
                values.append(slot)
        return frozenset(identifiers), values

    def _names_something(self, rest: str, start: int, end: int, marker: tuple[int, int] | None) -> bool:
        before, after = rest[max(0, start - 40) : start], rest[end : end + 24]
        if lexicon.NUMBERED.search(folded(before)) or lexicon.COUNTERS.match(after):
            return True
        if marker is not None and start < marker[0]:
            return True
        if (marker is not None and start - marker[1] <= 1) or lexicon.MEASURES.match(after):
            return False
        word = _LAST_WORD.search(before)
        telling = word is not None and not _is_function(word[1]) and word[1].lower() not in lexicon.STATE_VERBS
        if word is None or not telling or _PRIVATE.search(word[1]) or _HIRAGANA.search(word[1][-1]):
            return False
        following = _FIRST_WORD.match(_without(_without(after, lexicon.CUE, ""), lexicon.ENDED, ""))
        unit = following is not None and not _is_function(following[1])
        cue = lexicon.CUE.search(folded(word[1])) is not None
        return not cue and (not unit or marker is None)


def _displacing(text: str) -> list[re.Pattern[str]]:
    return [pattern for sign, pattern in lexicon.DISPLACED if sign in text]


def _says_who(before: str, after: str) -> bool:
    """Is it "Ann is the lead", which is about the lead?"""
    if _HAN.search(before) or _HAN.search(after) or _SLOTS.search(before):
        return False
    named = before.strip()[:1].isupper() and _DETERMINER.match(before) is None
    return named and _ROLE.match(after) is not None


def _content(text: str) -> frozenset[str]:
    if not text:
        return frozenset()
    small = folded(text)
    for pattern in _NO_CONTENT:
        if pattern.search(small) is not None:
            text = _without(text, pattern)
            small = folded(text)
    return frozenset(_telling(text))


def _without(text: str, pattern: re.Pattern[str], instead: str = " ") -> str:
    """What of a text is left that a pattern of small letters does not match."""
    parts, done = list[str](), 0
    for match in pattern.finditer(folded(text)):
        parts += [text[done : match.start()], instead]
        done = match.end()
    return "".join([*parts, text[done:]]) if parts else text


def _telling(text: str) -> Iterator[str]:
    was_han = False
    for match in _TOKEN.finditer(text):
        word = match.group()
        if _PRIVATE.match(word):
            was_han = False
        elif _HAN.match(word):
            if word not in _CJK_FUNCTION and word not in lexicon.PRONOUNS:
                yield word
            was_han = True
        elif _HIRAGANA.match(word):
            plain = _PARTICLES.sub("", word)
            if plain and not (was_han and plain == word) and len(plain) > 1:
                yield plain
            was_han = False
        else:
            plain = word.strip(".+#/&-") or word
            if not _is_function(plain) and (len(plain) > 1 or plain.isupper()):
                yield stem(plain)
            was_han = False


def _is_function(word: str) -> bool:
    plain = word.lower()
    return plain in _NO_TELLING or _uncontracted(plain) in FUNCTION_WORDS


def _is_spanish_verb(match: re.Match[str]) -> bool:
    """A Spanish or Portuguese verb that may begin a sentence, since it says itself who: "Vivo en …"."""
    return match.group().lower() in lexicon.SPEAKERS_VERBS


def _pronoun(text: str) -> str:
    for word in _LETTERS.findall(text)[:4]:
        if word.lower() in lexicon.PRONOUNS:
            return lexicon.PRONOUNS[word.lower()]
    for one in ("我们", "私たち", "我", "私", "僕", "他", "她", "彼女", "彼"):
        if text.lstrip().startswith(one):
            return lexicon.PRONOUNS[one]
    return ""


def _slots_in(text: str) -> list[int]:
    return [ord(one) - _SLOT for one in _SLOTS.findall(text)]


_SAME_VERBS: Final = {"共有": "有", "剩": "有", "剩下": "有", "只剩": "有", "只剩下": "有", "使用": "用", "叫做": "叫"}
_PER_CENT: Final = compile_later(r"百分之(\d+)|[％]")
_WEEK: Final = compile_later("^[上下这本]?(?:星期|礼拜|周)(?=.)")
_POWERS: Final = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_FIGURES: Final = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}


def _digits(numeral: re.Match[str]) -> str:
    """A number in Chinese characters as it is written in digits; what is no one number stays as it is."""
    signs = numeral.group()
    if not _POWERS.keys() & set(signs):
        return "".join(str(_FIGURES[sign]) for sign in signs) if len(signs) in (1, 4) else signs
    total, part, figure = 0, 0, -1
    for sign in signs:
        if sign in _FIGURES:
            if figure > 0:
                return signs
            figure = _FIGURES[sign]
            continue
        power = _POWERS[sign]
        if power < _POWERS["万"]:
            part += (1 if figure < 0 else figure) * power
        else:
            total, part = (total + part + max(figure, 0)) * power, 0
        figure = -1
    return str(total + part + max(figure, 0))


def _in_charge(rest: str) -> re.Match[str] | None:
    if "负责" not in rest and "接" not in rest:
        return None
    return next((found for one in lexicon.IN_CHARGE if (found := one.match(rest)) is not None), None)


_HOURS: Final = compile_later(r"^(\d{1,2})h(\d\d)?$")


def _canonical(kind: str, value: str) -> str:
    plain = _SPACES.sub("", value.lower())
    if kind == "money":
        plain = _THOUSANDS.sub("000", plain.strip("$€£¥").rstrip("."))
    if kind == "date":
        plain = _DATE.sub(lambda date: (date[1] or date[4] or "") + (date[2] or date[3] or ""), plain)
    if kind == "clock":
        plain = plain.replace("uhr", "").replace(".", "").removesuffix(":00")
        plain = _HOURS.sub(lambda hours: f"{hours[1]}:{hours[2]}" if hours[2] else hours[1], plain)
    if kind == "share":
        plain = _PER_CENT.sub(r"\1%", plain)
    if kind == "weekday":
        plain = plain[:4] if _CYRILLIC.match(plain) else plain.removesuffix("-feira")
        plain = _WEEK.sub("周", plain)
    return plain


def _names(text: str) -> Iterator[str]:
    words = [match.group() for match in WORD.finditer(text)]
    for capital, run in groupby(words, key=lambda word: word[:1].isupper() and not _is_function(word)):
        if capital:
            yield " ".join(run).lower()
