"""People's accounts at tool servers, as a port of the store."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SealedSignIn:
    """A pending sign-in at a tool server; `sealed` can be read only with the key."""

    person: str
    server: str
    sealed: bytes
