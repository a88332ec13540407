"""Calls of the Web API whose failure loses nothing: a status, a title, a suggestion.

Above: `sessions`, `prompts`. Below: `api`.

Rules. Nothing is raised. What Slack refuses is let be for a while, so that not every turn asks in vain: what the app
cannot do at all (an older workspace, a plan without agents, a scope that was not granted) everywhere, the rest in that
channel.
"""

import logging
from dataclasses import dataclass, field
from typing import Final

from agent.messages import Json, JsonObject
from agent.ports import Clock
from bot.platforms.slack.api import Method, SlackApi, SlackDown, SlackLimited, SlackRefused

log = logging.getLogger(__name__)

REFUSED_S: Final = 600.0
"""How long a refusal holds for a channel: whoever changes that waits no longer."""

REFUSED_EVERYWHERE_S: Final = 3_600.0
"""What the app is not, it rarely becomes while it runs."""

DOWN_S: Final = 30.0
"""After a failure of Slack: each further one would hold up something for as long as Slack is waited for."""

MOST_CHANNELS: Final = 2_000

_EVERYWHERE: Final = frozenset(
    {
        "feature_disabled",
        "feature_not_enabled",
        "missing_scope",
        "method_deprecated",
        "method_not_supported",
        "not_agent_app",
        "not_allowed_token_type",
        "not_assistant_app",
        "not_authorized",
        "paid_teams_only",
        "team_access_not_granted",
        "unknown_method",
    }
)


@dataclass(slots=True)
class Ornaments:
    api: SlackApi
    clock: Clock
    _not_before: dict[tuple[Method, str], float] = field(default_factory=dict[tuple[Method, str], float])

    async def call(self, method: Method, channel: str, **args: Json) -> JsonObject | None:
        """The method's answer, with `channel` as its `channel_id`; None if it was refused, or not tried."""
        if self.rests(method, channel):
            return None
        try:
            return await self.api.call(method, channel_id=channel, **args)
        except SlackRefused as refused:
            everywhere = refused.code in _EVERYWHERE
            log.info("%s It is left out for a while: an ornament, without which answers are shown.", refused)
            self._rest(method, "" if everywhere else channel, REFUSED_EVERYWHERE_S if everywhere else REFUSED_S)
        except SlackLimited as limited:
            self._rest(method, "", limited.retry_after_s)
        except SlackDown as down:
            log.debug("%s", down)
            self._rest(method, "", DOWN_S)
        return None

    def rests(self, method: Method, channel: str) -> bool:
        """Whether it is not tried there now."""
        now = self.clock.monotonic()
        return any(self._not_before.get((method, where), now) > now for where in ("", channel))

    def _rest(self, method: Method, channel: str, seconds: float) -> None:
        self._not_before.pop((method, channel), None)
        self._not_before[method, channel] = self.clock.monotonic() + seconds
        while len(self._not_before) > MOST_CHANNELS:
            del self._not_before[next(iter(self._not_before))]
