"""The port Replies in memory, on what `tests.fakes.store` holds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from agent.records import Answered, Author, ReplyVerdict

if TYPE_CHECKING:
    from tests.fakes.store import FakeStore


@dataclass
class FakeReplies:
    store: FakeStore

    async def by_page(self, source: str, page_id: str, channel: str = "") -> Answered | None:
        for turn in self.store.turns[::-1]:
            asked = turn.incoming
            here = asked.source == source and channel in ("", asked.channel)
            if here and turn.closing is not None and page_id in turn.closing.pages:
                return await self.by_turn(turn.id)
        return None

    async def running_by_page(self, source: str, page_id: str, channel: str = "") -> Answered | None:
        for turn in self.store.turns:
            asked, pages = turn.incoming, tuple[str, ...](json.loads(turn.reply_ref or "[]"))
            if turn.closing is None and page_id in pages and asked.source == source and channel in ("", asked.channel):
                question = next(m for number, m in self.store.messages if number == turn.id)
                return Answered(
                    turn.id,
                    asked.source,
                    asked.conversation,
                    asked.channel,
                    asked.message_id,
                    asked.person.id,
                    question.text,
                    question.audience,
                    pages,
                )
        return None

    async def by_turn(self, turn: int) -> Answered | None:
        found = next((one for one in self.store.turns if one.id == turn and one.closing is not None), None)
        question = next((m for number, m in self.store.messages if number == turn and m.author is Author.PERSON), None)
        if found is None or found.closing is None or not found.closing.pages or question is None:
            return None
        asked = found.incoming
        return Answered(
            turn,
            asked.source,
            asked.conversation,
            asked.channel,
            asked.message_id,
            asked.person.id,
            question.text,
            question.audience,
            found.closing.pages,
        )

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict | None, now: datetime) -> bool:
        if await self.by_turn(turn) is None:
            return False
        self.store.judged.pop((turn, person), None)
        if verdict is not None:
            self.store.judged[turn, person] = (verdict, now)
        return True

    async def verdicts(self, since: datetime) -> Mapping[ReplyVerdict, int]:
        return Counter(verdict for verdict, time in self.store.judged.values() if time >= since)
