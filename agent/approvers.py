"""Who approves calls in place of their askers, as rows of the tool policy name them. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.admission_terms import Authority

PERSON_ID: Final = re.compile(r"[\w:.@+\-]+", re.ASCII)
ASKER: Final = "asker"
CHANNEL_MANAGER: Final = "channel-manager"
# Who may approve by their rank: lower ranks could approve each other's calls.
APPROVING_RANKS: Final = (Authority.MANAGER, Authority.ADMIN)
APPROVING: Final = (*(rank.name.lower() for rank in APPROVING_RANKS), CHANNEL_MANAGER)
ROLE: Final = "role:"
TWO: Final = "two"
_ROLE_ID: Final = re.compile(r"role:[A-Za-z0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Approvers:
    """Who approves a call in place of its asker: everyone of a rank or above ("manager", "admin"), those who manage the
    channel ("channel-manager"), those who have a role or are in a user group ("role:S0123"), or a person, by their id.
    `needed`: how many of them have to.
    """

    who: str
    needed: int = 1

    @property
    def rank(self) -> Authority | None:
        """The lowest rank that may approve; None if the row does not name one."""
        return Authority[self.who.upper()] if self.who in APPROVING and self.who != CHANNEL_MANAGER else None

    @property
    def person(self) -> str:
        """The id of the only person who may approve; "" if the row does not name one."""
        return "" if self.who in APPROVING or self.role else self.who

    @property
    def role(self) -> str:
        """The platform's id of the role or user group that may approve; "" if the row does not name one."""
        return self.who.removeprefix(ROLE) if self.who.startswith(ROLE) else ""

    def __str__(self) -> str:
        if self.needed == 1:
            return self.who
        return f"{TWO} {self.who}" if self.role else f"{TWO} {self.who}s"

    @classmethod
    def read(cls, text: str) -> "Approvers | None":
        """Parse the result of `str`; None for any other text."""
        words = text.split()
        return approvers_of(words) if is_approvers(words) else None


def is_approvers(words: Sequence[str]) -> bool:
    """Return whether these words say who approves."""
    match words:
        case [who]:
            is_person = ":" in who and PERSON_ID.fullmatch(who) is not None and not who.lower().startswith(ROLE)
            return is_person or who.lower() == ASKER or bool(_kind(who))
        case [two, who]:
            return two.lower() == TWO and bool(_kind(who))
        case _:
            return False


def approvers_of(words: Sequence[str]) -> Approvers | None:
    """Parse words that say who approves; None for the asker."""
    who = words[-1]
    return None if who.lower() == ASKER else Approvers(_kind(who) or who, len(words))


def _kind(who: str) -> str:
    """Return a rank or "channel-manager" for its singular or plural, and a role as it is; "" for anything else."""
    kind = who.lower().removesuffix("s")
    return kind if kind in APPROVING else who if _ROLE_ID.fullmatch(who) else ""
