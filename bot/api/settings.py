"""The settings of the API's tokens."""

from dataclasses import dataclass

from agent.ports.api_tokens import PERSONAL, TokenScope
from bot.api import texts as api_texts
from bot.api.tokens import DEFAULT_DAYS, parse_scopes, scope_words
from bot.settings import parsers
from bot.settings.declaration import Section, setting


def parse_personal(value: str) -> frozenset[TokenScope]:
    """Parse the scopes that people's own tokens can have: "ask,remember". Raises ValueError."""
    scopes = parse_scopes(value)
    if not scopes <= PERSONAL:
        raise ValueError(api_texts.SCOPES_FORM.format(scopes=scope_words(PERSONAL)))
    return scopes


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """Which tokens people may create for themselves."""

    person_scopes: frozenset[TokenScope] = setting(
        "COGENCY_PERSON_TOKENS",
        parse_personal,
        frozenset(),
        section=Section.ACCESS,
        description=(
            "What programs can do with the tokens that people create with /tokens: ask, recall, remember, or forget, "
            "separated by commas. Default: nothing, so only operators can create tokens (`cogency token create`)."
        ),
        example="ask,remember",
    )
    person_days: int = setting(
        "COGENCY_PERSON_TOKEN_DAYS",
        parsers.whole(1, 3_650),
        DEFAULT_DAYS,
        section=Section.ACCESS,
        description="How many days a token that a person creates stays valid.",
    )
