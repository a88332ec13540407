"""The rules of a channel, as its managers set them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Self, cast

from agent.admission_terms import Authority
from agent.errors import StoreError
from agent.memory.forgetting_plans import PLACE_RULES
from agent.ports.preferences import Preferences
from bot.chat.access.acl import parse_entry
from bot.chat.askers import Requester
from bot.chat.texts import replies as reply_texts

# Rules that a channel's managers have chosen. They can only narrow what the operator's settings allow.

# A channel's preference: its first line holds the rules as a JSON object of texts, the other lines their history.
PLACE: Final = PLACE_RULES
MEMBERS: Final = "members"  # In place of an entry: all full members
OFF: Final = "off"


class PlaceRule(StrEnum):
    """What can be chosen for a channel. `LEARNING` is stored as a pause for everyone there (`bot.memory.learning`)."""

    WHO = "who"
    MODELS = "models"
    MODEL = "model"
    INSTRUCTIONS = "instructions"
    LANGUAGE = "language"
    AMBIENT = "ambient"
    LEARNING = "learning"
    KNOWLEDGE = "knowledge"


@dataclass(frozen=True, slots=True)
class PlaceRules:
    """`chosen`: texts as they are stored; the operator's settings decide on every rule that is missing.

    Rules. Operators and managers of the whole team are always admitted, so that they cannot be locked out. A choice
    that the operator no longer allows, such as a model, has no effect.
    """

    chosen: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def from_preferences(cls, preferences: Mapping[str, str]) -> Self:
        """Read them from the channel's preferences. Raises StoreError for unreadable rules: to ignore them could admit
        people whom they exclude.
        """
        first = preferences.get(PLACE, "{}").partition("\n")[0]
        try:
            parsed: object = json.loads(first)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise StoreError(reply_texts.PLACE_UNREADABLE.format(name=PLACE))
        return cls({str(name): str(value) for name, value in cast("dict[str, object]", parsed).items()})

    def text(self, rule: PlaceRule) -> str:
        return self.chosen.get(rule, "")

    @property
    def models(self) -> tuple[str, ...]:
        """The only models of the channel; empty for all that people may choose."""
        return tuple(self.text(PlaceRule.MODELS).split())

    @property
    def ambient(self) -> int:
        """The limit of ambient answers a day."""
        chosen = self.text(PlaceRule.AMBIENT)
        return int(chosen) if chosen.isdecimal() else 0

    @property
    def finds_documents(self) -> bool:
        return self.text(PlaceRule.KNOWLEDGE) != OFF

    def admits(self, who: Requester, authority: Authority) -> bool:
        listed = self.text(PlaceRule.WHO).split()
        if not listed or authority >= Authority.MANAGER or (MEMBERS in listed and authority >= Authority.EMPLOYEE):
            return True
        return any(parse_entry(entry).matches(who) for entry in listed if entry != MEMBERS)


def place_owner(channel: str) -> str:
    """Return the owner of the preferences that hold what was chosen for a channel."""
    return f"channel:{channel}"


async def rules_at(preferences: Preferences, channel: str) -> PlaceRules:
    """Return the channel's current rules, read from the store. Raises StoreError."""
    return PlaceRules.from_preferences(await preferences.all_of(place_owner(channel))) if channel else PlaceRules()
