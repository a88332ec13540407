"""The settings for operators: health report, metrics, their page, and what two of them decide together."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

from bot.settings import parsers
from bot.settings.declaration import Section, setting


class OperatorAct(StrEnum):
    """What operators can do with a person's or a place's data."""

    EXPORT = "export"
    ERASE = "erase"


def is_header_variable(name: str) -> bool:
    """Return whether it is a variable of OpenTelemetry with headers, which hold keys."""
    return name.startswith("OTEL_") and name.endswith("_HEADERS")


def header_values(variables: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values in OpenTelemetry's header variables ("name=value,…", percent-encoded): they hold keys."""
    pairs = [pair for name, value in variables if is_header_variable(name) for pair in value.split(",")]
    values = [pair.partition("=")[2].strip() for pair in pairs]
    return [*values, *map(unquote, values)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """How operators watch the bot, and what two of them decide together."""

    health: tuple[str, int] | None = setting(
        "COGENCY_HEALTH",
        parsers.listen_address,
        None,
        section=Section.OPERATION,
        description=(
            "Where to serve /livez and /readyz for a supervisor, as host:port. The responses say whether the bot is "
            "alive or ready and, if not, why. Default: off."
        ),
        example="127.0.0.1:8081",
    )
    """None: nowhere."""
    metrics: bool = setting(
        "COGENCY_METRICS",
        parsers.switch,
        default=True,
        section=Section.OPERATION,
        description=(
            "Also serve Prometheus metrics, at /metrics on the address in COGENCY_HEALTH: on or off. The metrics "
            "contain counts, times, and costs, but no messages and no names of people or channels."
        ),
    )
    page: tuple[str, int] | None = setting(
        "COGENCY_OPERATOR_PAGE",
        parsers.listen_address,
        None,
        section=Section.OPERATION,
        description=(
            "Where to serve the operators' page, as host:port. The page shows the bot's health, failures, tools, audit "
            "log, and settings (docs/operating.md). `cogency operator` prints a sign-in link. Default: off."
        ),
        example="127.0.0.1:8090",
    )
    """None: the page is off."""
    address: str = setting(
        "COGENCY_OPERATOR_ADDRESS",
        parsers.url("https", "http"),
        "",
        section=Section.OPERATION,
        description=(
            "The address that browsers use for the operators' page: a separate host behind a TLS proxy. Use http:// "
            "only for 127.0.0.1 or localhost, for example with a container's published port. If this is not set, only "
            "this machine can reach the page."
        ),
        example="https://operate.example.com",
    )
    """"": the page is for this machine only."""
    two_operators: frozenset[OperatorAct] = setting(
        "COGENCY_TWO_OPERATORS",
        parsers.some_of(OperatorAct),
        frozenset(),
        section=Section.BOUNDS,
        description=(
            "Actions of `cogency person` and `cogency place` that a second operator must confirm: export, erase, or "
            "both, separated by a comma. Default: none."
        ),
        example="erase",
        after="COGENCY_REMOVAL_GRACE_DAYS",
    )
