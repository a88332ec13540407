"""Who may approve calls of others in Slack, and their direct messages about them: `ApproverPlatform` for Slack.

Everything about a person is read from Slack within the last seconds. Managers are the members of the operator's user
groups, and admins; whoever manages a channel is one of them who can read it.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from agent.admission_terms import Authority
from agent.approvers import CHANNEL_MANAGER, Approvers
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, TeamAudience
from agent.messages import Json, JsonObject
from agent.ports.membership import Membership
from bot.chat.approvers import Approver
from bot.chat.caches import FRESH_S
from bot.chat.commands.declaration import AnyCommand, command_below
from bot.chat.host import Host
from bot.chat.panels import Panel
from bot.chat.reply.surface import PageGone, ReplyAction
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api, block_kit
from bot.platforms.slack.api import SlackApi, SlackDown, items
from bot.platforms.slack.attachments import place_of_page
from bot.platforms.slack.inbound import SlackBot, is_ours, person_id
from bot.platforms.slack.markup import mrkdwn
from bot.platforms.slack.members import Groups, Guests, Member, People
from bot.platforms.slack.message_pages import page_errors
from bot.platforms.slack.options import Method
from bot.platforms.slack.panels import ShownTo, as_markdown, panel_blocks
from bot.platforms.slack.slash_commands import named
from bot.platforms.slack.surroundings import SlackNames

LOOK_BACK = 50  # Messages read to find one that was sent before a crash


@dataclass(frozen=True, slots=True)
class SlackApprovers:
    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    names: SlackNames
    groups: Groups
    guests: Guests
    membership: Membership

    async def candidates(self, rule: Approvers, question: Incoming) -> Sequence[str]:  # noqa: ARG002 -- a workspace has one list
        if rule.role:
            return [person_id(self.me, user) for user in sorted(await self._in_group(rule.role))]
        managers = () if rule.rank is Authority.ADMIN else sorted(await self.groups.manager_ids())
        return [person_id(self.me, user) for user in (*managers, *sorted(await self.guests.admins()))]

    async def approver(self, person: str, rule: Approvers, question: Incoming) -> Approver | None:
        user = person.removeprefix(person_id(self.me, ""))
        if user == person:
            return None
        member = await self.people.member(user, FRESH_S)
        if member.gone:
            return None
        reads = await self._reads(member, question)
        meets = user in await self._in_group(rule.role) if rule.role else _meets(rule, member, reads=reads)
        return Approver(member.person, reads) if meets and member.authority > Authority.STRANGER else None

    async def _in_group(self, group: str) -> frozenset[str]:
        """Return the members of a user group. Raises SlackError if they are not known now."""
        if (users := await self.groups.members_of(group, FRESH_S)) is None:
            raise SlackDown(platforms_texts.SLACK_GROUPS_UNREAD)
        return users

    async def _reads(self, member: Member, question: Incoming) -> bool:
        match question.place.audience:
            case TeamAudience():
                return member.full
            case GroupAudience(place):
                return (await self.membership.readable(member.person.id, [place])).get(place, False)
            case _:
                return False

    async def send(self, person: str, panel: Panel) -> tuple[str, ...]:
        user = person.removeprefix(person_id(self.me, ""))
        with page_errors():
            opened = await self.api.call(Method.OPEN, users=user)
            channel = api.text(opened, "channel", "id")
            words = await self.names.in_answer(named(panel.text, self.me.prefix))
            blocks: list[Json] = [*as_markdown(words), *panel_blocks(panel, self._command, ShownTo(user, channel))]
            posted = await self.api.call(Method.POST, channel=channel, text=mrkdwn(words), blocks=blocks)
        return (f"{api.text(posted, 'channel') or channel}/{api.text(posted, 'ts')}",)

    async def find(self, person: str, words: str) -> tuple[str, ...]:
        user = person.removeprefix(person_id(self.me, ""))
        with page_errors():
            opened = await self.api.call(Method.OPEN, users=user)
            channel = api.text(opened, "channel", "id")
            history = await self.api.call(Method.HISTORY, channel=channel, limit=LOOK_BACK)
        found = [one for one in items(history, "messages") if is_ours(one, self.me) and _has_button(one, words)]
        return tuple(f"{channel}/{api.text(one, 'ts')}" for one in found[-1:])

    async def update(self, page: str, text: str) -> None:
        channel, ts = place_of_page("", page)
        blocks = as_markdown(text)
        with suppress(PageGone), page_errors():  # the person deleted it
            await self.api.call(Method.UPDATE, channel=channel, ts=ts, text=mrkdwn(text), blocks=blocks)

    @property
    def _command(self) -> AnyCommand:
        return command_below(self.host.commands, ReplyAction.DECIDE).declared


def _meets(rule: Approvers, member: Member, *, reads: bool) -> bool:
    if rule.person:
        return member.person.id == rule.person
    if rule.who == CHANNEL_MANAGER:
        return member.authority >= Authority.MANAGER and reads
    return rule.rank is not None and member.authority >= rule.rank


def _has_button(message: JsonObject, words: str) -> bool:
    elements = [element for block in items(message, "blocks") for element in items(block, "elements")]
    return any(api.text(block_kit.button_payload(element), "words") == words for element in elements)
