"""The tool policy: which calls run, need consent, or never run; one table, and the defaults without it. Pure.

Rules
  The first row that fits a call counts. Without one, the call's effect decides: reading and writing here run; acting
  outward and irreversible actions need consent.
  A tool that a row refuses is not offered to the model.
  Irreversible actions need consent for each call, whatever a row says. So does every write in a turn that holds text of
  others: it may carry out instructions in that text. "Allow in this thread" counts while the turn holds no text of
  others.
  A call that would send out an address needs consent each time if the turn holds text of others and nobody wrote the
  address literally: it may encode data of the turn.
  The tools in `OWN_WORDS` write only what the asker has said, and check that themselves.

The table's text has one line for each row, the first row on top, and "#" before a comment:

    # tools           who        where     answer
    github.delete_*   *          *         no
    github.*          manager    team      ask
    jira.search       *          *         yes

`tools` is a name in which * matches any characters. `who` is *, a rank (everyone of that rank or above) or a person's
id. `where` is *, a kind of audience (person, group, team) or the platform's id of a channel.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, assert_never
from unicodedata import category

from agent.admission_terms import Authority
from agent.memory.audience import AudienceKind, label
from agent.messages import UNSEEN, Consent, Provenance, ToolCall
from agent.ports import Asker, ToolEffect
from agent.progress import OWN_WORDS, Progress, addresses_in, addresses_read, brought_by, sent

ANY: Final = "*"
MAX_ROWS: Final = 200  # Read for each call; a longer table is a mistake
MAX_CHARS: Final = 200  # Length of a row: a name, an id and an id
COLUMNS: Final = 4
# Characters of a call that needs consent: people read no more before they decide, and it fits every platform.
MAX_SHOWN: Final = 6_000
ARGUMENT_CHARS: Final = 12  # Characters that an argument takes beside its name and value


class PolicyAnswer(StrEnum):
    YES = "yes"
    ASK = "ask"
    NO = "no"


class DecidedBy(StrEnum):
    """Who allowed or refused a call, or what changed the table."""

    EFFECT = "effect"
    TABLE = "table"
    ASKER = "asker"
    STANDING = "asker, for the thread"
    NOBODY = "nobody in time"
    CHECK = "check"
    COMMAND = "command"
    FILE = "file"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class PolicyRow:
    tools: str
    who: str
    where: str
    answer: PolicyAnswer

    def fits(self, name: str, asker: Asker) -> bool:
        return fnmatchcase(name, self.tools) and _fits_person(self.who, asker) and _fits_place(self.where, asker)

    def __str__(self) -> str:
        return f"{self.tools} {self.who} {self.where} {self.answer}"


@dataclass(frozen=True, slots=True)
class Decision:
    """`row`: the row that counts, None if the effect decides. `every_time`: consent never covers the next call."""

    answer: PolicyAnswer
    row: PolicyRow | None = None
    every_time: bool = False


def decide(rows: Iterable[PolicyRow], name: str, effect: ToolEffect, asker: Asker, words: Provenance) -> Decision:
    """Decide about a call of the tool `name`. `words`: whose text the turn holds."""
    row = next((row for row in rows if row.fits(name, asker)), None)
    if row is not None and row.answer is PolicyAnswer.NO:
        return Decision(PolicyAnswer.NO, row)
    if effect is ToolEffect.IRREVERSIBLE:
        return Decision(PolicyAnswer.ASK, row, every_time=True)
    writes = effect is ToolEffect.ACTS_OUTWARD or (effect is ToolEffect.WRITES_HERE and name not in OWN_WORDS)
    if writes and words is not Provenance.OWN:
        return Decision(PolicyAnswer.ASK, row, every_time=words is Provenance.FOREIGN)
    return Decision(_by_effect(effect) if row is None else row.answer, row)


def _by_effect(effect: ToolEffect) -> PolicyAnswer:
    match effect:
        case ToolEffect.READS | ToolEffect.WRITES_HERE:
            return PolicyAnswer.YES
        case ToolEffect.ACTS_OUTWARD | ToolEffect.IRREVERSIBLE:
            return PolicyAnswer.ASK
        case _:
            assert_never(effect)


def _fits_person(who: str, asker: Asker) -> bool:
    if who in (ANY, asker.person.id):
        return True
    rank = Authority.__members__.get(who.upper())
    return rank is not None and asker.authority >= rank


def _fits_place(where: str, asker: Asker) -> bool:
    return where in (ANY, asker.channel) or where == label(asker.place.audience).partition(":")[0]


def read_rows(text: str) -> tuple[tuple[PolicyRow, ...], tuple[str, ...]]:
    """Parse a table. Returns its rows, and a sentence for each invalid line."""
    rows, faults = list[PolicyRow](), list[str]()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        fault = _fault(words)
        if fault is None and len(rows) == MAX_ROWS:
            return tuple(rows), (*faults, TOO_MANY.format(most=MAX_ROWS))
        if fault is not None:
            faults.append(f"line {number}: {fault}")
        else:
            who, where = _normalise_who(words[1]), _normalise_where(words[2])
            rows.append(PolicyRow(words[0], who, where, PolicyAnswer(words[3].lower())))
    return tuple(rows), tuple(faults)


def _normalise_who(who: str) -> str:
    return who.lower() if who.upper() in Authority.__members__ else who


def _normalise_where(where: str) -> str:
    return where.lower() if where.lower() in set(AudienceKind) else where


_TOOLS: Final = re.compile(r"[A-Za-z0-9_.\-/*]+")
_ID: Final = re.compile(r"[\w:.@+\-]+", re.ASCII)


def _fault(words: Sequence[str]) -> str | None:
    if len(words) != COLUMNS:
        return NOT_FOUR
    if sum(map(len, words)) > MAX_CHARS:
        return TOO_LONG.format(most=MAX_CHARS)
    if words[3].lower() not in set(PolicyAnswer):
        return NO_ANSWER.format(answer=visible(words[3]))
    return _find_unknown(*words[:3])


def _find_unknown(tools: str, who: str, where: str) -> str | None:
    """Return why the row can never fit, or None: such a row may be a typo in one that should forbid something."""
    if _TOOLS.fullmatch(tools) is None:
        return NO_TOOLS.format(tools=visible(tools))
    is_person = ":" in who and _ID.fullmatch(who) is not None
    if who != ANY and not is_person and who.upper() not in Authority.__members__:
        return NOBODY.format(who=visible(who), ranks=", ".join(rank.lower() for rank in Authority.__members__))
    is_channel = any(map(str.isdecimal, where)) and _ID.fullmatch(where) is not None
    if where != ANY and not is_channel and where.lower() not in set(AudienceKind):
        return NO_PLACE.format(where=visible(where), kinds=", ".join(AudienceKind))
    return None


NOT_FOUR: Final = "a row has four words: tools, who, where and yes, ask or no"
TOO_LONG: Final = "a row has at most {most} characters"
TOO_MANY: Final = "a table has at most {most} rows; what follows is left out"
NO_ANSWER: Final = "its last word must be yes, ask or no, not {answer}"
NO_TOOLS: Final = "{tools} is no tool's name: it has letters, digits, _ - . and /, and * for any characters"
NO_PLACE: Final = "{where} is no place: write *, a kind of audience ({kinds}) or the id of a channel"
NOBODY: Final = "{who} is nobody: write *, a rank ({ranks}) or the id of a person"


def shown_arguments(call: ToolCall) -> Sequence[tuple[str, str]]:
    """Return all arguments of a call in the form for its person: strings as they are, other values as JSON. A list, so
    that arguments whose names look the same are all shown.
    """
    return [
        (visible(name), visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)))
        for name, value in call.args.items()
    ]


_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """Return the text with the code point of each character that is invisible or changes the order of others."""
    return "".join(char if char in "\n\t" or not _is_hidden(char) else f"⟨U+{ord(char):04X}⟩" for char in text)


def _is_hidden(char: str) -> bool:
    return category(char) in _HIDDEN or UNSEEN.match(char) is not None


@dataclass(frozen=True, slots=True)
class CallGate:
    """Applies the policy to one turn's calls. `checked` and `effect_of`: the registry's answers about offered tools.

    `standing`: tools that the asker lets run in this conversation. `words`: whose text the context holds; `texts`: its
    texts; `before`: the progress of the turn so far. `sends`: tools whose arguments may leave the bot.
    """

    rows: Sequence[PolicyRow]
    checked: Callable[[ToolCall], str | None]
    effect_of: Callable[[str], ToolEffect]
    asker: Asker
    standing: frozenset[str]
    words: Callable[[], Provenance]
    before: Callable[[], Progress]
    texts: Callable[[], Iterable[str]] = tuple
    sends: Collection[str] = ()

    def check(self, call: ToolCall) -> str | None:
        """Return what is wrong with the call, for the model; also that it is too long for a person to read and allow.

        A call that the policy has refused since the tools were offered does not run either.
        """
        if (problem := self.checked(call)) is not None:
            return problem
        if self._decision(call).answer is PolicyAnswer.NO:
            return OPERATOR_REFUSES.format(tool=call.name)
        if not self.needs_consent(call):
            return None
        chars = sum(len(name) + len(text) + ARGUMENT_CHARS for name, text in shown_arguments(call))
        return UNREADABLE.format(chars=chars, most=MAX_SHOWN) if chars > MAX_SHOWN else None

    def needs_consent(self, call: ToolCall) -> bool:
        may_leak = call.name in self.sends and self._provenance() is not Provenance.OWN
        if may_leak and not all(map(self._may_leave, addresses_in(call))):
            return True
        decision = self._decision(call)
        return decision.answer is PolicyAnswer.ASK and (decision.every_time or call.name not in self.standing)

    def decided_by(self, call: ToolCall, consent: Consent) -> tuple[str, DecidedBy]:
        """Return for the audit what was decided about a call, in one word, and by whom. `consent`: the asker's."""
        match consent:
            case Consent.GIVEN | Consent.BEGUN:
                return "allowed", DecidedBy.ASKER
            case Consent.REFUSED:
                return "refused", DecidedBy.ASKER
            case Consent.EXPIRED:
                return "expired", DecidedBy.NOBODY
            case Consent.EDITED:
                return "edited", DecidedBy.ASKER
            case Consent.NOT_NEEDED | Consent.AWAITED:
                decision = self._decision(call)
            case _:
                assert_never(consent)
        if decision.answer is PolicyAnswer.ASK:
            return "allowed", DecidedBy.STANDING
        return "unasked", DecidedBy.EFFECT if decision.row is None else DecidedBy.TABLE

    def hides(self, tool: str) -> bool:
        """Return whether the policy forbids the tool whatever its effect, so that it is not offered."""
        return decide(self.rows, tool, ToolEffect.READS, self.asker, Provenance.OWN).answer is PolicyAnswer.NO

    def _may_leave(self, address: str) -> bool:
        """Return whether the address carries no added data, or was sent before and so reveals nothing new."""
        progress = self.before()
        return address in sent(progress) or addresses_read(progress, self.texts()).may_be_fetched(address)

    def _decision(self, call: ToolCall) -> Decision:
        return decide(self.rows, call.name, self.effect_of(call.name), self.asker, self._provenance())

    def _provenance(self) -> Provenance:
        tools = brought_by(self.before())
        if tools - self.standing:
            return Provenance.FOREIGN
        return max(self.words(), Provenance.RETOLD if tools else Provenance.OWN)


OPERATOR_REFUSES: Final = "an operator does not let {tool} be used for this person here: tell them, and go on"
UNREADABLE: Final = (
    "the person must be shown the whole call before it runs, and {chars} characters are more than anybody reads "
    "({most} at most): make it shorter, or do it in parts"
)
