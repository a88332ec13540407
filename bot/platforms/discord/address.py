"""Where an answer belongs, and where a page of it stands, as texts that the ledger keeps. Pure.

The id of a page says how to reach it:
    channel/message           a message of the bot's
    channel/message/answer    an answer to an interaction that all there see: by the token while it lives, then as above
    @/message                 any other answer to an interaction: by the token alone
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from agent.records import EPHEMERAL_PAGE

TOKEN_LIFE = timedelta(minutes=15)
TOKEN_MARGIN = timedelta(seconds=20)
"""A token is not used in its last seconds: an edit may wait that long in a queue."""

_ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Address:
    """`channel` is where the answer goes. Ids are Discord's own.

    With `thread`, it goes into the thread of that name, started from `message`; else `message`, if any, is replied to.
    With `token`, it goes into the answer of interaction `interaction`, as long as the token lives; after that a
    `private` one goes on in the DM with `person`.
    """

    channel: str
    person: str
    message: str = ""
    thread: str = ""
    interaction: str = ""
    application: str = ""
    token: str = ""
    token_until: str = ""
    private: bool = False
    follows: bool = False
    """The interaction was a press of a button: its first answer is the message of the button, so pages follow it."""
    by_person: bool = False
    """Only its person has installed the bot: few messages may follow the first, and it may not write there else."""

    def encode(self) -> str:
        return json.dumps({name: value for name, value in asdict(self).items() if value}, ensure_ascii=False)

    def token_lives(self, now: datetime) -> bool:
        """Whether the interaction can still be answered in place."""
        return bool(self.token) and now < datetime.fromisoformat(self.token_until)


def token_until(received: datetime) -> str:
    """How long the token of an interaction is good for, as an `Address` keeps it."""
    return (received + TOKEN_LIFE - TOKEN_MARGIN).isoformat()


def decode_address(text: str) -> Address:
    """The inverse of `Address.encode`."""
    return Address(**json.loads(text))


def page_of_answer(address: Address, message: str) -> str:
    """The id of a page that was posted with the token."""
    alone = address.private or address.by_person
    return f"{EPHEMERAL_PAGE}/{message}" if alone else f"{address.channel}/{message}/{_ANSWER}"


def pages_at(channel: int | str, message: int | str) -> tuple[str, ...]:
    """Every id that a page may have which is this message."""
    return f"{channel}/{message}", f"{channel}/{message}/{_ANSWER}", f"{EPHEMERAL_PAGE}/{message}"


def place_of_page(page: str) -> tuple[str, str, bool]:
    """The channel of a page (or EPHEMERAL_PAGE), its message, and whether it was posted with a token."""
    channel, message, *answer = page.split("/")
    return channel, message, channel == EPHEMERAL_PAGE or bool(answer)
