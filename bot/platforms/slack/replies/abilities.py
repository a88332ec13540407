"""What a workspace has refused, so that not every reply asks for it in vain.

Above: `surface`, `messages`, `stream`. Below: nothing. Times are `Clock.monotonic` seconds.
"""

from dataclasses import dataclass, field
from typing import Final

REFUSED_S: Final = 600.0
"""How long a refusal to stream holds for a channel: whoever changes that waits no longer."""

REFUSED_EVERYWHERE_S: Final = 3_600.0
"""What the app may not do, or Slack cannot, rarely changes."""

MOST_CHANNELS: Final = 2_000

_EVERYWHERE: Final = frozenset(
    {
        "feature_disabled",
        "feature_not_enabled",
        "method_deprecated",
        "method_not_supported",
        "missing_scope",
        "not_allowed_token_type",
        "not_subscribed_to_message_stream_stopped",
        "team_access_not_granted",
        "unknown_method",
    }
)


@dataclass(slots=True)
class Abilities:
    """`plain_buttons`: it does not know the blocks that are made for replies of agents."""

    plain_buttons: bool = False
    _no_stream_until: dict[str, float] = field(default_factory=dict[str, float])

    def streams(self, channel: str, now: float) -> bool:
        """Whether a stream may be tried there."""
        return all(self._no_stream_until.get(where, now) <= now for where in ("", channel))

    def refused_stream(self, channel: str, code: str, now: float) -> None:
        """No stream could be started there, for this reason of Slack's."""
        where, seconds = ("", REFUSED_EVERYWHERE_S) if code in _EVERYWHERE else (channel, REFUSED_S)
        self._no_stream_until.pop(where, None)
        self._no_stream_until[where] = now + seconds
        while len(self._no_stream_until) > MOST_CHANNELS:
            del self._no_stream_until[next(iter(self._no_stream_until))]
