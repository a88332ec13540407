"""Commands, shortcuts and buttons that show a person something about themselves: memory, usage, forgetting, help.

Rules. It shows only to the person who asked, and a button works for nobody else. Commands obey the same lists and rates
as questions; to have their own words forgotten, people are let in whatever the lists say.
"""

import logging
from dataclasses import dataclass, field, replace
from typing import Final

from cachetools import LRUCache

from agent.errors import CogencyError, Refused
from agent.memory.audience import GroupAudience, Place
from agent.memory.writing import POLICY_AUTHORITY
from agent.messages import Json, JsonObject
from agent.ports import Clock, Membership
from bot import wording
from bot.access.acl import Requester
from bot.access.admission import NoticeThrottle
from bot.caches import MAX_ENTRIES, RecentKeys
from bot.host import Host, PolicyAsker
from bot.platforms.slack import inbound, modals
from bot.platforms.slack.address import ReplyTo, of_click, of_command, of_message, of_window
from bot.platforms.slack.api import Method, SlackApi, SlackError, fields, text
from bot.platforms.slack.asking import SlackAsking
from bot.platforms.slack.block_kit import row
from bot.platforms.slack.conversations import Direct
from bot.platforms.slack.ephemeral import Ephemeral
from bot.platforms.slack.home import Home, News, part_of
from bot.platforms.slack.inbound import SlackBot, SlackMessage, is_direct, person_id
from bot.platforms.slack.members import Member, People, SlackMemberUnknown
from bot.platforms.slack.memory import ForgetView, MemoryView
from bot.platforms.slack.places import Places, team_place
from bot.platforms.slack.pressing import ReplyPresses
from bot.platforms.slack.rate_limits import MethodRates
from bot.platforms.slack.slash_commands import help_text, named
from bot.platforms.slack.sockets import ASKED, TaskGroup
from bot.platforms.slack.surroundings import SlackNames
from bot.spending_text import account_text

MISTYPED: Final = "There is no command `/{name}`; did you mean `/{near}`? “@{bot} help” says what I can do."
NEARLY: Final = "Nothing is done yet: did you mean `{near}`?"


CLOSE_S: Final = 1.0
"""How long the end of the process waits for what was asked for: as a rule, long enough for a receipt to be said."""


@dataclass(frozen=True, slots=True)
class PersonalCommands:
    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    membership: Membership
    budgets: MethodRates
    clock: Clock
    home: Home
    underway: TaskGroup = field(default_factory=lambda: TaskGroup(CLOSE_S, ASKED))
    done: RecentKeys = field(default_factory=RecentKeys)
    """What was asked by command and in windows."""
    verdicts: LRUCache[str, str] = field(default_factory=lambda: LRUCache(MAX_ENTRIES))
    """The last verdict of each person on each reply."""

    @property
    def direct(self) -> Direct:
        return Direct(self.host, self.me, self.clock)

    @property
    def asking(self) -> SlackAsking:
        return SlackAsking(
            self.host,
            self.api,
            self.me,
            self.people,
            self.places,
            self.membership,
            self.budgets,
            self.clock,
            self.underway,
            self.done,
        )

    @property
    def replies(self) -> ReplyPresses:
        return ReplyPresses(
            self.host, self.api, self.me, self.people, self.places, self.asking.may_read, self.clock, self.verdicts
        )

    @property
    def view(self) -> MemoryView:
        return MemoryView(self.host, self.api, self.me, self.people, self.home)

    @property
    def forgets(self) -> ForgetView:
        return ForgetView(self.host, self.api, self.me, self.people, self.home)

    async def admit(self, body: JsonObject) -> None:
        """Before a command or a shortcut is carried out. Raises Refused, or MemberUnknown."""
        to = of_click(body) if fields(body, "user") else of_command(body)
        member = await self.people.member(to.user)
        who = Requester(member.person.id, to.channel, member.groups, self.me.team)
        self.host.admit_order(who, member.authority, member.person.time_zone)

    async def memory(self, body: JsonObject) -> None:
        """`/memory`, with or without words."""
        await self.view.show(of_command(body), text(body, "text"))

    async def usage(self, body: JsonObject) -> None:
        """`/usage`."""
        await self.show_usage(of_command(body))

    async def show_usage(self, to: ReplyTo) -> None:
        await self._say(to, account_text(await self.host.usage(inbound.person_id(self.me, to.user))))

    async def forget(self, body: JsonObject) -> None:
        """`/forget`. Slack does not say in which thread a command is written."""
        to = of_command(body)
        await self.forgets.ask(to, text(body, "text"), await self.direct.outside_threads(to.channel))

    async def memory_shortcut(self, body: JsonObject) -> None:
        await self.view.show(of_click(body))

    async def forget_shortcut(self, body: JsonObject) -> None:
        to = of_click(body)
        message = fields(body, "message")
        thread = await self.direct.thread_at(to.channel, text(message, "ts"), text(message, "thread_ts"))
        await self.forgets.ask(to, "thread", thread)

    async def failed(self, body: JsonObject, error: CogencyError) -> None:
        """Tell the person, in the error's own sentence."""
        to = of_window(fields(body, "view")) or (of_click(body) if fields(body, "user") else of_command(body))
        if to.home:
            await self.home.failed(to, body, error)
        else:
            await self.tell(to, error)

    async def tell(self, to: ReplyTo, error: CogencyError) -> None:
        await self._say(to, wording.failure(error))

    async def help(self, to: ReplyTo) -> None:
        """What can be said to the bot."""
        await self._say(to, help_text(self.me.prefix, self.me.name))

    async def mistyped(self, to: ReplyTo, name: str, near: str) -> None:
        """There is no such command, or (no name) no such order."""
        await self._say(to, (MISTYPED if name else NEARLY).format(name=name, near=near, bot=self.me.name))

    async def _say(self, to: ReplyTo, markdown: str) -> None:
        await Ephemeral(self.api, to).say(named(markdown, self.me.prefix))


# --------------------------------------------------------------------------------------------------
# What a person decides about answers: stop one, choose the model, say what they may take and what holds for everybody.
#
# Rules. "stop" is never a question. Whoever can write in a thread can stop its answer. What is said about it shows only
# to the person who asked.


log = logging.getLogger(__name__)

WHO_ARE_YOU = (
    "Slack does not tell me at the moment who you are. Your message is not lost: I answer it as soon as I know."
)
STOP_IN_THREAD = "To stop an answer in a thread, write “@{name} stop” in it."


@dataclass(frozen=True, slots=True)
class AnswerCommands:
    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    clock: Clock
    told: NoticeThrottle

    @property
    def direct(self) -> Direct:
        return Direct(self.host, self.me, self.clock)

    async def stop(self, body: JsonObject) -> None:
        """`/stop`. Slack does not say in which thread a command is written."""
        to = of_command(body)
        theirs = await self.direct.going_on_for(to.channel, inbound.person_id(self.me, to.user))
        stopped = [await self.host.stop(conversation) for conversation in theirs]
        how = STOP_IN_THREAD.format(name=self.me.name)
        await self._say(to, wording.STOPPING if any(stopped) else f"{wording.NOTHING_RUNNING} {how}")

    async def stop_in_words(self, heard: SlackMessage) -> bool:
        """The word "stop": whether something ran. Raises CogencyError."""
        outside_threads = heard.direct and not heard.in_thread
        meant = await self.direct.going_on(heard.channel) if outside_threads else await self.direct.thread_of(heard)
        return any([await self.host.stop(conversation) for conversation in meant])

    async def nothing_runs(self, heard: SlackMessage) -> None:
        await self._say(of_message(heard), wording.NOTHING_RUNNING)

    async def model(self, body: JsonObject) -> None:
        """`/model`, with or without a name."""
        await self.show_model(of_command(body), text(body, "text").strip())

    async def show_model(self, to: ReplyTo, name: str = "") -> None:
        """Which model answers; with a name, after changing to it."""
        member = await self.people.member(to.user)
        if name:
            await self.host.choose_model(
                member.person.id, wording.chosen_model(name), to.channel, member.groups, self.me.team
            )
        menu = await self.host.models(member.person.id, to.channel, member.groups, self.me.team)
        await self._say(to, wording.model_text(menu.current, menu.why, menu.allowed, f"/{self.me.prefix}model NAME"))

    async def budget(self, body: JsonObject) -> None:
        """`/budget`, with or without words."""
        await self.show_budget(of_command(body), inbound.budget_ids(text(body, "text"), self.me))

    async def show_budget(self, to: ReplyTo, words: str) -> None:
        """What `/budget` with these words says."""
        person = inbound.person_id(self.me, to.user)
        answer = await SlackNames(self.people, self.places).in_budget(await self.host.budget(person, to.channel, words))
        changes = not words and self.host.operates(person)
        await self._say(to, answer, *row([modals.modal_button(modals.BUDGET, to.user, to.channel)] if changes else []))

    async def policy(self, body: JsonObject) -> None:
        """`/policy`, with or without words."""
        await self.show_policy(of_command(body), text(body, "text"))

    async def show_policy(self, to: ReplyTo, words: str) -> None:
        """What `/policy` with these words says. A member's direct message is about the whole workspace."""
        member = await self.people.member(to.user)
        everywhere = inbound.is_direct(to.channel) and member.full
        place = team_place(self.me) if everywhere else await self.places.asked_in(to.channel, member)
        words = await SlackNames(self.people, self.places).read(words)
        answer = await self.host.policy(PolicyAsker(member.person, member.authority, place), words)
        sets = not words and (member.authority >= POLICY_AUTHORITY or self.host.operates(member.person.id))
        kinds = modals.for_policies(answer) if sets else ()
        await self._say(to, answer, *row([modals.modal_button(kind, to.user, to.channel) for kind in kinds]))

    async def refused(self, refusal: Refused, heard: SlackMessage) -> None:
        """A message was not taken in: tell the person, unless they were told just now.

        One mention comes as two events, each to any process. Raises StoreError.
        """

        async def tell() -> None:
            log.info("a message was refused: %s", refusal)
            try:
                await self._say(of_message(heard), wording.literal(str(refusal)))
            except SlackError as silence:
                log.warning("nor could that be said: %s", silence)

        if not refusal.told:
            await self.host.once(self.me.source, f"refused:{heard.channel}:{heard.ts}", tell)

    async def keep_waiting(self, body: JsonObject, why: CogencyError) -> None:
        """What somebody asked cannot be taken in yet: tell them, unless they were told just now."""
        heard = inbound.read_event(body, self.me)
        if heard is None or not (heard.direct or heard.mentioned):
            return
        sentence = WHO_ARE_YOU if isinstance(why, SlackMemberUnknown) else wording.KEPT_WAITING
        if self.told.just_now(heard.user, sentence):
            return
        try:
            await self._say(of_message(heard), sentence)
        except SlackError as silence:
            log.warning("that a message has to wait could not be said: %s", silence)

    async def _say(self, to: ReplyTo, markdown: str, *below: Json) -> None:
        await Ephemeral(self.api, to).say(named(markdown, self.me.prefix), *below)


# --------------------------------------------------------------------------------------------------
# Opening the windows of `modals`, and doing what is sent with them.
#
# Rules. A window is answered where its button stood: in a message, or in the Home tab. Who may do what is asked of the
# host, at this moment. A private channel counts only for who can read it when they send the window.


NOT_THERE = "You or I cannot read that channel, so nothing was changed."


@dataclass(frozen=True, slots=True)
class Windows:
    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    membership: Membership
    home: Home

    async def open(self, body: JsonObject, action: JsonObject) -> None:
        """A click on a button that opens one."""
        made, to = modals.modal_opened(action), of_click(body)
        if made is None or made.user != to.user:
            await Ephemeral(self.api, to).say(wording.NOT_YOURS)
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
            answer = await SlackNames(self.people, self.places).in_budget(said)
        else:
            answer = await self._policy(view, member, to)
        if to.home:
            await self.home.tell(to, News(part_of(body), answer))
        else:
            await Ephemeral(self.api, to).replace(named(answer, self.me.prefix))

    async def _policy(self, view: JsonObject, member: Member, to: ReplyTo) -> str:
        removes = text(view, "callback_id") == modals.REMOVAL.view
        words = modals.removal_asked(view) if removes else modals.policy_asked(view)
        place = await self._place(member, to, modals.policy_channel(view))
        return await self.host.policy(PolicyAsker(member.person, member.authority, place), words)

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
