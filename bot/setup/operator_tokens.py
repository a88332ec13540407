"""`cogency token`: an operator's tokens for programs, whether the bot runs or not. Each change is in the audit."""

from dataclasses import replace
from datetime import timedelta

from agent.errors import Refused
from agent.incoming import person_source
from agent.machine import CLOCK, new_secret
from agent.memory.audience import PersonAudience
from agent.messages import Json, ResultStatus
from agent.ports.api_tokens import ApiToken, ApiTokens, TokenScope
from bot.api import texts as api_texts
from bot.api.tokens import (
    MAX_OF_SERVICES,
    DailyBudget,
    IssuedToken,
    TokenAct,
    TokenRequest,
    TokenService,
    operator_line,
    scope_words,
    token_json,
)
from bot.app.settings import Settings
from bot.app.subject_requests import Kind, Operator, find_subject
from bot.chat.audit import operator_act
from bot.chat.output import printable_json, printable_line
from bot.settings.secret import Secret
from bot.setup import texts as setup_texts
from store.engine import open_api_tokens
from store.subject_access import SqlDataSubjects, open_beside

SERVICE = "service"


async def create_token(
    settings: Settings,
    name: str,
    acts_as: str,
    place: str | None,
    budget: DailyBudget,
    scopes: frozenset[TokenScope],
    lasts: timedelta | None,
    operator: Operator,
) -> tuple[str, Secret]:
    """Create a token for a person's id, or for "service" in a place. Raises Refused and StoreError."""
    async with open_beside(settings.storage.url) as view, open_api_tokens(settings.storage.url) as tokens:
        if acts_as == SERVICE:
            request = await _for_service(view.data_subjects, name, place)
        else:
            request = await _for_person(view.data_subjects, name, acts_as, place)
        request = replace(request, scopes=scopes, lasts=lasts, budget=budget)
        issued = await _service(view.data_subjects, tokens, operator).issue(request)
    return _made(issued, place), issued.secret


async def _for_person(subjects: SqlDataSubjects, name: str, person: str, place: str | None) -> TokenRequest:
    if place is not None:
        raise Refused(setup_texts.TOKEN_PLACE_OF_PERSON)
    await find_subject(subjects, Kind.PERSON, person)
    return TokenRequest(name=name, person=person, audience=PersonAudience(person), source=person_source(person))


async def _for_service(subjects: SqlDataSubjects, name: str, place: str | None) -> TokenRequest:
    if place is None:
        raise Refused(setup_texts.TOKEN_PLACE_MISSING)
    found = await subjects.document_place(place)
    if found is None:
        await find_subject(subjects, Kind.PLACE, place)  # says which ids are similar
        raise Refused(setup_texts.TOKEN_PLACE_MISSING)
    if isinstance(found.audience, PersonAudience):
        raise Refused(setup_texts.TOKEN_PLACE_PRIVATE.format(of=place))
    return TokenRequest(name=name, person="", audience=found.audience, source=found.source, channel=found.channel)


def _made(issued: IssuedToken, place: str | None) -> str:
    new = issued.token.definition
    ends = api_texts.NEVER_EXPIRES if new.expires is None else api_texts.EXPIRES.format(day=new.expires)
    form = setup_texts.TOKEN_PERSON_MADE if new.person else setup_texts.TOKEN_SERVICE_MADE
    return form.format(name=new.name, of=new.person or place, scopes=scope_words(new.scopes), ends=ends)


async def token_list(settings: Settings, *, as_json: bool) -> str:
    """Return all tokens as lines, or as JSON. Raises StoreError."""
    async with open_api_tokens(settings.storage.url) as tokens:
        listed = await tokens.all(MAX_OF_SERVICES)
    if as_json:
        rows: list[Json] = [token_json(token) for token in listed]
        return printable_json(rows, indent=2)
    return "\n".join(printable_line(operator_line(token, CLOCK.now())) for token in listed) or setup_texts.NO_TOKENS


async def revoke_token(settings: Settings, named: str, operator: Operator) -> str:
    """Revoke a token by its number or name; return the message. Raises Refused and StoreError."""
    async with open_beside(settings.storage.url) as view, open_api_tokens(settings.storage.url) as tokens:
        service = _service(view.data_subjects, tokens, operator)
        token = await service.revoke(named, await service.listed())
    return setup_texts.TOKEN_REVOKED.format(id=token.id, name=token.definition.name)


def _service(subjects: SqlDataSubjects, tokens: ApiTokens, operator: Operator) -> TokenService:
    async def record(act: TokenAct, token: ApiToken) -> None:
        new = token.definition
        of = new.person or f"{new.source}:{new.channel}".rstrip(":")
        row: dict[str, Json] = {"act": act, "kind": "token", "of": of, "account": operator.account, "token": token.id}
        row |= {"scopes": scope_words(new.scopes)}
        await subjects.add(operator_act(CLOCK.now(), operator.name, row, "alone", ResultStatus.SUCCESS))

    return TokenService(tokens, CLOCK, new_secret, record)
