"""Posting as a token: a text of a program, in the channel of its service, or where its person may post.

Rules
  A service posts in its channel. A person's token posts where the person may post at that moment, as the platform says
  (`agent.ports.acting`), and where the bot may act for people. It has no other scope: what a program has read of the
  person's memory must not get into a channel.
  The platform is asked at each post whether the bot can post there. The operator's lists, the channel's rules, rates
  and budgets hold as for a question of the service.
  A post is a turn of the ledger, stored before it is acknowledged, and shown once. It counts as others' words, notifies
  nobody, and teaches nothing.
  Each post is in the audit before it is stored, without its text.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Final

from agent.admission_terms import Authority, TermsNotMet
from agent.errors import Refused, ToolError
from agent.incoming import Incoming, Person, platform_of
from agent.memory.audience import label
from agent.messages import ResultStatus
from agent.ports.acting import ActRight
from agent.ports.acts import ActLimit, ActLimits
from agent.ports.api_tokens import ApiToken
from agent.ports.tool_audit import AuditedCall, CallEnd
from agent.ports.tools import ToolContext, ToolEffect
from agent.ports.webhooks import EventTarget
from agent.schedules.definitions import NotAllowed
from agent.tool_policy import DecidedBy
from agent.turn_kinds import TurnKind
from bot.api import texts as api_texts
from bot.api.asking import ApiAsking, forbidden, limited
from bot.api.wire import ApiError, PostRequest
from bot.chat.access.place_rules import ACT, rules_at
from bot.chat.texts.formatting import platform_name

TOOL: Final = "api post"  # In the audit
WAIT_S: Final = 10.0  # For the platform to show a post; after that it is shown later
POLL_S: Final = 0.1


class PostStatus(StrEnum):
    POSTED = "posted"
    QUEUED = "queued"
    REMOVED = "removed"
    """It was stopped or forgotten before it was shown."""


@dataclass(frozen=True, slots=True)
class Post:
    """`id`: "post_" and hexadecimal digits. `message`: the platform's id of its message, "" while there is none."""

    id: str
    status: PostStatus
    message: str = ""


@dataclass(frozen=True, slots=True)
class PersonPosts:
    """Where the bot may act for people. `is_open`: whether it may in a channel whose rule about acts has this value.
    `limits`: for a day.
    """

    is_open: Callable[[str], bool]
    limits: ActLimits


@dataclass(frozen=True, slots=True)
class ApiPosting:
    """`people`: None if the bot acts for nobody."""

    asking: ApiAsking
    people: PersonPosts | None = None

    async def post(self, token: ApiToken, request: PostRequest) -> Post:
        """Post a text, and wait a moment until it is shown. Raises ApiError and CogencyError."""
        core = self.asking.core
        if (why := await self.asking.spent(token)) is not None:
            raise limited(why)
        incoming = await (
            self._as_service(token, request) if token.is_service else self._as_person(token, request, self.people)
        )
        admission = core.admission
        if admission is None:
            raise RuntimeError("programs post where nobody admits them")
        try:
            admitted = await admission.admission(incoming)
        except Refused as refused:
            raise forbidden(str(refused)) from None
        if not token.is_service and self.people is not None:
            await self._charge(incoming, self.people.limits)
        row, began, outcome = await core.store.audit.add(self._row(token, incoming)), core.clock.monotonic(), ""
        try:
            accepted = await core.store.written_turns.accept(incoming, request.text, admitted.terms)
            outcome = ResultStatus.SUCCESS
        except TermsNotMet as unmet:
            outcome = CallEnd.NOT_RUN
            raise limited(str(admission.refused(incoming, admitted, unmet.obstacle))) from None
        finally:
            ms, size = round(1000 * (core.clock.monotonic() - began)), len(request.text.encode())
            await core.store.audit.end(row, ms, size, outcome or ResultStatus.UNKNOWN)
        if not accepted.duplicate:
            admission.count(incoming, admitted)
            core.turns.wake()
        return await self._shown(accepted.turn, f"post_{incoming.event_id.rpartition(':')[2]}")

    async def _as_service(self, token: ApiToken, request: PostRequest) -> Incoming:
        """Return the post as a message of the service. Raises ApiError if it cannot be posted, and CogencyError."""
        channel = token.definition.channel
        if not channel:
            raise forbidden(api_texts.POST_NO_CHANNEL)
        if request.channel not in {"", channel}:
            raise forbidden(api_texts.POST_OTHER_CHANNEL)
        found = await self._incoming(token, request, channel)
        return replace(found, person=Person(token.owner, token.definition.name), authority=Authority.EMPLOYEE)

    async def _as_person(self, token: ApiToken, request: PostRequest, people: PersonPosts | None) -> Incoming:
        """Return the post as a message of the person, who may post there now. Raises ApiError and CogencyError."""
        core, source = self.asking.core, token.definition.source
        if not request.channel:
            raise ApiError(400, api_texts.MISSING.format(param="channel"), param="channel")
        asked, hands = await self.asking.message_of(token), core.platforms.hands.get(source)
        if hands is None or people is None:
            raise forbidden(api_texts.POST_FOR_NOBODY)
        context = ToolContext(
            asked.person, asked.place, "", 0, asked.time, authority=asked.authority, kind=TurnKind.API
        )
        try:
            target = await hands.find(request.channel, ActRight.POST, context)
        except ToolError as error:
            raise forbidden(api_texts.NOT_POSTED.format(why=error)) from None
        if target.thread:
            raise ApiError(400, api_texts.POST_IN_THREAD, param="channel")
        if not people.is_open((await rules_at(core.store.preferences, source, target.channel)).text(ACT)):
            raise forbidden(api_texts.POST_CLOSED.format(name=target.name))
        found = await self._incoming(token, request, target.channel)
        return replace(found, person=asked.person, authority=asked.authority)

    async def _incoming(self, token: ApiToken, request: PostRequest, channel: str) -> Incoming:
        """Return the post as a message in this channel. Raises ApiError if it cannot be posted, and CogencyError."""
        source = token.definition.source
        platform = self.asking.core.platforms.events.get(source)
        if platform is None:
            away = api_texts.NOT_CONNECTED_TO_POST.format(platform=platform_name(platform_of(source)))
            raise ApiError(503, away, kind="server_error", code="unavailable")
        event = f"post:{token.id}:{_id_of(request, self.asking.new_id)}"
        found = await platform.event(EventTarget(event, token.definition.name, channel))
        if isinstance(found, NotAllowed):
            raise forbidden(api_texts.NOT_POSTED.format(why=found.why))
        return replace(found, kind=TurnKind.EVENT, text=request.text)

    async def _charge(self, incoming: Incoming, limits: ActLimits) -> None:
        """Count an act for the person. Raises ApiError and StoreError."""
        core, place = self.asking.core, f"{incoming.source}:{incoming.channel}"
        match await core.store.acts.charge(incoming.person.id, place, limits, core.clock.now()):
            case ActLimit.PERSON:
                raise limited(api_texts.POSTS_OF_PERSON.format(limit=limits.person))
            case ActLimit.PLACE:
                raise limited(api_texts.POSTS_IN_PLACE.format(limit=limits.place))
            case None:
                return

    def _row(self, token: ApiToken, incoming: Incoming) -> AuditedCall:
        return AuditedCall(
            time=self.asking.core.clock.now(),
            person=token.owner,
            channel=incoming.channel,
            audience=label(incoming.place.audience),
            tool=TOOL,
            arguments=json.dumps({"token": token.id, "id": incoming.event_id}),
            effect=ToolEffect.ACTS_OUTWARD,
            decision="unasked",
            decided_by=DecidedBy.SCOPE,
        )

    async def _shown(self, turn: int, id_: str) -> Post:
        ledger, clock = self.asking.core.store.ledger, self.asking.core.clock
        until = clock.monotonic() + WAIT_S
        while (pages := await ledger.pages(turn)) is None:
            if clock.monotonic() >= until:
                return Post(id_, PostStatus.QUEUED)
            await clock.sleep(POLL_S)
        return Post(id_, PostStatus.POSTED, pages[0]) if pages else Post(id_, PostStatus.REMOVED)


def _id_of(request: PostRequest, new_id: Callable[[], str]) -> str:
    """Return 32 hexadecimal digits: the same for a text that is sent again with its key."""
    if not request.key:
        return new_id()
    return sha256(json.dumps([request.key, request.text, request.channel]).encode()).hexdigest()[:32]
