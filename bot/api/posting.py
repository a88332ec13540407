"""Posting as a token: a text of a program, in the channel of its service.

Rules
  Only services post, and only in their channel: what a person could post somewhere now is not checked here.
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
from agent.errors import Refused
from agent.incoming import Incoming, Person, platform_of
from agent.memory.audience import label
from agent.messages import ResultStatus
from agent.ports.api_tokens import ApiToken
from agent.ports.tool_audit import AuditedCall, CallEnd
from agent.ports.tools import ToolEffect
from agent.ports.webhooks import EventTarget
from agent.schedules.definitions import NotAllowed
from agent.tool_policy import DecidedBy
from agent.turn_kinds import TurnKind
from bot.api import texts as api_texts
from bot.api.asking import ApiAsking, forbidden, limited
from bot.api.wire import ApiError, PostRequest
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
class ApiPosting:
    asking: ApiAsking

    async def post(self, token: ApiToken, request: PostRequest) -> Post:
        """Post a text, and wait a moment until it is shown. Raises ApiError and CogencyError."""
        new, core = token.definition, self.asking.core
        if not token.is_service or not new.channel:
            raise forbidden(api_texts.POST_NO_CHANNEL)
        if (why := await self.asking.spent(token)) is not None:
            raise limited(why)
        incoming = await self._incoming(token, request)
        admission = core.admission
        if admission is None:
            raise RuntimeError("programs post where nobody admits them")
        try:
            admitted = await admission.admission(incoming)
        except Refused as refused:
            raise forbidden(str(refused)) from None
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

    async def _incoming(self, token: ApiToken, request: PostRequest) -> Incoming:
        """Return the post as a message of the service. Raises ApiError if it cannot be posted, and CogencyError."""
        source, channel, name = token.definition.source, token.definition.channel, token.definition.name
        platform = self.asking.core.platforms.events.get(source)
        if platform is None:
            away = api_texts.NOT_CONNECTED_TO_POST.format(platform=platform_name(platform_of(source)))
            raise ApiError(503, away, kind="server_error", code="unavailable")
        event = f"post:{token.id}:{_id_of(request, self.asking.new_id)}"
        found = await platform.event(EventTarget(event, name, channel))
        if isinstance(found, NotAllowed):
            raise forbidden(api_texts.NOT_POSTED.format(why=found.why))
        person = Person(token.owner, name)
        return replace(found, kind=TurnKind.EVENT, person=person, authority=Authority.EMPLOYEE, text=request.text)

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
    return sha256(json.dumps([request.key, request.text]).encode()).hexdigest()[:32]
