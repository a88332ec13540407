"""`/tokens`: a person's tokens for programs."""

from dataclasses import dataclass
from datetime import timedelta

from agent.errors import Refused
from agent.incoming import person_source
from agent.memory.audience import PersonAudience
from agent.ports.api_tokens import ApiToken
from bot.api import texts as api_texts
from bot.api.settings import ApiSettings
from bot.api.sign_in import SignIns
from bot.api.tokens import TokenRequest, TokenService, parse_name, parse_scopes, scope_words, token_line
from bot.chat.commands.declaration import Argument, Command, CommandCall
from bot.chat.one_time_codes import CODE_TIME
from bot.chat.panels import Panel, PanelAction


@dataclass(frozen=True, slots=True)
class PersonTokens:
    """What `/tokens` needs: the tokens, and what the operator allows people."""

    service: TokenService
    settings: ApiSettings
    sign_ins: SignIns | None = None
    """None where no program can sign in by itself."""


async def show(tokens: PersonTokens, call: CommandCall) -> Panel:
    """List the caller's tokens, or create or revoke one."""
    words = call.words.split()
    match words:
        case []:
            return await _list(tokens, call)
        case ["create", name]:
            return await _create(tokens, call, name, "")
        case ["create", name, *scopes]:
            return await _create(tokens, call, name, ",".join(scopes))
        case ["revoke", name]:
            return await _revoke(tokens, call, name)
        case ["sign-in"] if tokens.sign_ins is not None:
            return await _sign_in(tokens, tokens.sign_ins, call)
        case _:
            return Panel(_usage(tokens), refused=True)


async def _list(tokens: PersonTokens, call: CommandCall, before: str = "") -> Panel:
    owned, now = await tokens.service.tokens.of_person(call.caller.person.id), tokens.service.clock.now()
    lines = "\n".join(f"- {token_line(token, now)}" for token in owned)
    heading = api_texts.YOUR_TOKENS if owned else api_texts.NO_TOKENS
    parts = (before, f"{heading}\n{lines}".rstrip(), _usage(tokens))
    return Panel("\n\n".join(filter(None, parts)), tuple(map(_revoking, owned)))


def _usage(tokens: PersonTokens) -> str:
    allowed = tokens.settings.person_scopes
    return api_texts.TOKENS_USAGE.format(scopes=scope_words(allowed)) if allowed else api_texts.TOKENS_OFF


def _revoking(token: ApiToken) -> PanelAction:
    name = token.definition.name
    return PanelAction(
        api_texts.REVOKE_BUTTON.format(name=name),
        f"revoke {token.id}",
        danger=True,
        confirm=api_texts.REVOKE_CONFIRM.format(name=name),
    )


async def _create(tokens: PersonTokens, call: CommandCall, name: str, scopes: str) -> Panel:
    allowed, person = tokens.settings.person_scopes, call.caller.person.id
    if not allowed:
        return Panel(api_texts.TOKENS_OFF, refused=True)
    if (await call.caller.asker()).place.audience != PersonAudience(person):
        return Panel(api_texts.CREATE_IN_DM, refused=True)
    try:
        named, wanted = parse_name(name), parse_scopes(scopes) if scopes else allowed
    except ValueError as error:
        raise Refused(f"{name} {scopes}".strip() + f": {error}") from None
    if not wanted <= allowed:
        return Panel(api_texts.SCOPES_NOT_ALLOWED.format(scopes=scope_words(allowed)), refused=True)
    request = TokenRequest(
        name=named,
        person=person,
        audience=PersonAudience(person),
        source=person_source(person),
        scopes=wanted,
        lasts=timedelta(days=tokens.settings.person_days),
        by_person=True,
    )
    issued = await tokens.service.issue(request)
    ends = api_texts.EXPIRES.format(day=issued.token.definition.expires)
    scopes, secret = scope_words(wanted), issued.secret.reveal()
    return Panel(api_texts.TOKEN_CREATED.format(name=named, secret=secret, scopes=scopes, ends=ends))


async def _sign_in(tokens: PersonTokens, sign_ins: SignIns, call: CommandCall) -> Panel:
    person = call.caller.person.id
    if not tokens.settings.person_scopes:
        return Panel(api_texts.TOKENS_OFF, refused=True)
    if (await call.caller.asker()).place.audience != PersonAudience(person):
        return Panel(api_texts.CREATE_IN_DM, refused=True)
    minutes = int(CODE_TIME.total_seconds() / 60)
    return Panel(api_texts.SIGN_IN_CODE.format(code=await sign_ins.new_code(person), minutes=minutes))


async def _revoke(tokens: PersonTokens, call: CommandCall, name: str) -> Panel:
    owned = await tokens.service.tokens.of_person(call.caller.person.id)
    revoked = await tokens.service.revoke(name, owned)
    return await _list(tokens, call, api_texts.TOKEN_REVOKED.format(name=revoked.definition.name))


COMMAND = Command(
    name="tokens",
    summary="List, create, or revoke tokens that let programs ask me as you",
    run=show,
    arguments=(Argument("words", "create NAME, or revoke NAME"),),
    bare=False,
    examples={
        "create my-editor": "create a token that your editor can use",
        "sign-in": "get a code to sign in to an app that asks for one",
        "revoke my-editor": "revoke that token",
    },
)
