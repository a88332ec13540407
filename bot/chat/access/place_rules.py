"""The rules of a channel, as its managers set them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self, cast

from agent.errors import StoreError
from agent.memory.documents import SHARING
from agent.memory.forgetting_plans import PLACE_RULES
from agent.ports.preferences import Preferences
from bot.chat.texts import replies as reply_texts

# Values that a channel's managers have chosen for its rules, which `bot.channels.rules` declares. They can only narrow
# what the operator's settings allow.

# A channel's preference: its first line holds the values as a JSON object of texts, the other lines their history.
PLACE: Final = PLACE_RULES
OFF: Final = "off"  # The value of a rule that is on unless it was switched off
ON: Final = "on"

# The names of the rules that other parts of the bot read.
MODELS: Final = "models"
MODEL: Final = "model"
KNOWLEDGE: Final = "knowledge"
ACT: Final = "act"
WEBHOOKS: Final = "webhooks"
SOLVED: Final = "solved"
HUMAN: Final = "human"
MANAGERS: Final = "managers"  # In the rule about people who take over: the channel's managers


def name_at(source: str, choice: str = PLACE) -> str:
    """Return the name of the preference with what the managers of this source chose for a channel.

    Several workspaces may share a channel: each has its own, as its managers are nobody in the others.
    """
    return f"{choice} {source}" if ":" in source else choice


def chosen_at(preferences: Mapping[str, str], source: str, choice: str = PLACE) -> str | None:
    """Return what was chosen, as it is stored. What an earlier version stored for all workspaces holds until it is
    changed in this one.
    """
    return preferences.get(name_at(source, choice), preferences.get(choice))


@dataclass(frozen=True, slots=True)
class PlaceRules:
    """`chosen`: texts as they are stored, by the names of rules; the operator's settings decide on every rule that is
    missing. A choice that the operator no longer allows, such as a model, has no effect.
    """

    chosen: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def from_preferences(cls, preferences: Mapping[str, str], source: str) -> Self:
        """Read them from the channel's preferences. Raises StoreError for unreadable rules: to ignore them could admit
        people whom they exclude.
        """
        return cls.read(chosen_at(preferences, source) or "{}")

    @classmethod
    def read(cls, stored: str) -> Self:
        """Read them from what is stored. Raises StoreError."""
        first = stored.partition("\n")[0]
        try:
            parsed: object = json.loads(first)
        except (ValueError, RecursionError):
            parsed = None
        if not isinstance(parsed, dict):
            raise StoreError(reply_texts.PLACE_UNREADABLE.format(name=PLACE))
        return cls({str(name): str(value) for name, value in cast("dict[str, object]", parsed).items()})

    def text(self, rule: str) -> str:
        return self.chosen.get(rule, "")

    @property
    def models(self) -> tuple[str, ...]:
        """The only models of the channel; empty for all that people may choose."""
        return tuple(self.text(MODELS).split())

    @property
    def finds_documents(self) -> bool:
        return self.text(KNOWLEDGE) != OFF

    @property
    def sends_words(self) -> bool:
        """Whether questions and answers may leave in the operator's webhooks."""
        return self.text(WEBHOOKS) == ON


def place_owner(channel: str) -> str:
    """Return the owner of the preferences that hold what was chosen for a channel."""
    return f"channel:{channel}"


def channel_of(owner: str) -> str:
    """Return the channel of `place_owner`."""
    return owner.removeprefix("channel:")


async def carry_over(preferences: Preferences, source: str, channel: str, new: str) -> None:
    """Let what the managers of this source chose for a channel hold under its new id, but for what they chose there
    since. Other people may read there now: words are not shared, and do not leave in webhooks. Raises StoreError.
    """
    chosen = await preferences.all_of(place_owner(channel))
    for name in sorted(chosen, key=lambda name: ":" not in name):  # what earlier versions stored for all comes last
        if name == SHARING or (":" in name and not name.endswith(f" {source}")):
            continue
        is_rules = name in {PLACE, name_at(source)}
        value = _without_webhooks(chosen[name]) if is_rules else chosen[name]
        await preferences.swap(place_owner(new), name_at(source) if is_rules else name, None, value)


def _without_webhooks(stored: str) -> str:
    _, end, history = stored.partition("\n")
    rules = {name: value for name, value in PlaceRules.read(stored).chosen.items() if name != WEBHOOKS}
    return json.dumps(rules, ensure_ascii=False) + end + history


async def rules_at(preferences: Preferences, source: str, channel: str) -> PlaceRules:
    """Return a channel's current rules for this source, read from the store. Raises StoreError."""
    if not channel:
        return PlaceRules()
    return PlaceRules.from_preferences(await preferences.all_of(place_owner(channel)), source)
