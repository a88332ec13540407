"""The errors that cross package boundaries. Each message is one sentence that a person can act on.

CogencyError
├── ProviderError            a model could not answer
│   ├── ProviderUnavailable  down, overloaded, unreachable: worth trying again later
│   │   └── ProviderSilent   timed out or disconnected: it may have worked on the question
│   ├── ProviderRefused      bad key, unknown model, no credit, bad request: trying again will not help
│   │   ├── RequestWithheld  a hook of the operator lets nothing of the request go to a model
│   │   └── ContextTooLong   the prompt does not fit: a shorter one may be answered
│   └── StreamBroken         the answer broke off after it had begun
├── ToolError                a tool could not do what was asked; the text goes to the model
├── ToolDefinitionError      a function cannot be a tool as it is written
├── NotAdmitted              the ledger did not accept a message: too many, or none at all now
├── Refused                  a person may not ask this, or not now; the sentence is for them alone
├── Unexpected               a fault of this program; it is logged, and the sentence is for the person who waits
├── StoreError               the database could not be opened or written
│   ├── StoreMisnamed        a command names a file or a version that does not exist
│   ├── StoreLocked          another process holds it
│   ├── StoreUnavailable     it is unreachable, full or read-only: the same may work later
│   └── LeaseLost            another worker has taken this turn over (fencing)
└── SettingsError            a setting is unknown, missing or malformed

Foreign errors (aiohttp, sqlalchemy, …) are translated once, in the adapter that meets them.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

ADVICE: Final = "\n(For you, not for them: "  # Begins the part for the model alone, after the part that people may read


class CogencyError(Exception):
    """Base of every error that this program raises on purpose.

    `retry_after_s`: for how long a service asked not to be asked again; 0 if it did not say.
    """

    retry_after_s: float = 0.0


@dataclass(frozen=True, slots=True)
class FailureReason:
    """Why a model could not answer, in a form for each reader.

    `sentence` is for the operator and the log: it names settings and addresses, and nothing that people wrote.
    `quoted` is the vendor's own message, which may repeat what people wrote. `person` is for all other readers; "" if
    `sentence` is for them, too.
    """

    sentence: str
    quoted: str = ""
    person: str = ""

    @property
    def to_person(self) -> str:
        """For users of the bot and other readers of the channel."""
        return self.person or self.sentence

    @property
    def to_operator(self) -> str:
        """For the operator, where only they read it: with the vendor's message."""
        if not self.quoted:
            return self.sentence
        return f"{self.sentence.removesuffix('.')}: {self.quoted}{'' if self.quoted.endswith(('.', '…')) else '.'}"


class KeyTrouble(StrEnum):
    """What is wrong with the key of a request. Another key of the same service may be accepted."""

    REFUSED = "refused"
    """The service does not know the key, or has disabled it."""
    NO_CREDIT = "no_credit"
    """Its account has no credit left."""
    LIMITED = "limited"
    """It sent too many requests: see `CogencyError.retry_after_s`."""


class ProviderError(CogencyError):
    """`str(error)` is the sentence for the log. `key_trouble`: what is wrong with the key; None for other causes."""

    key_trouble: KeyTrouble | None = None

    def __init__(self, sentence: str, *, quoted: str = "", person: str = "") -> None:
        super().__init__(sentence)
        self.reason = FailureReason(sentence, quoted, person)


class ProviderUnavailable(ProviderError):
    pass


class ProviderSilent(ProviderUnavailable):
    pass


class ProviderRefused(ProviderError):
    pass


class RequestWithheld(ProviderRefused):
    pass


class ContextTooLong(ProviderRefused):
    """The prompt does not fit into the model's context.

    `stated`: the service said so. If not, it refused a large prompt for no known reason: one shorter prompt is worth a
    try, and if that is refused, too, the length was not the reason.
    """

    def __init__(self, sentence: str, *, quoted: str = "", person: str = "", stated: bool = True) -> None:
        super().__init__(sentence, quoted=quoted, person=person)
        self.stated = stated


class StreamBroken(ProviderError):
    pass


class ToolError(CogencyError):
    """`sentence` may be read by the person; `advice` is for the model alone, which reads both.

    `ours`: all readers of the reply may read the text; else it is for the asker alone. `for_turn`: the text may not be
    kept beyond the turn.
    """

    def __init__(self, sentence: str, advice: str = "", *, ours: bool = False, for_turn: bool = False) -> None:
        super().__init__(f"{sentence}{ADVICE}{advice})" if advice else sentence)
        self.ours = ours
        self.for_turn = for_turn


class ToolDefinitionError(CogencyError):
    pass


class NotAdmitted(CogencyError):
    pass


class Refused(CogencyError):
    """`told`: the person read this a moment ago. Repeat it only where an answer is due, such as to a command."""

    def __init__(self, sentence: str, *, was_shown: bool = False) -> None:
        super().__init__(sentence)
        self.was_shown = was_shown


class Unexpected(CogencyError):
    """Its cause is already logged."""


class StoreError(CogencyError):
    pass


class StoreMisnamed(StoreError):
    """A command names a file or a version that does not exist."""


class StoreLocked(StoreError):
    pass


class StoreUnavailable(StoreError):
    """The store logs it once, so callers need not."""


class LeaseLost(StoreError):
    pass


class SettingsError(CogencyError):
    pass
