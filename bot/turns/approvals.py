"""What may run for whom: the policy of turns, and `/tools`, by which people decide about calls that wait for them.

Rules
  A turn that needs its asker's word waits in the ledger, a day at most, and goes on in whichever process takes it up.
  Only the asker decides, about one call after the other, each shown whole; a word counts for that very call.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Final

from agent.messages import Consent, Provenance
from agent.ports import Asker, Clock, Consents, Tool, ToolEffect
from agent.progress import Progress, addresses_in
from agent.protocol.render import joined
from agent.records import Claim, ConsentOutcome, Undecided
from agent.tool_policy import CallGate, PolicyAnswer, PolicyRow, decide, shown_arguments
from agent.tools.registry import Registry, Toolbox
from agent.turn import ConsentDecided, Turn, TurnLimits
from bot.host import ToolsAnswer
from bot.texts import tool_texts
from bot.texts.formatting import as_code, counted, literal, shortened
from bot.turns.policy_table import PolicyTable

CONSENT_TIME: Final = timedelta(days=1)
"""Who has not looked for a day has forgotten what they asked for."""


def wait_until(progress: Progress, now: datetime) -> datetime:
    """When it is too late for a word about the newest calls."""
    return (progress.steps[-1].time or now) + CONSENT_TIME


@dataclass(slots=True, eq=False)
class ApprovalPolicy:
    """Implements `ToolPolicy`."""

    consents: Consents
    clock: Clock
    table: PolicyTable
    rows: Sequence[PolicyRow] = field(init=False)
    """The table's own list, which changes with it."""

    def __post_init__(self) -> None:
        self.rows = self.table.rows

    def offers(self, tool: Tool, asker: Asker) -> bool:
        return decide(self.rows, tool.name, tool.effect, asker, Provenance.OWN).answer is not PolicyAnswer.NO

    async def turn(
        self,
        claim: Claim,
        asker: Asker,
        tools: Registry,
        limits: TurnLimits,
        progress: Progress,
        words: Callable[[], Provenance],
        texts: Callable[[], Sequence[str]] = tuple,
    ) -> tuple[Turn, CallGate]:
        """The claimed turn, with what its asker has said meanwhile of the calls that it waits for, and what decides
        about its calls. Raises StoreError.

        `words`: whose words its context holds, and `texts` which; known before its first call.
        """
        standing = await self.consents.standing(claim.incoming.conversation, asker.person.id)

        def effect_of(name: str) -> ToolEffect:
            return tools.get(name).effect

        rows = tuple(self.rows)
        held = (words, lambda: turn.progress, texts, tools.sends)
        gate = CallGate(rows, tools.check, effect_of, asker, standing, *held)
        turn = Turn(gate.check, tools.repeatable, limits, progress, gate.needs_consent)
        for decided in await self._decided(claim, progress):
            turn.receive(decided)
        return turn, gate

    async def _decided(self, claim: Claim, progress: Progress) -> list[ConsentDecided]:
        """No word in time is a no."""
        awaited = progress.awaited
        if not awaited:
            return []
        said, now = await self.consents.decided(claim.turn), self.clock.now()
        late = now >= wait_until(progress, now)
        words = {key: said.get(key, Consent.EXPIRED if late else Consent.AWAITED) for key in awaited}
        return [
            ConsentDecided(key.partition("-")[0], word) for key, word in words.items() if word is not Consent.AWAITED
        ]


# What `/tools` says, and does. A call that waits comes first, in full; what may be used stands below.

DECISIONS: Final[Mapping[str, tuple[Consent, bool]]] = {
    "allow": (Consent.GIVEN, False),
    "always": (Consent.GIVEN, True),
    "refuse": (Consent.REFUSED, False),
}
"""The words that decide about a call, whose name follows: "allow 12.2.1-3f09…"; and whether they stand."""
FORMS: Final = {"policy": "policy", "sign": "sign in SERVER"}
"""What may be written behind `/tools`, by its first word."""
TURN_DIGITS: Final = 9
"""Of a number that every database takes."""
DESCRIPTION_CHARS: Final = 120
MAX_LISTED: Final = 40
"""Tools: more fill a message that nobody reads."""
ASKED_CHARS: Final = 200
INLINE_CHARS: Final = 100


@dataclass(frozen=True, slots=True)
class ToolsDesk:
    """`prepare`: as of `AgentConfig`. `wake`: a turn that waited may go on now. `away`: servers that are not connected,
    with the reason.
    """

    toolbox: Toolbox
    policy: ApprovalPolicy
    clock: Clock
    wake: Callable[[], None]
    prepare: Callable[[Asker], Awaitable[None]] | None = None
    away: Callable[[], Mapping[str, str]] = dict

    async def answer(self, asker: Asker, words: str, *, operates: bool = False) -> ToolsAnswer:
        """What `/tools` with these words says to this person there, for them alone. `operates`: whether they are an
        operator. Raises StoreError.
        """
        if self.prepare is not None:
            await self.prepare(asker)
        match " ".join(words.split()).split(" ", 1):
            case [word, name] if (word := word.lower()) in DECISIONS:
                outcome = await self._decide(asker.person.id, word, name)
                kept = outcome in (ConsentOutcome.GOES_ON, ConsentOutcome.KEPT)
                said = tool_texts.DECIDED[word] if kept else tool_texts.NOT_DECIDED[outcome.name]
                waiting = await self.policy.consents.undecided(asker.person.id)
                return self._question(asker, waiting, said) if waiting else ToolsAnswer(said, refused=not kept)
            case ["waiting", turn]:
                waiting = await self.policy.consents.undecided(asker.person.id)
                waiting = [one for one in waiting if str(one.turn) == turn]
                return self._question(asker, waiting) if waiting else ToolsAnswer(tool_texts.NOTHING_WAITS)
            case [word, *rest] if word.lower() == "policy":
                names = [tool.name for tool in self.toolbox.all(asker)]
                return await self.policy.table.answer(asker, " ".join(rest), names, operates=operates)
            case [""]:
                waiting = await self.policy.consents.undecided(asker.person.id)
                return (
                    self._question(asker, waiting) if waiting else ToolsAnswer(self._listed(asker, operates=operates))
                )
            case asked:
                near = get_close_matches(asked[0].lower(), FORMS, n=1)
                meant = tool_texts.TOOLS_MEANT.format(words=FORMS[near[0]]) if near else ""
                return ToolsAnswer(joined([meant, tool_texts.TOOLS_USAGE]), refused=True)

    async def _decide(self, person: str, word: str, name: str) -> ConsentOutcome:
        turn, _, key = name.partition(".")
        if not (turn.isascii() and turn.isdecimal() and len(turn) <= TURN_DIGITS):
            return ConsentOutcome.OVER
        consent, standing = DECISIONS[word]
        now = self.clock.now()
        outcome = await self.policy.consents.decide(int(turn), key, person, consent, now, standing=standing)
        if outcome is ConsentOutcome.GOES_ON:
            self.wake()
        return outcome

    def _question(self, asker: Asker, waiting: Sequence[Undecided], said: str = "") -> ToolsAnswer:
        """About the oldest that waits, whole."""
        first, *others = waiting
        effect = next((tool.effect for tool in self.toolbox.all(asker) if tool.name == first.call.name), None)
        more = tool_texts.MORE_WAIT.format(calls=counted(len(others), "more call waits", "more calls wait"))
        text = joined([said, question_text(first, effect), more if others else ""])
        may_stand = effect is not None and effect is not ToolEffect.IRREVERSIBLE
        return ToolsAnswer(text, f"{first.turn}.{first.key}", may_stand=may_stand)

    def _listed(self, asker: Asker, *, operates: bool) -> str:
        """What is there for them here, and why something is not."""
        tools, here, refused = self.toolbox.all(asker), list[str](), list[str]()
        for tool in tools:
            decision = decide(self.policy.rows, tool.name, tool.effect, asker, Provenance.OWN)
            if decision.answer is PolicyAnswer.NO:
                why = tool_texts.REFUSED_BY.format(row=decision.row) if operates else ""
                refused.append(f"- `{tool.name}`{why}")
                continue
            how = tool_texts.TOOL_ANSWERS[decision.answer]
            how = tool_texts.ASKED_EACH_TIME if decision.every_time else how
            here.append(f"- `{tool.name}` (*{how}*): {literal(shortened(tool.description, DESCRIPTION_CHARS))}")
        lines = [tool_texts.TOOLS_HERE if here else tool_texts.NO_TOOLS_HERE, "", *_most(here)]
        lines += ["", tool_texts.TOOLS_REFUSED, "", *_most(refused)] if refused else []
        if absent := self._absent(asker):
            lines += ["", tool_texts.SERVERS_AWAY, "", *_most(absent)]
            lines += ["", tool_texts.AWAY_HOW] if operates else []
        return "\n".join([*lines, "", tool_texts.POLICY_OFFER] if operates else lines)

    def _absent(self, asker: Asker) -> list[str]:
        """Without those of which they may use nothing anyway."""
        return [
            f"- `{server}`: {why}"
            for server, why in self.away().items()
            if decide(self.policy.rows, f"{server}.", ToolEffect.READS, asker, Provenance.OWN).answer
            is not PolicyAnswer.NO
        ]


def _most(lines: Sequence[str]) -> Sequence[str]:
    more = len(lines) - MAX_LISTED
    rest = [tool_texts.MORE_TOOLS.format(tools=counted(more, "more tool", "more tools"))] if more > 0 else []
    return [*lines[:MAX_LISTED], *rest]


def question_text(waiting: Undecided, effect: ToolEffect | None) -> str:
    """What would happen, in words, with every character of its arguments."""
    about = tool_texts.EFFECTS["" if effect is None else effect.name]
    if effect is ToolEffect.READS and addresses_in(waiting.call):
        about = f"{about} {tool_texts.ADDRESS_LEAVES}"
    asked = tool_texts.WAITS_BELOW.format(question=literal(shortened(waiting.asked, ASKED_CHARS)))
    given = [_argument(name, shown) for name, shown in shown_arguments(waiting.call)]
    head = tool_texts.MAY_RUN.format(tool=waiting.call.name, about=about)
    return "\n".join([head, "", *(given or [tool_texts.NO_ARGUMENTS]), "", asked])


def _argument(name: str, shown: str) -> str:
    if "\n" in shown or "`" in shown or len(shown) > INLINE_CHARS or not shown.strip():
        return f"**{literal(name)}**:\n{as_code(shown)}"
    return f"**{literal(name)}**: `{shown}`"
