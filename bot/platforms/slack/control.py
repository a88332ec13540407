"""What a person decides about answers: stop one, choose the model, say what they may take and what holds for everybody.

Above: `listeners` and `intake` call it. Below: `modals`, `whisper`, `people`, `place`, `bot.host`,
`bot.wording`.

Rules. "stop" is never a question. Whoever can write in a thread can stop its answer. What is said about it shows only
to the person who asked.
"""

import logging
from dataclasses import dataclass

from agent.errors import CogencyError, Refused
from agent.memory.writing import POLICY_AUTHORITY
from agent.messages import Json, JsonObject
from agent.ports import Clock
from bot import wording
from bot.access.told import Told
from bot.host import Asker, Host
from bot.platforms.slack.api import SlackApi, SlackError
from bot.platforms.slack.members.names import Names
from bot.platforms.slack.members.people import MemberUnknown, People
from bot.platforms.slack.members.place import Places, team_place
from bot.platforms.slack.payload import text
from bot.platforms.slack.reading import inbound
from bot.platforms.slack.reading.direct import Direct
from bot.platforms.slack.reading.inbound import Heard, Me
from bot.platforms.slack.replies.reply_to import ReplyTo, of_command, of_message
from bot.platforms.slack.replies.whisper import Whisper
from bot.platforms.slack.setup.commands import named
from bot.platforms.slack.views import modals
from bot.platforms.slack.views.block_kit import row

log = logging.getLogger(__name__)

WHO_ARE_YOU = (
    "Slack does not tell me at the moment who you are. Your message is not lost: I answer it as soon as I know."
)
STOP_IN_THREAD = "To stop an answer in a thread, write “@{name} stop” in it."


@dataclass(frozen=True, slots=True)
class Control:
    host: Host
    api: SlackApi
    me: Me
    people: People
    places: Places
    clock: Clock
    told: Told

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

    async def stop_in_words(self, heard: Heard, *, for_us: bool) -> bool:
        """The word "stop"; False if it is nothing but talk. `for_us`: it was said to the bot, and gets an answer.

        Raises CogencyError.
        """
        outside_threads = heard.direct and not heard.in_thread
        meant = await self.direct.going_on(heard.channel) if outside_threads else await self.direct.thread_of(heard)
        if any([await self.host.stop(conversation) for conversation in meant]):
            return True
        if for_us:
            await self._say(of_message(heard), wording.NOTHING_RUNNING)
        return for_us

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
        answer = await Names(self.people, self.places).in_budget(await self.host.budget(person, to.channel, words))
        changes = not words and self.host.operates(person)
        await self._say(to, answer, *row([modals.opening(modals.BUDGET, to.user, to.channel)] if changes else []))

    async def policy(self, body: JsonObject) -> None:
        """`/policy`, with or without words."""
        await self.show_policy(of_command(body), text(body, "text"))

    async def show_policy(self, to: ReplyTo, words: str) -> None:
        """What `/policy` with these words says. A member's direct message is about the whole workspace."""
        member = await self.people.member(to.user)
        everywhere = inbound.is_direct(to.channel) and member.full
        place = team_place(self.me) if everywhere else await self.places.asked_in(to.channel, member)
        words = await Names(self.people, self.places).read(words)
        answer = await self.host.policy(Asker(member.person, member.authority, place), words)
        sets = not words and (member.authority >= POLICY_AUTHORITY or self.host.operates(member.person.id))
        kinds = modals.for_policies(answer) if sets else ()
        await self._say(to, answer, *row([modals.opening(kind, to.user, to.channel) for kind in kinds]))

    async def refused(self, refusal: Refused, heard: Heard) -> None:
        """A message was not taken in: tell the person, unless they were told just now.

        One mention comes as two events, each to any process. Raises StoreError.
        """
        if refusal.told or not await self.host.first(self.me.source, f"refused:{heard.channel}:{heard.ts}"):
            return
        log.info("a message was refused: %s", refusal)
        try:
            await self._say(of_message(heard), wording.literal(str(refusal)))
        except SlackError as silence:
            log.warning("nor could that be said: %s", silence)

    async def keep_waiting(self, body: JsonObject, why: CogencyError) -> None:
        """What somebody asked cannot be taken in yet: tell them, unless they were told just now."""
        heard = inbound.read_event(body, self.me)
        if heard is None or not (heard.direct or heard.mentioned):
            return
        sentence = WHO_ARE_YOU if isinstance(why, MemberUnknown) else wording.KEPT_WAITING
        if self.told.just_now(heard.user, sentence):
            return
        try:
            await self._say(of_message(heard), sentence)
        except SlackError as silence:
            log.warning("that a message has to wait could not be said: %s", silence)

    async def _say(self, to: ReplyTo, markdown: str, *below: Json) -> None:
        await Whisper(self.api, to).say(named(markdown, self.me.prefix), *below)
