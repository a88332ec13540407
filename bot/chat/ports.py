"""What the commands of a conversation need of other parts of the bot."""

from dataclasses import dataclass
from typing import Protocol

from bot.chat.askers import Requester


@dataclass(frozen=True, slots=True)
class ModelMenu:
    """The model that answers a person in a channel, why it was selected, and the names of the models they may choose.
    If `sentence` is not "", it is shown in place of the other fields.
    """

    current: str
    why: str
    allowed: tuple[str, ...] = ()
    sentence: str = ""


class RunningTurns(Protocol):
    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:
        """Stop running and waiting answers there, and long work unless `alone`; return whether there were any."""
        ...


class ModelChoices(Protocol):
    async def menu(self, who: Requester) -> ModelMenu:
        """Return the model that answers this person there, and the choice."""
        ...

    async def choose(self, who: Requester, name: str) -> None:
        """Answer this person with that model from now on; "" restores the default. Raises SettingsError."""
        ...
