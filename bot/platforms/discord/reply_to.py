"""Addresses of answers and ids of their pages, as strings that the ledger stores. Pure.

The id of a page says how it is reached:
    channel/message           a message by the bot
    channel/message/answer    a public answer to an interaction: by the token while it lives, then as above
    @/message                 any other answer to an interaction: by the token only
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from agent.schedules.definitions import ScheduleKind
from agent.shown_replies import EPHEMERAL_PAGE

TOKEN_LIFE = timedelta(minutes=15)
TOKEN_MARGIN = timedelta(seconds=20)  # An edit may wait this long in a queue: the token is not used in its last seconds

_ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Address:
    """Where an answer goes. Ids are Discord's own.

    `channel` receives the answer. With `thread`, the answer goes to the thread of that name, started from `message`;
    otherwise it replies to `message`, if set. With `token`, it goes to the response of interaction `interaction` while
    the token lives; after that, a `private` answer continues in the DM with `person`.
    """

    channel: str
    person: str = ""
    """"" where nobody asked."""
    message: str = ""
    thread: str = ""
    interaction: str = ""
    application: str = ""
    token: str = ""
    token_until: str = ""
    private: bool = False
    follows: bool = False
    """The interaction was the press of a button. Its original response is the button's message, so pages follow that.
    """
    by_person: bool = False
    """Only this person has installed the bot: it may send few messages after the first, and write nowhere else there.
    """
    scheduled: str = ""
    """The kind of the schedule that asked."""
    after: str = ""
    """For a question of a schedule: a lower bound of the ids of all the answer's messages."""
    direct: bool = False
    """Whether `channel` is the person's DM, as far as a schedule knows."""
    notified: str = ""
    """The ids of users, and of roles after "&", whom the answer notifies, separated by commas."""

    @property
    def mentions(self) -> str:
        """Whom the answer notifies, as ids separated by commas: outside of DMs, the person of a reminder."""
        return self.person if self.scheduled == ScheduleKind.REMINDER and not self.direct else self.notified

    def encode(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value}, ensure_ascii=False)

    def token_lives(self, now: datetime) -> bool:
        """Return whether the interaction can still be answered in place."""
        return bool(self.token) and now < datetime.fromisoformat(self.token_until)

    def is_deferred(self, now: datetime) -> bool:
        """Return whether Discord says in the interaction's own response, until it has a text, that the bot is thinking,
        and whether that can still be deleted.
        """
        return bool(self.interaction) and not self.follows and self.token_lives(now)


def token_until(received: datetime) -> str:
    """Return when the token of an interaction received at this time expires, as `Address` stores it."""
    return (received + TOKEN_LIFE - TOKEN_MARGIN).isoformat()


def decode_address(text: str) -> Address:
    """The inverse of `Address.encode`."""
    return Address(**json.loads(text))


def page_of_answer(address: Address, message: str) -> str:
    """Return the id of a page that was posted with the token."""
    is_private = address.private or address.by_person
    return f"{EPHEMERAL_PAGE}/{message}" if is_private else f"{address.channel}/{message}/{_ANSWER}"


def pages_at(channel: int | str, message: int | str) -> tuple[str, ...]:
    """Return every id that the page in this message may have."""
    return f"{channel}/{message}", f"{channel}/{message}/{_ANSWER}", f"{EPHEMERAL_PAGE}/{message}"


def place_of_page(page: str) -> tuple[str, str, bool]:
    """Return the channel of a page (or EPHEMERAL_PAGE), its message, and whether it was posted with a token."""
    channel, message, *answer = page.split("/")
    return channel, message, channel == EPHEMERAL_PAGE or bool(answer)
