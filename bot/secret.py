"""A value that must not be shown: a key, a token, a signing secret.

Above: `bot.casts`, `bot.settings`, and whatever needs the value itself. Below: nothing.
"""


class Secret:
    """Holds a text that no `repr`, f-string, log line or traceback of its holder shows. `reveal` hands it over."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)
