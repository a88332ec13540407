"""Asking in other ways than by a message: the command, the shortcuts, and their windows.

Above: `listeners`. Below: `forms`, `names`, `people`, `place`, `bot.host`.

Rules. What is asked is stored before Slack is told that it arrived. A question becomes a message of its own, so that
everybody sees what is answered; where the bot may not write, or on request, the answer is private.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from agent.messages import Depth, JsonObject
from agent.ports import Clock
from agent.records import POSTED, Incoming, Quoted
from bot import wording
from bot.host import Host
from bot.platforms.slack.api import Method, SlackApi, SlackError, SlackRefused
from bot.platforms.slack.markup import quoted, readable
from bot.platforms.slack.members.names import Names
from bot.platforms.slack.members.people import Member, People
from bot.platforms.slack.members.place import Places, person_place
from bot.platforms.slack.payload import fields, first_text, items, text
from bot.platforms.slack.reading import inbound
from bot.platforms.slack.reading.fresh import Once
from bot.platforms.slack.reading.inbound import Heard, Me
from bot.platforms.slack.replies.reply_to import ReplyTo, of_click, of_command, of_message
from bot.platforms.slack.replies.whisper import Whisper
from bot.platforms.slack.setup import commands
from bot.platforms.slack.views import forms

ASK_USAGE: Final = (
    "Write your question after `/ask`; `/ask privately …` answers so that only you see it, "
    "and `deep:` or `fast:` before the question says how long I may think. `/ask help` tells what else I can do."
)

ONLY_YOU: Final = (
    "I may not write in that channel, so only you see the answer. Once somebody has written `/invite @{bot}` there, "
    "I can answer before everybody."
)
NEARLY_PRIVATE: Final = (
    "Nothing is asked yet: by “{word}”, did you mean `/ask privately`? If not, begin with another word."
)
"""Whoever mistypes "privately" would see a private question before everybody."""


@dataclass(frozen=True, slots=True)
class Question:
    """`event` names it once; `private`: only the person sees the answer."""

    event: str
    text: str
    private: bool
    depth: Depth


@dataclass(frozen=True, slots=True)
class Asking:
    host: Host
    api: SlackApi
    me: Me
    people: People
    places: Places
    clock: Clock
    done: Once

    @property
    def names(self) -> Names:
        return Names(self.people, self.places)

    async def ask(self, body: JsonObject) -> None:
        """`/ask`. Raises CogencyError when the question could not be stored."""
        to, event = of_command(body), text(body, "trigger_id") or self.clock.now().isoformat()
        words, private = inbound.ask_words(text(body, "text"))
        depth, question = inbound.depth_words(words)
        if not private:
            question, private = inbound.ask_words(question)
        nearly = "" if private or inbound.is_direct(to.channel) else inbound.nearly_private(question)
        if nearly:
            await self._say(to, NEARLY_PRIVATE.format(word=wording.literal(nearly)))
        elif question.casefold() in ("help", "help?"):
            await self._say(to, commands.help_text(self.me.prefix, self.me.name))
        elif question.casefold() in ("", "deep:", "fast:"):
            await self._say(to, ASK_USAGE)
        else:
            await self._take(Question(event, await self.names.read(question), private, depth), to)

    async def ask_privately(self, heard: Heard, words: str) -> None:
        """The same for what somebody asks privately by a message. Raises CogencyError."""
        to = of_message(heard)
        depth, asked = inbound.depth_words(words)
        if not asked:
            await self._say(to, ASK_USAGE)
            return
        member = await self.people.member(heard.user)
        question = Question(f"{heard.channel}:{heard.ts}", await self.names.read(asked), private=True, depth=depth)
        files = tuple(replace(file, author=member.person.name) for file in heard.files)
        await self.host.take(replace(self._private(question, member, to), files=files))

    async def open_anywhere(self, body: JsonObject) -> None:
        """The shortcut "Ask", which belongs to no channel."""
        await self._open(body, forms.anywhere_view())

    async def asked_anywhere(self, body: JsonObject) -> None:
        """Its window was sent. Raises CogencyError when the question could not be stored."""
        view = fields(body, "view")
        made = forms.asked_anywhere(view)
        if made.question:
            question = Question(text(view, "id"), made.question, made.private, made.depth)
            await self._take(question, ReplyTo(made.channel, text(body, "user", "id")))

    async def open_about(self, body: JsonObject) -> None:
        """The shortcut "Ask about this message": opens a window for the question."""
        message = fields(body, "message")
        user = text(message, "user")
        names = await self.names.of(text(message, "text"), users=(user,) if user else ())
        author = names.get(user) or first_text(message, "username", "bot_id") or "unknown"
        about = readable(text(message, "text"), names)
        await self._open(body, forms.ask_view(author, about, of_click(body), items(message, "files")))

    async def asked_about(self, body: JsonObject) -> None:
        """Its window was sent. Raises CogencyError when the question could not be stored."""
        asked = forms.asked(fields(body, "view"))
        user = text(body, "user", "id")
        if asked is None or asked.to.user != user:
            return
        member = await self.people.member(user)
        question = Question(text(body, "view", "id"), asked.question, private=True, depth=Depth.ADAPT)
        quoted = (Quoted("the message that is asked about", asked.author, asked.about),) if asked.about else ()
        incoming = self._private(question, member, asked.to)
        await self.host.take(replace(incoming, quoted=quoted, files=asked.files))

    async def _say(self, to: ReplyTo, markdown: str) -> None:
        await Whisper(self.api, to).say(commands.named(markdown, self.me.prefix))

    async def _open(self, body: JsonObject, view: JsonObject) -> None:
        await self.api.call(Method.OPEN_VIEW, trigger_id=text(body, "trigger_id"), view=dict(view))

    async def _take(self, question: Question, to: ReplyTo) -> None:
        """In a direct message nobody else reads; nor is there any other place for a question without a channel."""
        if not self.done.first(question.event):
            return
        member = await self.people.member(to.user)
        alone = not to.channel or inbound.is_direct(to.channel)
        root = None if question.private and not alone else await self._post(to, member, question.text)
        if root is None:
            incoming = self._private(question, member, replace(to, channel=to.channel or to.user))
        else:
            incoming = await self._public(question, member, root)
        await self._take_or_delete(incoming, delete=root is not None)
        if root is None and not (question.private or alone):
            with suppress(SlackError):  # an ornament
                await self._say(to, ONLY_YOU.format(bot=self.me.name))

    async def _post(self, to: ReplyTo, member: Member, question: str) -> ReplyTo | None:
        """Show the question; where it is answered, or None where the bot may not write."""
        shown = f"**{wording.literal(member.person.name)}** asks:\n{quoted(question)}"
        try:
            posted = await self.api.call(Method.POST, channel=to.channel or to.user, markdown_text=shown)
        except SlackRefused:
            return None
        ts = text(posted, "ts")
        return ReplyTo(to.channel or text(posted, "channel"), to.user, ts, after=ts)

    async def _take_or_delete(self, incoming: Incoming, *, delete: bool) -> None:
        """A question that will not be answered below its message takes that message away."""
        taken = False
        try:
            taken = await self.host.take(incoming)
        finally:
            if delete and not taken:
                await self.api.call(Method.DELETE, channel=incoming.channel, ts=incoming.message_id)

    async def _public(self, question: Question, member: Member, to: ReplyTo) -> Incoming:
        direct = inbound.is_direct(to.channel)
        return Incoming(
            source=self.me.source,
            event_id=f"{POSTED}{question.event}",
            channel=to.channel,
            message_id=to.after,
            conversation=inbound.thread_conversation(self.me, to.channel, to.after),
            person=member.person,
            place=person_place(self.me, member) if direct else await self.places.asked_in(to.channel, member),
            text=question.text,
            time=inbound.time_of(to.after),
            permalink=inbound.permalink(self.me, to.channel, to.after),
            reply_to=to.encode(),
            depth=question.depth,
            authority=member.authority,
            roles=member.groups,
            team=self.me.team,
        )

    def _private(self, question: Question, member: Member, to: ReplyTo) -> Incoming:
        return Incoming(
            source=self.me.source,
            event_id=f"private:{question.event}",
            channel=to.channel,
            message_id=inbound.private_message(question.event),
            conversation=inbound.private_conversation(self.me, to.channel, to.user),
            person=member.person,
            place=person_place(self.me, member),
            text=question.text,
            time=self.clock.now(),
            reply_to=replace(to, private=True).encode(),
            depth=question.depth,
            authority=member.authority,
            roles=member.groups,
            team=self.me.team,
        )
