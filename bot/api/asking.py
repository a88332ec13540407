"""Asking as a token: who asks, where the answer may be read, on which terms, and the turn of the ledger.

Rules
  A person's question is admitted as their direct message would be: the platform says who they are now, and the
  operator's lists, rates and budgets hold. A service asks in its place, as an employee whom no platform knows; rules of
  its channel hold.
  A question counts as the person's own words only with the scope `remember`: a program may send any text. Without it,
  nothing is learned from the question, and no fact rests on it.
  A question of a process is answered by that process alone, which holds the connection. What one left that is gone is
  taken over and ended, without a model.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from agent.admission_terms import Authority, TermsNotMet
from agent.errors import CogencyError, Refused, StoreError
from agent.events import Outcome
from agent.incoming import Incoming, Person, Quoted, platform_of
from agent.memory.audience import PersonAudience, TeamAudience
from agent.ports.api_tokens import ApiToken, TokenScope
from agent.schedules.definitions import NotAllowed
from agent.spending import By, SpendingPeriod, Spent
from agent.turn_kinds import TurnKind
from bot.api import texts as api_texts
from bot.api.replies import ApiReplies, PendingReply
from bot.api.tokens import TokenService, budget_words
from bot.api.wire import ORDERS, USUAL_MODEL, ApiError, ApiQuestion, no_response
from bot.chat.access.presence import admitted_now
from bot.chat.askers import Requester
from bot.chat.caches import ExpiringCache
from bot.chat.core import Core
from bot.chat.ports import ModelChoices
from bot.chat.texts.formatting import platform_name
from bot.chat.turns.worker import AnsweredElsewhere

log = logging.getLogger(__name__)

SOURCE: Final = "api"  # The family of the sources of all processes
HELD: Final = timedelta(seconds=30)  # For which no other process takes over what waits here
HOLD_S: Final = 10.0  # Between two renewals of that, and two searches for what others left
RETRY_S: Final = 60  # After a limit; its sentence says more exactly when it ends


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that may be asked: its message, with the reply for which its program waits."""

    incoming: Incoming
    pending: PendingReply


@dataclass(slots=True, eq=False)
class ApiAsking:
    """`process`: the name of this process. `new_id`: returns 32 hexadecimal digits."""

    core: Core
    tokens: TokenService
    models: ModelChoices
    new_id: Callable[[], str]
    process: str
    replies: ApiReplies = field(init=False)
    _people: ExpiringCache[Incoming] = field(init=False)

    def __post_init__(self) -> None:
        self.replies = ApiReplies(self._why_not)
        self._people = ExpiringCache(self._as_person, self.core.clock)

    @property
    def source(self) -> str:
        return f"{SOURCE}:{self.process}"

    async def models_of(self, token: ApiToken) -> tuple[str, ...]:
        """Return the names of the models that the token may choose. Raises ApiError and CogencyError."""
        menu = await self.models.menu(Requester.wrote(await self.message_of(token)))
        return (USUAL_MODEL, *menu.allowed)

    async def conversation_of(self, token: ApiToken, question: ApiQuestion) -> str:
        """Return the name of the question's conversation. Raises ApiError if it continues a response of which the
        token's owner has no conversation.
        """
        if question.response:
            known = await self.core.store.conversations.last_said(conversation_id(token, question.response))
            if known is None:
                raise no_response()
        return question.response or question.conversation or self.new_id()

    @asynccontextmanager
    async def opened(self, token: ApiToken, question: ApiQuestion, name: str, id_: str) -> AsyncGenerator[Asked]:
        """Prepare a question, in the conversation `name`, and forget its reply when the block ends. Raises ApiError,
        Refused and CogencyError.
        """
        base = await self.message_of(token)
        if question.model and question.model not in await self.models_of(token):
            raise ApiError(404, api_texts.NO_MODEL.format(name=question.model), code="model_not_found", param="model")
        if (why := await self.spent(token)) is not None:
            raise limited(why)
        incoming = question_message(base, token, question, name, id_)
        pending = self.replies.open(id_, token)
        try:
            yield Asked(incoming, pending)
        finally:
            self.replies.close(id_)

    async def ask(self, asked: Asked) -> Outcome:
        """Ask, and wait for the end of the turn. Cancelling this call stops it. Raises ApiError and StoreError."""
        admission = self.core.admission
        if admission is None:
            raise RuntimeError("questions of programs are asked where nobody admits them")
        try:
            admitted = await admission.admission(asked.incoming)
        except Refused as refused:
            raise forbidden(str(refused)) from None
        was_stored = True
        try:
            outcome = await self.core.turns.ask(asked.incoming, admitted.terms)
            asked.pending.spent = Spent()  # the store has it from now on
        except TermsNotMet as unmet:
            was_stored = False
            raise limited(str(admission.refused(asked.incoming, admitted, unmet.obstacle))) from None
        except AnsweredElsewhere:
            outcome = None
        finally:
            if was_stored:
                admission.count(asked.incoming, admitted)
        if outcome is None:
            raise ApiError(503, api_texts.INTERRUPTED, kind="server_error", code="interrupted")
        if outcome is Outcome.REFUSED and asked.pending.is_unbegun:  # a budget may have been used up while it waited
            why = await admission.budget_left(asked.incoming)
            asked.pending.refusal = asked.pending.refusal or (None if why is None else limited(why))
        return outcome

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Show replies to programs, and end what processes that are gone have left, until the block ends."""
        self.core.platforms.own_surfaces[self.source] = self.replies.surface_for
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            del self.core.platforms.own_surfaces[self.source]

    async def _sweep(self) -> None:
        ledger, clock = self.core.store.ledger, self.core.clock
        while True:
            try:
                if len(self.replies):
                    await ledger.hold_place(self.source, clock.now() + HELD)
                if await ledger.take_over_turns("", SOURCE, self.source, clock.now(), HELD):
                    self.core.turns.wake()
            except StoreError as error:
                log.info("open questions of programs could not be read; retrying: %s", error)
            await clock.sleep(HOLD_S)

    async def message_of(self, token: ApiToken) -> Incoming:
        """Return an empty message of the token's owner as of now. Raises ApiError and CogencyError."""
        if token.is_service:
            return message_of_service(token, self.source, self.core.clock.now())
        written = await self._people.get(token.definition.person)
        return message_of_person(token, self.source, written, self.core.clock.now())

    async def _as_person(self, person: str) -> Incoming:
        """Return a direct message of the person, as their platform admits it now: as a question of theirs that is due
        now.
        """
        source = person.rpartition(":")[0]
        platform = self.core.platforms.schedules.get(source)
        if platform is None:
            name = platform_name(platform_of(source))
            raise ApiError(503, api_texts.NOT_CONNECTED.format(platform=name), kind="server_error")
        admitted = await admitted_now(platform, person, self.core.clock.now())
        if isinstance(admitted, NotAllowed):
            raise forbidden(api_texts.PERSON_REFUSED.format(why=admitted.why))
        return admitted

    async def _why_not(self, token: ApiToken) -> ApiError | None:
        if await self.tokens.valid(token.id) is None:
            return ApiError(401, api_texts.TOKEN_REVOKED_MEANWHILE, kind="authentication_error", code="invalid_api_key")
        why = await self.spent(token)
        return None if why is None else limited(why)

    async def spent(self, token: ApiToken) -> str | None:
        """Return a sentence once the token's own budget is spent, also by replies that have not ended."""
        new = token.definition
        if new.tokens_per_day is None and new.money_per_day is None:
            return None
        today = SpendingPeriod.days_until(self.core.clock.now(), 1)
        totals = await self.core.store.spending.totals(today, By.CHANNEL, person=token.owner)
        own = (total.spent for total in totals if token.is_service or total.key in {token.account, token.mcp_account})
        spent = sum(own, self.replies.unrecorded(token))
        used = spent.usage
        tokens = used.input_uncached + used.input_cached + used.input_written + used.output + used.reasoning
        too_many = new.tokens_per_day is not None and tokens >= new.tokens_per_day
        too_dear = new.money_per_day is not None and spent.cost >= new.money_per_day
        return api_texts.TOKEN_SPENT.format(budget=budget_words(new)) if too_many or too_dear else None


def message_of_person(token: ApiToken, source: str, written: Incoming, now: datetime) -> Incoming:
    """Return an empty message of a token's person. `written`: a direct message as their platform admits it now. Raises
    ApiError if that is somebody else's, or for others to read.
    """
    person = token.definition.person
    if written.person.id != person or written.place.audience != PersonAudience(person):
        raise forbidden(api_texts.NO_TOKEN)
    return Incoming(
        source=source,
        event_id="",
        channel=token.account,
        message_id="",
        conversation="",
        person=written.person,
        place=written.place,
        text="",
        time=now,
        authority=written.authority,
        roles=written.roles,
        team=written.team,
        organization=written.organization,
        kind=TurnKind.API,
    )


def message_of_service(token: ApiToken, source: str, now: datetime) -> Incoming:
    """Return an empty message of a service, in its place."""
    new = token.definition
    team = new.audience.team if isinstance(new.audience, TeamAudience) else new.source if ":" in new.source else ""
    return Incoming(
        source=source,
        event_id="",
        channel=new.channel or token.account,
        message_id="",
        conversation="",
        person=Person(token.owner, new.name),
        place=token.place,
        text="",
        time=now,
        authority=Authority.EMPLOYEE,
        team=team.rpartition(":")[2],
        kind=TurnKind.API,
    )


def question_message(base: Incoming, token: ApiToken, question: ApiQuestion, name: str, id_: str) -> Incoming:
    """Return the message of a question in the conversation `name`, from an empty message of the token's owner."""
    quoted = tuple(
        Quoted(
            api_texts.SENT_ORDERS if message.role in ORDERS else api_texts.SENT_BEFORE,
            message.role,
            message.text,
            by_bot=message.role != "user",
        )
        for message in question.earlier
    )
    return replace(
        base,
        event_id=id_,
        message_id=id_,
        conversation=conversation_id(token, name),
        text=question.text,
        quoted=quoted,
        model=question.model,
        own=token.allows(TokenScope.REMEMBER),
    )


def conversation_id(token: ApiToken, name: str) -> str:
    """Conversations belong to the token's owner: to another one's name leads no id."""
    return f"{SOURCE}:{token.owner}:{name}"


def forbidden(why: str) -> ApiError:
    return ApiError(403, why, kind="permission_error", code="access_denied")


def limited(why: str) -> ApiError:
    return ApiError(429, why, kind="rate_limit_error", code="rate_limit_exceeded", retry_after_s=RETRY_S)


def unavailable(error: CogencyError) -> ApiError:
    sentence = api_texts.STORE_AWAY if isinstance(error, StoreError) else str(error)
    return ApiError(503, sentence, kind="server_error", code="unavailable")
