"""The people of a workspace: names, time zones, authority, user groups, guests, and the installation's other bots."""

import asyncio
import logging
from collections.abc import Collection, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Final
from zoneinfo import available_timezones

from agent.admission_terms import Authority
from agent.incoming import Person
from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.spending import APP, WORKSPACE
from bot.chat.caches import ExpiringCache
from bot.chat.host import Host
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, SlackRefused
from bot.platforms.slack.inbound import SlackBot, person_id
from bot.platforms.slack.markup import mentioned_users
from bot.platforms.slack.options import PLATFORM, Method

# User groups: those whose members are managers, and those that the operator's lists name as roles.
#
# Rules
# - A group's members are read when a person's groups are needed, up to once a minute, also after a failure.
# - Unknown fails closed: the person is no manager, has no role that lets them in, and has every role that keeps them
#   out. The result says that it is unsure, so that a person who is refused only for that waits instead.

log = logging.getLogger(__name__)

GROUPS_MAX_AGE_S: Final = 60.0  # How long a change may take to count, as with everything about a person
PATIENCE_S: Final = 1.5  # For members of groups and channels: Slack wants its acknowledgement within three seconds


@dataclass(frozen=True, slots=True)
class GroupMembership:
    """A person's user groups. `roles`: ids (S…) of groups. `unsure`: whether they are in others is not known now."""

    manager: bool = False
    roles: frozenset[str] = frozenset()
    unsure: bool = False


@dataclass(slots=True)
class Groups:
    """Reads and caches the members of user groups. `managers`, `allowed` and `denied` are ids (S…) of groups.

    `serves_others`: other workspaces are served, too. A group that this one does not know is then theirs, and empty
    here; otherwise its id is mistyped, and its members are unknown.
    """

    api: SlackApi
    clock: Clock
    managers: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    serves_others: bool = False
    _tasks: dict[str, tuple[float, "asyncio.Task[frozenset[str] | None]"]] = field(
        default_factory=dict[str, "tuple[float, asyncio.Task[frozenset[str] | None]]"]
    )

    async def of(self, user: str, max_age_s: float = GROUPS_MAX_AGE_S) -> GroupMembership:
        """Return a user's groups, at most `max_age_s` seconds old. Never raises: after a failure they are unsure."""
        groups = sorted(self.managers | self.allowed | self.denied)
        if not groups:
            return GroupMembership()
        members = dict(zip(groups, await self._members(groups, max_age_s), strict=True))
        in_groups = {group for group, users in members.items() if users is not None and user in users}
        unknown = {group for group, users in members.items() if users is None}
        return GroupMembership(
            bool(in_groups & self.managers), frozenset(in_groups | (unknown & self.denied)), bool(unknown)
        )

    async def members_of(self, group: str, max_age_s: float) -> frozenset[str] | None:
        """Return the members of any user group; None if they are not known now. Never raises."""
        (users,) = await self._members([group], max_age_s)
        return users

    async def manager_ids(self) -> frozenset[str]:
        """Return the members of the groups of managers, as far as they are known now. Never raises."""
        if not self.managers:
            return frozenset()
        known = await self._members(sorted(self.managers), GROUPS_MAX_AGE_S)
        return frozenset[str]().union(*(users for users in known if users is not None))

    async def close(self) -> None:
        running = [task for _, task in self._tasks.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _members(self, groups: Collection[str], max_age_s: float) -> list[frozenset[str] | None]:
        """Return the members of each of these groups, of which there is at least one; None for unknown."""
        tasks = [self._ask(group, max_age_s) for group in groups]
        await asyncio.wait(tasks, timeout=PATIENCE_S)
        return [task.result() if task.done() else None for task in tasks]

    def _ask(self, group: str, max_age_s: float) -> "asyncio.Task[frozenset[str] | None]":
        now = self.clock.monotonic()
        asked_at, task = self._tasks.get(group, (float("-inf"), None))
        if task is None or now - asked_at > max_age_s:
            task = asyncio.create_task(self._load(group))
            self._tasks[group] = (now, task)
        return task

    async def _load(self, group: str) -> frozenset[str] | None:
        try:
            return frozenset(api.texts(await self.api.call(Method.GROUP_MEMBERS, usergroup=group), "users"))
        except SlackError as error:
            if self.serves_others and isinstance(error, SlackRefused) and error.code == "no_such_subteam":
                return frozenset()
            log.warning("the members of the user group %s could not be read: %s", group, error)
            return None


OUR_BOTS: Final = "slack:bots"
# With a channel and a thread's first message, the owner of the preference LAST: the bot that was addressed last there.
ADDRESSED: Final = "thread:"
LAST: Final = "bot"


class OurBots:
    """The bots of this installation: its apps in other workspaces, whichever process serves them.

    Rule: in a channel that two of their workspaces share, each bot receives each message, and only one may take it in.
    A message that mentions one of the bots is for that one, of several for the first. In a thread, messages without a
    mention are for the bot that was mentioned last.
    """

    def __init__(self, host: Host, me: SlackBot, clock: Clock) -> None:
        self._host = host
        self._me = me
        self._known = ExpiringCache(host.preferences.all_of, clock)

    async def announce(self, name: str) -> None:
        """Record this bot, and the name of its app for the workspace. Raises StoreError."""
        if name:
            await self._host.preferences.set(f"{WORKSPACE}{self._me.source}", APP, name)
        if self._me.app != PLATFORM:
            await self._host.preferences.set(OUR_BOTS, self._me.user, self._me.source)

    async def withdraw(self) -> None:
        """Delete the record of this bot. Raises StoreError."""
        await self._host.preferences.set(OUR_BOTS, self._me.user, None)

    async def is_for_another(self, message_text: str, thread: str = "") -> bool:
        """Whether a message is for another bot: it mentions that one first, or none in a thread where that one was
        mentioned last. `thread`: "C0123:<ts of its first message>". Raises StoreError.
        """
        if self._me.app == PLATFORM:
            return False
        mentioned = mentioned_users(message_text)
        ours = {**await self._known.get(OUR_BOTS), self._me.user: ""} if mentioned or thread else {}
        addressed = next((user for user in mentioned if user in ours), "")
        if not thread or len(ours) == 1:
            return addressed not in ("", self._me.user)
        place, choices = f"{ADDRESSED}{thread}", self._host.preferences
        last_addressed = (await choices.all_of(place)).get(LAST)
        if addressed and addressed != (last_addressed or self._me.user):
            await choices.set(place, LAST, addressed)
        return (addressed or last_addressed or self._me.user) != self._me.user


STRANGER_FACTS = ("is_stranger", "is_bot", "deleted")
GUEST_FACTS = ("is_restricted", "is_ultra_restricted", "is_invited_user")
# Of guests who already read channels: a person who was only invited may still become a full member.
GUEST_MARKS = ("is_restricted", "is_ultra_restricted", "is_stranger")
ADMIN_FACTS = ("is_primary_owner", "is_owner", "is_admin")
_ZONES = available_timezones()

# Slack's error codes for a person that this app cannot see.
UNSEEN = frozenset({"user_not_found", "user_not_visible", "users_not_found"})

MAX_NAMES = 30  # Names looked up for one message, with the thread before it; more people keep their ids


class SlackMemberUnknown(SlackError):
    """A person could not be read, which may pass: what they ask waits, and is retried."""

    def __init__(self, why: SlackError) -> None:
        super().__init__(platforms_texts.SLACK_WHO.format(why=why))
        self.retry_after_s = why.retry_after_s


@dataclass(frozen=True, slots=True)
class Member:
    """A person in the workspace. `gone`: deactivated. `groups`: ids (S…) of their user groups that count as roles;
    `unsure`: there may be more. `colleague`: a full member of another workspace of the same organisation, who is a
    stranger in this one.
    """

    person: Person
    authority: Authority
    gone: bool = False
    groups: frozenset[str] = frozenset()
    unsure: bool = False
    colleague: bool = False

    @property
    def full(self) -> bool:
        """Whether they are a member of this workspace, and neither a guest nor a stranger."""
        return self.authority >= Authority.EMPLOYEE and not self.colleague


def member_of(me: SlackBot, user: str, info: JsonObject) -> Member:
    """Parse a member. `info`: the `user` of users.info; {} if unknown. Pure."""
    name = api.first_text(api.fields(info, "profile"), "display_name", "real_name") or api.first_text(
        info, "real_name", "name"
    )
    zone = api.text(info, "tz")
    person = Person(person_id(me, user), name or user, zone if zone in _ZONES else "")
    return Member(person, _authority(me, info), gone=api.flag(info, "deleted"), colleague=_is_colleague(me, info))


def with_groups(member: Member, groups: GroupMembership) -> Member:
    """Return the member with their user groups, and the authority that these give. Pure."""
    authority = Authority.MANAGER if groups.manager and member.full else member.authority
    return replace(member, authority=max(authority, member.authority), groups=groups.roles, unsure=groups.unsure)


def is_guest(me: SlackBot, info: JsonObject) -> bool:
    """Whether this person reads some channels without being a full member of the workspace. Pure."""
    if api.flag(info, "deleted") or api.flag(info, "is_bot"):
        return False
    return not _is_home(me, info) or any(api.flag(info, fact) for fact in GUEST_MARKS)


class People:
    """Looks people up, and caches them for a minute.

    Rules
    - People of other workspaces, bots, deactivated people and people whom the bot may not see are strangers. If Slack
      gives no name or zone, it is their id, and UTC. Guests are members of some channels only.
    - Unknown is not no: if Slack does not answer, or refuses, no person is taken for a stranger (MemberUnknown).
    - Slack has no managers: the operator names user groups. Only a full member can be a manager.
    """

    def __init__(self, api: SlackApi, me: SlackBot, clock: Clock, groups: Groups) -> None:
        self._api = api
        self._me = me
        self._groups = groups
        self._known = ExpiringCache(self._load, clock)

    async def member(self, user: str, max_age_s: float = GROUPS_MAX_AGE_S) -> Member:
        """Return a member, at most `max_age_s` seconds old. Raises MemberUnknown."""
        try:
            member, groups = await asyncio.gather(self._known.get(user, max_age_s), self._groups.of(user, max_age_s))
        except SlackError as error:
            raise SlackMemberUnknown(error) from error
        return with_groups(member, groups)

    async def names(self, users: Iterable[str]) -> dict[str, str]:
        """Return people's names by id, and the bot's own. Never raises: the name of an unknown person is their id."""
        user_ids = [user for user in dict.fromkeys(users) if user != self._me.user][:MAX_NAMES]
        names = await asyncio.gather(*(self._name(user) for user in user_ids))
        return dict(zip(user_ids, names, strict=True)) | {self._me.user: self._me.name}

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
    enterprise = api.text(info, "enterprise_user", "enterprise_id")
    is_of_other_workspace = bool(me.enterprise) and enterprise == me.enterprise and not _is_home(me, info)
    return is_of_other_workspace and not any(api.flag(info, fact) for fact in (*STRANGER_FACTS, *GUEST_FACTS))


# How often guests are listed: a new guest may count as a full member for this long. A listing costs a few requests.
LIST_INTERVAL_S: Final = 180.0
RETRY_S: Final = 30.0  # After a listing that failed
# An older list does not count. A listing with all its pages takes half of this.
MAX_AGE_S: Final = 600.0
PAGE: Final = 200  # Of the workspace's people: Slack recommends no more
# Twenty thousand people, which take five minutes at the pace that Slack allows; with more, guests are unknown.
MAX_PAGES: Final = 100
PAGE_PAUSE_S: Final = 3.0  # Slack guarantees twenty listings of people a minute
MEMBERS_PAGE: Final = 1_000  # Slack's own limit, for few requests: a user waits
MAX_MEMBERS_PAGES: Final = 5  # A channel with more than five thousand members is taken to have guests


class Guests:
    """Says whether guests read a public channel: it is then a group of its own, as not every reader is a full member.

    Rules
    - The workspace's guests are listed in the background, while `keep` runs, so that a workspace without guests costs a
      question no request. If there are some, the channel's members are read.
    - Unknown fails closed: without a recent list, without an answer in time, or with too many pages, a guest may be
      among the readers.
    - Slack sends this app no event about new guests: a new one counts after the next listing.
    """

    def __init__(self, api: SlackApi, me: SlackBot, clock: Clock) -> None:
        self._api = api
        self._me = me
        self._clock = clock
        self._is_listed = asyncio.Event()
        self._guests: frozenset[str] = frozenset()
        self._admins: frozenset[str] = frozenset()
        self._listed_at = float("-inf")

    async def keep(self) -> None:
        """List the guests every LIST_INTERVAL_S, until cancelled."""
        while True:
            began = self._clock.monotonic()
            try:
                self._guests, self._admins = await self._list()
            except SlackError as error:
                log.info("the workspace's guests could not be listed: %s", error)
                pause = max(RETRY_S, error.retry_after_s)
            else:
                self._listed_at, pause = began, LIST_INTERVAL_S
                self._is_listed.set()
            await self._clock.sleep(pause)

    async def admins(self) -> frozenset[str]:
        """Return the ids of the workspace's admins when its people were last listed; none before that."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._is_listed.wait()
        return self._admins

    async def may_read(self, channel: str) -> bool:
        """Whether a guest may be a member of this public channel. Raises SlackError for unknown."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._is_listed.wait()
                if self._clock.monotonic() - self._listed_at > MAX_AGE_S:
                    raise SlackDown(platforms_texts.SLACK_GUESTS_UNKNOWN)
                return bool(self._guests) and await self._any_in(channel)
        except TimeoutError as error:
            raise SlackDown(platforms_texts.SLACK_READERS_UNKNOWN) from error

    async def _any_in(self, channel: str) -> bool:
        page: JsonObject = {}
        members = self._api.pages(Method.MEMBERS, MAX_MEMBERS_PAGES, channel=channel, limit=MEMBERS_PAGE)
        async with aclosing(members) as pages:
            async for page in pages:
                if self._guests.intersection(api.texts(page, "members")):
                    return True
        return api.has_more(page)  # too many to read: unknown

    async def _list(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the ids of all guests, and of all admins. Raises SlackError, also after MAX_PAGES."""
        found, admins = set[str](), set[str]()
        async with aclosing(self._api.pages(Method.USERS, MAX_PAGES, limit=PAGE)) as pages:
            async for page in pages:
                members = api.items(page, "members")
                found |= {api.text(member, "id") for member in members if is_guest(self._me, member)}
                admins |= {api.text(one, "id") for one in members if _authority(self._me, one) is Authority.ADMIN}
                if not api.has_more(page):
                    return frozenset(found), frozenset(admins)
                await self._clock.sleep(PAGE_PAUSE_S)
        raise SlackDown(platforms_texts.SLACK_TOO_MANY_PEOPLE)
