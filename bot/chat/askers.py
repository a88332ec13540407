"""Who asks, and where."""

from dataclasses import dataclass

from agent.admission_terms import Authority
from agent.memory.audience import Place
from agent.records import Person


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person who looks at what the bot remembers about them. `place`: a place where only they can read the answer.
    `channel`: the platform's id of the channel where they ask. `manages`: whether they may decide for everyone there.
    """

    person: Person
    place: Place
    channel: str = ""
    manages: bool = False


@dataclass(frozen=True, slots=True)
class PolicyAsker:
    """A person who reads or sets a place's policies. `authority`: the one they have there at this moment."""

    person: Person
    authority: Authority
    place: Place


@dataclass(frozen=True, slots=True)
class Forgetter:
    """A person who asks to forget something. `thread`: what "this thread" means there, if they are in one."""

    person: str
    thread: frozenset[str] = frozenset()
    time_zone: str = ""
