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

    async def keep_first(self, owner: str, name: str, value: str) -> str:
        return self.kept.setdefault(owner, {}).setdefault(name, value)
