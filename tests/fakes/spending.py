"""What model calls took, in memory: the port Spending, and what ending and forgetting a turn do to it."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from agent.messages import ModelCall
from agent.records import Incoming
from agent.spending import By, SpendingPeriod, Spent, Total


@dataclass(frozen=True)
class KeptCall:
    turn: int | None
    person: str
    channel: str
    day: date
    call: ModelCall
    kind: str = "turn"

    def key(self, by: By) -> str:
        match by:
            case By.PERSON:
                return self.person
            case By.CHANNEL:
                return self.channel
            case By.DAY:
                return self.day.isoformat()
            case By.MODEL:
                return self.call.model


@dataclass
class FakeSpending:
    """`names`: what each person is called."""

    kept: list[KeptCall] = field(default_factory=list[KeptCall])
    names: dict[str, str] = field(default_factory=dict[str, str])

    def record(self, turn: int, asked: Incoming, calls: Iterable[ModelCall], now: datetime) -> None:
        self.names[asked.person.id] = asked.person.name
        self.kept += [KeptCall(turn, asked.person.id, asked.channel, now.date(), call) for call in calls]
        self.detach((), now)

    def detach(self, turns: Collection[int], now: datetime) -> None:
        kept = [replace(one, turn=None) if one.turn in turns else one for one in self.kept]
        self.kept = [replace(one, channel="") if one.turn is None and one.day < now.date() else one for one in kept]

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime) -> None:
        self.kept += [KeptCall(None, person, "", now.date(), call, kind) for call in calls]

    async def totals(self, period: SpendingPeriod, by: By, *, person: str | None = None) -> list[Total]:
        found: dict[str, Spent] = {}
        for kept in self.kept:
            if period.first <= kept.day <= period.last and person in {None, kept.person}:
                found[kept.key(by)] = found.get(kept.key(by), Spent()) + Spent.on([kept.call])
        names = self.names if by is By.PERSON else {}
        return [Total(key, found[key], names.get(key, "")) for key in sorted(found)]
