"""The settings of acting in Slack and on Discord."""

from dataclasses import dataclass
from enum import StrEnum

from agent.ports.acts import ActLimits
from bot.settings import parsers
from bot.settings.declaration import Section, setting


class ActMode(StrEnum):
    """Where the bot may act for the people who ask it."""

    OFF = "off"
    CHANNELS = "channels"
    """In channels whose managers have turned it on."""
    ON = "on"
    """In every channel, unless its managers have turned it off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActSettings:
    """Where the bot may post, react and pin for people, and how often."""

    mode: ActMode = setting(
        "COGENCY_ACT",
        parsers.one_of(ActMode),
        ActMode.OFF,
        section=Section.ACCESS,
        description=(
            "Whether people can ask the bot to act for them in Slack and on Discord (for example, to post, react, pin, "
            "or start threads), within their own rights (docs/acts.md): off, channels (in channels whose managers turn "
            "it on with /channel act on), or on (in every channel, unless its managers turn it off)."
        ),
        after="COGENCY_AMBIENT_PER_DAY",
    )
    per_person: int = setting(
        "COGENCY_ACTS_PER_PERSON",
        parsers.whole(1, 10_000),
        20,
        section=Section.ACCESS,
        description=(
            "Maximum number of actions per day (posts, reactions, pins, and others) for one person. Deletions do not "
            "count, and neither does closing a poll."
        ),
    )
    per_channel: int = setting(
        "COGENCY_ACTS_PER_CHANNEL",
        parsers.whole(1, 10_000),
        50,
        section=Section.ACCESS,
        description=(
            "Maximum number of actions per day in one channel, for everyone. Deletions do not count, and neither does "
            "closing a poll."
        ),
    )

    @property
    def is_on(self) -> bool:
        """Whether the bot may act anywhere."""
        return self.mode is not ActMode.OFF

    @property
    def limits(self) -> ActLimits:
        return ActLimits(self.per_person, self.per_channel)
