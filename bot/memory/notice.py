"""The line under the first reply to a person: what is remembered, and how to see, stop and erase it.

Above: `bot.app` lets turns ask for it. Below: the port Preferences.

Rule: once for each person, whichever of several processes answers them first, and however often that answer is begun
anew after a crash. So the person's preferences keep in which turn it is said, and only that turn says it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent.ports import Preferences

TOLD: Final = "told"
"""The preference's name."""
LEARNS: Final = (
    "*I keep what you write to me, and learn from it what helps me to help you. `/memory` shows what I know, "
    "`/memory pause` stops the learning, `/forget` erases.*"
)
KEEPS: Final = "*I keep what you write to me. `/memory` shows what I know of you, `/forget` erases.*"


@dataclass(frozen=True, slots=True)
class FirstNotice:
    """`learns`: whether anything is learned from what people write, now. `named`: a text for this person, with the
    commands as they are called where they read it.
    """

    preferences: Preferences
    learns: Callable[[], bool]
    named: Callable[[str, str], str] = lambda _, text: text

    async def line(self, person: str, turn: int) -> str:
        """What this turn says to the person, as Markdown; "" if another one has said it. Raises StoreError."""
        told, mine = (await self.preferences.of(person)).get(TOLD), str(turn)
        if told != mine and not (told is None and await self.preferences.swap(person, TOLD, None, mine)):
            return ""
        return self.named(person, LEARNS if self.learns() else KEEPS)
