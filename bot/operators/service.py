"""Links that open the operators' pages."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Final

from agent.ports.clock import Clock
from agent.ports.operator_sessions import OperatorSessions
from bot.chat.panels import Panel
from bot.operators import texts as operator_texts
from bot.operators.report import Health

LINK_LASTS: Final = timedelta(minutes=10)  # Long enough to switch to another machine's browser

# A session on that page ends when it was idle for this long, because its browser may be on a shared machine.
SESSION_IDLE: Final = timedelta(minutes=30)
SESSION_LASTS: Final = timedelta(hours=12)  # A working day; after that another link is needed


@dataclass(frozen=True, slots=True)
class OperatorLinks:
    """Creates links that each sign in one browser on the operators' page. `address`: the page's; `secret`: returns 256
    random bits as text.
    """

    sessions: OperatorSessions
    clock: Clock
    secret: Callable[[], str]
    address: str

    async def new(self) -> str:
        """Return a new link. Raises StoreError."""
        token, now = self.secret(), self.clock.now()
        await self.sessions.offer(sha256(token.encode()).hexdigest(), now, now + LINK_LASTS)
        return f"{self.address}/enter/{token}"


@dataclass(frozen=True, slots=True)
class OperatorService:
    """Answers `/operator`. `links`: None if the page is off, or another process serves it."""

    links: OperatorLinks | None
    operates: Callable[[str], bool]
    health: "Health | None" = None
    """Builds the report; None where nothing shows it."""

    async def report(self, person: str) -> Panel:
        """Return the health report, for this person alone. Raises StoreError."""
        if not self.operates(person):
            return Panel(operator_texts.NO_OPERATOR, refused=True)
        if self.health is None:
            return Panel(operator_texts.NO_OPERATOR_REPORT, refused=True)
        return Panel(await self.health.text())

    async def link(self, person: str) -> Panel:
        """Return the answer to `/operator`, for this person alone. Raises StoreError."""
        if not self.operates(person):
            return Panel(operator_texts.NO_OPERATOR, refused=True)
        if self.links is None:
            return Panel(operator_texts.NO_OPERATOR_PAGE, refused=True)
        minutes = LINK_LASTS.seconds // 60
        return Panel(operator_texts.OPERATOR_PAGE.format(link=await self.links.new(), minutes=minutes))
