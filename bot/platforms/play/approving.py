"""Who may approve calls of others in `cogency play`: the other person of the workspace, in their direct messages."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.admission_terms import Authority
from agent.approvers import CHANNEL_MANAGER, Approvers
from agent.incoming import Incoming, Person
from bot.chat.approvers import Approver
from bot.chat.commands.declaration import command_below
from bot.chat.panels import Panel
from bot.chat.reply.surface import ReplyAction
from bot.platforms.play.commands import PlayHost, panel_of
from bot.platforms.play.workspace import BOT, CHANNELS, PEOPLE, direct_channel, known_as


@dataclass(frozen=True, slots=True)
class PlayApprovers:
    """Implements `ApproverPlatform`."""

    play: PlayHost

    async def candidates(self, rule: Approvers, question: Incoming) -> Sequence[str]:  # noqa: ARG002 -- all people are few
        return [known_as(person) for person in PEOPLE]

    async def approver(self, person: str, rule: Approvers, question: Incoming) -> Approver | None:
        player = PEOPLE.get(person.removeprefix(known_as("")))
        if player is None or rule.role or (rule.person and rule.person != person):
            return None
        channel = CHANNELS[question.channel]
        reads = (
            channel.place.audience == question.place.audience and not channel.direct and player.id in channel.members
        )
        if not rule.person and player.authority < (rule.rank or Authority.MANAGER):
            return None
        if rule.who == CHANNEL_MANAGER and not reads:
            return None
        return Approver(Person(person, player.name, self.play.zone), reads)

    async def send(self, person: str, panel: Panel) -> tuple[str, ...]:
        body = panel_of(panel, self._command) if panel.actions else {}
        channel = direct_channel(person.removeprefix(known_as("")))
        key = panel.actions[0].words if panel.actions else ""
        return (self.play.log.add(channel.id, BOT, text=panel.text, panel=body, key=key).id,)

    async def find(self, person: str, words: str) -> tuple[str, ...]:  # noqa: ARG002 -- the words name one message
        found = self.play.log.with_key(words)
        return () if found is None else (found.id,)

    async def update(self, page: str, text: str) -> None:
        self.play.log.change(page, text=text, panel={})

    @property
    def _command(self) -> str:
        return command_below(self.play.host.commands, ReplyAction.DECIDE).declared.name
