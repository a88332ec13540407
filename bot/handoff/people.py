"""The people of a place who take over from the bot: who they are, and whether one of them may now.

Rules
  A channel's managers choose them (`/channel human`); the operator's setting holds in direct messages, and where they
  have chosen nobody.
  Who is one of them is asked of the platform each time: before they are written, and when they press a button. Unknown
  is no. Only those who can read the conversation now are asked, except about what only its asker reads: then they get
  what the asker has agreed to.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from agent.approvers import CHANNEL_MANAGER, PERSON_ID, ROLE, Approvers
from agent.errors import CogencyError
from agent.handoffs import MAX_PEOPLE
from agent.incoming import Incoming
from agent.memory.audience import PersonAudience
from agent.ports.preferences import Preferences
from bot.chat.access.acl import AccessKind, Entries
from bot.chat.access.place_rules import HUMAN, MANAGERS, OFF, rules_at
from bot.chat.approvers import Approver, ApproverPlatform

log = logging.getLogger(__name__)

MAX_CHECKED: Final = 25  # People of whom the platform is asked, each with a request or two, while a person waits
FIND_S: Final = 8.0  # For all of them together


class KnownPeople(Protocol):
    async def known_people(self, source: str, limit: int) -> Sequence[str]:
        """Return the ids of people of this source who have written to the bot, the latest first."""
        ...


@dataclass(frozen=True, slots=True)
class HandoffPeople:
    """`usual`: whom the operator has chosen. `platforms`: by the source of their messages; none at a terminal."""

    preferences: Preferences
    known: KnownPeople
    platforms: Mapping[str, ApproverPlatform]
    usual: Entries = frozenset()

    async def rules(self, source: str, channel: str) -> tuple[Approvers, ...]:
        """Return who takes over there; () for nobody. Raises StoreError."""
        if source not in self.platforms:
            return ()
        chosen = (await rules_at(self.preferences, source, channel)).text(HUMAN)
        if chosen == OFF:
            return ()
        named = chosen.split() or sorted(f"{entry.kind}:{entry.id}" for entry in self.usual)
        found = (_rule(source, entry) for entry in named)
        return tuple(dict.fromkeys(rule for rule in found if rule is not None))

    async def check(self, person: str, question: Incoming) -> Approver | None:
        """Return the person if they may take the conversation of this question over now. Raises CogencyError if that is
        not known now.
        """
        platform = self.platforms.get(question.source)
        if platform is None:
            return None
        return await _meets(platform, await self.rules(question.source, question.channel), person, question)

    async def find(self, question: Incoming, without: str) -> Sequence[Approver]:
        """Return those who can be asked now, as many as are known in time. Raises CogencyError if none is known now."""
        platform = self.platforms.get(question.source)
        rules = await self.rules(question.source, question.channel)
        if platform is None or not rules:
            return ()
        known: Sequence[str] = ()
        if not all(rule.person for rule in rules):
            known = await self.known.known_people(question.source, MAX_CHECKED)
        search = _Search(platform, rules, question)
        try:
            async with asyncio.timeout(FIND_S):
                named = [rule.person for rule in rules if rule.person]
                people = dict.fromkeys([*named, *await search.candidates(), *known])
                await search.check([person for person in people if person != without][:MAX_CHECKED])
        except TimeoutError as error:
            search.unknown.append(error)
        for error in search.unknown:
            log.warning("not everyone who can take over could be found: %r", error)
        if search.unknown and not search.found:
            raise PeopleUnknown
        return search.found


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for people who can take over. `found`: those so far, who count if its time runs out. `unknown`: why
    others are not known.
    """

    platform: ApproverPlatform
    rules: Sequence[Approvers]
    question: Incoming
    found: list[Approver] = field(default_factory=list[Approver])
    unknown: list[CogencyError | TimeoutError] = field(default_factory=list[CogencyError | TimeoutError])

    async def candidates(self) -> list[str]:
        """Return the people whom the rules mean without naming them."""
        people = list[str]()
        for rule in self.rules:
            try:
                people += [] if rule.person else await self.platform.candidates(rule, self.question)
            except CogencyError as error:
                self.unknown.append(error)
        return people

    async def check(self, people: Sequence[str]) -> None:
        """Find those of these people who meet one of the rules, up to MAX_PEOPLE."""
        for person in people:
            try:
                approver = await _meets(self.platform, self.rules, person, self.question)
            except CogencyError as error:  # others may be known
                self.unknown.append(error)
                continue
            if approver is not None:
                self.found.append(approver)
            if len(self.found) == MAX_PEOPLE:
                return


async def _meets(
    platform: ApproverPlatform, rules: Sequence[Approvers], person: str, question: Incoming
) -> Approver | None:
    """Raises CogencyError if they meet none of the rules, and that is not known of all."""
    unknown: CogencyError | None = None
    for rule in rules:
        try:
            approver = await platform.approver(person, rule, question)
        except CogencyError as error:  # a role of another platform, such as from the operator's setting
            unknown = error
            continue
        if approver is not None and (approver.reads or is_private(question)):
            return approver
    if unknown is not None:
        raise unknown
    return None


class PeopleUnknown(CogencyError):
    """The platform does not say now who may take over."""


def is_private(question: Incoming) -> bool:
    """Return whether only the asker of this question reads its conversation."""
    return isinstance(question.place.audience, PersonAudience)


def _rule(source: str, entry: str) -> Approvers | None:
    """Return who is meant by an entry of the channel's rule, or of the setting; None for somebody of another source."""
    kind, _, id_ = entry.partition(":")
    if entry == MANAGERS:
        return Approvers(CHANNEL_MANAGER)
    if kind == AccessKind.ROLE:
        return Approvers(f"{ROLE}{id_}")
    person = id_ if ":" in id_ else f"{source}:{id_}"
    is_here = person.startswith(f"{source}:") and PERSON_ID.fullmatch(person) is not None
    return Approvers(person) if kind == AccessKind.PERSON and is_here else None
