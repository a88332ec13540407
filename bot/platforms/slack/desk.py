"""Commands, shortcuts and buttons: asking in other ways, seeing what is remembered, forgetting.

Above: `run` calls it for each; `intake` for orders in words. Below: `forms`, `whisper`, `people`, `bot.host`,
`bot.wording`.

Rules. What is asked is stored before Slack is told that it arrived. Memory, usage and forgetting show only to the
person who asked, and a button works for nobody else. A question asked with `/ask` becomes a message of its own, so that
everybody sees what is answered; where the bot may not write, or on request, the answer is private.
"""

from dataclasses import dataclass, field, replace

from agent.errors import CogencyError
from agent.messages import JsonObject
from agent.ports import Clock
from agent.records import Incoming, Quoted
from bot import wording
from bot.host import Host
from bot.platforms.slack import forms, inbound
from bot.platforms.slack.api import Method, SlackApi, SlackRefused
from bot.platforms.slack.direct import Direct
from bot.platforms.slack.forgetting import ForgetView
from bot.platforms.slack.fresh import Latest, Once
from bot.platforms.slack.inbound import Me
from bot.platforms.slack.markup import neutral, quoted, readable
from bot.platforms.slack.memory import MemoryView
from bot.platforms.slack.names import Names
from bot.platforms.slack.payload import fields, first_text, text
from bot.platforms.slack.people import Member, People
from bot.platforms.slack.place import Places, person_place
from bot.platforms.slack.reply_to import ReplyTo, of_click, of_command
from bot.platforms.slack.whisper import Whisper
from bot.spending_text import account_text

ASK_USAGE = (
    "Write your question after `/ask`; `/ask privately …` answers so that only you see it, "
    "and `deep:` or `fast:` before the question says how long I may think."
)


@dataclass(frozen=True, slots=True)
class Desk:
    host: Host
    api: SlackApi
    me: Me
    people: People
    places: Places
    clock: Clock
    done: Once = field(default_factory=Once)
    asked: Latest = field(default_factory=Latest)
    """The conversation of each person's last `/ask` in each channel."""

    @property
    def direct(self) -> Direct:
        return Direct(self.host, self.me, self.clock)

    @property
    def names(self) -> Names:
        return Names(self.people, self.places)

    @property
    def view(self) -> MemoryView:
        return MemoryView(self.host, self.api, self.me, self.people)

    @property
    def forgets(self) -> ForgetView:
        return ForgetView(self.host, self.api, self.me, self.people)

    # Slash commands

    async def ask(self, body: JsonObject) -> None:
        """`/ask`. Raises CogencyError when the question could not be stored."""
        to = of_command(body)
        event = text(body, "trigger_id") or self.clock.now().isoformat()
        if not self.done.first(event):
            return
        words, private = inbound.ask_words(text(body, "text"))
        depth, question = inbound.depth_words(words)
        if not question:
            await self._say(to, ASK_USAGE)
            return
        question = await self.names.read(question)
        member = await self.people.member(to.user)
        private = private and not inbound.is_direct(to.channel)  # there nobody else reads
        root = None if private else await self._post_question(to, member, question)
        if root is None:
            incoming = self._private(event, member, question, to)
        else:
            incoming = await self._public(event, member, question, to, root)
        self.asked.keep(f"{to.channel}:{to.user}", incoming.conversation)
        await self._take_or_delete(replace(incoming, depth=depth), delete=root is not None)

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

    # Shortcuts

    async def ask_about(self, body: JsonObject) -> None:
        """The shortcut "Ask about this message": opens a window for the question."""
        message = fields(body, "message")
        user = text(message, "user")
        names = await self.names.of(text(message, "text"), users=(user,) if user else ())
        author = names.get(user) or first_text(message, "username", "bot_id") or "unknown"
        view = forms.ask_view(author, readable(text(message, "text"), names), of_click(body))
        await self.api.call(Method.OPEN_VIEW, trigger_id=text(body, "trigger_id"), view=dict(view))

    async def asked_about(self, body: JsonObject) -> None:
        """The window was sent. Raises CogencyError when the question could not be stored."""
        asked = forms.asked(fields(body, "view"))
        user = text(body, "user", "id")
        if asked is None or asked.to.user != user:
            return
        member = await self.people.member(user)
        incoming = self._private(text(body, "view", "id"), member, asked.question, asked.to)
        about = Quoted("the message that is asked about", asked.author, asked.about)
        await self.host.take(replace(incoming, quoted=(about,)))

    async def memory_shortcut(self, body: JsonObject) -> None:
        await self.view.show(of_click(body))

    async def forget_shortcut(self, body: JsonObject) -> None:
        to = of_click(body)
        message = fields(body, "message")
        thread = await self.direct.thread_at(to.channel, text(message, "ts"), text(message, "thread_ts"))
        await self.forgets.ask(to, "thread", thread)

    async def failed(self, body: JsonObject, error: CogencyError) -> None:
        """Tell the person, in the error's own sentence."""
        to = of_click(body) if fields(body, "user") else of_command(body)
        await self.tell(to, error)

    async def tell(self, to: ReplyTo, error: CogencyError) -> None:
        await self._say(to, wording.failure(error))

    async def _say(self, to: ReplyTo, markdown: str) -> None:
        await Whisper(self.api, to).say(neutral(markdown))

    async def _post_question(self, to: ReplyTo, member: Member, question: str) -> str | None:
        """Show the question in the channel; its time stamp, or None where the bot may not write."""
        shown = neutral(f"**{wording.literal(member.person.name)}** asks:\n{quoted(question)}")
        try:
            posted = await self.api.call(
                Method.POST, channel=to.channel, markdown_text=shown, unfurl_links=False, unfurl_media=False
            )
        except SlackRefused:
            return None
        return text(posted, "ts")

    async def _take_or_delete(self, incoming: Incoming, *, delete: bool) -> None:
        """A question that will not be answered below its message takes that message away."""
        taken = False
        try:
            taken = await self.host.take(incoming)
        finally:
            if delete and not taken:
                await self.api.call(Method.DELETE, channel=incoming.channel, ts=incoming.message_id)

    async def _public(self, event: str, member: Member, question: str, to: ReplyTo, root: str) -> Incoming:
        direct = inbound.is_direct(to.channel)
        return Incoming(
            source=self.me.source,
            event_id=f"command:{event}",
            channel=to.channel,
            message_id=root,
            conversation=inbound.thread_conversation(self.me, to.channel, root),
            person=member.person,
            place=person_place(self.me, member) if direct else await self.places.of(to.channel),
            text=question,
            time=inbound.time_of(root),
            permalink=inbound.permalink(self.me, to.channel, root),
            reply_to=replace(to, response_url="", thread_ts=root, after=root).encode(),
            authority=member.authority,
            team=self.me.team,
        )

    def _private(self, event: str, member: Member, question: str, to: ReplyTo) -> Incoming:
        return Incoming(
            source=self.me.source,
            event_id=f"command:{event}",
            channel=to.channel,
            message_id=f"private:{event}",
            conversation=inbound.private_conversation(self.me, to.channel, to.user),
            person=member.person,
            place=person_place(self.me, member),
            text=question,
            time=self.clock.now(),
            reply_to=replace(to, private=True).encode(),
            authority=member.authority,
            team=self.me.team,
        )
