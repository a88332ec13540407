"""The setting of requests for a human: who gets them where no channel has chosen others."""

from dataclasses import dataclass

from bot.chat.access.acl import AccessKind, Entries, parse_entries
from bot.settings.declaration import Section, setting

NOBODY: Entries = frozenset()


def parse_people(value: str) -> Entries:
    """Parse "person:slack:T1:U1, role:S1". Raises ValueError."""
    entries = parse_entries(value)
    if any(entry.kind not in {AccessKind.PERSON, AccessKind.ROLE} for entry in entries):
        raise ValueError("must be a list of people and roles, as in person:slack:T0123:U0123,role:S0123")
    return entries


def people_text(entries: Entries) -> str:
    return ",".join(sorted(f"{entry.kind}:{entry.id}" for entry in entries))


@dataclass(frozen=True, slots=True, kw_only=True)
class HandoffSettings:
    """Who takes over from the bot."""

    people: Entries = setting(
        "COGENCY_HANDOFF_PEOPLE",
        parse_people,
        NOBODY,
        section=Section.ANSWERS,
        description=(
            "Whom users can ask to take over from the bot: a comma-separated list of person:ID and role:ID (in Slack, "
            "a user group); see docs/handoff.md. Managers can choose other people for their channel with /channel "
            "human. Default: none."
        ),
        example="person:slack:T0123:U0123,role:S0123",
        write=people_text,
    )
