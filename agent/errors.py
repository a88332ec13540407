"""The errors that cross rooms. Each message is one sentence that a person can act on.

CogencyError
├── ProviderError            a model could not answer
│   ├── ProviderUnavailable  down, overloaded, unreachable: worth trying again later
│   │   └── ProviderSilent   too slow, or gone without a word: it may have worked on the question
│   ├── ProviderRefused      bad key, unknown model, no credit, bad request: trying again will not help
│   └── StreamBroken         the answer broke off after it had begun
├── ToolError                a tool could not do what was asked; the text goes to the model
├── ToolDefinitionError      a function cannot be a tool as it is written
├── NotAdmitted              the ledger did not take a message in: too many, or none at all now
├── Refused                  a person may not ask this, or not now; the sentence is for them alone
├── StoreError               the database could not be opened or written
│   ├── StoreLocked          another process holds it
│   ├── StoreUnavailable     it is away, full or read-only: the same may work later
│   └── LeaseLost            another worker has taken this turn over (fencing)
└── SettingsError            a setting is unknown, missing or malformed

Foreign errors (aiohttp, sqlalchemy, …) are translated once, in the adapter that meets them.
"""

from dataclasses import dataclass
from typing import Final

ADVICE: Final = "\n(For you, not for them: "  # Where what a model alone is told begins, behind what its person may read


class CogencyError(Exception):
    """Base of every error that we raise on purpose."""


@dataclass(frozen=True, slots=True)
class FailureReason:
    """Why a model could not answer, as each reader may know it.

    `sentence` is for the operator and the log: it names settings and addresses, and nothing that people wrote.
    `quoted` are the vendor's own words, which may repeat what people wrote. `person` is for everybody else, "" if
    the sentence is.
    """

    sentence: str
    quoted: str = ""
    person: str = ""

    @property
    def to_person(self) -> str:
        """For whoever only uses the bot, and whoever reads along."""
        return self.person or self.sentence

    @property
    def to_operator(self) -> str:
        """For whoever runs the bot, where only they read it: with the vendor's words."""
        if not self.quoted:
            return self.sentence
        return f"{self.sentence.removesuffix('.')}: {self.quoted}{'' if self.quoted.endswith(('.', '…')) else '.'}"


class ProviderError(CogencyError):
    """As text it is the sentence for the log."""

    def __init__(self, sentence: str, *, quoted: str = "", person: str = "") -> None:
        super().__init__(sentence)
        self.reason = FailureReason(sentence, quoted, person)


class ProviderUnavailable(ProviderError):
    pass


class ProviderSilent(ProviderUnavailable):
    pass


class ProviderRefused(ProviderError):
    pass


class StreamBroken(ProviderError):
    pass


class ToolError(CogencyError):
    """`sentence` may be read by the person; `advice` is for the model alone, which reads both.

    `ours`: it says nothing that those who read the reply may not all read; else it is for the asker alone.
    `for_turn`: nothing of it may be kept beyond the turn.
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
    """`told`: the person read this a moment ago. Say it again only to what must be answered, such as a command."""

    def __init__(self, sentence: str, *, told: bool = False) -> None:
        super().__init__(sentence)
        self.told = told


class StoreError(CogencyError):
    pass


class StoreMisnamed(StoreError):
    """A command names a file or a version that is none."""


class StoreLocked(StoreError):
    pass


class StoreUnavailable(StoreError):
    """The store logs it, once for all who meet it."""


class LeaseLost(StoreError):
    pass


class SettingsError(CogencyError):
    pass
