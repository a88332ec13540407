"""Summarising, in the background, what long conversations are about to lose from the model's sight.

Nobody waits for it, and nothing is lost while it is not done: until then the beginnings of what was said stand in the
context (`agent.summary.digest`).

Rules
  It takes the model that learns. Its calls are charged to whoever's question made it due, and none is made once a
  budget of theirs is used up, or where there is only the rehearsal: then the summary is what code can extract.
  While this machine's own model is needed for an answer, it gives way, and begins again later.
  What was forgotten, edited or summarised by somebody else meanwhile is not brought back: the next turn asks anew.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from agent.completion import as_data, complete
from agent.errors import ProviderUnavailable
from agent.messages import Depth, ModelCall
from agent.ports import CallOptions, Clock, Jobs, Spending, Summaries
from agent.protocol.render import speakers
from agent.records import Job, StoredMessage
from agent.state import SituationSummary
from agent.summary import SUMMARY, Uncovered, extracted, read_summary, summary_batch, summary_prompt
from bot.memory.learning import LearningModel
from bot.turns.runner import ForegroundPriority

log = logging.getLogger(__name__)

OPTIONS: Final = CallOptions(depth=Depth.FAST)
TRIES: Final = 3
"""After so many failures code extracts what it can: the beginning of a conversation waits for no service."""
GIVE_WAY: Final = timedelta(seconds=30)
UNREADABLE: Final = "What the model wrote as a summary cannot be read; trying again later."


async def may_spend(person: str) -> bool:  # noqa: ARG001 -- nobody's budget is kept
    return True


@dataclass(frozen=True, slots=True)
class Summariser:
    """`has_budget`: whether anything may be spent on this person now."""

    summaries: Summaries
    jobs: Jobs
    spending: Spending
    model: Callable[[], LearningModel]
    clock: Clock
    floor: ForegroundPriority
    has_budget: Callable[[str], Awaitable[bool]] = may_spend

    async def summarise(self, job: Job) -> None:
        """The job: a conversation up to a message. Raises StoreError and the errors of the model's provider."""
        before = await self.summaries.uncovered(job.conversation, int(job.payload))
        if before is None or not before.messages:
            return
        said = summary_batch(before.messages)
        after = await self._summary(job, before, said)
        if after is None:
            await self._again(job, GIVE_WAY)
        elif not await self.summaries.keep(job.conversation, before, said, after):
            log.info("a summary was not kept: what it was made of has changed meanwhile")
        elif len(said) < len(before.messages):
            await self._again(job, timedelta())

    async def _summary(self, job: Job, before: Uncovered, messages: Sequence[StoredMessage]) -> SituationSummary | None:
        """None if somebody who waits for an answer needs the model."""
        model = self.model()
        names = speakers([(one.person, one.name) for one in messages])
        if not model.can_learn or job.attempts > TRIES or not await self.has_budget(job.person):
            return extracted(before.summary, messages, names)

        async def count(call: ModelCall) -> None:
            await self.spending.charge(job.person, SUMMARY, [call], self.clock.now())

        asking = complete(model.provider, as_data(summary_prompt(before.summary, messages, names)), count, OPTIONS)
        answer = await self.floor.while_free(asking) if model.is_local else await asking
        if answer is None:
            return None
        after = read_summary(answer, before.summary)
        if after is None:
            raise ProviderUnavailable(UNREADABLE)
        return after

    async def _again(self, job: Job, after: timedelta) -> None:
        run_at = self.clock.now() + after
        await self.jobs.schedule(
            SUMMARY, job.key, job.payload, run_at, person=job.person, conversation=job.conversation
        )
