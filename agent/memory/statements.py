"""Analyses a sentence without a model: its subject, its values, and whether it denies or changes something. Pure.

    The deadline of Apollo │ is │ Friday          subject {deadline, apollo}   values {(weekday, friday)}
    Invoice 1001           │ is │ paid            subject {invoice, 1001}      said {paid}
    We │ host on AWS                              about "we"                   said {host, aws}

The subject of "X is Y" is X, with its names and numbers. Without a known verb of state, the subject is the text before
the first value. "Ann is the lead" is about the lead. A number that names something (an invoice, a room) is an
identifier and not a value. Ten languages are supported (`agent.memory.lexicon`). In Chinese and Japanese each Chinese
character is a word.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from typing import Final

from agent.memory import lexicon
from agent.memory.lexicon import FUNCTION_WORDS, folded
from agent.patterns import compile_later

# The version of `read_statement`. The store keeps its results beside the texts. Increase this with each change of a
# result, so that all texts are analysed again at the next start (a test compares results with earlier ones).
READER: Final = 12
WORD: Final = compile_later(r"[^\W_]+(?:['’][^\W_]+)*")
READ_CHARS: Final = 1_000  # Of one sentence: a longer one is pasted text, and says too much to be compared
# Of a question, one half from its beginning and one from its end, so that `read_statement` sees both.
QUESTION_CHARS: Final = READ_CHARS - 1
READ_VALUES: Final = 60
# Of a long text, when its subject is searched: more than a page from its beginning and as much from its end, because a
# question may precede or follow pasted text. It takes milliseconds, and blocks the event loop.
TELLING_CHARS: Final = 6_000
_ABBREVIATED: Final = "|".join(
    rf"(?<=\b{short})" for short in ("Dr", "Mr", "Mrs", "Ms", "St", "Prof", "Sr", "Sra", "Nr", "Hr", "Fr")
)
_ORDINAL: Final = r"(?<=\d)[.](?=\s(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"  # German: "am 12. Juli".
# A period ends a sentence only before a blank, and not after an abbreviation or a German ordinal.
_SENTENCE: Final = compile_later(
    rf"[^.!?\n。！？]*(?:(?:[.](?=\S)|(?:{_ABBREVIATED})[.](?=\s\S)|{_ORDINAL})[^.!?\n。！？]*)*(?:[.!?。！？]+|\n|$)"
)

# French: "l'adresse" is "le adresse".
_ELISION: Final = compile_later(
    r"(?<!\w)([cdjlmnst]|qu|jusqu|lorsqu|puisqu|(?:de|ne|a|da|su)ll|un)['’](?=[^\W\d_]{2})", re.IGNORECASE
)
# Longer endings first, and three letters must remain, or short words would lose their stem.
_CYRILLIC_ENDING: Final = compile_later(
    r"(?<=[а-яё]{3})(?:ами|ями|ого|его|ому|ему|ыми|ими|ешь|ишь|ает|ют|ут|ов|ев|ей|ой|ый|ий|ая|яя|ое|ее|ые|ие|ую|юю|ом|ем|ам|ям"
    r"|ах|ях|[аеёиоуыэюяйь])$"
)
_CYRILLIC: Final = compile_later("[а-яё]", re.IGNORECASE)
_ANAPHOR: Final = compile_later(r"\b(?:that|it|this|them)\b")
# The speaker or a category ("[Ann (Legal)]: …"): no part of the statement.
_LABEL: Final = compile_later(r"^\[[^\]\n]{1,80}\]:?\s*")
_SLOT: Final = 0xE000  # The first of the private characters that replace values during the analysis
_SLOTS: Final = compile_later(f"[\ue000-{chr(_SLOT + READ_VALUES)}]")
_PRIVATE: Final = compile_later("[\ue000-\uf8ff]")
_ORDINALS: Final = frozenset({"st", "nd", "rd", "th"})  # Of "the 1st"
_LETTER: Final = compile_later("[A-HJ-ZА-Я]")  # Not the English pronoun
_WEEKDAY: Final = next(pattern for kind, pattern in lexicon.KINDS if kind == "weekday")
_TOKEN: Final = compile_later(
    "[\ue000-\uf8ff]"  # a value
    r"|[A-Za-zÀ-ɏ0-9][A-Za-zÀ-ɏ0-9.+#/&-]*(?:['’][A-Za-z]+)*"
    r"|[\u3040-\u309f]+|[\u30a0-\u30ff]+|[\u3400-\u9fff々]|[^\W_]+"
)
_HIRAGANA: Final = compile_later(r"[\u3040-\u309f]+")
_KANA: Final = compile_later(r"[\u3040-\u309f]")
_HAN: Final = compile_later(r"[\u3400-\u9fff々]")
# Japanese endings that carry no content; the longest chain of them is removed at once.
_PARTICLES: Final = compile_later(
    r"^(?:[はがをにでとのもへや]|から|まで|より|には|では|とは|です|ます|でした|ました|ません|でし|だ|さん|して|しています|いて|います"
    r"|している|いる|する|します|した|ない|なりました|なった|なり|ある|あります|こと|もの|ので|ため|もう|まだ|また)+"
)
_CJK_FUNCTION: Final = frozenset("的了吗呢吧就都被把将已也和与个们从每")
_SPACES: Final = compile_later(r"[\s,]+")
_THOUSANDS: Final = compile_later(r"k$")
# Month and day in either order: three letters tell a month in all languages here.
_DATE: Final = compile_later(
    r"^([^\W\d]{3})[^\W\d]*\.?(\d+)(?:st|nd|rd|th)?|^(\d+)(?:st|nd|rd|th)?\.?(?:of|de)?([^\W\d]{3})[^\W\d]*"
)
# Words about the manner of a statement, not its content.
NO_CONTENT: Final = (*(lexicon.ENDED, lexicon.CUE, lexicon.NEW), *(lexicon.FILLERS, lexicon.ADDS, lexicon.NEGATED))
_DIGIT: Final = compile_later(r"\d")
_NO_TELLING: Final = FUNCTION_WORDS | lexicon.OTHER_FUNCTION_WORDS | lexicon.PRONOUNS.keys()
_NO_WORD: Final = compile_later(r"[_\W]+")
_LAST_WORD: Final = compile_later(r"(?<!\w)(\w++)\s?$")
_FIRST_WORD: Final = compile_later(r"\s?([^\W\d_]+)")
_LETTERS: Final = compile_later(r"[^\W\d_]+")
# "the lead" is one definite thing, where a name without an article is a person or a product.
_DETERMINER: Final = compile_later(
    r"^\s*(?:the|my|our|your|his|her|their|a|an|das|die|der|den|mein\w*|unser\w*|el|la|los|las|mi|nuestr\w+"
    r"|le|les|mon|ma|mes|notre|nos|votre|vos|o|os|meu|minha|noss[oa])\b",
    re.IGNORECASE,
)
ARTICLE_CHARS: Final = 12
# Only words that no verb follows: Romance "la", "le" and "lo" are also pronouns before one ("la dirige Ana").
_BEFORE_NOUN: Final = compile_later(
    r"(?<!\w)(?:the|an?|my|our|your|his|her|their|its|el|mi|del|mon|ma|notre|du|il|mio|nostro|di|do|meu|nosso|um) $"
)
# Behind "is", an article or possessive makes it a role: "Ann is the lead", but not "Ann is late".
_ROLE: Final = compile_later(
    r"^\s*(?:now |jetzt |ahora )?(?:the|our|my|der|die|das|unsere?|meine?|el|la|nuestr[oa]|mi)\s+\w", re.IGNORECASE
)
_PERFECT: Final = compile_later(rf"\s{{1,3}}(?:now\s{{1,3}})?(?:been\b|(?={lexicon.MOVES.pattern}))")
_FROM: Final = compile_later("从[^从，。；]{1,30}$")  # Chinese: the origin of a change, just before its verb
_WORK: Final = "工作"
_AT_WORK: Final = compile_later(rf"(?P<where>(?!家)[^，。；\ue000-\uf8ff]{{1,20}}?)(?:{_WORK}|上班|任职|就职)了?\W*$")
_AS_OF_NOW: Final = compile_later(r"\bas of (?:today|now|this (?:morning|week))\b,?", re.IGNORECASE)
# Only with a determiner before the thing: "changed from A to B" has no object.
_OBJECT_MOVED: Final = compile_later(
    r"\b(?:mov|switch|chang|reschedul|postpon|push|extend|rais|lower|increas|reduc|cut|set)(?:e|ed|ing)?(?: back)?\s+"
    r"(?P<what>(?:the|my|our|your|his|her|their)\s[^.,\ue000-\uf8ff]{1,60}?)(?:\s+from\s[^.]{1,40}?)?\s+(?:to|until|till|by)\b"
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One analysed sentence.

    `subject`: the words of its subject; `said`: those of its predicate; `content`: both; `about`: the person, if only a
    pronoun names them; `verb`: the verb between subject and predicate, "" for "is"; `names`: words of the subject that
    are written as names; `displaced`: words of what this replaces.

    `changes`: it announces a change; `adds`: it adds something ("also"); `negated`: it denies; `ended`: something is no
    longer so; `cancelled`: something is cancelled; `past`: it reports an event; `habit`: it reports a repeated event;
    `anaphoric`: it contains "it" or "that"; `has_subject`: it has the form "X is Y".
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


def head_and_tail(text: str, chars: int = TELLING_CHARS) -> str:
    """Return the part of a text that tells its subject: all of it, or its beginning and its end."""
    half = chars // 2
    return text if len(text) <= chars else f"{text[:half]}\n{text[-half:]}"


def sentences(text: str) -> list[str]:
    return [sentence for match in _SENTENCE.finditer(text) if (sentence := match.group().strip())]


def first_sentence(text: str) -> str:
    """Return the text up to its first end of a sentence that is not part of a word or number."""
    match = _SENTENCE.match(text)
    return match.group() if match and match.group() else text


def without_label(text: str) -> str:
    """Remove a label such as "[Ann (Legal)]: "."""
    return _LABEL.sub("", text)


def is_function_word(word: str) -> bool:
    """Return whether this is a function word, also in a contraction: "we're" as well as "we"."""
    return _uncontracted(word.lower()) in FUNCTION_WORDS


def _uncontracted(word: str) -> str:
    return word if word.isalnum() else word.replace("’", "'").partition("'")[0]


def announces_change(text: str) -> bool:
    lowered = folded(text[:READ_CHARS])
    return lexicon.CUE.search(lowered) is not None and lexicon.ADDS.search(lowered) is None


def begins_definite(text: str) -> bool:
    """Return whether it begins with an article or a possessive."""
    return _DETERMINER.match(text) is not None


def describes_past_state(text: str) -> bool:
    return lexicon.ONCE.search(folded(text[:READ_CHARS])) is not None


def is_update(text: str) -> bool:
    """Return whether it says that it replaces earlier statements about the same subject ("Update: …")."""
    return lexicon.UPDATE.search(folded(without_label(text)[:READ_CHARS])) is not None


def restores(text: str) -> bool:
    return lexicon.RESTORES.search(folded(text[:READ_CHARS])) is not None


def states_in(statement: Statement) -> frozenset[str]:
    """Return its words of progress ("approved", "paid"), which are not part of its subject."""
    return frozenset(lexicon.PROGRESS.findall(folded(statement.text[:READ_CHARS])))


def stem(word: str) -> str:
    """Remove the English or Russian ending of a word, roughly: enough to compare word forms."""
    plain = word.lower().replace("’", "'").removesuffix("'s")
    if _CYRILLIC.match(plain):
        return _CYRILLIC_ENDING.sub("", plain)
    for ending in ("ing", "ed", "es", "s", "e"):
        if plain.endswith(ending) and len(plain) - len(ending) >= 3:
            return plain[: -len(ending)]
    return plain


@lru_cache(maxsize=256)
def read_statement(text: str, *, about: str = "") -> Statement:
    """Analyse one sentence, or the value of a fact with the key `about`."""
    return _Reading(text, _prepared(text), _NO_WORD.sub(" ", about) if about else "").statement()


@dataclass(frozen=True, slots=True)
class Token:
    """A content word of a sentence, as its stem, or a value of a `kind` (`lexicon.KINDS`, "code").

    `raw`: as it is written, in lower case; `is_name`: it is written with a capital letter.
    """

    word: str
    kind: str = ""
    raw: str = ""
    is_name: bool = False


@lru_cache(maxsize=512)
def content_tokens(text: str, manner: tuple[re.Pattern[str], ...] = ()) -> tuple[Token, ...]:
    """Return the content words and values of a sentence in their order.

    Words of manner ("now", "also") are left out, and what these lower-case patterns match.
    """
    return tuple(_Reading(text, _prepared(text), "").tokens(manner))


def weekdays_in(text: str) -> frozenset[str]:
    """Return the weekdays of a text, each in one form: "Mondays" is "monday"."""
    lowered = folded(text)
    days = {_canonical("weekday", match.group()) for match in _WEEKDAY.finditer(lowered)}
    plural = (lexicon.ON_WEEKDAYS.fullmatch(word.group()) for word in WORD.finditer(lowered))
    return frozenset(days | {_canonical("weekday", day["day"]) for day in plural if day is not None})


def _prepared(text: str) -> str:
    """Return the sentence of a text that is analysed: without its label, its lead-in and its reason."""
    sentence = _PRIVATE.sub(" ", unicodedata.normalize("NFKC", without_label(text)[:READ_CHARS])[:READ_CHARS]).strip()
    sentence = numerals_in_digits(sentence)
    if "'" in sentence or "’" in sentence:
        sentence = _ELISION.sub(r"\1e ", sentence)
    if (lead := lexicon.LEAD_IN.match(folded(sentence))) is not None:
        sentence = sentence[lead.end() :]
    sentence = _AS_OF_NOW.sub(" ", sentence)
    reason = lexicon.REASON.search(folded(sentence))
    if reason is not None and reason.start() > 0:
        sentence = sentence[: reason.start()]
    return sentence


def numerals_in_digits(text: str) -> str:
    """Return a text with its numbers in Chinese characters in digits: "九月二十号" is "9月20号"."""
    return lexicon.NUMERALS.sub(_digits, text)


class _Reading:
    """A sentence during its analysis. In `_rest` each value is replaced by one private character."""

    def __init__(self, text: str, sentence: str, topic: str) -> None:
        self._text = text
        self._sentence = sentence
        self._small = folded(sentence)
        self._topic = _content(topic)
        self._values: list[tuple[str, str]] = []
        self._rest = self._without_values(sentence)
        self._small_rest = folded(self._rest)

    def statement(self) -> Statement:
        lowered, rest, lowered_rest = self._small, self._rest, self._small_rest
        # "X instead of Y": what is replaced is no subject of the statement, though it stands in it.
        displaced = tuple(words for phrase in displaced_in(self._sentence) if (words := _content(phrase)))
        joint, verb = self._joint(rest)
        before, after = (rest[: joint[0]], rest[joint[1] :]) if joint else self._without_joint(rest)
        # "Ann is the lead" and "the lead is Ann" have to have the same subject, the role.
        if joint and not verb and _is_role_statement(before, after):
            before, after = after, before
        origin_slots: list[int] = []
        # Chinese names the person before the duty; the duty is what can have only one holder, so it becomes the
        # subject.
        in_charge = _in_charge(rest)
        if in_charge is not None:
            joint, verb = in_charge.span("who"), "负责"
            before, after = in_charge["what"] + in_charge["more"], in_charge["who"]
        elif joint and (at_work := _AT_WORK.match(after)) is not None:
            # The place stands between the joint and the verb, so the verb is what remains.
            after, verb = at_work["where"], _WORK
        elif lexicon.MOVES.match(lowered_rest, joint[0] if joint else len(rest)):
            # "从A改到B": A is where it was before, neither the subject nor a current value.
            origin = _FROM.search(before)
            before, origin_slots = (before[: origin.start()], _slots_in(origin.group())) if origin else (before, [])
        # "We moved the review to Friday" is about the review, which stands behind the verb.
        moved = _OBJECT_MOVED.search(lowered_rest)
        if moved is not None:
            before, after = rest[slice(*moved.span("what"))], rest[moved.end() :]
        # "We go with X for Y" is about the purpose Y, and states X.
        decided = lexicon.DECIDES.search(lowered_rest)
        if decided is not None:
            before, after = (rest[slice(*decided.span(part))] for part in ("purpose", "what"))
        identifiers, values = self._split_values(rest, joint)
        subject = _content(before) | {self._values[slot][1] for slot in _slots_in(before) if slot not in values}
        # Values before a joint say which thing is meant ("the 9:00 call is …"); without one they are the statement
        # itself.
        subject |= {self._values[slot][1] for slot in _slots_in(before) if joint is not None or moved is not None}
        subject -= frozenset(word for words in displaced for word in words)
        predicate = _content(after) or frozenset({after.strip()} if in_charge else ())
        moves = lexicon.MOVES.search(lowered) is not None
        # "Moved the launch to May": without words before the verb those behind it are the subject.
        if moves and not subject and predicate and values:
            subject, predicate = predicate, frozenset[str]()
        has_own_subject = bool(subject)
        pronoun = "" if in_charge else _pronoun(before if joint else rest)
        shown_values = frozenset(
            self._values[slot]
            for slot in values
            if slot not in origin_slots and (joint is None or moved is not None or slot not in _slots_in(before))
        )
        if verb and decided is None:
            predicate |= {stem(verb)}
        subject = subject or self._topic
        content = subject | predicate | self._topic | identifiers
        subjects = folded(before)
        is_plural = lexicon.MANY.search(subjects) is not None
        return Statement(
            text=self._text,
            subject=subject,
            content=content,
            values=shown_values,
            names=frozenset(stem(word) for run in _names(before) for word in run.split()),
            changes=announces_change(self._text),
            anaphoric=_ANAPHOR.search(folded(self._text[:READ_CHARS])) is not None,
            has_subject=bool(has_own_subject and (joint or moved)),
            said=predicate,
            about=pronoun,
            verb="" if decided is not None else verb,
            identifiers=identifiers,
            displaced=displaced,
            moves=moves,
            new=lexicon.NEW.search(lowered) is not None,
            adds=lexicon.ADDS.search(lowered_rest) is not None,
            negated=lexicon.NEGATED.search(lowered) is not None,
            ended=lexicon.ENDED.search(lowered) is not None,
            cancelled=lexicon.CANCELLED.search(lowered) is not None,
            past=lexicon.PAST.search(lowered) is not None,
            habit=lexicon.HABIT.search(lowered) is not None,
            resides=lexicon.RESIDES.search(lowered) is not None,
            decides=decided is not None,
            progress=lexicon.PROGRESS.search(lowered) is not None,
            settles=lexicon.SETTLES.search(lowered) is not None,
            unique=lexicon.UNIQUE.search(subjects) is not None and not is_plural,
            placed=lexicon.PLACED.search(lowered_rest) is not None and not is_plural,
            definite=_DETERMINER.match(before) is not None or bool(_HAN.search(before) or _CYRILLIC.search(before)),
        )

    def tokens(self, manner: tuple[re.Pattern[str], ...]) -> Iterator[Token]:
        rest = self._rest
        for pattern in (*NO_CONTENT, *manner):
            rest = without(rest, pattern)
        for written, word in _written_and_told(rest):
            raw = written.rstrip(".+#/&-") or written
            day = lexicon.ON_WEEKDAYS.fullmatch(raw.lower())
            if _SLOTS.match(raw):
                kind, value = self._values[ord(raw) - _SLOT]
                yield Token(value, kind)
            elif day is not None:
                yield Token(_canonical("weekday", day["day"]), "weekday")
            elif raw.lower() in lexicon.NUMBER_WORDS:
                yield Token(lexicon.NUMBER_WORDS[raw.lower()], "number")
            elif _LETTER.fullmatch(raw) and not rest.startswith(raw):
                yield Token(raw, "code")  # "group A"
            elif word and raw not in _ORDINALS:
                yield Token(word, "code" if _DIGIT.search(raw) else "", raw.lower(), raw[0].isupper())

    def _without_values(self, sentence: str) -> str:
        lowered = self._small
        has_digits = _DIGIT.search(sentence) is not None
        for kind, pattern in lexicon.KINDS:
            if len(self._values) >= READ_VALUES:
                break
            text = sentence if kind in lexicon.CASED else lowered
            if (
                (kind in lexicon.COUNTED and not has_digits)
                or (kind == "address" and "@" not in text)
                or pattern.search(text) is None
            ):
                continue
            parts, position = list[str](), 0
            for match in islice(pattern.finditer(text), READ_VALUES - len(self._values)):
                self._values.append((kind, _canonical(kind, match.group())))
                parts += [sentence[position : match.start()], chr(_SLOT + len(self._values) - 1)]
                position = match.end()
            sentence = "".join([*parts, sentence[position:]])
            lowered = folded(sentence)
        return sentence

    def _joint(self, rest: str) -> tuple[tuple[int, int] | None, str]:
        """Return the span between subject and predicate, and the verb there, "" if it has no meaning of its own."""
        lowered = self._small_rest
        # A copula without words before it has no subject: it begins a question or an order.
        copula = next((match for match in lexicon.COPULAS.finditer(lowered) if rest[: match.start()].strip()), None)
        state = lexicon.STATE_CJK.search(rest)
        if state is not None and (copula is None or state.start() < copula.start()) and rest[: state.start()].strip():
            word = state.group()
            is_change = lexicon.MOVES.match(word) or word.startswith("定")
            return state.span(), "" if is_change else _SAME_VERBS.get(word, word)
        for match in WORD.finditer(rest):
            if copula is not None and match.start() >= copula.start():
                break
            if match.group().lower() not in lexicon.STATE_VERBS or is_noun_at(rest, match.start()):
                continue
            if rest[: match.start()].strip() or _is_spanish_verb(match):
                follows = copula is not None and not rest[match.end() : copula.start()].strip()
                # "The editor I use is Vim": the verb right before the copula belongs to the subject.
                if follows and copula is not None:
                    return copula.span(), ""
                word = match.group().lower()
                # "has been" and "has moved" join as "is" does: "has" means no possession there.
                perfect = _PERFECT.match(lowered, match.end())
                end = perfect.end() if perfect else match.end()
                return (match.start(), end), "" if perfect else word
        if copula is None:
            return None, ""
        end = copula.end()
        # Of two copulas in a row the second is no part of what is stated.
        if (second := lexicon.COPULAS.match(lowered, end + 1)) is not None:
            end = second.end()
        return (copula.start(), end), ""

    def _without_joint(self, rest: str) -> tuple[str, str]:
        """Split before the first value, verb of change or state."""
        lowered = self._small_rest
        matches = [pattern.search(lowered) for pattern in (_SLOTS, lexicon.PREDICATE)]
        matches += [pattern.search(rest) for pattern in _displacing(rest)]
        cut = min((match.start() for match in matches if match is not None), default=len(rest))
        if lexicon.MOVES.search(lowered) is not None and _KANA.search(rest) is not None:
            cut = 0  # in Japanese the object precedes the verb, and a subject would have a particle
        return rest[:cut], rest[cut:]

    def _split_values(self, rest: str, joint: tuple[int, int] | None) -> tuple[frozenset[str], list[int]]:
        """Return the identifiers, and the slots of the other values."""
        identifiers: set[str] = set()
        values: list[int] = []
        for match in _SLOTS.finditer(rest):
            slot = ord(match.group()) - _SLOT
            kind, value = self._values[slot]
            if kind == "number" and self._names_something(rest, match.start(), match.end(), joint):
                identifiers.add(value)
            else:
                values.append(slot)
        return frozenset(identifiers), values

    def _names_something(self, rest: str, start: int, end: int, joint: tuple[int, int] | None) -> bool:
        before, after = rest[max(0, start - 40) : start], rest[end : end + 24]
        # "Room 4", "sprint 12": the number is part of a name, so another number is another thing.
        if lexicon.NUMBERED.search(folded(before)) or lexicon.COUNTERS.match(after):
            return True
        # In the subject a number says which one is meant; behind the joint it is what is stated about it.
        if joint is not None and start < joint[0]:
            return True
        if (joint is not None and start - joint[1] <= 1) or lexicon.MEASURES.match(after):
            return False
        word = _LAST_WORD.search(before)
        is_noun = word is not None and not is_function(word[1]) and word[1].lower() not in lexicon.STATE_VERBS
        if word is None or not is_noun or _PRIVATE.search(word[1]) or _HIRAGANA.search(word[1][-1]):
            return False
        # A word of change or end between the number and the next word does not make it a unit ("version 3 no longer
        # runs").
        following = _FIRST_WORD.match(without(without(after, lexicon.CUE, ""), lexicon.ENDED, ""))
        has_unit = following is not None and not is_function(following[1])
        is_cue = lexicon.CUE.search(folded(word[1])) is not None
        return not is_cue and (not has_unit or joint is None)


def displaced_in(text: str) -> list[str]:
    """Return what a sentence names as replaced: "A" of "B instead of A", "from A to B"."""
    text = text[:READ_CHARS]
    return [match["old"] for pattern in _displacing(text) for match in pattern.finditer(text)]


def _displacing(text: str) -> list[re.Pattern[str]]:
    return [pattern for sign, pattern in lexicon.DISPLACED if sign in text]


def _is_role_statement(before: str, after: str) -> bool:
    """Return whether it has the form "Ann is the lead", which is about the lead."""
    if _HAN.search(before) or _HAN.search(after) or _SLOTS.search(before):
        return False
    is_name = before.strip()[:1].isupper() and _DETERMINER.match(before) is None
    return is_name and _ROLE.match(after) is not None


def _content(text: str) -> frozenset[str]:
    if not text:
        return frozenset()
    lowered = folded(text)
    for pattern in NO_CONTENT:
        if pattern.search(lowered) is not None:
            text = without(text, pattern)
            lowered = folded(text)
    return frozenset(_telling(text))


def without(text: str, pattern: re.Pattern[str], replacement: str = " ") -> str:
    """Replace the matches of a lower-case pattern in a text."""
    parts, position = list[str](), 0
    for match in pattern.finditer(folded(text)):
        parts += [text[position : match.start()], replacement]
        position = match.end()
    return "".join([*parts, text[position:]]) if parts else text


def _telling(text: str) -> Iterator[str]:
    return (word for _, word in _written_and_told(text) if word)


def _written_and_told(text: str) -> Iterator[tuple[str, str]]:
    """Yield each token as it is written, and as a content word; "" for a value or a word without content."""
    was_han = False
    for match in _TOKEN.finditer(text):
        word, told = match.group(), ""
        if _PRIVATE.match(word):
            was_han = False
        elif _HAN.match(word):
            if word not in _CJK_FUNCTION and word not in lexicon.PRONOUNS:
                told = word
            was_han = True
        elif _HIRAGANA.match(word):
            # Right after Han characters hiragana is the ending of their word, unless it holds a particle.
            stripped = _PARTICLES.sub("", word)
            if stripped and not (was_han and stripped == word) and len(stripped) > 1:
                told = stripped
            was_han = False
        else:
            stripped = word.strip(".+#/&-") or word
            # One letter is a word only as a name, as in "plan B".
            if not is_function(stripped) and (len(stripped) > 1 or stripped.isupper()):
                told = stem(stripped)
            was_han = False
        yield word, told


def is_function(word: str) -> bool:
    """Return whether a word has no content of its own in one of the languages: "the", "ist", "de"."""
    lowered = word.lower()
    return lowered in _NO_TELLING or _uncontracted(lowered) in FUNCTION_WORDS


def _is_spanish_verb(match: re.Match[str]) -> bool:
    """Return whether a Spanish or Portuguese verb can start a sentence, because it implies its subject: "Vivo en …"."""
    return match.group().lower() in lexicon.SPEAKERS_VERBS


def is_noun_at(text: str, start: int) -> bool:
    """Return whether a word that may be a verb stands right behind an article or a possessive: "the lead", "my work",
    "número del trabajo".
    """
    return _BEFORE_NOUN.search(folded(text[max(0, start - ARTICLE_CHARS) : start])) is not None


def _pronoun(text: str) -> str:
    for word in _LETTERS.findall(text)[:4]:
        if word.lower() in lexicon.PRONOUNS:
            return lexicon.PRONOUNS[word.lower()]
    for pronoun in ("我们", "私たち", "我", "私", "僕", "他", "她", "彼女", "彼"):
        if text.lstrip().startswith(pronoun):
            return lexicon.PRONOUNS[pronoun]
    return ""


def _slots_in(text: str) -> list[int]:
    return [ord(char) - _SLOT for char in _SLOTS.findall(text)]


_SAME_VERBS: Final = {"共有": "有", "剩": "有", "剩下": "有", "只剩": "有", "只剩下": "有", "使用": "用", "叫做": "叫"}
_PER_CENT: Final = compile_later(r"百分之(\d+)|[％]")
_WEEK: Final = compile_later("^[上下这本]?(?:星期|礼拜|周)(?=.)")
_POWERS: Final = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}
_FIGURES: Final = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}


def _digits(numeral: re.Match[str]) -> str:
    """Write a number in Chinese characters in digits; other text is not changed."""
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
    return next((match for pattern in lexicon.IN_CHARGE if (match := pattern.match(rest)) is not None), None)


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
    for is_name, run in groupby(words, key=lambda word: word[:1].isupper() and not is_function(word)):
        if is_name:
            yield " ".join(run).lower()
