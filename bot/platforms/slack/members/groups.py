"""Which of the operator's user groups somebody is in: managers, and roles that lists name.

Rules
- A group's members are asked for when somebody in question writes, at most once a minute, whatever the answer.
- Unknown fails closed: nobody is a manager or has a role that lets them in, and everybody has one that keeps them out.
  It is said to be unknown, so that whoever is refused for that alone waits instead.
"""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from agent.ports import Clock
from bot.platforms.slack.api import SlackApi, SlackError
from bot.platforms.slack.methods import Method
from bot.platforms.slack.payload import texts

log = logging.getLogger(__name__)

MAX_AGE_S: Final = 60.0
"""So long a change may take to count, as with everything about a person."""
PATIENCE_S: Final = 1.5
"""For a group's members: Slack wants its acknowledgement within three seconds."""


@dataclass(frozen=True, slots=True)
class Belonging:
    """`roles` are ids of groups. `unsure`: whether they are in others, too, is not known now."""

    manager: bool = False
    roles: frozenset[str] = frozenset()
    unsure: bool = False


@dataclass(slots=True)
class Groups:
    """`managers`, `allowed` and `denied` are ids (S…) of groups."""

    api: SlackApi
    clock: Clock
    managers: frozenset[str] = frozenset()
    allowed: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    _asked: dict[str, tuple[float, "asyncio.Task[frozenset[str] | None]"]] = field(
        default_factory=dict[str, "tuple[float, asyncio.Task[frozenset[str] | None]]"]
    )

    async def of(self, user: str) -> Belonging:
        """Never raises: a failure is unknown."""
        groups = sorted(self.managers | self.allowed | self.denied)
        members = dict(zip(groups, await self._members(groups), strict=True))
        surely = {group for group, users in members.items() if users is not None and user in users}
        unknown = {group for group, users in members.items() if users is None}
        return Belonging(bool(surely & self.managers), frozenset(surely | (unknown & self.denied)), bool(unknown))

    async def close(self) -> None:
        tasks = [task for _, task in self._asked.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _members(self, groups: Collection[str]) -> list[frozenset[str] | None]:
        """Of each group; None for unknown."""
        asked = [self._ask(group) for group in groups]
        if asked:
            await asyncio.wait(asked, timeout=PATIENCE_S)
        return [task.result() if task.done() else None for task in asked]

    def _ask(self, group: str) -> "asyncio.Task[frozenset[str] | None]":
        now = self.clock.monotonic()
        when, task = self._asked.get(group, (float("-inf"), None))
        if task is None or now - when > MAX_AGE_S:
            task = asyncio.create_task(self._load(group))
            self._asked[group] = (now, task)
        return task

    async def _load(self, group: str) -> frozenset[str] | None:
        try:
            return frozenset(texts(await self.api.call(Method.GROUP_MEMBERS, usergroup=group), "users"))
        except SlackError as error:
            log.warning("who is in the user group %s is not known: %s", group, error)
            return None
