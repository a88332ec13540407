"""Checks whether a person said something themselves. Pure.

A fact that a model wants to store as a person's own must be in that person's words. The authors of files, tool results
and other people's messages must not decide what the bot believes about the asker.

Rules
  At least half of the content words must be the person's, in any order and with any ending, and all numbers and names.
  In scripts without blanks, most pairs of characters must be. A date may be the model's, which computes "next Friday".
  No other word may come from texts of others. Quoted text ("> …", and all text after ">>> …"), blocks of code and
  the names of files do not count as the person's words. Words that occur only in mentions are not enough.
  What the person certainly denies, asks, supposes or reports of others is not said by them; in doubt it is. This is
  decided clause by clause, in English, German, Spanish, Chinese and Japanese. The newest message that says or denies it
  decides:

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

from agent.memory import grammar
from agent.memory.lexicon import BASES, DAYS, KINDS, NUMBER_WORDS, folded
from agent.memory.statements import WORD, is_function_word, numerals_in_digits, stem, weekdays_in, without
from agent.messages import confusable_skeleton
from agent.patterns import compile_later

SHARE: Final = 0.5  # Of the content words: a model rephrases, but must not say something else
# Of the pairs of characters: half would be too few, because particles occur in all sentences.
PAIRS_SHARE: Final = 0.7
APART: Final = 5  # Characters from one sign to the next where a model leaves out what stands between them
UNIT_CHARS: Final = 3  # Of a unit that a model abbreviates: "km", "h"
# Characters of the person's newest messages: more than the limit of one message, and read in a few milliseconds.
MAX_OWN: Final = 60_000
MAX_OTHERS: Final = 500_000  # Characters of the newest other texts: more than a turn's context can hold

# Starts the last line of a message with files: the names of the files, which others may have chosen.
FILES_NOTE: Final = "\n(attached: "
# A quoted line; after ">>>" the rest of the message is one quotation.
# Also in a list, behind a wide sign, and behind what only some programs take for the end of a line.
_QUOTED: Final = compile_later(
    r"(?:^|(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029]))[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
    r"[>\uff1e](?:>>[ \t\n](?s:.*)|.*$)",
    re.MULTILINE,
)
_FENCE: Final = "```"  # Of a block of code, on one line or on several
# The name of a person or place, chosen by others. Adapters write it without ordinary blanks (`mention`). So is that of
# an emoji (":name:"), which may be a sentence from three words on.
_MENTION: Final = compile_later(r"(?<!\w)[@#][^ \t\n]+|:[^\W_]+(?:[-_+'][^\W_]+){2,}:")
_MONTH_NAMES: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTHS: Final = tuple(name[:3] for name in _MONTH_NAMES)
# The forms in which models write dates; people's own wordings are read elsewhere.
_DATE: Final = compile_later(
    rf"\b\d{{4}}-\d\d-\d\d\b|\b(?:19|20)\d\d\b|\b(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}\.? \d{{1,2}}\b", re.IGNORECASE
)
# Words that a model may compute.
_CALENDAR: Final = frozenset(
    {*map(stem, DAYS), *map(stem, _MONTH_NAMES), *_MONTHS, *map(stem, ("today", "tomorrow", "tonight", "next"))}
    | {*map(stem, ("week", "month", "year", "day"))}
)
_CLOCK: Final = next(pattern for kind, pattern in KINDS if kind == "clock")
_NUMBERS: Final = NUMBER_WORDS | {"zero": "0", "one": "1"}
_TRIVIAL: Final = frozenset({"00"})  # Of "9:00", where the person wrote "9 am"
_RUN: Final = compile_later(r"[^\W_]+")
# A French or Italian article or preposition that is written together with its noun: "d'Hirondelle", "all'ufficio"
_ELIDED: Final = compile_later(
    r"(?<![^\W_])(?:[cdjlmnst]|qu|lorsqu|puisqu|jusqu|un|dell|all|dall|nell|sull|quell|quest)['’](?=[^\W\d_]{2})",
    re.IGNORECASE,
)
# A hyphen inside a word, as at the end of a line.
_BROKEN: Final = compile_later(r"(?<=[^\W\d_])[-\u2010\u2011]\s{0,9}(?=[^\W\d_])")
_GROUPED: Final = compile_later(r"(?<=\d)[,. ](?=\d{3}(?!\d))")

# Characters of the person's newest messages that are read by clauses: a page or two, read in milliseconds.
READ_CHARS: Final = 6_000
KEPT_CHARS: Final = 2_000
READ_CLAUSES: Final = 8  # Of the text to store: more than a clear sentence has
MOST: Final = 0.7  # Of the pairs of characters of a script without blanks

# A negation that denies nothing.
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
# "nt" without its apostrophe is how people type; "no" counts only before a word, for it is also an answer.
_NEGATION: Final = compile_later(
    r"\b(?:not|never|cannot|neither|nobody|none|nicht|kein(?:e[nmrs]?)?|nie|niemals|niemand|weder"
    r"|nunca|jamás|tampoco|nadie|ning[uú]n[oa]?|(?:do|does|did|is|are|was|ca|wo|have|has)nt)\b"
    r"|n['’]t\b|(?<!\w)no(?= \w)|[不没沒]|(?:ない|なかった|ません|ありません)"
)
# Words that may change the sense of a clause in ways that are not analysed here.
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
# Words by which a person asks to remember something, before what they say.
REQUESTS: Final = compile_later(
    r"\b(?:(?:do ?n['’]?t|never|not)(?: ever| you)?(?: to)? forget|(?<!['’]t )(?<!not )remember|(?:keep|bear) in mind"
    r"|memori[sz]e|(?:do|did) you know|(?:please|take) note|be aware"
    r"|(?:i|we)(?:['’]ve| have)? (?:just |already )?(?:said|(?:told|tell) you|mention(?:ed)?)"
    r"|merke? dir|denke? daran|vergiss(?: bitte)? nicht|(?:weißt|wusstest) du"
    r"|recu[eé]rd\w{1,4}|acuérdate|no (?:te )?olvides|sabías"
    r"|(?:souviens|rappelle)-toi|retiens|n['’]oublie pas|lembr[ae](?:-te|-se)?|não (?:te )?esqueças?"
    r"|запомни(?:те)?|не забудь(?:те)?)\b:?(?:,? (?:that|dass|(?:de )?que|qu['’]|что)\b)?"
    r"|(?:记住|記住|记得|别忘(?:了|记)?|不要忘(?:了|记)?|请注意|你知道)(?!吗)"
)
_CONJUNCTION: Final = (
    r"but|however|although|though|because|since|whereas|while|yet|aber|sondern|obwohl|weil|denn|pero|sino|aunque|porque"
)
# "and" joins clauses only before a subject: in "tea and milk" it joins a list.
_CLAUSE: Final = compile_later(
    rf"[,;:()—–，；：、]+|\s-\s|(?=\b(?:if|whether|unless|falls|wenn|ob)\b)|\b(?:{_CONJUNCTION})\b"
    r"|\b(?:and|und|y)\b(?= (?:i|we|he|she|it|they|my|our|the|ich|wir|er|sie|mein\w{0,2}|yo|mi|no|do|don['’]t|not)\b)"
    r"|(?=¿)|但是?|可是|因为|所以|而且|けれど|けど|ので"
)
_ITEM: Final = r"\w[\w'’-]*(?: \w[\w'’-]*){0,3}"
# The continuation of a list: only a few words for each item.
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
# A verb before its subject asks in English and German, also where the question mark is missing.
_ASKS: Final = compile_later(
    rf"{_LEAD}(?:(?:am|are|is|was|were|do|does|did|have|has|had|should|shall|may|might|must|can|could|would|will"
    r"|isn['’]t|aren['’]t|wasn['’]t|don['’]t|doesn['’]t|didn['’]t) (?:i|we|he|she|it|they|my|our|the|this|that|there)\b"
    r"|(?:bin|war|hab|habe|kann|muss|soll|darf) ich\b|(?:sind|waren|haben|können|müssen) wir\b)"
)
# These begin statements as well, and need the question mark to ask.
_ASKS_BY_ITS_MARK: Final = compile_later(
    rf"{_LEAD}(?:(?:what|who|whose|when|where|which|how)\b|(?:am|are|is|was|were|do|does|did|has|have)\b"
    r"|(?:was|wer|wem|wann|wo|wohin|welche\w?|wie|ist|sind|war|waren|hat|haben|habe|bin|wird)\b"
    r"|¿(?!\s*(?:por qué|puedes|podrías|sabías|recuerdas|verdad|no\b))"
    r"|(?:soy|es|son|somos|estoy|está|están|tengo|tiene|tenemos|vivo|trabajo)\b)"
    r"|[吗嗎]\W*$|是不是|有没有|会不会|(?:です|ます|でした|ました|ません|の|だろう)か\W*$"
)
_ASKS_WITHOUT: Final = compile_later(r"[吗嗎]\W*$|(?:です|ます|でした|ました|ません)か\W*$")
# Only at the beginning of a clause: "si" and "ob" are other words elsewhere.
_SUPPOSES: Final = compile_later(
    rf"{_LEAD}(?:(?:even |as |only |what )?(?:if|whether|unless)|suppos(?:e|ing)|assum(?:e|ing)|imagine|in case"
    r"|provided"
    r"|i (?:wish|am not sure|['’]m not sure)|i['’]m not sure|let['’]s say|was wäre wenn|wenn|falls|ob|angenommen"
    r"|sofern|si"
    r"|supong(?:amos|o)|imagina|en caso|a menos que|ojalá)\b|^\W*(?:如果|要是|假如|假设|倘若|万一|もしも?(?!か)|仮に)"
)
# Who says it has to be a name or a third person: what "I said" is the person's own.
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
# The whole message: "yes, but …" agrees to something else.
_YES: Final = compile_later(
    r"^\W*(?:yes|yep|yeah|correct|exactly|ja|genau|stimmt|sí|exacto|correcto|是的?|对的?|はい|ええ)\W*$"
)
_DIGITS: Final = compile_later(r"\d+")
_UNSPACED: Final = compile_later("[\u0e00-\u0eff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7ff]+")
_KANA_ENDINGS: Final = compile_later("[\u3041-\u309f]+")
# Endings that only deny, ask or are polite: they say nothing about what a sentence is about.
_NO_PAIRS: Final = compile_later(
    r"[不没沒吗嗎]|ではありません|じゃない|ありません|ません|なかった|ない|でした|ました|です|ます|か\W*$"
)
# Stems by which a model refers to the person and to their request.
_ABOUT: Final = frozenset(
    map(stem, ("person", "user", "asker", "they", "prefer", "name", "call", "like", "want", "remember"))
)
# Letters that two forms of one word share ("vegetarian", "Vegetarier"). A shorter word must match whole.
_SAME_BEGINNING: Final = 5


_AND: Final = compile_later(r"\b(?:and|und|y|e)\b")  # In a list: a negation of one item denies all
_LINKING: Final = frozenset("aeiouyàéó")  # Letters that are function words in one of the languages


@dataclass(frozen=True, slots=True)
class _Words:
    """The parts of a text. `in_order` are the stems, sorted for a search by prefix."""

    stems: frozenset[str]
    in_order: Sequence[str]
    digits: frozenset[str]
    pairs: frozenset[str]

    def has(self, word: str) -> bool:
        if word in self.stems:
            return True
        return any(_same_word(word, near) for near in self._neighbours(word))

    def _neighbours(self, word: str) -> Sequence[str]:
        """Return the sorted words next to a word: these share the longest prefix with it."""
        index = bisect_left(self.in_order, word)
        return self.in_order[max(index - 1, 0) : index + 1]


@dataclass(frozen=True, slots=True)
class TextsRead:
    """A cache of analysed texts: one turn may store many facts, and check each against a large context."""

    _words: "dict[str, _Words]" = field(default_factory=dict["str", "_Words"])
    _visual_words: dict[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    _clauses: "dict[str, Sequence[_ReadClause]]" = field(default_factory=dict["str", "Sequence[_ReadClause]"])

    def words(self, text: str) -> _Words:
        if text not in self._words:
            self._words[text] = _words(text)
        return self._words[text]

    def visual_words(self, text: str) -> Sequence[str]:
        """Return its words in their visual form (`confusable_skeleton`), sorted."""
        if text not in self._visual_words:
            skeleton = confusable_skeleton(text)
            self._visual_words[text] = sorted({*_RUN.findall(skeleton), *_RUN.findall(_BROKEN.sub("", skeleton))})
        return self._visual_words[text]

    def clauses(self, text: str) -> "Sequence[_ReadClause]":
        """Return its clauses, each once."""
        if text not in self._clauses:
            self._clauses[text] = [_ReadClause.of(clause) for clause in dict.fromkeys(clauses(text))]
        return self._clauses[text]


def without_quotes(text: str) -> str:
    """Return a message without quoted lines and without the names of its files."""
    body, marker, names = text.rpartition(FILES_NOTE)
    return _QUOTED.sub("", body if marker and "\n" not in names else text)


def stated(text: str) -> str:
    """Return a message without quotes and without closed blocks of code, which people paste: both may be of others."""
    parts = without_quotes(text).split(_FENCE)
    return "\n".join(part for place, part in enumerate(parts) if place % 2 == 0 or place == len(parts) - 1)


def quotes(text: str) -> bool:
    """Return whether a message may hold others' words, beside names that it mentions: a forwarded message, lines that
    the person quoted, a closed block of code, or names of files.
    """
    return _QUOTED.search(text) is not None or text.count(_FENCE) > 1 or FILES_NOTE in text


def mention(name: str, sign: str = "@", *, before: str = "") -> str:
    """Format a mention of a person ("@") or a place ("#"). A name may be a whole sentence, and must not count as words
    of the author: it has no ordinary blanks, its sign stands by itself, and it cannot end or begin a block of code.
    `before`: what stands before the mention.
    """
    is_glued = before[-1:].isalnum() or before[-1:] in _GLUES
    return f"{' ' if is_glued else ''}{sign}" + "\u00a0".join(name.replace("`", "'").split())


def label(shown: str, *, before: str = "") -> str:
    """Format the name of an emoji (":name:") or a command ("/name"), which others chose: one of three words may be a
    sentence, and is formatted like a mention.
    """
    return shown if len(_RUN.findall(shown)) < _SENTENCE_WORDS else mention(shown, "#", before=before)


_SENTENCE_WORDS: Final = 3


_GLUES: Final = frozenset({"_", ">"})  # Marks of italics, and the end of another mention


_LETTER: Final = compile_later(r"[^\W\d_]")


def mentions(text: str) -> bool:
    """Return whether the text mentions a person or a place, whose name others chose. A number is no name: "#12"."""
    return any(_LETTER.search(match[0]) for match in _MENTION.finditer(text))


def with_short_names(text: str) -> str:
    """Return a message with the first two words of each person's name that it mentions, or a few signs where a script
    has no blanks, and without names of places and emoji that are as long: a longer name may be a sentence, and the
    others who chose it are not to teach anything about the author.
    """
    return _MENTION.sub(_short_name, text)


def _short_name(name: "re.Match[str]") -> str:
    words = [*_RUN.finditer(name[0])]
    if len(words) >= _SENTENCE_WORDS and not name[0].startswith("@"):
        return ""  # a part of it would be another place's name
    kept = name[0] if len(words) < _SENTENCE_WORDS else name[0][: words[_SENTENCE_WORDS - 2].end()]
    return _UNSPACED.sub(lambda run: run[0][:_NAME_SIGNS], kept)


_NAME_WORDS: Final = 4
_NAME_SIGNS: Final = 6  # Of a name in a script without blanks; most have two to four


def said_by(
    text: str,
    own: Sequence[str],
    others: Sequence[str] = (),
    *,
    key: str = "",
    name: str = "",
    supposing: bool = False,
    strict: bool = False,
    read: TextsRead | None = None,
) -> bool:
    """Return whether a person said `text` themselves.

    `own`: their messages; `others`: all other texts that the model has read; both newest last. `key`: the model's name
    for the fact, which may be in the model's words, but not in those of others. `name`: the person's name. `supposing`:
    the text is stored as a supposition. `strict`: no content word may be the model's, as where it has read texts of
    others, which may have it say something that stands in none of them. `read`: a cache of analysed texts.
    """
    unquoted, read = [*map(stated, own)], read or TextsRead()
    # Administrators and moderators may set another person's name: one of more words than a name has is no statement.
    name = name if len(_RUN.findall(name)) <= _NAME_WORDS else ""
    if not _in_words_of(text, [*unquoted, name], others, key, read, strict=strict):
        return False
    return not stated_otherwise(text, unquoted, supposing=supposing, read=read)


def _in_words_of(
    text: str, own: Sequence[str], others: Sequence[str], key: str, read: TextsRead, *, strict: bool
) -> bool:
    own_texts = [*map(read.words, _newest(own, MAX_OWN))]
    # Dates are written by the model from words such as "tomorrow", so they are compared as days, further below.
    undated = _DATE.sub(" ", text)
    if not _runs_of_digits(_DATE.sub(" ", f"{key}\n{text}")) <= _TRIVIAL.union(*(each.digits for each in own_texts)):
        return False
    pairs = frozenset(_pairs(undated))
    if not occurs_outside_mentions(undated, own, read):
        return False
    # Scripts without spaces are compared by pairs of characters.
    own_pairs = pairs.intersection(chain.from_iterable(each.pairs for each in own_texts))
    if len(own_pairs) < (1 if strict else PAIRS_SHARE) * len(pairs):
        return False
    content_words, key_words = list(_telling(undated)), list(_telling(key))
    all_words = [*content_words, *key_words]
    # A missing name is never the model's own wording; other words may be, up to the share, unless someone else wrote
    # them.
    missing = {word.stem: word for word in all_words if not any(each.has(word.stem) for each in own_texts)}
    telling = {word.stem for word in content_words if not word.is_calendar}
    if len(telling & missing.keys()) > (1 - SHARE) * len(telling):
        return False
    if any((strict or word.is_name) and not word.is_calendar for word in missing.values()):
        return False
    # What others wrote and the person did not is theirs: it may not be learned as the person's.
    if missing and any(_any_begins(missing, read.visual_words(each)) for each in _newest(others, MAX_OTHERS)):
        return False
    if not _names_days_of(text, [*_newest(own, MAX_OWN)]):
        return False
    # If only words of the calendar remain, the person has to have named a day too.
    names_day = any(not each.stems.isdisjoint(_CALENDAR) for each in own_texts)
    return bool(telling or pairs or _DIGITS.search(text)) or (bool(content_words) and names_day)


def _names_days_of(text: str, own: Sequence[str]) -> bool:
    """Return whether each weekday of a text is a person's own, or may be computed from another day that they name."""
    days = weekdays_in(text)
    if not days or any(BASES.search(folded(each)) is not None for each in own):
        return True
    return days <= frozenset[str]().union(*map(weekdays_in, own))


def rests_on(value: str, text: str, *, key: str = "", known: str = "") -> bool:
    """Return whether a fact that a model found in a message rests on its words.

    All numbers, names and weekdays of the value must be in the message, and at least one content word. The key may be
    in the model's words, but for its names, which are in the message or in `known`, the facts that the model saw.
    """
    message, numbers = _words(text), _runs_of_digits(_DATE.sub(" ", value)) - _TRIVIAL
    if not numbers <= message.digits or not _names_days_of(value, [text]):
        return False
    signs, words = frozenset(_signs(value)), list(_telling(without(value, _CLOCK)))  # "9 Uhr" of "um neun"
    if sum(sign in text for sign in signs) < PAIRS_SHARE * len(signs) and not _has_in_order(value, text):
        return False
    # Where every content word has a capital, as in a title, capitals tell no names: each word counts as one.
    all_capital = all(word.group()[0].isupper() for word in WORD.finditer(value) if not is_function_word(word.group()))
    names = [word for word in words if not word.is_calendar and (word.is_name or all_capital)]
    if any(not message.has(word.stem) for word in names):
        return False
    either = _words(f"{text}\n{known}")
    if any(not either.has(word.stem) for word in _names_of_key(key, text)):
        return False
    own = [word for word in words if not word.is_calendar]
    is_unit = bool(numbers) and all(len(word.stem) <= UNIT_CHARS for word in own)
    return bool(signs) or not own or is_unit or any(message.has(word.stem) for word in own)


def _names_of_key(key: str, text: str) -> "Iterator[_Word]":
    """Yield the names of a key. In German, which writes every noun with a capital, its head is none: "Laufzeit
    Vertrag", but "Annas Vertrag".
    """
    # With a word before it the key begins no sentence, where a capital says nothing
    words = [word for word in _telling(f"x {key}") if word.is_name and not word.is_calendar]
    head = next((word for word in WORD.findall(key) if word[0].isupper()), "")
    is_of_somebody = head.endswith("s") and not key.endswith(head)
    if head and not is_of_somebody and grammar.GERMAN.search(folded(text)) is not None:
        words = [word for word in words if word.stem != stem(head)]
    yield from words


def _has_in_order(value: str, text: str) -> bool:
    """Return whether the signs of a value that are no kana stand in a text in their order, close to each other: a model
    leaves out particles and verbs between them.
    """
    signs = [sign for run in _UNSPACED.findall(_KANA_ENDINGS.sub(" ", value)) for sign in run]
    reached = {at for at, sign in enumerate(text) if signs and sign == signs[0]}
    for sign in signs[1:]:
        reached = {at for start in reached for at in range(start + 1, start + APART + 1) if text[at : at + 1] == sign}
    return len(signs) > 1 and bool(reached)


def covered(text: str, message: str) -> int:
    """Return how many words, numbers and pairs of characters of a text are in a message."""
    own = _words(message)
    words = sum(own.has(word.stem) for word in _telling(text))
    return words + len(_runs_of_digits(text) & own.digits) + len(frozenset(_pairs(text)) & own.pairs)


def occurs_outside_mentions(text: str, own: Sequence[str], read: TextsRead | None = None) -> bool:
    """Return whether a content word of the text, or a pair of characters, occurs in `own` outside of mentions."""
    newest, read = [*_newest(own, MAX_OWN)], read or TextsRead()
    if not any(_MENTION.search(each) for each in newest):
        return True
    outside = [read.words(_MENTION.sub(" ", each)) for each in newest]
    content_words, pairs = list(_telling(text)), frozenset(_pairs(text))
    has_word = any(each.has(word.stem) for word in content_words for each in outside)
    return has_word or not (content_words or pairs) or any(not pairs.isdisjoint(each.pairs) for each in outside)


@dataclass(frozen=True, slots=True)
class _Word:
    """A content word. `is_name`: it has a capital letter inside a sentence."""

    stem: str
    is_name: bool
    is_calendar: bool


def _telling(text: str) -> Iterator[_Word]:
    spaced = _ELIDED.sub(" ", _UNSPACED.sub(" ", text))
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
    words = WORD.findall(_ELIDED.sub(" ", _UNSPACED.sub(" ", text)))
    stems = frozenset(map(stem, words))
    counted = {_NUMBERS[word.lower()] for word in words if word.lower() in _NUMBERS}
    digits = _runs_of_digits(text) | frozenset(_DIGITS.findall(numerals_in_digits(text))) | counted
    return _Words(stems, sorted(stems), digits, frozenset(_pairs(text)))


def _runs_of_digits(text: str) -> frozenset[str]:
    """Return the numbers of a text. "2,000" and "2 000" are read as 2000."""
    return frozenset(_DIGITS.findall(_GROUPED.sub("", text)))


def _pairs(text: str) -> Iterator[str]:
    for run in _UNSPACED.findall(text):
        yield from (run[index : index + 2] for index in range(max(len(run) - 1, 1)))


def _signs(text: str) -> Iterator[str]:
    """Yield pairs of characters of a text without endings in kana: a model writes "食べる" for "食べます"."""
    for run in _UNSPACED.findall(_KANA_ENDINGS.sub(" ", text)):
        yield from (run[index : index + 2] for index in range(max(len(run) - 1, 1)))


def _same_word(word: str, other: str) -> bool:
    """Return whether these are forms of one word: they have the same prefix, up to the length of the shorter one."""
    length = max(min(len(word), len(other), _SAME_BEGINNING), 4)
    return word[:length] == other[:length]


def _any_begins(stems: Iterable[str], words: Sequence[str]) -> bool:
    """Return whether any word starts with any of these stems in its visual form. An apostrophe splits a stem.

    The search is binary, because a file may contain any number of similar words.
    """
    prefixes = [max(_RUN.findall(confusable_skeleton(prefix)), key=len, default="") for prefix in stems]
    return any(_begins_in(prefix, words) for prefix in prefixes if prefix)


def _begins_in(stemmed: str, words: Sequence[str]) -> bool:
    """Return whether any of the sorted words starts with the stem. A single letter must be a word of its own."""
    index = bisect_left(words, stemmed)
    return index < len(words) and (words[index] == stemmed if len(stemmed) == 1 else words[index].startswith(stemmed))


def _newest(texts: Sequence[str], limit: int) -> Iterator[str]:
    """Yield up to `limit` characters, the newest text first. The last one is cut at its beginning."""
    for text in reversed(texts):
        if limit <= 0:
            return
        yield text[-limit:]
        limit -= len(text) + 1


def _tells_by_itself(word: str, *, beside_others: bool) -> bool:
    """Return whether a word counts as content. A single letter may be: "plan B", "x is y"."""
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
    """A clause. `reporter`: the name of the person whose words it reports, else ""."""

    text: str
    is_asked: bool = False
    is_supposed: bool = False
    reporter: str = ""


def clauses(text: str) -> Iterator[Clause]:
    for sentence in _SENTENCE.finditer(text):
        if sentence.group().strip():
            yield from _clauses_of(sentence.group(), marked="?" in sentence["end"] or "？" in sentence["end"])


def _clauses_of(sentence: str, *, marked: bool) -> Iterator[Clause]:
    carried_reporter = ""
    for part in _parts(sentence):
        lowered = folded(part)
        match = _REPORTS.search(part)
        who_reports = next((who for who in match.groups() if who), "") if match is not None else ""
        reporter, carried_reporter = (
            ("" if who_reports.lower() in _NO_REPORTER else who_reports) or carried_reporter,
            "",
        )
        if match is not None and not part[match.end() :].strip():
            carried_reporter = reporter
        asks = _ASKS.search(lowered) or (_ASKS_BY_ITS_MARK if marked else _ASKS_WITHOUT).search(lowered)
        yield Clause(part, bool(asks), _SUPPOSES.search(lowered) is not None, reporter)


def _parts(sentence: str) -> Iterator[str]:
    """Split a sentence into clauses, and remove phrases such as "don't forget that"."""
    lowered = folded(sentence)
    lists = [match.span() for match in _LIST.finditer(lowered) if _is_list(match)]
    cuts = [(0, 0)]
    for pattern in (_CLAUSE, REQUESTS):
        spans = (match.span() for match in pattern.finditer(lowered))
        cuts += [(start, end) for start, end in spans if not any(a <= start and end < b for a, b in lists)]
    start_of_part = 0
    for start, end in [*sorted(cuts), (len(sentence), len(sentence))]:
        if start > start_of_part and (part := sentence[start_of_part:start]).strip():
            yield part
        start_of_part = max(start_of_part, end, start)


def _is_list(match: re.Match[str]) -> bool:
    """Return whether no item can be a clause of its own."""
    words = WORD.findall(f"{match['items']} {match['last']}")
    return not any(word in _NO_ITEM or (is_function_word(word) and word not in _LINKS) for word in words)


def stated_otherwise(text: str, own: Sequence[str], *, supposing: bool = False, read: TextsRead | None = None) -> bool:
    """Return whether a person certainly did not state `text`, but denied, asked, supposed or reported it.

    `own`: their messages, newest last. `supposing`: the text is stored as a supposition.
    """
    messages = [*map((read or TextsRead()).clauses, _newest(own, READ_CHARS))]
    candidates = dict.fromkeys(islice(clauses(text[:KEPT_CHARS]), READ_CLAUSES))  # repeated clauses count once
    return any(_is_otherwise(clause, text, messages, supposing=supposing) for clause in candidates)


def _is_otherwise(
    candidate: Clause, text: str, messages: "Sequence[Sequence[_ReadClause]]", *, supposing: bool
) -> bool:
    subject = _ClauseSubject.of(candidate, messages)
    if subject is None:
        return False
    candidate_stance, is_unstated, is_confirmed = subject.stance(candidate, _plain(candidate)), False, False
    # What cannot be read either way is not held against the fact.
    if candidate_stance is Stance.UNSURE:
        return False
    for message in messages:
        is_confirmed = is_confirmed or any(read.agrees for read in message)
        stances = [(read.clause, subject.stance(read.clause, read.plain)) for read in message if subject.is_in(read)]
        for clause, stance in stances:
            # A report is no statement of the person, unless the fact names who reported it.
            is_attributed = stance is Stance.REPORTED and folded(clause.reporter) in folded(text)
            matches = stance in {candidate_stance, Stance.UNSURE} or (stance is Stance.SUPPOSED and supposing)
            if is_attributed or matches or (stance is Stance.ASKED and is_confirmed):
                return False
        # The newest message that takes a position decides: older ones are what the person said before.
        if any(stance in {Stance.SAID, Stance.DENIED} for _, stance in stances):
            return True
        is_unstated = is_unstated or bool(stances)
    return is_unstated


def _plain(clause: Clause) -> str:
    """Return the folded text of a clause, prepared for the search for negations."""
    plain = _NO_NEGATION.sub(" ", grammar.without_in_the(folded(clause.text)))
    return _LIST.sub(lambda match: _AND.sub("or", match.group()) if _is_list(match) else match.group(), plain)


@dataclass(frozen=True, slots=True)
class _ReadClause:
    """An analysed clause of the person, with the prefixes of its words for a fast search for word forms."""

    clause: Clause
    short: frozenset[str]
    long: frozenset[str]
    shortened: frozenset[str]
    """The prefixes of the long words to which a short word is compared."""
    pairs: frozenset[str]
    digits: frozenset[str]
    agrees: bool
    plain: str
    """The result of `_plain`."""

    @classmethod
    def of(cls, clause: Clause) -> "_ReadClause":
        stems = [*_stems(clause.text)]
        short = frozenset(each for each in stems if len(each) < _SAME_BEGINNING)
        long = frozenset(each[:_SAME_BEGINNING] for each in stems if len(each) >= _SAME_BEGINNING)
        shortened = frozenset(each[: _SAME_BEGINNING - 1] for each in long)
        digits = frozenset(_DIGITS.findall(clause.text))
        pairs = frozenset(_pairs(_without_politeness(clause.text)))
        return cls(
            clause, short, long, shortened, pairs, digits, _YES.search(folded(clause.text)) is not None, _plain(clause)
        )

    def has(self, word: str) -> bool:
        if len(word) >= _SAME_BEGINNING:
            return word[:_SAME_BEGINNING] in self.long or word[: _SAME_BEGINNING - 1] in self.short
        return word in self.short or word in self.shortened


@dataclass(frozen=True, slots=True)
class _ClauseSubject:
    """What a clause must contain to be about the same as a clause that is to be stored."""

    stems: frozenset[str]
    pairs: frozenset[str]
    digits: frozenset[str]

    @classmethod
    def of(cls, candidate: Clause, messages: Sequence[Sequence[_ReadClause]]) -> "_ClauseSubject | None":
        """Return None if the person used too few of its words."""
        stems, pairs = frozenset(_stems(candidate.text)), frozenset(_pairs(_without_politeness(candidate.text)))
        own_stems = frozenset(
            each for each in stems if any(clause.has(each) for message in messages for clause in message)
        )
        missing = len(stems) - len(own_stems)
        if not (own_stems or pairs) or (missing and (missing >= len(own_stems) or len(own_stems) == 1)):
            return None
        return cls(own_stems, pairs, frozenset(_DIGITS.findall(candidate.text)))

    def is_in(self, clause: _ReadClause) -> bool:
        return (
            self.digits <= clause.digits
            and len(self.pairs & clause.pairs) >= MOST * len(self.pairs)
            and all(map(clause.has, self.stems))
        )

    def stance(self, clause: Clause, plain: str) -> Stance:
        if clause.reporter:
            return Stance.REPORTED
        if clause.is_supposed:
            return Stance.SUPPOSED
        if clause.is_asked:
            return Stance.ASKED
        negations = [*_NEGATION.finditer(plain)]
        if len(negations) > 1 or _TURNING.search(plain) is not None:
            return Stance.UNSURE
        if not negations:
            return Stance.SAID
        rest = _ReadClause.of(Clause(plain[negations[0].end() :]))
        is_empty = not rest.short and not rest.long
        return Stance.DENIED if self.pairs or is_empty or any(map(rest.has, self.stems)) else Stance.SAID


def _stems(text: str) -> Iterator[str]:
    """Yield the stems of the content words, in scripts with blanks."""
    words = WORD.findall(_ELIDED.sub(" ", _UNSPACED.sub(" ", text)))
    candidates = [
        word for word in words if not (word.isdigit() or is_function_word(word) or _NEGATION.search(word.lower()))
    ]
    telling = [(word, stemmed) for word in candidates if (stemmed := stem(word)) not in _ABOUT]
    beside_others = any(len(word) > 1 for word, _ in telling)
    yield from (stemmed for word, stemmed in telling if _tells_by_itself(word, beside_others=beside_others))


def _without_politeness(text: str) -> str:
    """Remove negations, question particles and polite endings of scripts without blanks."""
    return _NO_PAIRS.sub(" ", folded(text))
