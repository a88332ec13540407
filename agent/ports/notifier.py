"""The notification of workers."""

from typing import Protocol


class Notifier(Protocol):
    """Wakes workers that wait for something to do. Workers also poll, so a notification may be lost, and a superfluous
    one does no harm.
    """

    @property
    def is_notified(self) -> bool:
        """Whether `notify` was called since the last wait ended."""
        ...

    def notify(self) -> None:
        """Wake the waiting workers in every process that uses the same ledger. Returns at once."""
        ...

    async def wait(self, timeout_s: float) -> None:
        """Wait until there is a notification, or was one since the last wait, or the time is over."""
        ...
