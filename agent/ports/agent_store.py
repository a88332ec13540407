"""The part of the store that the agent itself needs."""

from typing import Protocol

from agent.ports.conversations import Knowledge, ThreadHistory, WorkingSet
from agent.ports.ledger import TurnLedger
from agent.ports.memory import FactWriter, Memories


class AgentStore(Protocol):
    """What an agent keeps between its answers: in the process, or in a database."""

    @property
    def ledger(self) -> TurnLedger:
        """The turns, each while it is answered."""
        ...

    @property
    def knowledge(self) -> Knowledge:
        """The input of a turn's context."""
        ...

    @property
    def memories(self) -> Memories:
        """The search of past threads."""
        ...

    @property
    def conversations(self) -> ThreadHistory:
        """The messages."""
        ...

    @property
    def facts(self) -> FactWriter:
        """The facts that the tool `remember` stores."""
        ...

    @property
    def working_set(self) -> WorkingSet:
        """The scratch values that the tool `remember` stores."""
        ...
