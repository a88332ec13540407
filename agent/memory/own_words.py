"""Did a person say this themselves? Pure.

A fact that a model wants kept as a person's own needs that person's words: whoever wrote a file, a tool's result or
somebody else's message decides nothing about what the bot holds for true of the asker.

Rules
  At least half of the telling words must be the person's, in any order and with any ending; of scripts without blanks
  most pairs of letters; and every number and every name. A date may be the model's, which reckons out "next Friday".
  No word may come from others. What a person quotes ("> …", and all that follows ">>> …") is not in their words, nor
  are the names of files that they send; and names that they mention alone say nothing.
  What they surely deny, ask, suppose, or tell of somebody else they have not said; in doubt they have. That is read
  clause by clause, in English, German, Spanish, Chinese, Japanese; the newest message that says or denies it decides:

    I am not allergic to nuts          denied            don't forget that I am allergic to nuts     said
    Am I allergic to nuts?             asked             not only nuts but also milk make me ill      said
    If I were allergic to nuts …       supposed          Bob says I am allergic to nuts               reported
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import chain, islice
from typing import Final

from agent.memory.lexicon import DAYS, folded
from agent.memory.statements import WORD, is_function_word, stem
from agent.messages import as_it_looks
from agent.patterns import compile_later

SHARE: Final = 0.5  # Of the telling words: a model says the same in its own words, and not something else
# Of pairs of characters: particles are common to all sentences, so half of them would say little.
PAIRS_SHARE: Final = 0.7
# Characters of a person's messages, the newest: more than one message may hold, and read in a few milliseconds.
MAX_OWN: Final = 60_000
MAX_OTHERS: Final = 500_000  # Characters of what else was read, the newest: more than a turn's context holds

# Begins the last line of a message that came with files: their names, which others gave them.
FILES_NOTE: Final = "\n(attached: "
# A line, or all that follows: what begins with ">>>" is shown as one quotation to its end.
_QUOTED: Final = compile_later(r"^[ \t]*>(?:>>[ \t\n](?s:.*)|.*$)", re.MULTILINE)
# Whose name, or which place's: others chose it. Adapters write it without an ordinary blank (`mention`).
_MENTION: Final = compile_later(r"(?<!\w)[@#][^ \t\n]+")
_MONTH_NAMES: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS: Final = tuple(name[:3] for name in _MONTH_NAMES)
_DATE: Final = compile_later(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b(?:19|20)\d\d\b|\b(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}\.? \d{{1,2}}\b", re.IGNORECASE
)
# What a model may reckon out.
_CALENDAR: Final = frozenset(
    {*map(stem, DAYS), *map(stem, _MONTH_NAMES), *_MONTHS, *map(stem, ("today", "tomorrow", "tonight", "next"))}
    | {*map(stem, ("week", "month", "year", "day"))}
)
_NUMBER_WORDS: Final = "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBERS: Final = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split("|"))}
_TRIVIAL: Final = frozenset({"00"})  # Of "9:00", for whoever said "9 am"
_RUN: Final = compile_later(r"[^\W_]+")
# Inside a word, as at the end of a line.
_BROKEN: Final = compile_later(r"(?<=[^\W\d_])[-\u2010\u2011]\s{0,9}(?=[^\W\d_])")
_GROUPED: Final = compile_later(r"(?<=\d)[,. ](?=\d{3}(?!\d))")

# Of a person's messages, the newest: a page or two, read in milliseconds. Older ones are left as they are.
READ_CHARS: Final = 6_000
KEPT_CHARS: Final = 2_000
READ_CLAUSES: Final = 8  # Of what is to be kept: more than a sentence that is clear by itself has
MOST: Final = 0.7  # Of the pairs of characters of a script without blanks

# A "not" that denies nothing.
_NO_NEGATION: Final = compile_later(
    r"\b(?:not|n['’]t) (?:only|just|merely|simply)\b|n['’]t (?:only|just)\b|\bnot (?:to mention|least)\b"
    r"|\bno (?:doubt|wonder|matter|problem|worries)\b|\bnever mind\b|\bor not\b|\bif not\b"
    r"|\bwhy (?:not|don['’]?t)\b"
    r"|\bcan['’]?t (?:wait|help)\b"
    r"|\b(?:not?|nicht) (?:more|less|later|earlier|fewer|mehr|weniger|später) (?:than|als)\b"
    r"|(?<!\w)no(?= (?:i|we|it|he|she|they|my|that|this|yo|mi)\b)"
    r"|\bnicht (?:nur|zuletzt|wahr)\b|\bkeine? (?:sorge|problem|frage)\b"
    r"|\bno (?:s[oó]lo|solamente|obstante|únicamente)\b|\bno más de\b"
    r"|^\W*不[过過]|不(?:仅|僅|但|只|光|错|錯|同|管|断|客气|好意思|得不|久|少)|没(?:问题|关系|事)|对不起|差不多|要不"
    r"|だけ(?:で(?:は|も)?|じゃ)なく|かもしれ(?:ない|ません)|に違い(?:ない|ありません)|少ない|危ない|もったいない|つまらない"
    r"|なければ|ないと|しかない"
)
_NEGATION: Final = compile_later(
    r"\b(?:not|never|cannot|neither|nobody|none|nicht|kein(?:e[nmrs]?)?|nie|niemals|niemand|weder"
    r"|nunca|jamás|tampoco|nadie|ning[uú]n[oa]?|(?:do|does|did|is|are|was|ca|wo|have|has)nt)\b"
    r"|n['’]t\b|(?<!\w)no(?= \w)|[不没沒]|(?:ない|なかった|ません|ありません)"
)
# Words that may turn the sense of a clause in ways that are not read here.
_TURNING: Final = compile_later(
    r"\b(?:until|till|before|after|unless|except|without|only|than|instead|always|all|every\w{0,6}|off|out|against"
    r"|avoid\w{0,3}|stop\w{0,4}|quit\w{0,4}|hates?|dislik\w{1,3}|refus\w{1,3}|lacks?|gave up|less|\w{2,20}-free"
    r"|un\w{3,20}"
    r"|sure|certain|maybe|perhaps|and|bis|vor|nach|ohne|außer|nur|statt|immer|alle\w?|jede\w?|vermeide\w{0,2}|und|sicher"
    r"|vielleicht"
    r"|hasta|antes|después|sin|excepto|salvo|sólo|solo|siempre|todos?|todas?|evit\w{1,4}|dej\w{1,3} de|y|segur[oa]"
    r"|quizás?)\b"
    r"|直到|之前|之后|除了|只|总是|都|避免|戒|讨厌|也许|可能|まで|前に|後に|以外|だけ|いつも|避け|やめ|嫌|たぶん"
)
_STANDS_FOR_ITSELF: Final = compile_later(
    r"\b(?:(?:do ?n['’]?t|never|not)(?: ever| you)?(?: to)? forget|(?<!['’]t )(?<!not )remember|(?:keep|bear) in mind"
    r"|memori[sz]e|(?:do|did) you know|(?:please|take) note|be aware"
    r"|(?:i|we)(?:['’]ve| have)? (?:just |already )?(?:said|(?:told|tell) you|mention(?:ed)?)"
    r"|merke? dir|denke? daran|vergiss(?: bitte)? nicht|(?:weißt|wusstest) du"
    r"|recu[eé]rd\w{1,4}|acuérdate|no (?:te )?olvides|sabías)\b:?(?:,? (?:that|dass|(?:de )?que)\b)?"
    r"|(?:记住|記住|记得|别忘(?:了|记)?|不要忘(?:了|记)?|请注意|你知道)(?!吗)"
)
_CONJUNCTION: Final = (
    r"but|however|although|though|because|since|whereas|while|yet|aber|sondern|obwohl|weil|denn|pero|sino|aunque|porque"
)
_CLAUSE: Final = compile_later(
    rf"[,;:()—–，；：、]+|\s-\s|(?=\b(?:if|whether|unless|falls|wenn|ob)\b)|\b(?:{_CONJUNCTION})\b"
    r"|\b(?:and|und|y)\b(?= (?:i|we|he|she|it|they|my|our|the|ich|wir|er|sie|mein\w{0,2}|yo|mi|no|do|don['’]t|not)\b)"
    r"|(?=¿)|但是?|可是|因为|所以|而且|けれど|けど|ので"
)
_ITEM: Final = r"\w[\w'’-]*(?: \w[\w'’-]*){0,3}"
# What goes on a list that its clause begins: nothing but a few words for each thing.
_LIST: Final = compile_later(
    rf"(?P<items>(?:, ?{_ITEM}){{1,12}}?),? (?P<last>(?:or|nor|and|oder|noch|und|ni|o|u|y|e) {_ITEM})"
    rf"(?=\W*$| ?[,;:()—–]| (?:{_CONJUNCTION})\b)"
)
_LINKS: Final = frozenset(
    {"to", "of", "for", "with", "from", "in", "at", "on", "by", "the", "a", "an", "any", "my"}
    | {"or", "nor", "and", "oder", "noch", "und", "ni", "o", "u", "y", "e"}
    | {"gegen", "auf", "von", "mit", "zu", "die", "der", "das", "den", "al", "de", "la", "el", "los", "las", "en"}
)
_NO_ITEM: Final = frozenset(
    {"just", "rather", "actually", "maybe", "instead", "only", "sondern", "sino", "nur", "solo"}
)
_SENTENCE: Final = compile_later(r"[^.!?。！？\n]*(?:\.(?=\w)[^.!?。！？\n]*)*(?P<end>[.!?。！？]*)")
_LEAD: Final = r"^\W*(?:(?:and|or|so|well|hey|hi|ok|okay|then|now|but|und|also|na|y|o|e|entonces)\b\W*){0,3}"
_ASKS: Final = compile_later(
    rf"{_LEAD}(?:(?:am|are|is|was|were|do|does|did|have|has|had|should|shall|may|might|must|can|could|would|will"
    r"|isn['’]t|aren['’]t|wasn['’]t|don['’]t|doesn['’]t|didn['’]t) (?:i|we|he|she|it|they|my|our|the|this|that|there)\b"
    r"|(?:bin|war|hab|habe|kann|muss|soll|darf) ich\b|(?:sind|waren|haben|können|müssen) wir\b)"
)
_ASKS_BY_ITS_MARK: Final = compile_later(
    rf"{_LEAD}(?:(?:what|who|whose|when|where|which|how)\b|(?:am|are|is|was|were|do|does|did|has|have)\b"
    r"|(?:was|wer|wem|wann|wo|wohin|welche\w?|wie|ist|sind|war|waren|hat|haben|habe|bin|wird)\b"
    r"|¿(?!\s*(?:por qué|puedes|podrías|sabías|recuerdas|verdad|no\b))"
    r"|(?:soy|es|son|somos|estoy|está|están|tengo|tiene|tenemos|vivo|trabajo)\b)"
    r"|[吗嗎]\W*$|是不是|有没有|会不会|(?:です|ます|でした|ました|ません|の|だろう)か\W*$"
)
_ASKS_WITHOUT: Final = compile_later(r"[吗嗎]\W*$|(?:です|ます|でした|ました|ません)か\W*$")
_SUPPOSES: Final = compile_later(
    rf"{_LEAD}(?:(?:even |as |only |what )?(?:if|whether|unless)|suppos(?:e|ing)|assum(?:e|ing)|imagine|in case"
    r"|provided"
    r"|i (?:wish|am not sure|['’]m not sure)|i['’]m not sure|let['’]s say|was wäre wenn|wenn|falls|ob|angenommen"
    r"|sofern|si"
    r"|supong(?:amos|o)|imagina|en caso|a menos que|ojalá)\b|^\W*(?:如果|要是|假如|假设|倘若|万一|もしも?(?!か)|仮に)"
)
_REPORTS: Final = compile_later(
    r"^\W*(?P<who>[A-ZÄÖÜÁÉÍÓÚÑ][\w’'-]{1,30}(?: [A-ZÄÖÜÁÉÍÓÚÑ][\w’'-]{1,30})?"
    r"|[Hh]e|[Ss]he|[Tt]hey|[Ee]r|[ÉEée]l|[Ee]lla)"
    r" (?:just |also |still |has |hat )?(?:says?|said|thinks?|thought|believes?|believed|claims?|claimed|told (?:me|us)"
    r"|sagt|sagte|gesagt|meint|meinte|glaubt|glaubte|denkt|behauptet|dice|dijo|cree|piensa|afirma|asegura)\b"
    r"(?:,? (?:that|dass|que)\b)?"
    r"|^\W*(?!我|咱|你|听|据)(?P<whom>[^\s，。]{1,8}?)(?:说|說|认为|觉得|以为)(?:，|：)?(?=我)"
    r"|^\W*(?P<wer>[^\s、。はがに]{1,12})(?:さん|君|くん|ちゃん)?[はがに].{0,80}(?:と|って)(?:言|思|考え|主張)"
)
_NO_REPORTER: Final = frozenset(
    {"i", "we", "you", "ich", "wir", "yo", "nosotros", "it", "this", "that", "what", "who", "nobody", "私", "僕", "俺"}
)
_YES: Final = compile_later(
    r"^\W*(?:yes|yep|yeah|correct|exactly|ja|genau|stimmt|sí|exacto|correcto|是的?|对的?|はい|ええ)\W*$"
)
_DIGITS: Final = compile_later(r"\d+")
_UNSPACED: Final = compile_later("[\u0e00-\u0eff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff]+")
_NO_PAIRS: Final = compile_later(
    r"[不没沒吗嗎]|ではありません|じゃない|ありません|ません|なかった|ない|でした|ました|です|ます|か\W*$"
)
# Stems by which a model speaks of the person, and of what they asked it to do.
_ABOUT: Final = frozenset(
    map(stem, ("person", "user", "asker", "they", "prefer", "name", "call", "like", "want", "remember"))
)
# Letters that two forms of one word share ("vegetarian", "Vegetarier"), or all of the shorter one.
_SAME_BEGINNING: Final = 5


_AND: Final = compile_later(r"\b(?:and|und|y|e)\b")  # Between the things of a list: what denies one of them denies all
_LINKING: Final = frozenset("aeiouyàéó")  # Letters that are words beside others, in one of the languages


@dataclass(frozen=True, slots=True)
class _Words:
    """What a text is made of. Stems are there sorted, too: so beginnings are found."""

    stems: frozenset[str]
    in_order: Sequence[str]
    digits: frozenset[str]
    pairs: frozenset[str]

    def has(self, word: str) -> bool:
        if word in self.stems:
            return True
        return any(_one_word(word, near) for near in self._neighbours(word))

    def _neighbours(self, word: str) -> Sequence[str]:
        """Among sorted words, those beside where a word belongs share the longest beginning with it."""
        at = bisect_left(self.in_order, word)
        return self.in_order[max(at - 1, 0) : at + 1]


@dataclass(frozen=True, slots=True)
class TextsRead:
    """What was read of texts, each once: a model may want much kept in one turn, and a context holds much to read."""

    _words: "dict[str, _Words]" = field(default_factory=dict["str", "_Words"])
    _looks: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    _heard: "dict[str, Sequence[_Heard]]" = field(default_factory=dict["str", "Sequence[_Heard]"])

    def words(self, text: str) -> _Words:
        if text not in self._words:
            self._words[text] = _words(text)
        return self._words[text]

    def looks(self, text: str) -> Sequence[str]:
        """Its words as they look, sorted."""
        if text not in self._looks:
            looks = as_it_looks(text)
            self._looks[text] = sorted({*_RUN.findall(looks), *_RUN.findall(_BROKEN.sub("", looks))})
        return self._looks[text]

    def heard(self, text: str) -> "Sequence[_Heard]":
        """Its clauses, each once."""
        if text not in self._heard:
            self._heard[text] = [_Heard.of(clause) for clause in dict.fromkeys(clauses(text))]
        return self._heard[text]


def without_quotes(text: str) -> str:
    """What somebody wrote, without the lines that they quote, and without the names of the files that they sent."""
    before, note, names = text.rpartition(FILES_NOTE)
    return _QUOTED.sub("", before if note and "\n" not in names else text)


def mention(name: str) -> str:
    """How a message shows whom it mentions: a name may be a whole sentence, and is not the writer's own words."""
    return "@" + "\u00a0".join(name.split())


def said_by(
    text: str,
    own: Sequence[str],
    others: Sequence[str] = (),
    *,
    key: str = "",
    name: str = "",
    supposing: bool = False,
    read: TextsRead | None = None,
) -> bool:
    """Does `text` say what a person said? `own`: their messages, `others`: what else the model has read, both with the
    newest last; `key`: what a model calls it, which may be in words of its own, but not of others; `name`: what the
    person is called; `supposing`: it is kept as a supposition only; `read`: what was read of these texts before.
    """
    unquoted, read = [*map(without_quotes, own)], read or TextsRead()
    if not _in_words_of(text, [*unquoted, name], others, key, read):
        return False
    return not otherwise(text, unquoted, supposing=supposing, read=read)


def _in_words_of(text: str, own: Sequence[str], others: Sequence[str], key: str, read: TextsRead) -> bool:
    mine = [*map(read.words, _newest(own, MAX_OWN))]
    undated = _DATE.sub(" ", text)
    if not _runs_of_digits(_DATE.sub(" ", f"{key}\n{text}")) <= _TRIVIAL.union(*(one.digits for one in mine)):
        return False
    pairs = frozenset(_pairs(undated))
    if not _is_told_outside_of_mentions(undated, own, read):
        return False
    if pairs and len(pairs.intersection(chain.from_iterable(one.pairs for one in mine))) < PAIRS_SHARE * len(pairs):
        return False
    told, named = list(_telling(undated)), list(_telling(key))
    missing = {word.stem: word for word in [*told, *named] if not any(one.has(word.stem) for one in mine)}
    telling = {word.stem for word in told if not word.is_calendar}
    if len(telling & missing.keys()) > (1 - SHARE) * len(telling):
        return False
    if any(word.is_name and not word.is_calendar for word in missing.values()):
        return False
    if missing and any(_any_begins(missing, read.looks(one)) for one in _newest(others, MAX_OTHERS)):
        return False
    names_day = any(not one.stems.isdisjoint(_CALENDAR) for one in mine)
    return bool(telling or pairs or _DIGITS.search(text)) or (bool(told) and names_day)


def _is_told_outside_of_mentions(text: str, own: Sequence[str], read: TextsRead) -> bool:
    """Whether a telling word of it, or a pair of letters, stands outside of the names that the person mentions."""
    newest = [*_newest(own, MAX_OWN)]
    if not any(_MENTION.search(one) for one in newest):
        return True
    outside = [read.words(_MENTION.sub(" ", one)) for one in newest]
    told, pairs = list(_telling(text)), frozenset(_pairs(text))
    words = any(one.has(word.stem) for word in told for one in outside)
    return words or not (told or pairs) or any(not pairs.isdisjoint(one.pairs) for one in outside)


@dataclass(frozen=True, slots=True)
class _Word:
    """`is_name`: it is written with a capital inside a sentence."""

    stem: str
    is_name: bool
    is_calendar: bool


def _telling(text: str) -> Iterator[_Word]:
    spaced = _UNSPACED.sub(" ", text)
    beside_others = any(len(word) > 1 and _is_telling(word, stem(word)) for word in WORD.findall(spaced))
    end = 0
    for match in WORD.finditer(spaced):
        begins = end == 0 or any(mark in spaced[end : match.start()] for mark in ".!?:\n")
        end = match.end()
        word = match.group()
        stemmed = stem(word)
        if _is_telling(word, stemmed) and _tells_by_itself(word, beside_others=beside_others):
            yield _Word(stemmed, word[0].isupper() and not begins, stemmed in _CALENDAR)


def _is_telling(word: str, stemmed: str) -> bool:
    return not (is_function_word(word) or stemmed in _ABOUT or word.isdigit())


def _words(text: str) -> _Words:
    spaced = _UNSPACED.sub(" ", text)
    words = WORD.findall(spaced)
    stems = frozenset(map(stem, words))
    counted = {_NUMBERS[word.lower()] for word in words if word.lower() in _NUMBERS}
    digits = _runs_of_digits(text) | frozenset(_DIGITS.findall(text)) | counted
    return _Words(stems, sorted(stems), digits, frozenset(_pairs(text)))


def _runs_of_digits(text: str) -> frozenset[str]:
    """With "2,000" and "2 000" read as 2000."""
    return frozenset(_DIGITS.findall(_GROUPED.sub("", text)))


def _pairs(text: str) -> Iterator[str]:
    for run in _UNSPACED.findall(text):
        yield from (run[at : at + 2] for at in range(max(len(run) - 1, 1)))


def _one_word(one: str, other: str) -> bool:
    """Two forms of one word: they begin alike, as far as the shorter one tells."""
    enough = max(min(len(one), len(other), _SAME_BEGINNING), 4)
    return one[:enough] == other[:enough]


def _any_begins(stems: Iterable[str], words: Sequence[str]) -> bool:
    """Does one of the words begin with one of these, as they look? Of a word with an apostrophe its longest part does.

    All words are looked up at once, as a file may hold as many as it likes that are like those which are missing.
    """
    wanted = [max(_RUN.findall(as_it_looks(one)), key=len, default="") for one in stems]
    return any(_begins_in(one, words) for one in wanted if one)


def _begins_in(stemmed: str, words: Sequence[str]) -> bool:
    """Does one of these, which are sorted, begin so? A letter begins too many words: it has to be one."""
    at = bisect_left(words, stemmed)
    return at < len(words) and (words[at] == stemmed if len(stemmed) == 1 else words[at].startswith(stemmed))


def _newest(texts: Sequence[str], limit: int) -> Iterator[str]:
    """As much as that, the newest first; the end of the last one."""
    for text in reversed(texts):
        if limit <= 0:
            return
        yield text[-limit:]
        limit -= len(text) + 1


def _tells_by_itself(word: str, *, beside_others: bool) -> bool:
    """Whether a word of one letter may be what is spoken of: "plan B", "x is y"."""
    return len(word) > 1 or not (beside_others and word in _LINKING)


class Stance(Enum):
    SAID = auto()
    DENIED = auto()
    ASKED = auto()
    SUPPOSED = auto()
    REPORTED = auto()
    UNSURE = auto()


@dataclass(frozen=True, slots=True)
class Clause:
    """`reporter`: whose words it gives, "" if nobody's."""

    text: str
    is_asked: bool = False
    is_supposed: bool = False
    reporter: str = ""


def clauses(text: str) -> Iterator[Clause]:
    for sentence in _SENTENCE.finditer(text):
        if sentence.group().strip():
            yield from _clauses_of(sentence.group(), marked="?" in sentence["end"] or "？" in sentence["end"])


def _clauses_of(sentence: str, *, marked: bool) -> Iterator[Clause]:
    goes_on = ""
    for part in _parts(sentence):
        small = folded(part)
        report = _REPORTS.search(part)
        named = next((who for who in report.groups() if who), "") if report is not None else ""
        reporter, goes_on = ("" if named.lower() in _NO_REPORTER else named) or goes_on, ""
        if report is not None and not part[report.end() :].strip():
            goes_on = reporter
        asks = _ASKS.search(small) or (_ASKS_BY_ITS_MARK if marked else _ASKS_WITHOUT).search(small)
        yield Clause(part, bool(asks), _SUPPOSES.search(small) is not None, reporter)


def _parts(sentence: str) -> Iterator[str]:
    """Cut where clauses meet, and behind what only asks for the rest to be kept."""
    small = folded(sentence)
    lists = [found.span() for found in _LIST.finditer(small) if _is_list(found)]
    cuts = [(0, 0)]
    for pattern in (_CLAUSE, _STANDS_FOR_ITSELF):
        spans = (match.span() for match in pattern.finditer(small))
        cuts += [(start, end) for start, end in spans if not any(a <= start and end < b for a, b in lists)]
    begun = 0
    for start, end in [*sorted(cuts), (len(sentence), len(sentence))]:
        if start > begun and (part := sentence[begun:start]).strip():
            yield part
        begun = max(begun, end, start)


def _is_list(found: re.Match[str]) -> bool:
    """Whether no part of it can be a clause by itself."""
    words = WORD.findall(f"{found['items']} {found['last']}")
    return not any(word in _NO_ITEM or (is_function_word(word) and word not in _LINKS) for word in words)


def otherwise(text: str, own: Sequence[str], *, supposing: bool = False, read: TextsRead | None = None) -> bool:
    """Did a person surely say this otherwise, and not so: denied it, asked it, supposed it, or told it of somebody
    else? `own`: their messages, the newest last. `supposing`: what is kept is a supposition itself.
    """
    said = [*map((read or TextsRead()).heard, _newest(own, READ_CHARS))]
    kept = dict.fromkeys(islice(clauses(text[:KEPT_CHARS]), READ_CLAUSES))  # said twice is said
    return any(_is_otherwise(clause, text, said, supposing=supposing) for clause in kept)


def _is_otherwise(kept: Clause, text: str, said: "Sequence[Sequence[_Heard]]", *, supposing: bool) -> bool:
    wanted = _Wanted.of(kept, said)
    if wanted is None:
        return False
    meant, refused, agreed = wanted.stance(kept, _plain(kept)), False, False
    if meant is Stance.UNSURE:
        return False
    for message in said:
        agreed = agreed or any(heard.agrees for heard in message)
        stances = [(heard.clause, wanted.stance(heard.clause, heard.plain)) for heard in message if wanted.is_in(heard)]
        for clause, stance in stances:
            told = stance is Stance.REPORTED and folded(clause.reporter) in folded(text)
            fits = stance in {meant, Stance.UNSURE} or (stance is Stance.SUPPOSED and supposing)
            if told or fits or (stance is Stance.ASKED and agreed):
                return False
        if any(stance in {Stance.SAID, Stance.DENIED} for _, stance in stances):
            return True
        refused = refused or bool(stances)
    return refused


def _plain(clause: Clause) -> str:
    """Its words, folded, as negations are looked for in them."""
    plain = _NO_NEGATION.sub(" ", folded(clause.text))
    return _LIST.sub(lambda found: _AND.sub("or", found.group()) if _is_list(found) else found.group(), plain)


@dataclass(frozen=True, slots=True)
class _Heard:
    """A clause of the person's, and its words by their beginnings, so that a form of a word is found at once."""

    clause: Clause
    short: frozenset[str]
    long: frozenset[str]
    shortened: frozenset[str]
    """The long ones as far as a short word can be like them."""
    pairs: frozenset[str]
    digits: frozenset[str]
    agrees: bool
    plain: str
    """See `_plain`."""

    @classmethod
    def of(cls, clause: Clause) -> "_Heard":
        stems = [*_stems(clause.text)]
        short = frozenset(one for one in stems if len(one) < _SAME_BEGINNING)
        long = frozenset(one[:_SAME_BEGINNING] for one in stems if len(one) >= _SAME_BEGINNING)
        shortened = frozenset(one[: _SAME_BEGINNING - 1] for one in long)
        digits = frozenset(_DIGITS.findall(clause.text))
        pairs = frozenset(_pairs(_polite_off(clause.text)))
        return cls(
            clause, short, long, shortened, pairs, digits, _YES.search(folded(clause.text)) is not None, _plain(clause)
        )

    def has(self, word: str) -> bool:
        if len(word) >= _SAME_BEGINNING:
            return word[:_SAME_BEGINNING] in self.long or word[: _SAME_BEGINNING - 1] in self.short
        return word in self.short or word in self.shortened


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a clause must hold in order to speak of the same as one that is to be kept."""

    stems: frozenset[str]
    pairs: frozenset[str]
    digits: frozenset[str]

    @classmethod
    def of(cls, kept: Clause, said: Sequence[Sequence[_Heard]]) -> "_Wanted | None":
        """None if too few of its words are theirs to tell."""
        stems, pairs = frozenset(_stems(kept.text)), frozenset(_pairs(_polite_off(kept.text)))
        theirs = frozenset(one for one in stems if any(heard.has(one) for message in said for heard in message))
        missing = len(stems) - len(theirs)
        if not (theirs or pairs) or (missing and (missing >= len(theirs) or len(theirs) == 1)):
            return None
        return cls(theirs, pairs, frozenset(_DIGITS.findall(kept.text)))

    def is_in(self, heard: _Heard) -> bool:
        return (
            self.digits <= heard.digits
            and len(self.pairs & heard.pairs) >= MOST * len(self.pairs)
            and all(map(heard.has, self.stems))
        )

    def stance(self, clause: Clause, plain: str) -> Stance:
        if clause.reporter:
            return Stance.REPORTED
        if clause.is_supposed:
            return Stance.SUPPOSED
        if clause.is_asked:
            return Stance.ASKED
        denials = [*_NEGATION.finditer(plain)]
        if len(denials) > 1 or _TURNING.search(plain) is not None:
            return Stance.UNSURE
        if not denials:
            return Stance.SAID
        behind = _Heard.of(Clause(plain[denials[0].end() :]))
        nothing = not behind.short and not behind.long
        return Stance.DENIED if self.pairs or nothing or any(map(behind.has, self.stems)) else Stance.SAID


def _stems(text: str) -> Iterator[str]:
    """The words that tell something, in scripts with blanks."""
    words = WORD.findall(_UNSPACED.sub(" ", text))
    named = [one for one in words if not (one.isdigit() or is_function_word(one) or _NEGATION.search(one.lower()))]
    telling = [(word, stemmed) for word in named if (stemmed := stem(word)) not in _ABOUT]
    beside_others = any(len(word) > 1 for word, _ in telling)
    yield from (stemmed for word, stemmed in telling if _tells_by_itself(word, beside_others=beside_others))


def _polite_off(text: str) -> str:
    """Without what denies, asks, or is only polite in scripts without blanks."""
    return _NO_PAIRS.sub(" ", folded(text))
