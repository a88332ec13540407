"""The error of a platform that cannot be served now. Commands report it, so they need none of a platform's code."""

from agent.errors import CogencyError


class PlatformUnavailable(CogencyError):
    """A platform cannot be served now. Its adapter is started again after at least `retry_after_s` seconds."""

    def __init__(self, sentence: str, *, retry_after_s: float = 0.0) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s
