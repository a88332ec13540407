"""Who asks, and where."""

from dataclasses import dataclass

from agent.incoming import Incoming, person_source


@dataclass(frozen=True, slots=True)
class Requester:
    """A person who requests something, and where. `person`: their full id; the others as the platform writes them."""

    person: str
    channel: str = ""
    roles: frozenset[str] = frozenset()
    team: str = ""

    @property
    def source(self) -> str:
        """The source of the person's messages."""
        return person_source(self.person)

    @classmethod
    def wrote(cls, incoming: Incoming) -> "Requester":
        return cls(incoming.person.id, incoming.channel, incoming.roles, incoming.team)
