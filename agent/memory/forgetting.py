"""What falls with what: the plan that `store.forgetting.erase` carries out. Pure.

Above: `agent.ports`, `bot.commands`, `store.forgetting.erase`. Below: nothing.

With several people in a thread, "this thread" erases the caller's messages, the replies to them, and what was
remembered from both. What others wrote stays theirs.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ForgettingPlan:
    """Erase what `person` said and what came of it: in one conversation, or (None) everywhere."""

    person: str
    conversation: str | None = None

    @property
    def everything(self) -> bool:
        return self.conversation is None


def forget_thread(person: str, conversation: str) -> ForgettingPlan:
    return ForgettingPlan(person, conversation)


def forget_everything(person: str) -> ForgettingPlan:
    return ForgettingPlan(person)


@dataclass(frozen=True, slots=True)
class EntriesPlan:
    """Erase these things that are known about `person`, by their ids. The messages that they came from stay."""

    person: str
    entries: frozenset[int] = frozenset()
    """Of the profile."""
    facts: frozenset[str] = frozenset()
    """With these fall the facts that were derived from them."""
