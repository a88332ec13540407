"""Policies, the facts that bind everybody in a place: showing, setting and removing them with `/policy`."""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Final, TypeAlias, assert_never

from agent.admission_terms import Authority
from agent.memory.audience import Place, label
from agent.memory.facts import ConstraintType, Fact, MemoryType
from agent.memory.review import Review, due_reviews
from agent.memory.secrets import has_secret
from agent.memory.writing import POLICY_AUTHORITY, NewFact, Refusal, WriteRefused
from agent.ports.clock import Clock
from agent.ports.memory import Facts
from agent.ports.tools import Asker
from bot.chat.audiences import flowing
from bot.chat.panels import Panel, PanelAction, PanelPart
from bot.chat.texts.formatting import literal, zone_of
from bot.memory import texts as memory_texts
from bot.memory.listing import why_reviewed

# The requests of `/policy`, parsed from the words after it; the same on every platform. Pure.
#
# The words: nothing or "list"; "history"; "set budget: at most 5,000 EUR a month" (without a colon the policy has no
# name, and replaces no other one); "remove 3", with the number that the list shows.

MAX_NAME_CHARS: Final = 80
MAX_CHARS: Final = 500  # Policies are part of every context of their place
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ShowPolicies:
    past: bool = False


@dataclass(frozen=True, slots=True)
class SetPolicy:
    """`name` may be ""."""

    name: str
    text: str
    kind: ConstraintType = ConstraintType.POLICY


@dataclass(frozen=True, slots=True)
class RemovePolicy:
    number: str


@dataclass(frozen=True, slots=True)
class KeepPolicy:
    """A policy that was offered for review still holds."""

    number: str


@dataclass(frozen=True, slots=True)
class UnclearPolicy:
    sentence: str


Request: TypeAlias = ShowPolicies | SetPolicy | RemovePolicy | KeepPolicy | UnclearPolicy


def read_policy_request(words: str) -> Request:
    """Return the request in the words after `/policy`; `UnclearPolicy`, with one sentence, for anything else."""
    text = " ".join(words.split())
    word, _, rest = text.partition(" ")
    match word.casefold():
        case "" | "list" | "show" if not rest:
            return ShowPolicies()
        case "history" if not rest:
            return ShowPolicies(past=True)
        case "set" if rest:
            return _set(rest)
        case "remove" | "delete" if (number := _NUMBER.fullmatch(rest)) is not None:
            return RemovePolicy(number[1])
        case "keep" if (number := _NUMBER.fullmatch(rest)) is not None:
            return KeepPolicy(number[1])
        case _:
            return UnclearPolicy(memory_texts.POLICY_USAGE)


def _set(rest: str) -> Request:
    name, colon, text = (part.strip() for part in rest.partition(": "))
    if not colon:
        name, text = "", rest.strip()
    # One ASCII word is a name without a text; in many other scripts a whole rule has no blank.
    is_name_alone = not colon and text.isascii() and " " not in text
    if not text or text == ":" or text.endswith(":") or is_name_alone:
        return UnclearPolicy(memory_texts.POLICY_USAGE)
    if len(name) > MAX_NAME_CHARS or len(text) > MAX_CHARS:
        return UnclearPolicy(memory_texts.POLICY_TOO_LONG.format(limit=MAX_CHARS, name_limit=MAX_NAME_CHARS))
    return SetPolicy(name, text, _kind(name))


def _kind(name: str) -> ConstraintType:
    """Return the kind that a policy's name mentions: "travel budget", "deadline of Apollo"."""
    words = _WORD.findall(name.casefold())
    return next((kind for kind in ConstraintType if kind.value in words), ConstraintType.POLICY)


_NUMBER: Final = re.compile(r"#?(\d{1,12})", re.ASCII)

SOURCE: Final = "policy"
MOST: Final = 50  # Policies of one place: all of them have to fit into every context
NOT_A_MANAGER: Final = str(Refusal.NOT_A_MANAGER)


@dataclass(frozen=True, slots=True)
class PolicyService:
    """Answers `/policy`.

    Rules
      Everybody sees the policies that apply where they ask. Managers and above set and remove them; others are refused
      with one sentence. Authority is what the platform reports at this moment, never what a person claims.
      A policy belongs to the place where it is set: to the whole team in a public channel, else to that channel. It is
      removed where it was set. It belongs to no person, and its author's name is not stored.
      Those who may remove policies are shown which of them may be out of date (`agent.memory.review`).
      Replaced and removed policies stay in the history.
    """

    facts: Facts
    clock: Clock
    audiences: Callable[[Place], Awaitable[frozenset[str]]] = flowing
    """Returns the labels of the audiences that may be shown at a place."""
    operates: Callable[[str], bool] = lambda _: False
    """Returns whether this person is an operator, whose authority is the highest everywhere."""
    numbered: bool = False
    """Whether policies are decided about by their numbers, because there are no buttons."""

    async def answer(self, asker: Asker, words: str) -> Panel:
        """Return the answer to `/policy` with these words, for the asker alone. Raises StoreError."""
        if self.operates(asker.person.id):
            asker = replace(asker, authority=Authority.ADMIN)
        request = read_policy_request(words)
        match request:
            case ShowPolicies(past):
                return await self._show(asker, past=past)
            case UnclearPolicy(sentence):
                return Panel(sentence, refused=True)
            case SetPolicy() | RemovePolicy() | KeepPolicy() if asker.authority < POLICY_AUTHORITY:
                return Panel(NOT_A_MANAGER, refused=True)
            case SetPolicy(name, text, kind):
                return await self._set(asker, name, text, kind)
            case RemovePolicy(number):
                return await self._remove(asker, number)
            case KeepPolicy(number):
                return await self._keep(asker, number)
            case _:
                assert_never(request)

    async def _show(self, asker: Asker, notice: str = "", *, past: bool = False) -> Panel:
        policies = [fact for fact in await self._all(asker) if past or fact.is_valid]
        zone = zone_of(asker.person.time_zone)
        lines = [_line(fact, policies, zone) for fact in policies if fact.value]
        heading = memory_texts.POLICY_HISTORY if past else memory_texts.POLICY_HEADING
        if not lines:
            heading = memory_texts.NO_POLICY
        text = "\n\n".join(filter(None, [notice, heading, "\n".join(lines)]))
        return Panel(text, parts=() if past else self._reviews(asker, policies))

    def _reviews(self, asker: Asker, policies: Sequence[Fact]) -> tuple[PanelPart, ...]:
        """Return what may be out of date, for those who may remove it here."""
        if asker.authority < POLICY_AUTHORITY:
            return ()
        here = [fact for fact in policies if fact.audience == label(asker.place.audience)]
        reviews, zone = due_reviews(here, policies, self.clock.now()), zone_of(asker.person.time_zone)
        if not reviews:
            return ()
        heading = memory_texts.POLICIES_TO_REVIEW_BY_NUMBER if self.numbered else memory_texts.POLICIES_TO_REVIEW
        return (PanelPart(heading), *(self._review(review, zone) for review in reviews))

    def _review(self, review: Review, zone: tzinfo) -> PanelPart:
        id_ = review.item.id
        keep = PanelAction(memory_texts.KEEP, f"keep {id_}")
        remove = PanelAction(memory_texts.REMOVE, f"remove {id_}", danger=True)
        text = f"**{id_}** {literal(review.item.text)}{why_reviewed(review, zone)}"
        return PanelPart(text, () if self.numbered else (keep, remove))

    async def _set(self, asker: Asker, name: str, text: str, kind: ConstraintType) -> Panel:
        if has_secret(f"{name}: {text}"):
            return Panel(memory_texts.NO_SECRETS, refused=True)
        audience = label(asker.place.audience)
        if sum(fact.is_valid and fact.audience == audience for fact in await self._all(asker)) >= MOST:
            return Panel(memory_texts.POLICIES_FULL.format(limit=MOST), refused=True)
        outcome = await self.facts.write(self._new_fact(asker, name, text, kind))
        if isinstance(outcome, WriteRefused):
            return Panel(str(outcome.why), refused=True)
        replaced = "; ".join(literal(fact.text) for fact in outcome.superseded)
        sentence = memory_texts.POLICY_REPLACED.format(replaced=replaced) if replaced else memory_texts.POLICY_SET
        return await self._show(asker, sentence)

    async def _remove(self, asker: Asker, number: str) -> Panel:
        outcome = await self.facts.retract(number, self._new_fact(asker, "", "", ConstraintType.POLICY))
        if outcome is None:
            return Panel(memory_texts.NO_POLICY_NUMBER.format(number=number), refused=True)
        if isinstance(outcome, WriteRefused):
            return Panel(str(outcome.why), refused=True)
        return await self._show(asker, memory_texts.POLICY_REMOVED)

    async def _keep(self, asker: Asker, number: str) -> Panel:
        here = [fact for fact in await self._all(asker) if fact.audience == label(asker.place.audience)]
        known = any(fact.id == number and fact.is_valid for fact in here)
        if not (known and await self.facts.keep("", number, self.clock.now())):
            return Panel(memory_texts.NO_POLICY_NUMBER.format(number=number), refused=True)
        return await self._show(asker, memory_texts.POLICY_KEPT)

    async def _all(self, asker: Asker) -> list[Fact]:
        return await self.facts.readable("", await self.audiences(asker.place))

    def _new_fact(self, asker: Asker, name: str, text: str, kind: ConstraintType) -> NewFact:
        return NewFact(
            id="",
            key=name,
            value=text,
            source=SOURCE,
            timestamp=self.clock.now(),
            audience=label(asker.place.audience),
            authority=asker.authority,
            memory_type=MemoryType.ORGANIZATIONAL,
            is_constraint=True,
            constraint_type=kind,
        )


def _line(fact: Fact, policies: Sequence[Fact], zone: tzinfo) -> str:
    """Return a policy's line. Its number is its id, which never changes, as text: Markdown renumbers lists."""
    successor = next((other for other in policies if other.id == fact.superseded_by), None)
    end = ""
    if successor is not None:
        change = "replaced" if successor.value else "removed"
        end = f"; {change} {_when(successor, zone)}"
    return f"- **{fact.id}** {literal(fact.text)} (set {_when(fact, zone)}{end})"


def _when(fact: Fact, zone: tzinfo) -> str:
    by = {Authority.ADMIN: "an administrator", Authority.MANAGER: "a manager"}.get(fact.authority, "somebody")
    return f"{fact.timestamp.astimezone(zone).date().isoformat()} by {by}"
