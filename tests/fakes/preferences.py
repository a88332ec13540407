"""The port Preferences in memory."""

from dataclasses import dataclass, field


@dataclass
class FakePreferences:
    kept: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """By owner, then by name."""

    async def of(self, owner: str) -> dict[str, str]:
        return {**self.kept.get(owner, {})}

    async def set(self, owner: str, name: str, value: str | None) -> None:
        mine = self.kept.setdefault(owner, {})
        if value is None:
            mine.pop(name, None)
        else:
            mine[name] = value

    async def swap(self, owner: str, name: str, before: str | None, after: str) -> bool:
        as_before = self.kept.get(owner, {}).get(name) == before
        if as_before:
            await self.set(owner, name, after)
        return as_before
