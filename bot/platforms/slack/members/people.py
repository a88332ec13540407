"""Who wrote: the name, the time zone, and what they are in the workspace.

Rules
- People of other workspaces, bots, people who were deactivated and people whom the bot may not see are strangers, with
  their id as name where Slack tells none, in UTC. Guests are members of some channels only.
- Unknown is not no: where Slack does not answer, or not this app, nobody is taken for a stranger (MemberUnknown).
- Slack knows no managers: the operator names user groups. Only a full member can be one.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from zoneinfo import available_timezones

from agent.authority import Authority
from agent.messages import JsonObject
from agent.ports import Clock
from agent.records import Person
from bot.platforms.slack.api import Method, SlackApi, SlackError, SlackRefused
from bot.platforms.slack.members.groups import Belonging, Groups
from bot.platforms.slack.payload import fields, first_text, flag, text, texts
from bot.platforms.slack.reading.fresh import Fresh
from bot.platforms.slack.reading.inbound import Me, person_id

STRANGER_FACTS = ("is_stranger", "is_bot", "deleted")
GUEST_FACTS = ("is_restricted", "is_ultra_restricted", "is_invited_user")
GUEST_MARKS = ("is_restricted", "is_ultra_restricted", "is_stranger")
"""Of those who read already: somebody who was invited may become a full member."""
ADMIN_FACTS = ("is_primary_owner", "is_owner", "is_admin")
_ZONES = available_timezones()

UNSEEN = frozenset({"user_not_found", "user_not_visible", "users_not_found"})
"""Slack's words for: this app does not see such a person."""

MAX_NAMES = 30
"""Names looked up for one message, with the thread before it; whoever comes after keeps their id."""


class MemberUnknown(SlackError):
    """Slack does not say who somebody is, which may pass: what they ask waits, and is tried again."""

    def __init__(self, why: SlackError) -> None:
        super().__init__(f"Slack did not tell me who you are, so I could not do that: please try again soon. ({why})")


@dataclass(frozen=True, slots=True)
class Member:
    """`gone`: deactivated. `groups`: ids of the user groups that count as roles here; `unsure`: there may be more."""

    person: Person
    authority: Authority
    gone: bool = False
    groups: frozenset[str] = frozenset()
    unsure: bool = False

    @property
    def full(self) -> bool:
        """Neither a guest nor a stranger."""
        return self.authority >= Authority.EMPLOYEE


def member_of(me: Me, user: str, info: JsonObject) -> Member:
    """`info` is the `user` of users.info, {} if unknown. Pure."""
    name = first_text(fields(info, "profile"), "display_name", "real_name") or first_text(info, "real_name", "name")
    zone = text(info, "tz")
    person = Person(person_id(me, user), name or user, zone if zone in _ZONES else "UTC")
    return Member(person, _authority(me, info), gone=flag(info, "deleted"))


def belonging(member: Member, to: Belonging) -> Member:
    """The same person with what their user groups make of them. Pure."""
    authority = Authority.MANAGER if to.manager and member.full else member.authority
    return replace(member, authority=max(authority, member.authority), groups=to.roles, unsure=to.unsure)


def is_guest(me: Me, info: JsonObject) -> bool:
    """Whether this person reads some channels without being a full member of the workspace. Pure."""
    if flag(info, "deleted") or flag(info, "is_bot"):
        return False
    return not _is_home(me, info) or any(flag(info, fact) for fact in GUEST_MARKS)


class People:
    """Looks people up, and remembers them for a minute."""

    def __init__(self, api: SlackApi, me: Me, clock: Clock, groups: Groups) -> None:
        self._api = api
        self._me = me
        self._groups = groups
        self._known = Fresh(self._load, clock)

    async def member(self, user: str) -> Member:
        """Raises MemberUnknown."""
        try:
            member, to = await asyncio.gather(self._known.get(user), self._groups.of(user))
        except SlackError as error:
            raise MemberUnknown(error) from error
        return belonging(member, to)

    async def names(self, users: Iterable[str]) -> dict[str, str]:
        """Their names by id; the bot's own too. Never raises: whoever is not known keeps their id."""
        wanted = [user for user in dict.fromkeys(users) if user != self._me.user][:MAX_NAMES]
        names = await asyncio.gather(*(self._name(user) for user in wanted))
        return dict(zip(wanted, names, strict=True)) | {self._me.user: self._me.name}

    async def _name(self, user: str) -> str:
        try:
            return (await self._known.get(user)).person.name
        except SlackError:
            return user

    async def _load(self, user: str) -> Member:
        try:
            info = fields(await self._api.call(Method.USER, user=user), "user")
        except SlackRefused as refused:
            if refused.code not in UNSEEN:
                raise
            info: JsonObject = {}
        return member_of(self._me, user, info)


def _authority(me: Me, info: JsonObject) -> Authority:
    if not _is_home(me, info) or any(flag(info, fact) for fact in STRANGER_FACTS):
        return Authority.STRANGER
    if any(flag(info, fact) for fact in GUEST_FACTS):
        return Authority.GUEST
    return Authority.ADMIN if any(flag(info, fact) for fact in ADMIN_FACTS) else Authority.EMPLOYEE


def _is_home(me: Me, info: JsonObject) -> bool:
    return text(info, "team_id") == me.team or me.team in texts(info, "enterprise_user", "teams")
