"""`/forget`: what would fall, its buttons, its window.

Above: `desk` and `listeners` call it. Below: `forget_blocks`, `home`, `whisper`, `people`, `bot.host`.

Rules. It shows only to the person who asked, and its buttons work for nobody else. What a button does is shown in the
place of the question, or below what was clicked in the Home tab.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, JsonObject
from bot import wording
from bot.host import ForgetAnswer, Forgetter, Host
from bot.platforms.slack.api import Method, SlackApi
from bot.platforms.slack.members.people import People
from bot.platforms.slack.payload import fields, text
from bot.platforms.slack.reading.inbound import Me
from bot.platforms.slack.replies.reply_to import ReplyTo, of_click
from bot.platforms.slack.replies.whisper import Whisper
from bot.platforms.slack.setup.commands import named
from bot.platforms.slack.views import forget_blocks as blocks
from bot.platforms.slack.views.home import Home
from bot.platforms.slack.views.home_blocks import News, Part

QUESTION: Final = "What shall I forget? It cannot be undone."
NO_THREAD_HERE: Final = "To forget one thread, write “@{name} forget this thread” in it."


@dataclass(frozen=True, slots=True)
class ForgetView:
    host: Host
    api: SlackApi
    me: Me
    people: People
    home: Home

    async def ask(self, to: ReplyTo, words: str, thread: Collection[str]) -> None:
        """What `/forget` with these words says; `thread`: the conversation in which it is asked, if there is one."""
        if words.strip():
            answer = await self.host.ask_to_forget(await self._who(to.user, thread), words)
            await Whisper(self.api, to).say(named(answer.text, self.me.prefix), *_below(answer, to.user, thread))
        else:
            question = QUESTION if thread else f"{QUESTION} {NO_THREAD_HERE.format(name=self.me.name)}"
            await Whisper(self.api, to).say(question, *blocks.ways(to.user, thread))

    async def clicked(self, body: JsonObject, action: JsonObject) -> None:
        """A click on one of its buttons."""
        made, to = blocks.clicked(body, action), of_click(body)
        if made is None or made.user != to.user:
            await Whisper(self.api, to).say(wording.NOT_YOURS)
        elif made.what == blocks.KEEP:
            await self._replace(to, ForgetAnswer(wording.forget_declined()), ())
        elif made.what == blocks.AGREE:
            who = await self._who(to.user, made.thread)
            answer = await self.host.forget(who, made.token, replies=made.replies)
            await self._replace(to, answer, made.thread)
        elif made.words:
            await self._answer(to, made.words, made.thread)
        else:
            view = blocks.wish_window(to, made.thread)
            await self.api.call(Method.OPEN_VIEW, trigger_id=text(body, "trigger_id"), view=dict(view))

    async def wished(self, body: JsonObject) -> None:
        """The window was sent."""
        made = blocks.wished(fields(body, "view"))
        if made is not None and made.to.user == text(body, "user", "id"):
            await self._answer(made.to, made.words, made.thread, replies=made.replies)

    async def _answer(self, to: ReplyTo, words: str, thread: Collection[str], *, replies: bool = False) -> None:
        answer = await self.host.ask_to_forget(await self._who(to.user, thread), words)
        await self._replace(to, answer, thread, replies=replies)

    async def _who(self, user: str, thread: Collection[str]) -> Forgetter:
        person = (await self.people.member(user)).person
        return Forgetter(person.id, frozenset(thread), person.time_zone)

    async def _replace(
        self, to: ReplyTo, answer: ForgetAnswer, thread: Collection[str], *, replies: bool = False
    ) -> None:
        below = _below(answer, to.user, thread, replies=replies)
        if to.home:
            await self.home.tell(to, News(Part.FORGETTING, answer.text, below))
        else:
            await Whisper(self.api, to).replace(named(answer.text, self.me.prefix), *below)


def _below(answer: ForgetAnswer, user: str, thread: Collection[str], *, replies: bool = False) -> tuple[Json, ...]:
    return (*blocks.agreeing(user, thread, answer.token, answer.wider, replies=replies),) if answer.token else ()
