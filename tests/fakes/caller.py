"""The user of a command and the place: one person in their direct messages, unless the test says otherwise."""

from dataclasses import dataclass, field, replace

from agent.admission_terms import Authority
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.ports.tools import Asker
from bot.chat.askers import Requester
from bot.chat.commands.declaration import Stoppable
from bot.chat.panels import PanelPart, PanelSelect

ANN = Person("slack:T1:U1", "Ann")


@dataclass(frozen=True)
class FakeCaller:
    """Implements `Caller`. `conversations`: what "stop" and "this thread" refer to; `began`: the conversations begun;
    `zone`: the chosen time zone.
    """

    person: Person = ANN
    channel: str = ""
    place: Place = field(default_factory=lambda: Place(PersonAudience(ANN.id)))
    authority: Authority = Authority.EMPLOYEE
    conversations: frozenset[str] = frozenset()
    entry_chars: int | None = None
    zone: list[str] = field(default_factory=list[str])
    began: list[str] = field(default_factory=list[str])
    announced: list[str] = field(default_factory=list[str])

    async def requester(self) -> Requester:
        return Requester(self.person.id, self.channel)

    async def policy_asker(self) -> Asker:
        return Asker(self.person, self.place, self.channel, self.authority)

    async def asker(self) -> Asker:
        return Asker(self.person, self.place, self.channel, self.authority, manages=self.authority >= Authority.MANAGER)

    async def private_asker(self) -> Asker:
        person = replace(self.person, time_zone="".join(self.zone) or self.person.time_zone)
        return replace(await self.asker(), person=person, thread=self.conversations)

    async def ask_zone(self, words: str) -> PanelPart | None:
        asks = PanelSelect("Your time zone", {"Europe/Berlin": "Berlin"}, words=words)
        return None if self.zone or self.person.time_zone else PanelPart("Where are you?", select=asks)

    async def keep_zone(self, zone: str) -> str:
        self.zone[:] = [zone]
        return ""

    @property
    def not_receiving(self) -> str:
        return ""

    @property
    def window_fields(self) -> int:
        return 5

    async def stoppable(self) -> Stoppable:
        return Stoppable(self.conversations)

    async def begin_conversation(self) -> str:
        self.began.append(f"c{len(self.began) + 1}")
        return "A new conversation."

    async def announce(self, markdown: str) -> None:
        self.announced.append(markdown)

    async def with_names(self, markdown: str) -> str:
        return markdown

    def help(self) -> str:
        return "- `/help`: this"
