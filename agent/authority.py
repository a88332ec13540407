"""How much a person may do where they write. Pure.

Above: `agent.records` and everything that reads it, `agent.memory`. Below: nothing.
"""

from enum import IntEnum


class Authority(IntEnum):
    """What a person is where they write, from the platform's facts of this moment: a greater one may do more."""

    STRANGER = 0
    """Not a member of where the bot is at home, or nobody can say who it is."""
    GUEST = 1
    EMPLOYEE = 2
    MANAGER = 3
    ADMIN = 4
