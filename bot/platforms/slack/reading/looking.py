"""What people look at while they write to the agent beside it: a note for the next question of theirs.

Above: `intake`. Below: `agent_view`, `place`, `threads`.

Rules
- It goes with direct messages only: nobody else learns what somebody looks at.
- A message is read if what is said there may be used in that answer; of a channel, a canvas, a list nothing is read:
  they are named, or linked.
- What Slack says with a message holds; what it said before is kept in memory, for a while and for one question.
"""

from dataclasses import dataclass, field
from typing import Final, assert_never

from agent.memory.audience import Place
from agent.ports import Clock
from agent.records import Quoted
from bot.platforms.slack.markup import MessageLink
from bot.platforms.slack.members.place import Places
from bot.platforms.slack.reading import inbound
from bot.platforms.slack.reading.agent_view import Kind, Thing
from bot.platforms.slack.reading.inbound import Heard, Me
from bot.platforms.slack.reading.threads import Threads

KEPT_S: Final = 900.0
"""Who has not asked anything for so long is about something else."""

MOST_PEOPLE: Final = 2_000
"""As many as use one bot within that time."""

NOTE: Final = "what the person is looking at"
MESSAGE: Final = "the message that the person is looking at"


@dataclass(slots=True)
class Looking:
    me: Me
    places: Places
    threads: Threads
    clock: Clock
    _seen: dict[str, tuple[float, tuple[Thing, ...]]] = field(
        default_factory=dict[str, "tuple[float, tuple[Thing, ...]]"]
    )

    def sees(self, user: str, things: tuple[Thing, ...]) -> None:
        """This person looks at these now; () for nothing that can be named."""
        self._seen.pop(user, None)
        if things:
            self._seen[user] = (self.clock.monotonic(), things)
        while len(self._seen) > MOST_PEOPLE:
            del self._seen[next(iter(self._seen))]

    async def beside(self, heard: Heard, author: str, target: Place) -> tuple[Quoted, ...]:
        """What the author of a question looks at, as far as an answer that is read at `target` may use it."""
        if not heard.direct:
            return ()
        things = self._taken(heard)
        messages: list[Quoted] = []
        lines: list[str] = []
        for thing in things:
            read = await self._message(thing, target)
            messages += read
            if not read and thing.id != heard.channel:
                lines.append(await self._named(thing))
        noted = (Quoted(NOTE, author, "\n".join(lines)),) if lines else ()
        return (*messages, *noted)

    def _taken(self, heard: Heard) -> tuple[Thing, ...]:
        at, kept = self._seen.pop(heard.user, (float("-inf"), ()))
        if heard.sees is not None:
            return heard.sees
        return kept if self.clock.monotonic() - at <= KEPT_S else ()

    async def _message(self, thing: Thing, target: Place) -> tuple[Quoted, ...]:
        if thing.kind is not Kind.MESSAGE:
            return ()
        return await self.threads.one(MessageLink(thing.id, thing.ts, ""), target, MESSAGE)

    async def _named(self, thing: Thing) -> str:
        link = self._link(thing)
        match thing.kind:
            case Kind.CHANNEL:
                name = (await self.places.names([thing.id])).get(thing.id)
                what = f"the channel #{name}" if name else "a channel"
            case Kind.MESSAGE:
                what = "a message that is not read here"
            case Kind.CANVAS:
                what = "a canvas"
            case Kind.LIST:
                what = "a list"
            case _:
                assert_never(thing.kind)
        return f"{what} ({link})" if link else what

    def _link(self, thing: Thing) -> str:
        address = self.me.address
        match thing.kind:
            case _ if not address:
                return ""
            case Kind.CHANNEL:
                return f"{address}archives/{thing.id}"
            case Kind.MESSAGE:
                return inbound.permalink(self.me, thing.id, thing.ts) or ""
            case Kind.CANVAS:
                return f"{address}docs/{self.me.team}/{thing.id}"
            case Kind.LIST:
                return f"{address}lists/{self.me.team}/{thing.id}"
            case _:
                assert_never(thing.kind)
