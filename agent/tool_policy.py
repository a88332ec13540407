"""Which calls run, which are asked for first, and which never do: one table, and what holds without it. Pure.

Rules
  The first row that fits a call counts. Where none does, its effect decides: reading and writing here run, acting
  outward is asked for, and so is what cannot be taken back.
  What a row refuses is not even offered to the model.
  What cannot be taken back is asked for each time, whatever a row says. So is every write in a turn that holds what
  others wrote: it may do what that text wants. "Allow in this thread" counts as long as nobody else's words are there.
  An address that a call would carry out is asked for, each time, where others' words are there and nobody wrote it as
  it stands: it may hold what the turn knows.
  `OWN_WORDS` write nothing but what the asker has said, and see to that themselves.

Its text is a line for each row, the first row on top, and "#" before a note:

    # tools           who        where     answer
    github.delete_*   *          *         no
    github.*          manager    team      ask
    jira.search       *          *         yes

`tools` is a name in which * stands for any characters. `who` is *, a rank (then everybody of it or above) or a person's
id. `where` is *, the kind of audience (person, group, team) or the platform's id of a channel.
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
MAX_CHARS: Final = 200  # Of a row: a name, an id and an id
COLUMNS: Final = 4
# Characters of a call that is asked about: nobody reads more before a press, and it fits every platform.
MAX_SHOWN: Final = 6_000


A_LINE: Final = 12  # What an argument takes besides


class PolicyAnswer(StrEnum):
    YES = "yes"
    ASK = "ask"
    NO = "no"


class DecidedBy(StrEnum):
    """Who lets a call run, or does not; or what has changed the table."""

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
        return fnmatchcase(name, self.tools) and _is(self.who, asker) and _there(self.where, asker)

    def __str__(self) -> str:
        return f"{self.tools} {self.who} {self.where} {self.answer}"


@dataclass(frozen=True, slots=True)
class Decision:
    """`row`: the one that counts, None if the effect decides. `every_time`: no word holds for the next call."""

    answer: PolicyAnswer
    row: PolicyRow | None = None
    every_time: bool = False


def decide(rows: Iterable[PolicyRow], name: str, effect: ToolEffect, asker: Asker, words: Provenance) -> Decision:
    """`words`: whose words the turn holds."""
    row = next((one for one in rows if one.fits(name, asker)), None)
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


def _is(who: str, asker: Asker) -> bool:
    if who in (ANY, asker.person.id):
        return True
    rank = Authority.__members__.get(who.upper())
    return rank is not None and asker.authority >= rank


def _there(where: str, asker: Asker) -> bool:
    return where in (ANY, asker.channel) or where == label(asker.place.audience).partition(":")[0]


def read_rows(text: str) -> tuple[tuple[PolicyRow, ...], tuple[str, ...]]:
    """The rows of a table, and a sentence for each line that is none."""
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
            rows.append(PolicyRow(words[0], _rank(words[1]), _kind(words[2]), PolicyAnswer(words[3].lower())))
    return tuple(rows), tuple(faults)


def _rank(who: str) -> str:
    return who.lower() if who.upper() in Authority.__members__ else who


def _kind(where: str) -> str:
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
    return _unknown(*words[:3])


def _unknown(tools: str, who: str, where: str) -> str | None:
    """A row that can never fit may be one that should forbid something."""
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
    """The arguments of a call as its person reads them: texts as they are, everything else as JSON. Each of them, also
    where two names look the same.
    """
    return [
        (visible(name), visible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)))
        for name, value in call.args.items()
    ]


_HIDDEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def visible(text: str) -> str:
    """`text` with a name for each character that would not be seen, or would change the order of others."""
    return "".join(one if one in "\n\t" or not _is_hidden(one) else f"⟨U+{ord(one):04X}⟩" for one in text)


def _is_hidden(one: str) -> bool:
    return category(one) in _HIDDEN or UNSEEN.match(one) is not None


@dataclass(frozen=True, slots=True)
class CallGate:
    """What the policy says of one turn's calls. `checked` and `effect_of`: as the registry says of what is offered.

    `standing`: tools that the asker lets run in this conversation. `words`: whose words the context holds, `texts`:
    what it says; `before`: what the turn has done so far. `sends`: the tools of which what a call is
    given may leave the bot.
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
        """What is wrong with the call, for the model; also that nobody could read all of it before allowing it.

        What was refused only after the tools were offered does not run either.
        """
        if (problem := self.checked(call)) is not None:
            return problem
        if self._decision(call).answer is PolicyAnswer.NO:
            return OPERATOR_REFUSES.format(tool=call.name)
        if not self.needs_consent(call):
            return None
        chars = sum(len(name) + len(text) + A_LINE for name, text in shown_arguments(call))
        return UNREADABLE.format(chars=chars, most=MAX_SHOWN) if chars > MAX_SHOWN else None

    def needs_consent(self, call: ToolCall) -> bool:
        carried = addresses_in(call) if call.name in self.sends and self._held() is not Provenance.OWN else ()
        if not all(map(self._may_leave, carried)):
            return True
        decision = self._decision(call)
        return decision.answer is PolicyAnswer.ASK and (decision.every_time or call.name not in self.standing)

    def decided_by(self, call: ToolCall, consent: Consent) -> tuple[str, DecidedBy]:
        """For the audit: what was decided of a call, in a word, and by whom. `consent`: its asker's, as it stands."""
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
        """Whether an operator does not let it be used, also where nobody knows what it does: it is not offered."""
        return decide(self.rows, tool, ToolEffect.READS, self.asker, Provenance.OWN).answer is PolicyAnswer.NO

    def _may_leave(self, address: str) -> bool:
        """Whether nothing was put into it; what was sent already tells nobody anything new."""
        progress = self.before()
        return address in sent(progress) or addresses_read(progress, self.texts()).may_be_fetched(address)

    def _decision(self, call: ToolCall) -> Decision:
        return decide(self.rows, call.name, self.effect_of(call.name), self.asker, self._held())

    def _held(self) -> Provenance:
        brought = brought_by(self.before())
        if brought - self.standing:
            return Provenance.FOREIGN
        return max(self.words(), Provenance.RETOLD if brought else Provenance.OWN)


OPERATOR_REFUSES: Final = "an operator does not let {tool} be used for this person here: tell them, and go on"
UNREADABLE: Final = (
    "the person must be shown the whole call before it runs, and {chars} characters are more than anybody reads "
    "({most} at most): make it shorter, or do it in parts"
)
