"""The settings of turns: how many run at once, and how long each may be."""

from enum import StrEnum


class WhileBusy(StrEnum):
    """What happens to a message that comes while the same person's last one is being answered in the conversation."""

    WAIT = "wait"
    """It is answered next."""
    JOIN = "join"
    """The running answer takes it into account after its next round of tools; if there is none, it is answered next."""
