"""Names in the place of ids: what a message of Slack says, as a person reads it.

Above: `intake`, `desk`, `control`, `threads`. Below: `people`, `place`, `markup`.

Rules. What is looked up is bounded and remembered for a minute; whatever is not found keeps its id. Only the names of
public channels are looked up: a private one may say more than those who read the answer know.
"""

from dataclasses import dataclass

from bot.platforms.slack.markup import mentioned_channels, mentioned_users, readable
from bot.platforms.slack.people import People
from bot.platforms.slack.place import Places


@dataclass(frozen=True, slots=True)
class Names:
    people: People
    places: Places

    async def read(self, written: str) -> str:
        """A message as a person reads it."""
        return readable(written, await self.of(written))

    async def of(self, *written: str, users: tuple[str, ...] = ()) -> dict[str, str]:
        """The names of those who are mentioned there, and of these users, by their ids."""
        mentioned = [user for one in written for user in mentioned_users(one)]
        channels = [channel for one in written for channel in mentioned_channels(one)]
        return await self.people.names([*users, *mentioned]) | await self.places.names(channels)
