"""Installations of a distributed app in memory, as `store.installations` keeps them."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from agent.ports.installations import Installation


@dataclass
class _Kept:
    row: Installation
    epoch: int = 0
    renewing: datetime | None = None


@dataclass
class KeptInstallations:
    _kept: dict[str, _Kept] = field(default_factory=dict[str, _Kept])

    async def put(self, one: Installation) -> None:
        before = self._kept.get(one.source)
        self._kept[one.source] = _Kept(one, 0 if before is None else before.epoch + 1)

    async def listed(self) -> list[Installation]:
        return [kept.row for _, kept in sorted(self._kept.items())]

    async def claim(self, source: str, sealed: bytes, now: datetime, lease: timedelta) -> int | None:
        kept = self._kept.get(source)
        if kept is None or kept.row.removed or kept.row.sealed != sealed or (kept.renewing and kept.renewing > now):
            return None
        kept.renewing, kept.epoch = now + lease, kept.epoch + 1
        return kept.epoch

    async def renewed(self, source: str, epoch: int, sealed: bytes, expires: datetime | None) -> bool:
        kept = self._kept.get(source)
        if kept is None or kept.row.removed or kept.epoch != epoch:
            return False
        kept.row, kept.renewing = replace(kept.row, sealed=sealed, expires=expires), None
        return True

    async def remove(self, source: str, installed: datetime, now: datetime) -> bool:
        kept = self._kept.get(source)
        if kept is None or kept.row.removed or kept.row.installed != installed:
            return False
        kept.row = replace(kept.row, sealed=b"", expires=None, removed=now)
        kept.renewing, kept.epoch = None, kept.epoch + 1
        return True
