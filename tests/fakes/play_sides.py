"""The two people of `cogency play`, each on their side of its page in a browser."""

from dataclasses import dataclass

from playwright.async_api import Locator, Page, expect

from tests.browser import WAIT_MS, Opened


@dataclass(frozen=True, slots=True)
class Side:
    """One person's side of the page."""

    page: Page
    person: str

    @property
    def column(self) -> Locator:
        return self.page.locator(f".column[data-person={self.person}]")

    async def open(self, place: str) -> None:
        await self.column.get_by_role("tab", name=place).click()

    async def say(self, text: str) -> None:
        await self.column.get_by_role("combobox").fill(text)
        await self.column.get_by_role("combobox").press("Enter")

    async def sees(self, text: str, times: int = 1) -> Locator:
        """Return the finished messages with these words."""
        found = self.column.locator("article:not(.grows)", has_text=text)
        await expect(found).to_have_count(times, timeout=WAIT_MS)
        return found

    async def press(self, name: str) -> None:
        await self.column.get_by_role("button", name=name, exact=True).last.click()


def sides(opened: Opened) -> tuple[Side, Side]:
    """Return Ann's side, and Ben's."""
    return Side(opened.page, "ann"), Side(opened.page, "ben")
