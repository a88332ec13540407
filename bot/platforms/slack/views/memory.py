"""A person's view of what is remembered about them: `/memory`, its buttons, its window, its file.

Above: `desk` and `listeners` call it. Below: `memory_blocks`, `home`, `whisper`, `people`, `place`, `bot.host`.

Rules. It shows only to the person who asked, and its buttons work for nobody else. What a button does is shown in the
place of the list, in a message as in the Home tab. A file can be shown in neither to one person alone, so it goes to
their direct messages.
"""

from dataclasses import dataclass
from typing import Final

from agent.authority import Authority
from agent.messages import Json, JsonObject
from bot import wording
from bot.host import Host, MemoryAnswer, Viewer
from bot.platforms.slack.api import Method, SlackApi, SlackRefused
from bot.platforms.slack.members.people import People
from bot.platforms.slack.members.place import person_place
from bot.platforms.slack.payload import fields, text
from bot.platforms.slack.reading.inbound import Me
from bot.platforms.slack.replies.reply_to import ReplyTo, of_click
from bot.platforms.slack.replies.whisper import Whisper
from bot.platforms.slack.setup.commands import named
from bot.platforms.slack.views import memory_blocks as blocks
from bot.platforms.slack.views.home import Home

FILE_NAME: Final = "what-i-know.json"
SENT: Final = "I have sent it to you as a direct message."
NO_FILE: Final = (
    "I could not send the file: the app may lack the scope `files:write`. Please tell whoever runs this bot."
)


@dataclass(frozen=True, slots=True)
class MemoryView:
    host: Host
    api: SlackApi
    me: Me
    people: People
    home: Home

    async def show(self, to: ReplyTo, words: str = "") -> None:
        """What `/memory` with these words says."""
        answer = await self._ask(to, words)
        await Whisper(self.api, to).say(named(answer.text, self.me.prefix), *blocks.entry_blocks(answer, to.user))

    async def clicked(self, body: JsonObject, action: JsonObject) -> None:
        """A click on one of its buttons."""
        made, to = blocks.clicked(action), of_click(body)
        if made is None or made.user != to.user:
            await Whisper(self.api, to).say(wording.NOT_YOURS)
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
        return MemoryAnswer(SENT if await self._send_file(to.user, answer.text, answer.file) else NO_FILE)

    async def _replace(self, to: ReplyTo, answer: MemoryAnswer) -> None:
        if to.home:
            await self.home.remembered(to, answer)
        else:
            await Whisper(self.api, to).replace(
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
