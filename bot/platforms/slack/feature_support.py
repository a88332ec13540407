"""Which optional methods a workspace supports, as found at run time.

A method that a workspace has refused is not tried again for a while. If the app cannot use it at all (an older
workspace, a plan without agents, a missing scope), that holds everywhere; otherwise in that channel.
"""

from dataclasses import dataclass, field
from typing import Final

from cachetools import LRUCache

from bot.chat.caches import RecentKeys
from bot.platforms.slack.options import Method
from bot.platforms.slack.tables import MAX_TABLES

REFUSED_S: Final = 600.0  # How long a refusal holds for a channel

REFUSED_EVERYWHERE_S: Final = 3_600.0  # A workspace's features rarely change

MAX_CHANNELS: Final = 2_000

EVERYWHERE: Final = frozenset(
    {
        "feature_disabled",
        "feature_not_enabled",
        "method_deprecated",
        "method_not_supported",
        "missing_scope",
        "not_agent_app",
        "not_allowed_token_type",
        "not_assistant_app",
        "not_subscribed_to_message_stream_stopped",
        "paid_teams_only",
        "team_access_not_granted",
        "unknown_method",
    }
)


@dataclass(slots=True)
class FeatureSupport:
    """Which optional features a workspace has. `plain_buttons`: it does not know the blocks for replies of agents;
    `charts_again`: until then, nor the one for charts. `tables`: how many sortable tables a message may have, until
    `tables_again`.

    `now` and `until` are `Clock.monotonic` times.
    """

    plain_buttons: bool = False
    charts_again: float = 0.0
    tables: int = MAX_TABLES
    tables_again: float = 0.0
    # By method and channel; the channel "" stands for all.
    _suspended_until: LRUCache[tuple[Method, str], float] = field(default_factory=lambda: LRUCache(MAX_CHANNELS))
    _refusals: RecentKeys = field(default_factory=RecentKeys)

    def has(self, method: Method, channel: str, now: float) -> bool:
        """Whether a method may be tried in this channel."""
        return all(self._suspended_until.get((method, where), now) <= now for where in ("", channel))

    def mark_refused(self, method: Method, channel: str, code: str, now: float) -> bool:
        """Record that Slack refused a method with this error code. Return whether it is the first time."""
        if code in EVERYWHERE:
            self.suspend(method, now + REFUSED_EVERYWHERE_S)
        else:
            self._suspended_until[method, channel] = now + REFUSED_S
        return self._refusals.first(f"{method} {code}")

    def max_tables(self, now: float) -> int:
        """Return how many sortable tables a message may have."""
        return MAX_TABLES if now >= self.tables_again else self.tables

    def mark_tables_refused(self, tables: int, now: float) -> None:
        """Record that Slack refused a message with so many sortable tables: for a while, it gets one, or none."""
        self.tables, self.tables_again = min(tables - 1, 1), now + REFUSED_EVERYWHERE_S

    def mark_charts_refused(self, now: float) -> None:
        """Record that Slack refused a message with charts: for a while, they are pictures."""
        self.charts_again = now + REFUSED_EVERYWHERE_S

    def suspend(self, method: Method, until: float) -> None:
        """Do not try a method in any channel until then."""
        self._suspended_until[method, ""] = until
