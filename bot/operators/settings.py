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


def header_values(variables: Iterable[tuple[str, str]]) -> list[str]:
    """Return the values in OpenTelemetry's header variables ("name=value,…", percent-encoded): they hold keys."""
    pairs = [pair for name, value in variables if name.endswith("_HEADERS") for pair in value.split(",")]
    values = [pair.partition("=")[2].strip() for pair in pairs]
    return [*values, *map(unquote, values)]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """How operators watch the bot, and what two of them decide together."""

    health: tuple[str, int] | None = setting(
        "COGENCY_HEALTH",
        parsers.listen_address,
        None,
        section=Section.ANSWERS,
        description=(
            "Where a supervisor asks how the bot does, as host:port: /livez and /readyz. It says names of what is "
            "away, and nothing else. Default: nowhere."
        ),
        example="127.0.0.1:8081",
    )
    """None: nowhere."""
    metrics: bool = setting(
        "COGENCY_METRICS",
        parsers.switch,
        default=True,
        section=Section.ANSWERS,
        description=(
            "Whether Prometheus reads /metrics there, too: on or off. Counts and times, no words and nobody's name, "
            "but what was spent."
        ),
    )
    page: tuple[str, int] | None = setting(
        "COGENCY_OPERATOR_PAGE",
        parsers.listen_address,
        None,
        section=Section.ANSWERS,
        description=(
            "Where the operators' page listens, as host:port (docs/operating.md): how the bot does, its tools, its "
            "audit, its settings. `cogency operator` gives a link that signs in. Default: nowhere."
        ),
        example="127.0.0.1:8090",
    )
    """None: the page is off."""
    address: str = setting(
        "COGENCY_OPERATOR_ADDRESS",
        parsers.url("https", "http"),
        "",
        section=Section.ANSWERS,
        description=(
            "The address by which browsers reach that page: of a proxy with TLS, a host of its own (http:// for "
            "127.0.0.1 and localhost alone, as with a published port of a container). Without it the page listens on "
            "this machine alone."
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
            "What of `cogency person` and `cogency place` a second operator has to confirm: export, erase, or both "
            "with a comma between them. Default: nothing."
        ),
        example="erase",
        after="COGENCY_REMOVAL_GRACE_DAYS",
    )
