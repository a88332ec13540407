"""Where the bot answers over HTTP.

Above: `http`, which listens there, and `manifest`, which tells Slack. Below: nothing.
"""

from typing import Final

EVENTS_PATH: Final = "/slack/events"
"""For events, commands and what is clicked: one address for all of them."""
HEALTH_PATH: Final = "/health"
"""For the balancer: answered as long as the process serves."""
