"""Removes from an answer what the model repeats of its own instructions. Text in, text out, however it is cut. Pure.

Small models copy what stands before the question: the system's section, with a person's profile and past threads, and
sentences of the prompt. In a channel all readers would see that.

Theory of operation. Stages (lines, runs, lines again), each of which holds text back only while it may be an echo.

    lines    the section stands between two lines with a word that is random in each turn: it is removed like a block,
             in any brackets and letters, and in the languages in which "system" is about the same word.
             Without these lines, those of its lines that nobody would write are removed (a title with its content, a
             quoted message with its date), and with them the lines of the section that follow.
    runs     a run of words that also stands in the prompt is removed if it is long, or a whole sentence. Case, marks
             and line breaks do not count, so a quotation of half a paragraph is one run.

What a person may be told in the same words is no echo: descriptions of tools, instructions of operators and managers,
single facts. Commands and the persona count as whole sentences only, because answers name them, too.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from string import ascii_lowercase, digits
from typing import Final

import regex

from agent.events import CallsArrived, CallsRejected, ProtocolEvent, ReplyEnded, TextArrived, Violation, ViolationFound
from agent.messages import UNSEEN, confusable_skeleton, read_references
from agent.patterns import PREPARING
from agent.protocol.look_alikes import FRAMED_LETTERS, any_form, forms
from agent.protocol.render import TITLES

MIN_RUN: Final = 7  # Words. Shorter runs also occur in answers about anything
MIN_SENTENCE: Final = 4  # Words of a sentence that counts as a whole
MIN_ECHO: Final = min(MIN_RUN, MIN_SENTENCE)
# So many words of a run are shown at once, unless it begins where a sentence of the answer and one of the prompt begin:
# nearly all of them are no echo, and a stream that pauses here must not hide the end of what was said.
SHOWN_WORDS: Final = 2

# A word, with invisible characters in it; or an HTML entity, which may stand for a mark between words.
_BREAK: Final = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_LETTER: Final = rf"(?:[^\W_]|[{FRAMED_LETTERS}])"
_WORD: Final = re.compile(rf"(?P<entity>&#?\w{{1,8}}(?:;|\Z)|&\Z)|{_LETTER}(?:{_LETTER}|{UNSEEN.pattern})*")
_SENTENCE_BEGINS: Final = re.compile(r"(?:[.!?:…\n]|\A)[ \t>\-*#`\"'“„•)\]]*\Z")
_BEFORE_CHARS: Final = 40  # Kept of what was shown, to see whether a sentence begins
_SENTENCE_END: Final = re.compile(r"(?<![.!?:])[.!?:]++(?:[\"')\]]*+\s|\Z)|\n\s*\n")
_MARKUP: Final = " \t>-*#`\"'“„•|_"  # May stand before a line that is copied
_AFTER_RUN: Final = re.compile(r"[ \t]*[.,;:!?…)\]\"'”*`>}]*[ \t]*\n?")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>\n]{0,60}>|<!--|-->")
_CUT_TAG: Final = re.compile(r"<[a-zA-Z/!][^<>\n]{0,60}\Z|&#?\w{0,8}\Z")
# What models put before the lines that they copy: markup, numbers of a list, boxes to tick, the cells of a table.
_PREFIX: Final = re.compile(
    rf"(?:[^\w\n【{forms('[<(')}{FRAMED_LETTERS}]|</?[a-zA-Z][^<>\n]{{0,60}}>|<!--|\[[ xX]?\]"
    r"|\(?\d{1,3}[.):\]|]?(?=[ \t|]|\Z))*"
)
_TITLE: Final = "|".join(TITLES)
_ANY_TITLE: Final = re.compile(rf"(?:{_TITLE})\b[^:\n]{{0,80}}:")
_TITLE_ALONE: Final = re.compile(rf"(?:{_TITLE})\b[^:\n]{{0,80}}:\s*\Z")
# The line in which the system numbers the rounds, whose numbers change from one prompt to the next.
_ROUND: Final = regex.compile(
    r"EXECUTION[\s:*_`|]{1,8}(?:round \d{1,4} of \d{1,4}\.?|This is the last round\b)", regex.IGNORECASE
)
_PLAIN_ROUND: Final = re.compile(r"execution (?:round \d{1,4} of \d{1,4}$|this is the last round\b)")
_SYSTEM: Final = (
    rf"(?:{any_form('s')}{any_form('iy')}{any_form('s')}{any_form('t')}(?:{any_form('e')}|[èé]){any_form('m')}"
    rf"{any_form('a')}?{any_form('e')}?{any_form('n')}?|система|系统|系統|システム|시스템)"
)
_GAP: Final = rf"[\s*_`~{UNSEEN.pattern[1:]}{{0,3}}"
_OPENS: Final = rf"(?:\\?(?:{any_form('[<({')}|【)|&#0?91;|&(?:lbrack|lsqb|lt);)"
_CLOSES: Final = rf"(?:\\?(?:{any_form('])>}')}|】)|&#0?93;|&(?:rbrack|rsqb|gt);)"
_MARK_BEGINS: Final = re.compile(rf"[\\&【]|{any_form('[<({')}")
_FENCE: Final = regex.compile(r"[ \t>]{0,9}(?:`{3,9}|~{3,9})\w{0,16}[ \t]{0,9}\n")
# In brackets, without the word or with another one: what follows decides, as below a title.
_BARE_MARK: Final = "system"
_OTHER_MARK: Final = regex.compile(
    rf"{_OPENS}{_GAP}{any_form('/')}?{_GAP}{_SYSTEM}{_GAP}:?{_GAP}\w{{3,12}}{_GAP}{_CLOSES}", regex.IGNORECASE
)
# With a letter, an answer that ends in it ends in a mark that was cut off: without one, in a bracket of its own.
_CUT_MARK: Final = regex.compile(rf"{_OPENS}{_GAP}{any_form('/')}?{_GAP}[^\W_]", regex.IGNORECASE)
_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d [^\n:]{1,100}: ")
_NUMBERED: Final = re.compile(r"(?:! )?#[\w-]{4,}")


@dataclass(frozen=True, slots=True)
class Instructions:
    """What the model was told in a turn. `word` marks the section; `private` and `public`: texts of the prompt, of
    which long runs of words, or only whole sentences, are echoes.
    """

    word: str = ""
    section: str = ""
    private: Sequence[str] = ()
    public: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.word or self.private or self.public)

    def adding(self, said: Sequence[str]) -> "Instructions":
        """Return these with what was said to the model besides; none at all if there are none."""
        return replace(self, private=(*self.private, *said)) if self else self


class EchoFilter:
    """Filters the events of one model call. Pass them to `filter` in order, then call `close`."""

    def __init__(self, instructions: Instructions) -> None:
        private, public = tuple(instructions.private), tuple(instructions.public)
        runs = [_Runs(_prompt_words(private, public))] if private or public else []
        # A second look at the lines: what a run leaves behind may begin a line.
        section = _SectionLines.of(instructions.section, instructions.word)
        lines = [_Lines(instructions.word, section) for _ in range(2)] if instructions.word else []
        self._stages: list[_Lines | _Runs] = [*lines[:1], *runs, *lines[1:]]
        self._is_counted = False
        self._ends_in_return = False

    def filter(self, events: Iterable[ProtocolEvent]) -> list[ProtocolEvent]:
        if not self._stages:
            return list(events)
        filtered: list[ProtocolEvent] = []
        for event in events:
            if isinstance(event, TextArrived):
                text = self._with_line_breaks(event.text)
                for stage in self._stages:
                    text = stage.feed(text)
                filtered += self._text(text)
                continue
            if isinstance(event, ReplyEnded | CallsArrived | CallsRejected):
                filtered += self.close()
            filtered.append(event)
        return filtered

    def close(self) -> list[ProtocolEvent]:
        """Return what was held back."""
        text = ""
        for stage in self._stages:
            text = stage.feed(text) + stage.close()
        return self._text(text)

    def _with_line_breaks(self, text: str) -> str:
        """Return the text with all line breaks in one form. CR LF may be cut in two."""
        after_return, self._ends_in_return = self._ends_in_return, text.endswith("\r")
        return _BREAK.sub("\n", text.removeprefix("\n") if after_return else text)

    def _text(self, text: str) -> list[ProtocolEvent]:
        events: list[ProtocolEvent] = []
        dropped = any(stage.dropped for stage in self._stages)
        if dropped and not self._is_counted:
            self._is_counted = True
            events.append(ViolationFound(Violation.PROMPT_ECHOED))
        return [*events, TextArrived(text)] if text else events


def _plain(line: str) -> str:
    """Return the line as it is compared: its words in small letters, without markup, tags and the number of a list."""
    text = _CUT_TAG.sub("", _TAG.sub(" ", read_references(line)).strip())
    text = confusable_skeleton(text[_prefix_length(text) :])
    return " ".join(word[0] for word in _WORD.finditer(text) if not word["entity"])


@dataclass(frozen=True, slots=True)
class _SectionLines:
    """The lines of the section as they are compared. `certain`: those that nobody would write; `titles`: those that are
    a title alone; `ordered`: all of them.
    """

    certain: AbstractSet[str]
    titles: AbstractSet[str]
    ordered: Sequence[str]

    @classmethod
    def of(cls, section: str, word: str) -> "_SectionLines":
        lines = {line: plain for line in section.splitlines() if (plain := _plain(line))}
        # A mark without its brackets
        marks = {_plain(f"{_BARE_MARK} {word}")}
        # Models make headings of the titles, and write the rest of the line below.
        titles = {line: title.end() for line in lines if (title := _ANY_TITLE.match(line)) is not None}
        contents = {_plain(line[end:]) for line, end in titles.items()} - {""}
        return cls(
            certain={plain for line, plain in lines.items() if _is_only_ours(line)} | marks,
            titles={_BARE_MARK, *(_plain(line[:end]) for line, end in titles.items())},
            ordered=sorted({_BARE_MARK, *marks, *lines.values(), *contents}),
        )

    def goes_on(self, plain: str) -> bool:
        """Return whether the line begins with a line of the section, and another one stands behind that: the section
        was copied into one line, perhaps as a text of JSON.
        """
        return any(rest.startswith(begin) for rest in self._behind(plain) for begin in self._following)

    def may_go_on(self, plain: str) -> bool:
        return any(begin.startswith(rest) for rest in self._behind(plain) for begin in self._following)

    @property
    def _following(self) -> Iterator[str]:
        """A line break that is written as a backslash and an n is a letter before the next word."""
        return (f" {breaks}{line}" for line in self.ordered for breaks in ("", "n", "n n"))

    def _behind(self, plain: str) -> list[str]:
        return [plain[len(line) :] for line in self.ordered if line != _BARE_MARK and plain.startswith(line)]

    def next_to(self, plain: str) -> str:
        """Return the first line that is not before this one in order; "" if there is none."""
        at = bisect_left(self.ordered, plain)
        return self.ordered[at] if at < len(self.ordered) else ""


def _prefix_length(line: str) -> int:
    match = _PREFIX.match(line)
    return match.end() if match else 0


# A letter or digit as a model may write it, with invisible characters behind it.
_WORD_CHAR: Final = rf"(?:[^\W_]|[{forms(ascii_lowercase + digits)}]){UNSEEN.pattern}{{0,2}}"
_HEAD: Final = rf"{_OPENS}{_GAP}(?P<slash>{any_form('/')}?){_GAP}{_SYSTEM}{_GAP}:?{_GAP}"
_MARK_HEAD: Final = regex.compile(_HEAD, regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _MarkPatterns:
    """Marks with any word of one length. Patterns with the word itself would be compiled in each turn, which takes
    longer than the rest of the turn.

    Attributes:
        system: also closing without a word; an opening mark without it begins a part of many configuration files.
        any: the word is random, so anything in brackets before it is a translation or a misspelling of the mark.
    """

    system: "regex.Pattern[str]"
    any: "regex.Pattern[str]"


@lru_cache(maxsize=8)
def _mark_patterns(length: int) -> _MarkPatterns:
    ends = rf"(?P<word>(?:{_WORD_CHAR}){{{length}}}){_GAP}{_CLOSES}"
    closing = rf"\[{_GAP}(?P<slash>{any_form('/')}){_GAP}{_SYSTEM}{_GAP}\]"
    before = rf"{_OPENS}{_GAP}(?P<slash>(?:{any_form('/')}|(?:end|close)\b)?)[^\n\[\]()<>{{}}【】]{{0,24}}?"
    return _MarkPatterns(
        regex.compile(f"{_HEAD}{ends}|{closing}", regex.IGNORECASE), regex.compile(f"{before}{ends}", regex.IGNORECASE)
    )


WORD_LENGTH: Final = 6  # Of `agent.machine.fresh_word`. Patterns for another length are compiled at the first use
PREPARING.append(partial(_mark_patterns, WORD_LENGTH))


class _Lines:
    """Removes the section, which stands between marks with `word`, and its lines."""

    def __init__(self, word: str, section: _SectionLines) -> None:
        self.dropped = False
        self._section = section
        self._word = word.lower()
        self._patterns = _mark_patterns(len(word))
        self._held = ""  # The beginning of a line, or of a mark in one, that may be an echo
        self._title = ""  # A title and blank lines: the next line decides whether they are an echo
        self._in_line = False  # The line is text
        self._in_block = False
        self._in_title = False  # The rest of the line is an echo, too
        self._in_run = False  # The last line was an echo, so those of the section that follow are, too

    def feed(self, text: str) -> str:
        if (
            self._in_line
            and not self._held
            and not self._in_block
            and "\n" not in text
            and not _MARK_BEGINS.search(text)
        ):
            return text
        return self._read(self._held + text, is_whole=False)

    def close(self) -> str:
        shown = self._read(self._held, is_whole=True) if self._held else ""
        shown, self._title = self._title + shown, ""
        return shown

    def _read(self, text: str, *, is_whole: bool) -> str:
        shown: list[str] = []
        position = 0
        while position < len(text):
            if self._in_title:
                step = text.find("\n", position) + 1 or len(text)
                self._in_title = not text.endswith("\n", position, step)
            elif self._in_block:
                step = self._in_section(text, position, is_whole=is_whole)
            elif self._in_line:
                step = self._rest_of_line(text, position, shown, is_whole=is_whole)
            else:
                step = self._at_line_start(text, position, shown, is_whole=is_whole)
            if step is None:
                break
            position = step
        self._held = text[position:]
        return "".join(shown)

    def _in_section(self, text: str, position: int, *, is_whole: bool) -> int | None:
        self.dropped = True
        end = text.find("\n", position)
        line = text[position : end if end >= 0 else len(text)]
        patterns = (self._patterns.system, self._patterns.any)
        marks = (mark for pattern in patterns for mark in pattern.finditer(line) if self._has_word(mark))
        close = next((mark for mark in marks if mark["slash"]), None)
        if close is not None:
            self._leave_block()
            return position + close.end()
        if end < 0 and not is_whole:
            return None if len(line) < 2_000 else position + len(line) - 100  # the closing mark may be cut in two
        if _ROUND.search(line):
            self._leave_block()
        return len(text) if end < 0 else end + 1

    def _leave_block(self) -> None:
        self._in_block, self._in_run, self._in_line = False, True, False

    def _rest_of_line(self, text: str, position: int, shown: list[str], *, is_whole: bool) -> int | None:
        end = text.find("\n", position)
        stop = end + 1 if end >= 0 else len(text)
        for begin in _MARK_BEGINS.finditer(text, position, stop):
            if (mark := self._read_mark(text, begin.start(), is_whole=is_whole)) is None:
                continue
            shown.append(text[position : begin.start()])
            if mark.partial and not is_whole:
                return None if begin.start() == position else begin.start()
            return self._begin_block(mark)
        shown.append(text[position:stop])
        self._in_line = end < 0
        return stop

    def _read_mark(self, text: str, position: int, *, is_whole: bool) -> "regex.Match[str] | None":
        """Return the mark at this position: whole, or `partial` at the end of the text. One with which the whole
        answer ends has a letter: it was cut off.
        """
        mark = self._patterns.system.match(text, position, partial=True)
        if mark is not None and not self._may_have_word(mark, text[position:]):
            mark = None
        if mark is None or mark.partial:
            other = self._patterns.any.match(text, position, partial=not is_whole)
            if other is not None and (other.partial or self._has_word(other)) and not (mark and other.partial):
                mark = other
        return mark if mark and not (mark.partial and is_whole and not _CUT_MARK.match(text, position)) else None

    def _has_word(self, mark: "regex.Match[str]") -> bool:
        return mark["word"] is None or confusable_skeleton(mark["word"]) == self._word

    def _may_have_word(self, mark: "regex.Match[str]", begun: str) -> bool:
        """Return whether this is a mark, or the beginning of one if it is `partial`."""
        if not mark.partial:
            return self._has_word(mark)
        if _MARK_HEAD.fullmatch(begun, partial=True):
            return True
        rests = (f"{self._word[at:]}]" for at in range(len(self._word) + 1))
        wholes = (self._patterns.system.match(begun + rest) for rest in rests)
        return any(whole is not None and self._has_word(whole) for whole in wholes)

    def _begin_block(self, mark: "regex.Match[str]") -> int:
        self.dropped = True
        self._title = ""
        if mark.partial or not mark["slash"]:
            self._in_block = True
        else:
            self._leave_block()
        return mark.end()

    def _at_line_start(self, text: str, position: int, shown: list[str], *, is_whole: bool) -> int | None:
        end = text.find("\n", position)
        is_complete = end >= 0 or is_whole
        stop = end + 1 if end >= 0 else len(text)
        line = text[position:stop]
        plain = _plain(line)
        # A fence may be around the section: the next line decides, as below a title.
        fence = _FENCE.fullmatch(line, partial=not is_complete)
        is_blank = not line.strip(f"{_MARKUP}\n")
        if fence is not None and not (is_blank and self._in_run):
            if fence.partial:
                return None
            self._title, self._in_run = self._title + line, False
            return stop
        if is_blank:
            # A blank line may still get words.
            if not is_complete:
                return None
            if self._in_run:
                return stop
            if self._title:
                self._title += line
            else:
                shown.append(line)
            return stop
        # Models put our marks into bold or a list: markup before them does not hide them.
        begin = position + _prefix_length(line)
        if (mark := self._read_mark(text, begin, is_whole=is_whole)) is not None:
            return None if mark.partial and not is_whole else self._begin_block(mark)
        if (number := _ROUND.match(text, begin, partial=not is_whole)) is not None:
            # More digits may follow, and the number would be another one.
            if number.partial or (number.end() == len(text) and not is_whole):
                return None
            self.dropped, self._in_run, self._title = True, True, ""
            return number.end()
        if self._in_run and (title := _ANY_TITLE.match(text, begin, stop)) is not None:
            self._in_title = True
            return title.end()
        if self._section.goes_on(plain):
            self.dropped, self._in_run, self._in_title, self._title = True, True, True, ""
            return begin
        if not is_complete:
            # Held back only as long as it may become one of our lines; anything else is shown piece by piece.
            may_be_ours = self._may_be_ours(plain, line) or _is_other_mark(text[begin:stop], is_complete=False)
            return None if may_be_ours else self._show_line(position, shown)
        is_mark = plain == _BARE_MARK or _is_other_mark(text[begin:stop])
        if is_mark and not self._in_run:
            self._title += line
            return stop
        if is_mark or self._is_echo(plain) or _PLAIN_ROUND.match(plain):
            self.dropped, self._in_run, self._title = True, True, ""
            return stop
        # A title alone may be the model's own heading: it is dropped only if what stood below it follows too.
        if plain in self._section.titles and not self._title:
            self._title = line
            return stop
        return self._show_line(position, shown)

    def _is_echo(self, plain: str) -> bool:
        if plain in self._section.certain:
            return True
        return (self._in_run or bool(self._title)) and self._section.next_to(plain) == plain

    def _may_be_ours(self, plain: str, line: str) -> bool:
        if self._section.next_to(plain).startswith(plain) or self._section.may_go_on(plain):
            return True
        begun = line[_prefix_length(line) :]
        # A title, and up to 80 characters to its colon.
        return self._in_run and any(
            title.startswith(begun) or (begun.startswith(title) and len(begun) <= len(title) + 80) for title in TITLES
        )

    def _show_line(self, position: int, shown: list[str]) -> int:
        shown.append(self._title)
        self._title, self._in_run, self._in_line = "", False, True
        return position


def _is_other_mark(line: str, *, is_complete: bool = True) -> bool:
    """Return whether the line is a mark with another word, or may become one if it is not complete."""
    mark = _OTHER_MARK.match(line, partial=not is_complete)
    return mark is not None and not line[mark.end() :].strip(f"{_MARKUP}\n")


def _is_only_ours(line: str) -> bool:
    """Return whether nobody would write this line of the section."""
    with_content = _ANY_TITLE.match(line) is not None and _TITLE_ALONE.match(line) is None
    return with_content or _DATED.match(line) is not None or _NUMBERED.match(line) is not None


@dataclass(frozen=True, slots=True)
class _PromptWord:
    """`ends`: for the last word of a sentence, how many words that has; else 0. `begins`: whether it is the first one.
    `text` is "" after each text of the prompt, so that no run goes on from one to the next.
    """

    text: str
    ends: int = 0
    begins: bool = False
    is_private: bool = False


@dataclass(frozen=True, slots=True)
class _PromptWords:
    """The words of the prompt's texts in their order, in small letters.

    `places`: where a word stands. `beginnings`: what a longer word begins with. `first_beginnings`: what a word, whole
    or in part, begins with that is the first of a sentence.
    """

    words: Sequence[_PromptWord]
    places: Mapping[str, Sequence[int]]
    beginnings: AbstractSet[str]
    first_beginnings: AbstractSet[str]


# The texts are the program's own, and the same in each turn; only the form of calls changes a few of them. Learning
# them for each call would take longer than filtering a short answer.
@lru_cache(16)
def _prompt_words(private: tuple[str, ...], public: tuple[str, ...]) -> _PromptWords:
    words: list[_PromptWord] = []
    for texts, is_private in ((private, True), (public, False)):
        for text in texts:
            for sentence in _sentences(text):
                last = len(sentence) - 1
                words += (
                    _PromptWord(word, len(sentence) if at == last else 0, at == 0, is_private)
                    for at, word in enumerate(sentence)
                )
            words.append(_PromptWord(""))
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(word.text, []).append(place)
    firsts = {word.text for word in words if word.begins}
    return _PromptWords(
        words,
        places,
        beginnings={word[:length] for word in places for length in range(1, len(word))},
        first_beginnings={word[:length] for word in firsts for length in range(1, len(word) + 1)},
    )


def _sentences(text: str) -> Iterator[list[str]]:
    """Yield the words of each sentence that has any."""
    begin = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        if words := [confusable_skeleton(word[0]) for word in _WORD.finditer(text, begin, end) if not word["entity"]]:
            yield words
        begin = end


@dataclass(slots=True)
class _Runs:
    """Removes runs of words that also stand in the prompt."""

    prompt: _PromptWords
    dropped: bool = False
    _text: str = ""  # Held back, after `_shown` characters that were shown but may still be the beginning of a run
    _shown: int = 0
    _before: str = ""  # The end of the text before that
    _read: int = 0  # Up to here its words were read
    _starts: list[int] = field(default_factory=list[int])
    """Where the words in `_text` begin."""
    _matches: dict[int, int] = field(default_factory=dict[int, int])
    """For each place of the prompt where the newest word stands, how many words before it match, too."""
    _drop: tuple[int, int] | None = None
    _is_line_start: bool = True
    """Nothing of this line was shown."""
    _is_cut: bool = False
    """The last word that was read may go on in the next piece."""

    def feed(self, text: str) -> str:
        self._text += text
        return self._run(is_whole=False)

    def close(self) -> str:
        return self._run(is_whole=True)

    def _run(self, *, is_whole: bool) -> str:
        shown: list[str] = []
        if not _WORD.match(self._text, self._read):
            self._is_cut = self._is_cut and self._read == len(self._text)
        while (word := _WORD.search(self._text, self._read)) is not None:
            is_cut = word.end() == len(self._text) and not is_whole
            # The rest of a word whose beginning was shown matches nothing.
            plain = "" if self._is_cut and word.start() == self._read else confusable_skeleton(word[0])
            if word["entity"]:
                if is_cut:
                    break
                self._read = word.end()
                continue
            if is_cut and plain and (plain in self.prompt.beginnings or plain in self.prompt.places):
                break
            self._is_cut = is_cut
            shown.append(self._add(word.start(), word.end(), plain))
        if is_whole or (not self._matches and word is None):
            shown.append(self._release(len(self._text)))
        elif self._is_short(word):
            shown.append(self._text[self._shown :])
            self._shown = len(self._text)
        return "".join(shown)

    def _is_short(self, unread: re.Match[str] | None) -> bool:
        """Return whether the run at the end of the text is too short to be held. `unread`: a word that may go on."""
        if self._drop or max(self._matches.values(), default=0) + (unread is not None) > SHOWN_WORDS:
            return False
        if self._is_one_held(self._matches.items()):
            return False
        return unread is None or not (
            confusable_skeleton(unread[0]) in self.prompt.first_beginnings and self._begins_sentence(unread.start())
        )

    def _is_one_held(self, runs: Iterable[tuple[int, int]]) -> bool:
        """Return whether one of these runs (place of the last word, length) is held from its first word on."""
        words = self.prompt.words
        # A common word stands in many places, but the runs that end with it have few lengths.
        lengths = {count for place, count in runs if words[place - count + 1].begins}
        # The beginning of a run that is longer than `_starts` is gone.
        return any(count <= len(self._starts) and self._begins_sentence(self._starts[-count]) for count in lengths)

    def _begins_sentence(self, position: int) -> bool:
        before = self._before + self._text[max(0, position - _BEFORE_CHARS) : position]
        return _SENTENCE_BEGINS.search(before[-_BEFORE_CHARS:]) is not None

    def _add(self, start: int, end: int, word: str) -> str:
        """Match one more word. Returns the text that is no echo for certain."""
        places, going_on = self.prompt.places.get(word, ()) if word else (), self._matches
        # Common words stand in dozens of places, and each word of each answer comes by here: nearly all begin a run of
        # one word, and no run as short as that is an echo.
        matches = dict.fromkeys(places, 1)
        if going_on:
            matches.update((place, going_on[place - 1] + 1) for place in places if place - 1 in going_on)
        self._matches, self._read = matches, end
        self._starts.append(start)
        longest = max(matches.values(), default=0)
        echoed = (
            [(count, place) for place, count in matches.items() if self._is_echo(place, count)]
            if longest >= MIN_ECHO
            else []
        )
        if echoed:
            count, _ = max(echoed)
            begin = self._starts[-min(count, len(self._starts))]
            is_held = self._is_one_held((place, one) for one, place in echoed if one == count)
            if SHOWN_WORDS < count <= len(self._starts) and not is_held:
                begin = self._starts[SHOWN_WORDS - count]
            self._drop = (min(begin, self._drop[0]) if self._drop else begin, end)
            self.dropped = True
        longest = min(longest, len(self._starts))
        safe = self._starts[-longest] if longest else end
        if self._drop and safe < self._drop[1]:
            return ""  # the run may go on
        return self._release(safe)

    def _is_echo(self, place: int, count: int) -> bool:
        last = self.prompt.words[place]
        is_sentence = last.ends >= MIN_SENTENCE and count >= last.ends
        return is_sentence or (count >= MIN_RUN and last.is_private)

    def _release(self, end: int) -> str:
        """Return the text up to `end` without the run to drop, and without what was shown before."""
        if self._drop:
            begin, stop = self._drop
            after = _AFTER_RUN.match(self._text, stop, end)
            stop = after.end() if after else stop
            kept = self._without_markup(self._text[:begin]) + self._text[stop:end]
            self._drop = None
        else:
            # Marks before the first word of a line are held with it.
            line = self._text.rfind("\n", 0, end) + 1
            if end < len(self._text) and (line or self._is_line_start) and not self._text[line:end].strip(_MARKUP):
                end = line
            kept = self._text[:end]
        text = kept[self._shown :]
        self._before = (self._before + kept)[-_BEFORE_CHARS:]
        self._is_line_start = kept.endswith("\n") if kept else self._is_line_start
        self._text = self._text[end:]
        self._read, self._shown = max(0, self._read - end), max(0, self._shown - end)
        self._starts = [start - end for start in self._starts if start >= end]
        return text

    def _without_markup(self, text: str) -> str:
        """Return the text without markup that stands alone on its last line."""
        line = text.rfind("\n") + 1
        is_alone = (line or self._is_line_start) and line >= self._shown and not text[line:].strip(_MARKUP)
        return text[:line] if is_alone else text
