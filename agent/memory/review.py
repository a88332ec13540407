"""Which entries of the memory somebody should look at again: unused and overruled ones. Pure.

Authority, from what the platform reports and never from what a text says
  A policy outranks what people told the bot, unless they had a higher role than its author when they said it.
  Among policies and among people, the roles decide: an administrator, which operators are, stands above a manager.
  About a person, nobody has more authority than that person: no policy overrules an entry of a profile.
  A document has no authority: nobody knows whose words it holds.

Rules
  An entry is in use while turns show it to a model. Its `used` may be up to MARKED_EVERY older than the last such turn.
  A person is offered their own entries, and the managers of a place its policies.
  An entry that was kept is not offered again before UNUSED is over, whatever speaks against it.
  A person's entry that is marked as possibly outdated waits for another decision, and is not offered.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from agent.memory.audience import PersonAudience, TeamAudience, audience_of
from agent.memory.facts import Fact, same_key
from agent.memory.layers import Remembered
from agent.memory.profile import ProfileEntry
from agent.memory.supersession import overrules

# Half a year, and the days by which `used` may be too old: whatever is offered was certainly unused for that long.
MARKED_EVERY: Final = timedelta(days=1)
UNUSED: Final = timedelta(days=183) + MARKED_EVERY
MAX_OFFERED: Final = 3  # At once: more would be a chore
MAX_COMPARED: Final = 500  # Facts, the newest, with up to 50 policies: half a second if none was read before


@dataclass(frozen=True, slots=True)
class Review:
    """An entry to look at again. `by`: the newer policy that overrules it; None if it was unused since `since`."""

    item: Remembered
    since: datetime
    by: Fact | None = None


def written(item: Remembered) -> datetime:
    return item.time if isinstance(item, ProfileEntry) else item.timestamp


def last_used(item: Remembered) -> datetime:
    """Return when an entry was last of use: in a context, or when it was said."""
    return written(item) if item.used is None else max(item.used, written(item))


def to_mark(entries: Iterable[ProfileEntry], now: datetime) -> tuple[int, ...]:
    """Return the ids of those entries in a context whose `used` has to be stored: each at most once in MARKED_EVERY."""
    return tuple(entry.id for entry in entries if entry.used is None or now - entry.used >= MARKED_EVERY)


def due_reviews(
    items: Sequence[Remembered], policies: Sequence[Fact], now: datetime, limit: int = MAX_OFFERED
) -> list[Review]:
    """Return up to `limit` reviews that are due: overruled entries first, then those that were unused for longest.

    `items`: a person's valid entries, or the policies of a place; `policies`: the valid ones of the places where these
    may be shown.
    """
    doubted_by = {item.id for item in items if isinstance(item, Fact)}
    open_items = [
        item
        for item in items
        if (item.kept is None or now - item.kept >= UNUSED)
        and (isinstance(item, ProfileEntry) or not item.person or item.doubted_by not in doubted_by)
    ]
    overruled = list[Review]()
    newest_first = sorted(policies, key=written, reverse=True)
    for item in sorted(open_items, key=written)[-MAX_COMPARED:] if newest_first else ():
        if len(overruled) < limit and (policy := _overruling(item, newest_first)) is not None:
            overruled.append(Review(item, policy.timestamp, policy))
    offered = {(type(review.item), review.item.id) for review in overruled}
    unused = [
        Review(item, last_used(item))
        for item in sorted(open_items, key=last_used)
        if now - last_used(item) >= UNUSED and (type(item), item.id) not in offered
    ]
    return [*overruled, *unused][:limit]


def _overruling(item: Remembered, policies: Sequence[Fact]) -> Fact | None:
    """Return the first of the policies that overrules an entry, and is newer."""
    if isinstance(item, ProfileEntry):
        return None
    return next((policy for policy in policies if _overrules(policy, item)), None)


def _overrules(policy: Fact, fact: Fact) -> bool:
    # A policy binds, also those who have the role of its author. Another policy gives way to a higher role alone.
    has_authority = policy.authority > fact.authority or (bool(fact.person) and policy.authority == fact.authority)
    if policy.timestamp <= fact.timestamp or not has_authority or not _applies(policy, fact):
        return False
    has_key = same_key(policy.key, fact.key)
    # Two sets are compared before two statements: there may be thousands of facts.
    if not (has_key or policy.content & fact.content):
        return False
    return overrules(policy.statement, fact.statement, same_key=has_key)


def _applies(policy: Fact, fact: Fact) -> bool:
    """Return whether a policy and a fact may meet in a context that is not only its person's: see `may_flow`."""
    return (
        policy.audience == fact.audience
        or isinstance(audience_of(policy.audience), TeamAudience)
        or isinstance(audience_of(fact.audience), PersonAudience)
    )
