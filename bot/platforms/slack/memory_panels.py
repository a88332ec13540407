"""A person's view of what is remembered about them: `/memory`, its buttons, its window, its file.

Rules. It shows only to the person who asked, and its buttons work for nobody else. What a button does is shown in the
place of the list, in a message as in the Home tab. A file can be shown in neither to one person alone, so it goes to
their direct messages.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from agent.admission_terms import Authority
from agent.messages import Json, JsonObject
from bot.host import ForgetAnswer, Forgetter, Host, MemoryAnswer, Viewer
from bot.platforms.slack import memory_blocks as blocks
from bot.platforms.slack.api import Method, SlackApi, SlackRefused, fields, text
from bot.platforms.slack.ephemeral import Ephemeral
from bot.platforms.slack.home import Home, News, Part
from bot.platforms.slack.inbound import ReplyTo, SlackBot, of_click
from bot.platforms.slack.members import People
from bot.platforms.slack.places import person_place
from bot.platforms.slack.slash_commands import named
from bot.texts import command_texts, memory_texts, reply_texts

FILE_NAME: Final = "what-i-know.json"


@dataclass(frozen=True, slots=True)
class MemoryView:
    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    home: Home

    async def show(self, to: ReplyTo, words: str = "") -> None:
        """What `/memory` with these words says."""
        answer = await self._ask(to, words)
        await Ephemeral(self.api, to).say(named(answer.text, self.me.prefix), *blocks.entry_blocks(answer, to.user))

    async def clicked(self, body: JsonObject, action: JsonObject) -> None:
        """A click on one of its buttons."""
        made, to = blocks.memory_click(action), of_click(body)
        if made is None or made.user != to.user:
            await Ephemeral(self.api, to).say(reply_texts.NOT_YOURS)
        elif text(action, "action_id").startswith(f"{blocks.ACTION}:{blocks.CORRECT}:"):
            view = blocks.correct_view(made, to)
            await self.api.call(Method.OPEN_VIEW, trigger_id=text(body, "trigger_id"), view=dict(view))
        else:
            await self._replace(to, await self._ask(to, made.words))

    async def corrected(self, body: JsonObject) -> None:
        """The window was sent."""
        made = blocks.corrected(fields(body, "view"))
        if made is not None and made.to.user == text(body, "user", "id"):
            await self._replace(made.to, await self._ask(made.to, made.words))

    async def _ask(self, to: ReplyTo, words: str) -> MemoryAnswer:
        """What these words are answered; a file is on its way then."""
        member = await self.people.member(to.user)
        manages = member.authority >= Authority.MANAGER
        viewer = Viewer(member.person, person_place(self.me, member), to.channel, manages)
        answer = await self.host.memory(viewer, words)
        if answer.file is None:
            return answer
        return MemoryAnswer(
            command_texts.EXPORT_SENT
            if await self._send_file(to.user, answer.text, answer.file)
            else command_texts.EXPORT_NOT_SENT
        )

    async def _replace(self, to: ReplyTo, answer: MemoryAnswer) -> None:
        if to.home:
            await self.home.remembered(to, answer)
        else:
            await Ephemeral(self.api, to).replace(
                named(answer.text, self.me.prefix), *blocks.entry_blocks(answer, to.user)
            )

    async def _send_file(self, user: str, said: str, content: str) -> bool:
        """Whether it is in the person's direct messages now. Raises SlackError, but for a refusal."""
        data = content.encode()
        try:
            place = await self.api.call(Method.UPLOAD_URL, filename=FILE_NAME, length=len(data))
            await self.api.upload(text(place, "upload_url"), data)
            posted = await self.api.call(Method.POST, channel=user, text=said)
            file: Json = {"id": text(place, "file_id"), "title": FILE_NAME}
            await self.api.call(
                Method.COMPLETE_UPLOAD, files=[file], channel_id=text(posted, "channel"), thread_ts=text(posted, "ts")
            )
        except SlackRefused:
            return False
        return True


# `/forget`: what would fall, its buttons, its window.
#
# Rules. It shows only to the person who asked, and its buttons work for nobody else. What a button does is shown in the
# place of the question, or below what was clicked in the Home tab.


@dataclass(frozen=True, slots=True)
class ForgetView:
    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    home: Home

    async def ask(self, to: ReplyTo, words: str, thread: Collection[str]) -> None:
        """What `/forget` with these words says; `thread`: the conversation in which it is asked, if there is one."""
        if words.strip():
            answer = await self.host.forgetting.ask(await self._who(to.user, thread), words)
            await Ephemeral(self.api, to).say(named(answer.text, self.me.prefix), *_below(answer, to.user, thread))
        else:
            question = (
                command_texts.FORGET_QUESTION
                if thread
                else f"{command_texts.FORGET_QUESTION} {command_texts.FORGET_IN_THREAD.format(name=self.me.name)}"
            )
            await Ephemeral(self.api, to).say(question, *blocks.forget_buttons(to.user, thread))

    async def clicked(self, body: JsonObject, action: JsonObject) -> None:
        """A click on one of its buttons."""
        made, to = blocks.forget_click(body, action), of_click(body)
        if made is None or made.user != to.user:
            await Ephemeral(self.api, to).say(reply_texts.NOT_YOURS)
        elif made.what == blocks.KEEP:
            await self._replace(to, ForgetAnswer(memory_texts.FORGET_DECLINED), ())
        elif made.what == blocks.AGREE:
            who = await self._who(to.user, made.thread)
            answer = await self.host.forgetting.forget(who, made.token, replies=made.replies)
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
        answer = await self.host.forgetting.ask(await self._who(to.user, thread), words)
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
            await Ephemeral(self.api, to).replace(named(answer.text, self.me.prefix), *below)


def _below(answer: ForgetAnswer, user: str, thread: Collection[str], *, replies: bool = False) -> tuple[Json, ...]:
    return (
        (*blocks.agreement_buttons(user, thread, answer.token, answer.wider, replies=replies),) if answer.token else ()
    )
