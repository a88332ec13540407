"""Opening the windows of `modals`, and doing what is sent with them.

Above: `listeners`. Below: `modals`, `home`, `whisper`, `people`, `place`, `bot.host`.

Rules. A window is answered where its button stood: in a message, or in the Home tab. Who may do what is asked of the
host, at this moment. A private channel counts only for who can read it when they send the window.
"""

from dataclasses import dataclass, replace

from agent.errors import Refused
from agent.memory.audience import GroupAudience, Place
from agent.messages import JsonObject
from agent.ports import Membership
from bot import wording
from bot.host import Asker, Host
from bot.platforms.slack.api import Method, SlackApi
from bot.platforms.slack.members.names import Names
from bot.platforms.slack.members.people import Member, People
from bot.platforms.slack.members.place import Places, team_place
from bot.platforms.slack.payload import fields, text
from bot.platforms.slack.reading.inbound import Me, is_direct, person_id
from bot.platforms.slack.replies.reply_to import ReplyTo, of_click, of_window
from bot.platforms.slack.replies.whisper import Whisper
from bot.platforms.slack.setup.commands import named
from bot.platforms.slack.views import modals
from bot.platforms.slack.views.home import Home
from bot.platforms.slack.views.home_blocks import News, part_of

NOT_THERE = "You or I cannot read that channel, so nothing was changed."


@dataclass(frozen=True, slots=True)
class Windows:
    host: Host
    api: SlackApi
    me: Me
    people: People
    places: Places
    membership: Membership
    home: Home

    async def open(self, body: JsonObject, action: JsonObject) -> None:
        """A click on a button that opens one."""
        made, to = modals.opened(action), of_click(body)
        if made is None or made.user != to.user:
            await Whisper(self.api, to).say(wording.NOT_YOURS)
            return
        view = modals.view_of(made.kind, replace(to, channel=made.channel or to.channel))
        await self.api.call(Method.OPEN_VIEW, trigger_id=text(body, "trigger_id"), view=dict(view))

    async def sent(self, body: JsonObject) -> None:
        """One was sent, and has no mistakes."""
        view = fields(body, "view")
        to, user = of_window(view), text(body, "user", "id")
        if to is None or to.user != user:
            return
        member = await self.people.member(user)
        if text(view, "callback_id") == modals.BUDGET.view:
            asked = modals.budget_asked(view, self.me)
            said = await self.host.budget(person_id(self.me, user), to.channel, asked)
            answer = await Names(self.people, self.places).in_budget(said)
        else:
            answer = await self._policy(view, member, to)
        if to.home:
            await self.home.tell(to, News(part_of(body), answer))
        else:
            await Whisper(self.api, to).replace(named(answer, self.me.prefix))

    async def _policy(self, view: JsonObject, member: Member, to: ReplyTo) -> str:
        removes = text(view, "callback_id") == modals.REMOVAL.view
        words = modals.removal_asked(view) if removes else modals.policy_asked(view)
        place = await self._place(member, to, modals.policy_channel(view))
        return await self.host.policy(Asker(member.person, member.authority, place), words)

    async def _place(self, member: Member, to: ReplyTo, chosen: str) -> Place:
        """Where a policy holds. Raises Refused."""
        channel = chosen or ("" if to.home or is_direct(to.channel) else to.channel)
        if not channel and member.full:
            return team_place(self.me)
        place = await self.places.asked_in(channel or to.channel, member)
        if isinstance(place.audience, GroupAudience) and not await self._reads(member, place.audience.place):
            raise Refused(NOT_THERE)
        return place

    async def _reads(self, member: Member, place: str) -> bool:
        return (await self.membership.readable(member.person.id, [place])).get(place, False)
