"""Taking a fact out: what falls with it, and what its chain becomes. Pure.

Above: the store. Below: `agent.memory.facts`.

Rules
  What was derived from a fact falls with it, however far away: nobody can say which of its words came from
  which.
  A chain closes over a gap. What was superseded by nothing but facts that are gone holds again, as if those had never
  been written.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from agent.memory.facts import Fact


def fallen(facts: Iterable[Fact], gone: Collection[str]) -> frozenset[str]:
    """The ids of all facts that fall when those of `gone` do."""
    known = {fact.id: fact for fact in facts}
    found = set[str]()
    waiting = [id_ for id_ in gone if id_ in known]
    while waiting:
        id_ = waiting.pop()
        if id_ not in found:
            found.add(id_)
            waiting += [derived for derived in known[id_].derived_facts if derived in known]
    return frozenset(found)


def removed(facts: Sequence[Fact], gone: Collection[str]) -> tuple[Fact, ...]:
    """The facts without those of `gone` and without what falls with them."""
    known = {fact.id: fact for fact in facts}
    out = fallen(facts, gone)
    return tuple(_closed(fact, known, out) for fact in facts if fact.id not in out)


def _closed(fact: Fact, known: Mapping[str, Fact], out: Collection[str]) -> Fact:
    """A fact that stays, with its links led past what goes."""
    after = _beyond(known, out, fact.superseded_by, forwards=True)
    holds_again = not fact.is_valid and fact.superseded_by in out and after is None
    return replace(
        fact,
        is_valid=fact.is_valid or holds_again,
        superseded_by=after,
        supersedes=_beyond(known, out, fact.supersedes, forwards=False),
        depends_on=tuple(id_ for id_ in fact.depends_on if id_ not in out),
        derived_facts=tuple(id_ for id_ in fact.derived_facts if id_ not in out),
    )


def _beyond(known: Mapping[str, Fact], out: Collection[str], id_: str | None, *, forwards: bool) -> str | None:
    """The next fact of a chain that stays; a broken link or a cycle leads nowhere."""
    seen = set[str]()
    while id_ in out and id_ is not None and id_ not in seen:
        seen.add(id_)
        id_ = known[id_].superseded_by if forwards else known[id_].supersedes
    return None if id_ in out else id_
