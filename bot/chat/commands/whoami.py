"""`/whoami`: who the bot takes its user for here, with the ids that settings want, and whether they can ask and why.

Only the person who asked sees the answer. Everybody can ask: people without access need their ID to request it.
"""

from dataclasses import dataclass
from typing import Final, assert_never

from agent.admission_terms import Authority
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience
from agent.ports.clock import Clock
from agent.ports.tools import Asker
from agent.schedules.ids import source_of
from bot.chat.access import acl
from bot.chat.access.acl import AccessKind, AccessRules
from bot.chat.askers import Requester
from bot.chat.commands.declaration import Command, CommandCall
from bot.chat.panels import Panel
from bot.chat.ports import ChannelRules
from bot.chat.texts import commands as command_texts

MAX_ROLES: Final = 20  # Discord allows 250 of a person


@dataclass(frozen=True, slots=True)
class WhoIs:
    """What decides who can ask: the operator's lists, and the rules of a channel's managers."""

    access: AccessRules
    channel_rules: ChannelRules
    clock: Clock

    async def refusal(self, who: Requester, asker: Asker) -> str | None:
        """Return why the person cannot ask there, as `AdmissionControl.refusal` does. Raises StoreError."""
        if (why := acl.closed_to(self.access, who, asker.authority)) is not None:
            return why
        if self.access.is_operator(who.person) or asker.authority >= Authority.MANAGER:
            return None
        asked = Incoming(
            source_of(who.person),
            "",
            who.channel,
            "",
            "",
            asker.person,
            asker.place,
            "",
            self.clock.now(),
            authority=asker.authority,
            roles=who.roles,
            team=who.team,
        )
        return await self.channel_rules.refusal(asked)


async def show(service: WhoIs, call: CommandCall) -> Panel:
    who, asker = await call.caller.requester(), await call.caller.asker()
    refusal = await service.refusal(who, asker)
    last = command_texts.WHOAMI_IDS if refusal is None else command_texts.WHOAMI_SEND_IDS
    lines = [*_ids(who, asker), "", *_access(service.access, who, asker, refusal), "", last]
    return Panel("\n".join(lines))


def _ids(who: Requester, asker: Asker) -> list[str]:
    """The person, the place and the roles, as entries of the operator's lists."""
    entries = {
        AccessKind.PERSON: who.person.rpartition(":")[2],
        AccessKind.TEAM: who.team,
        AccessKind.CHANNEL: "" if isinstance(asker.place.audience, PersonAudience) else who.channel,
    }
    lines = [command_texts.WHOAMI_ENTRIES[kind].format(entry=_entry(kind, id_)) for kind, id_ in entries.items() if id_]
    roles = sorted(who.roles)
    shown = ", ".join(_entry(AccessKind.ROLE, role) for role in roles[:MAX_ROLES])
    more = command_texts.WHOAMI_MORE.format(count=len(roles) - MAX_ROLES) if len(roles) > MAX_ROLES else ""
    lines.append(command_texts.WHOAMI_ROLES.format(roles=shown + more) if roles else command_texts.WHOAMI_NO_ROLES)
    lines.append(command_texts.WHOAMI_RANK.format(rank=command_texts.RANKS[asker.authority]))
    return [f"- {line}" for line in [*lines, _readers(asker.place)]]


def _entry(kind: AccessKind, id_: str) -> str:
    """Return an entry of COGENCY_ALLOW as code. Only the name of a machine's user may have a backtick."""
    return f"`{kind}:{id_.replace('`', '')}`"


def _readers(place: Place) -> str:
    match place.audience:
        case PersonAudience():
            return command_texts.WHOAMI_DIRECT
        case GroupAudience():
            return command_texts.WHOAMI_GROUP
        case TeamAudience():
            return command_texts.WHOAMI_TEAM
        case _:
            assert_never(place.audience)


def _access(access: AccessRules, who: Requester, asker: Asker, refusal: str | None) -> list[str]:
    """Whether they can ask and why, and what else they can do here."""
    if refusal is not None:
        return [command_texts.WHOAMI_CLOSED.format(why=refusal)]
    lines = [command_texts.WHOAMI_OPEN.format(why=_why_open(access, who, asker.authority))]
    if access.is_operator(who.person):
        lines.append(command_texts.WHOAMI_OPERATOR)
    if asker.manages:
        lines.append(command_texts.WHOAMI_MANAGES)
    return lines


def _why_open(access: AccessRules, who: Requester, authority: Authority) -> str:
    """Return the rule of `acl.closed_to` that lets them in."""
    if access.is_operator(who.person):
        return command_texts.OPEN_TO_OPERATORS
    named = {entry.kind for entry in access.allow if entry.matches(who)}
    if AccessKind.PERSON in named:
        return command_texts.OPEN_BY_NAME
    if authority < Authority.EMPLOYEE:
        return command_texts.OPEN_TO[authority]
    kinds = [command_texts.KINDS[kind] for kind in AccessKind if kind in named]
    return command_texts.OPEN_BY_LIST.format(kinds=" and ".join(kinds)) if kinds else command_texts.OPEN_TO_MEMBERS


WHOAMI_COMMAND = Command(
    name="whoami",
    summary="Show your IDs, this place's IDs, and what you can do here",
    run=show,
    open_to_all=True,
)
