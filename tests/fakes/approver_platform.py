"""A platform on which people have ranks, read places and get direct messages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from agent.admission_terms import Authority
from agent.approvers import CHANNEL_MANAGER, Approvers
from agent.errors import CogencyError
from agent.incoming import Incoming, Person
from bot.chat.approvers import Approver
from bot.chat.panels import Panel
from bot.chat.reply.surface import PageGone, PageUnsent


class NoAnswer(CogencyError):
    """The platform does not answer."""


@dataclass
class FakeApproverPlatform:
    """`ranks`: of everyone whom it knows. `readers`: who reads the place of the questions. `closed`: who gets no direct
    messages. `shown`: the messages that exist, by their pages, each with its person. `dies`: it sends once more, and
    then the process is killed. `is_down`: it does not answer; `unknown_roles`: not about roles;
    `fails_to_update`: it changes no message.
    """

    ranks: dict[str, Authority]
    readers: set[str] = field(default_factory=set[str])
    closed: set[str] = field(default_factory=set[str])
    shown: dict[str, tuple[str, Panel]] = field(default_factory=dict[str, tuple[str, Panel]])
    dies: bool = False
    is_down: bool = False
    unknown_roles: bool = False
    fails_to_update: bool = False
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    async def candidates(self, rule: Approvers, question: Incoming) -> Sequence[str]:  # noqa: ARG002 -- one place
        if rule.role and self.unknown_roles:
            raise NoAnswer("no such role")
        return [*self.ranks]

    async def approver(self, person: str, rule: Approvers, question: Incoming) -> Approver | None:  # noqa: ARG002 -- one place
        if self.is_down or (rule.role and self.unknown_roles):
            raise NoAnswer("no answer")
        if person not in self.ranks or (rule.person and rule.person != person):
            return None
        reads = person in self.readers
        lowest = Authority.MANAGER if rule.who == CHANNEL_MANAGER else rule.rank
        if lowest is not None and self.ranks[person] < lowest:
            return None
        return Approver(Person(person, person.title()), reads) if reads or rule.who != CHANNEL_MANAGER else None

    async def send(self, person: str, panel: Panel) -> tuple[str, ...]:
        if person in self.closed:
            raise PageGone("no direct messages")
        page = f"dm-{person}/{next(self._numbers)}"
        self.shown[page] = person, panel
        if self.dies:
            self.dies = False
            raise PageUnsent("killed")
        return (page,)

    async def find(self, person: str, words: str) -> tuple[str, ...]:
        pages = [page for page, (whose, panel) in self.shown.items() if whose == person and _has(panel, words)]
        return tuple(pages[-1:])

    async def update(self, page: str, text: str) -> None:
        if self.fails_to_update:
            raise PageUnsent("no answer")
        if page in self.shown:
            self.shown[page] = self.shown[page][0], Panel(text)


def _has(panel: Panel, words: str) -> bool:
    return any(action.words == words for action in panel.actions)
