"""The setting of outgoing webhooks, and reading the file that it names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.settings import parsers
from bot.settings.declaration import RUNS_CODE, Section, setting
from bot.settings.sources import named_file, secret_in
from bot.webhooks.outgoing.rows import OutgoingRow, SecretSources, parse_rows

OUTGOING: Final = "COGENCY_OUTGOING_WEBHOOKS"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingSettings:
    """The file with the receivers."""

    file: str | None = setting(
        OUTGOING,
        parsers.text,
        None,
        section=Section.HTTP,
        description=(
            "The file that lists where to send events, such as finished answers, as webhooks (docs/webhooks-out.md). "
            "Default: none."
        ),
        example="webhooks-out.toml",
        sensitivity=RUNS_CODE,
    )


def outgoing_rows(settings: OutgoingSettings, variables: Mapping[str, str]) -> tuple[OutgoingRow, ...]:
    """Read the file that COGENCY_OUTGOING_WEBHOOKS names; no rows without one. It decides where data goes, so its
    rights are checked as those of `.env` are. Raises SettingsError.
    """
    if settings.file is None:
        return ()
    file, content = named_file(OUTGOING, settings.file)
    return parse_rows(content, file, SecretSources(variables, secret_in))
