"""The rules of `store.turns.claims` and `store.turns.ledger` over plain lists of turns."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from agent.admission_terms import BacklogFull, Closed, Rate, RateReached, Terms, TermsNotMet, Whose
from agent.records import Incoming

NEVER = datetime.min.replace(tzinfo=UTC)


class AnyTurn(Protocol):
    id: int
    incoming: Incoming
    state: str
    lease_until: datetime | None
    taken: datetime | None
    epoch: int


T = TypeVar("T", bound=AnyTurn)


def belated(turns: Sequence[T], joined: Container[int]) -> list[T]:
    """The turns of one conversation, in their order, the last of which was just taken in: those that change places."""
    *waiting, late = (turn for turn in turns if turn.state == "waiting" and turn.epoch == 0 and turn.id not in joined)
    return [*(turn for turn in waiting if turn.incoming.time > late.incoming.time), late]


def next_turn(
    turns: Iterable[AnyTurn],
    served: Mapping[str, datetime],
    now: datetime,
    per_person: int | None,
    sources: frozenset[str] | None,
) -> int | None:
    """The id of the turn to be claimed; `turns` in the order of their ids."""
    running = [turn for turn in turns if turn.state == "running"]
    lost = [
        turn.id for turn in running if turn.lease_until is not None and turn.lease_until <= now and _from(turn, sources)
    ]
    if lost:
        return lost[0]
    busy = {turn.incoming.conversation for turn in running}
    of_each = Counter(turn.incoming.person.id for turn in running)
    free: list[tuple[int, datetime, int]] = []
    for turn in turns:
        person, conversation = turn.incoming.person.id, turn.incoming.conversation
        if turn.state != "waiting" or conversation in busy:
            continue
        busy.add(conversation)
        if (per_person is None or of_each[person] < per_person) and _from(turn, sources):
            free.append((of_each[person], served.get(person, NEVER), turn.id))
    return min(free)[2] if free else None


def _from(turn: AnyTurn, sources: frozenset[str] | None) -> bool:
    return sources is None or turn.incoming.source in sources


def check(turns: Sequence[AnyTurn], incoming: Incoming, terms: Terms) -> None:
    """Raises TermsNotMet."""
    if terms.closed:
        raise TermsNotMet(Closed())
    for rate in terms.rates:
        taken = sorted(_counting(turns, rate, incoming, terms.now), reverse=True)
        if len(taken) >= rate.limit:
            raise TermsNotMet(RateReached(rate, taken[rate.limit - 1] + rate.within))
    waiting = sum(turn.state == "waiting" for turn in turns)
    if terms.backlog is not None and waiting >= terms.backlog:
        raise TermsNotMet(BacklogFull(terms.backlog))


def _counting(turns: Iterable[AnyTurn], rate: Rate, incoming: Incoming, now: datetime) -> Iterable[datetime]:
    for turn in turns:
        same = {
            Whose.PERSON: turn.incoming.person.id == incoming.person.id,
            Whose.CHANNEL: turn.incoming.channel == incoming.channel,
            Whose.EVERYONE: True,
        }
        if turn.taken is not None and turn.taken > now - rate.within and same[rate.whose]:
            yield turn.taken
