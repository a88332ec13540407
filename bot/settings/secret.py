"""A text that is never shown whole."""

from collections.abc import Sequence


class Secret:
    """Holds a text that no `repr`, f-string, log line or traceback of its owner shows. `reveal` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def reveal_all(self) -> tuple[str, ...]:
        """Return each secret that the setting holds."""
        return (self._value,)

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal_all() == self.reveal_all()

    def __hash__(self) -> int:
        return hash(self.reveal_all())


class SecretList(Secret):
    """Several secrets of one kind in one setting, at least one. `reveal` returns the first, which is used where no
    other can take its place.
    """

    __slots__ = ("_all",)

    def __init__(self, values: Sequence[str]) -> None:
        super().__init__(values[0])
        self._all = tuple(values)

    def reveal_all(self) -> tuple[str, ...]:
        return self._all
