"""Who wrote: the name, the time zone, and what they are in the workspace."""

import asyncio
import logging
from collections.abc import Collection, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final
from zoneinfo import available_timezones

from agent.admission_terms import Authority
from agent.messages import JsonObject
from agent.ports import Clock
from agent.records import Person
from agent.spending import APP, WORKSPACE
from bot.caches import ExpiringCache
from bot.host import Host
from bot.platforms.slack import api
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.inbound import SlackBot, person_id
from bot.platforms.slack.markup import mentioned_users
from bot.platforms.slack.options import PLATFORM, Method
from bot.texts import reply_texts

# Which of the operator's user groups somebody is in: managers, and roles that lists name.
#
# Rules
# - A group's members are asked for when somebody in question writes, at most once a minute, whatever the answer.
# - Unknown fails closed: nobody is a manager or has a role that lets them in, and everybody has one that keeps them
#   out. It is said to be unknown, so that whoever is refused for that alone waits instead.

log = logging.getLogger(__name__)

GROUPS_MAX_AGE_S: Final = 60.0  # So long a change may take to count, as with everything about a person
PATIENCE_S: Final = 1.5  # For a group's members: Slack wants its acknowledgement within three seconds


@dataclass(frozen=True, slots=True)
class Belonging:
    """`roles` are ids of groups. `unsure`: whether they are in others, too, is not known now."""

    manager: bool = False
    roles: frozenset[str] = frozenset()
    unsure: bool = False


@dataclass(slots=True)
class Groups:
    """`managers`, `allowed` and `denied` are ids (S…) of groups."""

    api: SlackApi
    clock: Clock
    managers: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    elsewhere: bool = False
    """Whether other workspaces are served, too: a group that is not known here is one of theirs, and has nobody in it.
    Where there is one workspace alone it is mistyped, and its members are unknown."""
    _asked: dict[str, tuple[float, "asyncio.Task[frozenset[str] | None]"]] = field(
        default_factory=dict[str, "tuple[float, asyncio.Task[frozenset[str] | None]]"]
    )

    async def of(self, user: str, most_s: float = GROUPS_MAX_AGE_S) -> Belonging:
        """As it was within `most_s` seconds. Never raises: a failure is unknown."""
        groups = sorted(self.managers | self.allowed | self.denied)
        members = dict(zip(groups, await self._members(groups, most_s), strict=True))
        surely = {group for group, users in members.items() if users is not None and user in users}
        unknown = {group for group, users in members.items() if users is None}
        return Belonging(bool(surely & self.managers), frozenset(surely | (unknown & self.denied)), bool(unknown))

    async def close(self) -> None:
        tasks = [task for _, task in self._asked.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _members(self, groups: Collection[str], most_s: float) -> list[frozenset[str] | None]:
        """Of each group; None for unknown."""
        asked = [self._ask(group, most_s) for group in groups]
        if asked:
            await asyncio.wait(asked, timeout=PATIENCE_S)
        return [task.result() if task.done() else None for task in asked]

    def _ask(self, group: str, most_s: float) -> "asyncio.Task[frozenset[str] | None]":
        now = self.clock.monotonic()
        when, task = self._asked.get(group, (float("-inf"), None))
        if task is None or now - when > most_s:
            task = asyncio.create_task(self._load(group))
            self._asked[group] = (now, task)
        return task

    async def _load(self, group: str) -> frozenset[str] | None:
        try:
            return frozenset(api.texts(await self.api.call(Method.GROUP_MEMBERS, usergroup=group), "users"))
        except SlackError as error:
            if self.elsewhere and isinstance(error, SlackRefused) and error.code == "no_such_subteam":
                return frozenset()
            log.warning("who is in the user group %s is not known: %s", group, error)
            return None


# Which bots are ours: the apps that this installation has in other workspaces, whichever process serves them.
#
# Rule: in a channel that two of their workspaces share each of them is told of each message, and a message is taken in
# once. What mentions one of ours is for that one, of several for the first; the others leave it alone, unheard. In a
# thread so is what follows and mentions none.

OUR_BOTS: Final = "slack:bots"
# With a channel and the first message of a thread: where another one than that of the first message was addressed.
ADDRESSED: Final = "thread:"
LAST: Final = "bot"


class OurBots:
    def __init__(self, host: Host, me: SlackBot, clock: Clock) -> None:
        self._host = host
        self._me = me
        self._known = ExpiringCache(host.preferences.of, clock)

    async def announce(self, name: str) -> None:
        """This is one of them, and is called so among them. Raises StoreError."""
        if name:
            await self._host.preferences.set(f"{WORKSPACE}{self._me.source}", APP, name)
        if self._me.app != PLATFORM:
            await self._host.preferences.set(OUR_BOTS, self._me.user, self._me.source)

    async def withdraw(self) -> None:
        """It is none of them any more. Raises StoreError."""
        await self._host.preferences.set(OUR_BOTS, self._me.user, None)

    async def is_for_another(self, written: str, thread: str = "") -> bool:
        """Whether a message of these words mentions one of them, and not this one first; or mentions none, in a thread
        (its channel and first message) where another was mentioned last. Raises StoreError.
        """
        if self._me.app == PLATFORM:
            return False
        mentioned = mentioned_users(written)
        ours = {**await self._known.get(OUR_BOTS), self._me.user: ""} if mentioned or thread else {}
        addressed = next((user for user in mentioned if user in ours), "")
        if not thread or len(ours) == 1:
            return addressed not in ("", self._me.user)
        place, choices = f"{ADDRESSED}{thread}", self._host.preferences
        last = (await choices.of(place)).get(LAST)
        if addressed and addressed != (last or self._me.user):
            await choices.set(place, LAST, addressed)
        return (addressed or last or self._me.user) != self._me.user


STRANGER_FACTS = ("is_stranger", "is_bot", "deleted")
GUEST_FACTS = ("is_restricted", "is_ultra_restricted", "is_invited_user")
# Of those who read already: somebody who was invited may become a full member.
GUEST_MARKS = ("is_restricted", "is_ultra_restricted", "is_stranger")
ADMIN_FACTS = ("is_primary_owner", "is_owner", "is_admin")
_ZONES = available_timezones()

# Slack's words for: this app does not see such a person.
UNSEEN = frozenset({"user_not_found", "user_not_visible", "users_not_found"})

MAX_NAMES = 30  # Names looked up for one message, with the thread before it; whoever comes after keeps their id


class SlackMemberUnknown(SlackError):
    """Slack does not say who somebody is, which may pass: what they ask waits, and is tried again."""

    def __init__(self, why: SlackError) -> None:
        super().__init__(reply_texts.SLACK_WHO.format(why=why))


@dataclass(frozen=True, slots=True)
class Member:
    """`gone`: deactivated. `groups`: ids of the user groups that count as roles here; `unsure`: there may be more.

    `colleague`: a full member of another workspace of the same organisation, who is a stranger in this one.
    """

    person: Person
    authority: Authority
    gone: bool = False
    groups: frozenset[str] = frozenset()
    unsure: bool = False
    colleague: bool = False

    @property
    def full(self) -> bool:
        """Of this workspace, and neither a guest nor a stranger."""
        return self.authority >= Authority.EMPLOYEE and not self.colleague


def member_of(me: SlackBot, user: str, info: JsonObject) -> Member:
    """`info` is the `user` of users.info, {} if unknown. Pure."""
    name = api.first_text(api.fields(info, "profile"), "display_name", "real_name") or api.first_text(
        info, "real_name", "name"
    )
    zone = api.text(info, "tz")
    person = Person(person_id(me, user), name or user, zone if zone in _ZONES else "")
    return Member(person, _authority(me, info), gone=api.flag(info, "deleted"), colleague=_is_colleague(me, info))


def belonging(member: Member, to: Belonging) -> Member:
    """The same person with what their user groups make of them. Pure."""
    authority = Authority.MANAGER if to.manager and member.full else member.authority
    return replace(member, authority=max(authority, member.authority), groups=to.roles, unsure=to.unsure)


def is_guest(me: SlackBot, info: JsonObject) -> bool:
    """Whether this person reads some channels without being a full member of the workspace. Pure."""
    if api.flag(info, "deleted") or api.flag(info, "is_bot"):
        return False
    return not _is_home(me, info) or any(api.flag(info, fact) for fact in GUEST_MARKS)


class People:
    """Looks people up, and remembers them for a minute.

    Rules
    - People of other workspaces, bots, people who were deactivated and people whom the bot may not see are strangers,
      with their id as name where Slack tells none, in UTC. Guests are members of some channels only.
    - Unknown is not no: where Slack does not answer, or not this app, nobody is taken for a stranger (MemberUnknown).
    - Slack knows no managers: the operator names user groups. Only a full member can be one.
    """

    def __init__(self, api: SlackApi, me: SlackBot, clock: Clock, groups: Groups) -> None:
        self._api = api
        self._me = me
        self._groups = groups
        self._known = ExpiringCache(self._load, clock)

    async def member(self, user: str, most_s: float = GROUPS_MAX_AGE_S) -> Member:
        """As they were within `most_s` seconds. Raises MemberUnknown."""
        try:
            member, to = await asyncio.gather(self._known.get(user, most_s), self._groups.of(user, most_s))
        except SlackError as error:
            raise SlackMemberUnknown(error) from error
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
            info = api.fields(await self._api.call(Method.USER, user=user), "user")
        except SlackRefused as refused:
            if refused.code not in UNSEEN:
                raise
            info: JsonObject = {}
        return member_of(self._me, user, info)


def _authority(me: SlackBot, info: JsonObject) -> Authority:
    if not _is_home(me, info) or any(api.flag(info, fact) for fact in STRANGER_FACTS):
        return Authority.STRANGER
    if any(api.flag(info, fact) for fact in GUEST_FACTS):
        return Authority.GUEST
    return Authority.ADMIN if any(api.flag(info, fact) for fact in ADMIN_FACTS) else Authority.EMPLOYEE


def _is_home(me: SlackBot, info: JsonObject) -> bool:
    return api.text(info, "team_id") == me.team or me.team in api.texts(info, "enterprise_user", "teams")


def _is_colleague(me: SlackBot, info: JsonObject) -> bool:
    theirs = api.text(info, "enterprise_user", "enterprise_id")
    elsewhere = bool(me.enterprise) and theirs == me.enterprise and not _is_home(me, info)
    return elsewhere and not any(api.flag(info, fact) for fact in (*STRANGER_FACTS, *GUEST_FACTS))


# Whether a guest reads a public channel: there not everybody is a full member, so it is a group of its own.
#
# Rules
# - The workspace's guests are listed in the background, so that a workspace without any costs a question nothing. Where
#   there are some, the members of the channel are asked for.
# - Unknown fails closed: without a list that is recent enough, without an answer in time, or behind too many pages a
#   guest may read along, so the channel is a group of its own.
# - Slack does not tell this app of guests that come, so a new one counts after the next listing.

# How often guests are listed: so long may a new one count as a full member, and it costs a few requests.
EVERY_S: Final = 180.0
AGAIN_S: Final = 30.0  # After a listing that failed
# What was listed longer ago is not known any more. A listing with all its pages takes half of it.
MAX_AGE_S: Final = 600.0
PAGE: Final = 200  # Of the workspace's people: as many as Slack recommends
# Twenty thousand people, which take five minutes at the pace that Slack allows; of more the guests are not known.
MAX_PAGES: Final = 100
PAGE_PAUSE_S: Final = 3.0  # Twenty requests a minute are what Slack promises for listing people
MEMBERS_PAGE: Final = 1_000  # Slack's own limit: somebody waits
MAX_MEMBERS_PAGES: Final = 5  # In a channel with more than five thousand members a guest may well be
"""For the first listing, or for the members of a channel: Slack wants its acknowledgement within three seconds."""


class Guests:
    """Listed while `keep` runs."""

    def __init__(self, api: SlackApi, me: SlackBot, clock: Clock) -> None:
        self._api = api
        self._me = me
        self._clock = clock
        self._listed = asyncio.Event()
        self._guests: frozenset[str] = frozenset()
        self._as_of = float("-inf")

    async def keep(self) -> None:
        """List the guests now and then, until cancelled."""
        while True:
            began = self._clock.monotonic()
            try:
                self._guests = await self._list()
            except SlackError as error:
                log.info("the workspace's guests are not known: %s", error)
                pause = max(AGAIN_S, error.retry_after_s if isinstance(error, SlackLimited) else 0.0)
            else:
                self._as_of, pause = began, EVERY_S
                self._listed.set()
            await self._clock.sleep(pause)

    async def read(self, channel: str) -> bool:
        """Whether a guest may be a member of this public channel. Raises SlackError for unknown."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._listed.wait()
                if self._clock.monotonic() - self._as_of > MAX_AGE_S:
                    raise SlackDown(reply_texts.SLACK_GUESTS_UNKNOWN)
                return bool(self._guests) and await self._any_in(channel)
        except TimeoutError as error:
            raise SlackDown(reply_texts.SLACK_READERS_UNKNOWN) from error

    async def _any_in(self, channel: str) -> bool:
        page: JsonObject = {}
        members = self._api.pages(Method.MEMBERS, MAX_MEMBERS_PAGES, channel=channel, limit=MEMBERS_PAGE)
        async with aclosing(members) as pages:
            async for page in pages:
                if self._guests.intersection(api.texts(page, "members")):
                    return True
        return api.has_more(page)  # of too many nobody knows

    async def _list(self) -> frozenset[str]:
        """Raises SlackError, also when there is no end to the people."""
        found: set[str] = set()
        async with aclosing(self._api.pages(Method.USERS, MAX_PAGES, limit=PAGE)) as pages:
            async for page in pages:
                found |= {api.text(one, "id") for one in api.items(page, "members") if is_guest(self._me, one)}
                if not api.has_more(page):
                    return frozenset(found)
                await self._clock.sleep(PAGE_PAUSE_S)
        raise SlackDown(reply_texts.SLACK_TOO_MANY_PEOPLE)
