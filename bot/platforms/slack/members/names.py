"""Names in the place of ids: what a message of Slack says, as a person reads it.

Rules. What is looked up is bounded, also in time, and remembered for a minute; whatever is not found keeps its id. Only
the names of public channels are looked up: a private one may say more than those who read the answer know.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import Final

from bot.platforms.slack.markup import mentioned_channels, mentioned_users, readable
from bot.platforms.slack.members.people import People
from bot.platforms.slack.members.place import Places
from bot.wording import literal

PATIENCE_S: Final = 1.0
"""For all names of a message: Slack wants its acknowledgement within three seconds."""

_ABOUT: Final = re.compile(r"(Person|Channel) `(?:slack:[^`]*:)?(\w+)`")
"""How the text of a budget that is not the reader's own begins."""


@dataclass(frozen=True, slots=True)
class Names:
    people: People
    places: Places

    async def read(self, written: str) -> str:
        """A message as a person reads it."""
        return readable(written, await self.of(written))

    async def in_budget(self, answer: str) -> str:
        """What `/budget` says, with the name of the person or the public channel that it is about."""
        found = _ABOUT.match(answer)
        if found is None:
            return answer
        id_, is_person = found[2], found[1] == "Person"
        names = await (self.people.names([id_]) if is_person else self.places.names([id_]))
        name = f"{'@' if is_person else '#'}{literal(names[id_])}" if id_ in names else found[0]
        return name + answer[found.end() :]

    async def of(self, *written: str, users: tuple[str, ...] = ()) -> dict[str, str]:
        """The names of those who are mentioned there, and of these users, by their ids."""
        mentioned = [user for one in written for user in mentioned_users(one)]
        channels = [channel for one in written for channel in mentioned_channels(one)]
        try:
            async with asyncio.timeout(PATIENCE_S):
                people, places = await asyncio.gather(
                    self.people.names([*users, *mentioned]), self.places.names(channels)
                )
        except TimeoutError:
            return await self.people.names([])  # who is asked needs no asking
        return people | places
