"""Turns whose reply is written before they begin, as a port of the store."""

from typing import Protocol

from agent.admission_terms import Terms
from agent.incoming import Incoming
from agent.turn_records import Accepted


class WrittenTurns(Protocol):
    """Begins turns that show a text as it is."""

    async def accept(self, incoming: Incoming, reply: str, terms: Terms) -> Accepted:
        """Store a message and its turn, whose reply is `reply`, in one transaction, once. The reply counts as others'
        words. Raises TermsNotMet, and stores nothing, if the message is new and `terms` do not hold; and StoreError.
        """
        ...
