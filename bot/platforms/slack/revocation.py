"""Whether Slack has revoked a bot token.

Rule: one refusal proves nothing, whatever call it answers, because the end of an app also begins the erasure of its
workspace. A token that was refused is checked by signing in (auth.test), and counts as revoked once Slack has refused
every sign-in for CONFIRM_S. A sign-in that Slack does not answer says nothing. One that it accepts ends the doubt.
"""

import logging
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from agent.ports.clock import Clock
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import REVOKED, SlackApi, SlackError, SlackRefused

log = logging.getLogger(__name__)

CONFIRM_S: Final = 60.0  # Longer than a moment's failure; a removed app can do nothing meanwhile
CONFIRM_EVERY_S: Final = 10.0


class TokenState(Enum):
    VALID = auto()
    DOUBTED = auto()
    REVOKED = auto()


@dataclass(slots=True)
class Confirmation:
    """Judges a token by its sign-ins. `refused_since`: a `Clock.monotonic` time."""

    refused_since: float | None = None

    def record(self, now: float, *, refused: bool | None) -> TokenState:
        """Record a sign-in, and return what is known of the token. `refused`: None if Slack did not answer."""
        if refused is False:
            self.refused_since = None
            return TokenState.VALID
        if refused and self.refused_since is None:
            self.refused_since = now
        is_over = refused and self.refused_since is not None and now - self.refused_since >= CONFIRM_S
        return TokenState.REVOKED if is_over else TokenState.DOUBTED


async def is_revoked(api: SlackApi, clock: Clock) -> bool:
    """Sign in until it is known whether the token is revoked, for at least CONFIRM_S if it is."""
    confirmation = Confirmation()
    while True:
        was_refused = confirmation.refused_since is not None
        state = confirmation.record(clock.monotonic(), refused=await _is_refused(api))
        if state is not TokenState.DOUBTED:
            return state is TokenState.REVOKED
        if not was_refused and confirmation.refused_since is not None:
            log.warning(platforms_texts.SLACK_SIGN_IN_CHECKED, api.known_as)
        await clock.sleep(CONFIRM_EVERY_S)


async def wait_until_revoked(api: SlackApi, clock: Clock) -> None:
    """Return once the token that `api` uses is revoked."""
    while True:
        await api.doubted.wait()
        if await is_revoked(api, clock):
            return
        api.doubted.clear()
        log.warning("%s: %s", api.known_as, platforms_texts.SLACK_SIGN_IN_DOUBTED)


async def _is_refused(api: SlackApi) -> bool | None:
    try:
        await api.sign_in()
    except SlackRefused as refused:
        return True if refused.code in REVOKED else None
    except SlackError:
        return None
    return False
