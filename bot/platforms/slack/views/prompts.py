"""What a person may want to ask, offered as they open the agent's conversations.

Above: `intake`. Below: `ornaments`, `people`, `place`, `bot.host`.

Rules. At most four, first from what is known about the person, then general ones. Once in a while for each
person: whoever goes back and forth has them before their eyes. Slack is told at once that the tab was opened.
"""

import logging
from dataclasses import dataclass, field
from typing import Final

from agent.errors import CogencyError
from agent.messages import Json
from agent.ports import Clock
from bot.host import Host, Suggestion, Viewer
from bot.logs import severity
from bot.platforms.slack.delivery.underway import Underway
from bot.platforms.slack.members.people import People
from bot.platforms.slack.members.place import person_place
from bot.platforms.slack.methods import Method
from bot.platforms.slack.reading.agent_view import Opened
from bot.platforms.slack.reading.inbound import Me
from bot.platforms.slack.replies.ornaments import Ornaments
from bot.platforms.slack.setup.manifest import PROMPTS
from bot.wording import shortened

log = logging.getLogger(__name__)

MOST: Final = 4
"""As many as Slack shows."""

TITLE_CHARS: Final = 60
"""What fits a button on a phone."""

EVERY_S: Final = 30.0
"""Going back and forth asks nothing anew; what was forgotten meanwhile is not offered for long."""

MOST_PEOPLE: Final = 2_000
"""As many as open the bot within that time."""

TITLE: Final = "You may want to ask"
GENERAL: Final = tuple(Suggestion(title, message) for title, message in PROMPTS)
"""What anybody may ask."""


@dataclass(slots=True)
class Prompts:
    host: Host
    me: Me
    people: People
    ornaments: Ornaments
    clock: Clock
    _offered: dict[str, float] = field(default_factory=dict[str, float])
    _offering: Underway = field(default_factory=Underway)

    def offer(self, opened: Opened) -> None:
        """They opened the agent's conversations: say soon what they may want to ask."""
        now = self.clock.monotonic()
        if not opened.channel or now - self._offered.get(opened.user, float("-inf")) < EVERY_S:
            return
        self._offered.pop(opened.user, None)
        self._offered[opened.user] = now
        while len(self._offered) > MOST_PEOPLE:
            del self._offered[next(iter(self._offered))]
        self._offering.begin(self._offer(opened))

    async def close(self) -> None:
        await self._offering.close()

    async def _offer(self, opened: Opened) -> None:
        if self.ornaments.rests(Method.SUGGEST_PROMPTS, opened.channel):
            return
        prompts: list[Json] = [
            {"title": shortened(each.title, TITLE_CHARS), "message": each.message}
            for each in await self._suggestions(opened)
        ]
        # Without thread_ts: for an agent, Slack takes a call with one and does nothing.
        await self.ornaments.call(Method.SUGGEST_PROMPTS, opened.channel, title=TITLE, prompts=prompts)

    async def _suggestions(self, opened: Opened) -> tuple[Suggestion, ...]:
        member = await self.people.member(opened.user)
        viewer = Viewer(member.person, person_place(self.me, member), opened.channel)
        try:
            return (*await self.host.suggestions(viewer, MOST), *GENERAL)[:MOST]
        except CogencyError as error:
            log.log(severity(error), "nothing can be suggested: %s", error)
            return GENERAL
