"""What the Slack adapter needs to be told.

Above: `bot.app` builds it of the program's settings. Below: `bot.secret`.
"""

from dataclasses import dataclass

from bot.secret import Secret


@dataclass(frozen=True, slots=True)
class SlackSettings:
    bot_token: Secret
    """xoxb-…, of the app's page "OAuth & Permissions"."""
    app_token: Secret
    """xapp-…, with the scope connections:write: Socket Mode connects with it."""
    api_base_url: str = "https://slack.com/api"
    allowed_bots: frozenset[str] = frozenset()
    """Ids (B…) of other bots that may talk to this one. Two bots that answer each other never stop."""
    ping_s: float = 5.0
    """How often a socket is tried; one that was silent for four times as long is dead, and replaced."""
