"""Commands, shortcuts and buttons that show a person something about themselves: memory, usage, forgetting, help.

Rules. It shows only to the person who asked, and a button works for nobody else. Commands obey the same lists and rates
as questions; to have their own words forgotten, people are let in whatever the lists say.
"""

from dataclasses import dataclass, field
from typing import Final

from agent.errors import CogencyError
from agent.messages import JsonObject
from agent.ports import Clock, Membership
from bot import wording
from bot.access.lists import Who
from bot.host import Host
from bot.latest import Latest
from bot.platforms.slack.api import SlackApi
from bot.platforms.slack.asking import Asking
from bot.platforms.slack.delivery.underway import ASKED, Underway
from bot.platforms.slack.members.people import People
from bot.platforms.slack.members.place import Places
from bot.platforms.slack.payload import fields, text
from bot.platforms.slack.pressing import Replies
from bot.platforms.slack.reading import inbound
from bot.platforms.slack.reading.direct import Direct
from bot.platforms.slack.reading.fresh import Once
from bot.platforms.slack.reading.inbound import Me
from bot.platforms.slack.replies.budget import Budgets
from bot.platforms.slack.replies.reply_to import ReplyTo, of_click, of_command, of_window
from bot.platforms.slack.replies.whisper import Whisper
from bot.platforms.slack.setup.commands import help_text, named
from bot.platforms.slack.views.forgetting import ForgetView
from bot.platforms.slack.views.home import Home
from bot.platforms.slack.views.memory import MemoryView
from bot.spending_text import account_text

MISTYPED: Final = "There is no command `/{name}`; did you mean `/{near}`? “@{bot} help” says what I can do."
NEARLY: Final = "Nothing is done yet: did you mean `{near}`?"


CLOSE_S: Final = 1.0
"""How long the end of the process waits for what was asked for: as a rule, long enough for a receipt to be said."""


@dataclass(frozen=True, slots=True)
class Desk:
    host: Host
    api: SlackApi
    me: Me
    people: People
    places: Places
    membership: Membership
    budgets: Budgets
    clock: Clock
    home: Home
    underway: Underway = field(default_factory=lambda: Underway(CLOSE_S, ASKED))
    done: Once = field(default_factory=Once)
    """What was asked by command and in windows."""
    verdicts: Latest = field(default_factory=Latest)
    """The last verdict of each person on each reply."""

    @property
    def direct(self) -> Direct:
        return Direct(self.host, self.me, self.clock)

    @property
    def asking(self) -> Asking:
        return Asking(
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
    def replies(self) -> Replies:
        return Replies(
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
        who = Who(member.person.id, to.channel, member.groups, self.me.team)
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
        await Whisper(self.api, to).say(named(markdown, self.me.prefix))
