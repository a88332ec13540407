"""The setting of incoming webhooks, and reading the file that lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.settings import parsers
from bot.settings.declaration import RUNS_CODE, Secrecy, Section, Sensitivity, setting
from bot.settings.sources import named_file
from bot.webhooks.config import Hook, beside, parse_file

WEBHOOKS: Final = "COGENCY_WEBHOOKS"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """The file with the incoming webhooks."""

    file: str | None = setting(
        WEBHOOKS,
        parsers.text,
        None,
        section=Section.HTTP,
        description=(
            "The file that lists incoming webhooks (docs/webhooks.md). Their events arrive at COGENCY_HTTP. Default: "
            "none."
        ),
        example="hooks.toml",
        after="COGENCY_HTTP_ADDRESS",
        sensitivity=Sensitivity(secrecy=Secrecy.FILE, runs_code=RUNS_CODE.runs_code),
    )


def hooks_of(settings: WebhookSettings, variables: Mapping[str, str]) -> Mapping[str, Hook]:
    """Read the file that COGENCY_WEBHOOKS names, and return the hooks by their names. Raises SettingsError."""
    if settings.file is None:
        return {}
    file, content = named_file(WEBHOOKS, settings.file)

    return {hook.name: hook for hook in parse_file(content, str(file), variables, beside(file))}
