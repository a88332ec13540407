"""Keeps the summary of a conversation up to date."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from agent.errors import ProviderUnavailable
from agent.incoming import person_source
from agent.jobs import Job
from agent.loop import as_data, complete
from agent.messages import ModelCall
from agent.ports.clock import Clock
from agent.ports.conversations import Summaries
from agent.ports.jobs import Jobs
from agent.ports.spending import Spending
from agent.protocol.render import speakers
from agent.state import SituationSummary
from agent.stored_messages import StoredMessage
from agent.summary import SUMMARY, Uncovered, extracted, read_summary, summary_batch, summary_prompt
from bot.chat.foreground import ForegroundPriority
from bot.chat.learning_model import LearningModel
from bot.memory import texts as memory_texts
from bot.memory.learning import OPTIONS, HasBudget, may_spend

log = logging.getLogger(__name__)


# Summaries of the messages that no longer fit into the context of a long conversation. Until a summary is ready, the
# context holds the first words of each of these messages (`agent.summary.summary_digest`).
#
# Rules
#   The model for learning writes the summaries. Its calls are charged to the person whose question made the summary
#   due. None is made once that person's budget is used up, or where only the rehearsal is configured: then code
#   extracts the summary.
#   A summary is discarded if its messages were forgotten, edited or summarised by another process meanwhile: the next
#   turn schedules a new one.

# After this many failures code extracts the summary: the start of a conversation does not wait for a service.
TRIES: Final = 3
YIELD_DELAY: Final = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Summariser:
    summaries: Summaries
    jobs: Jobs
    spending: Spending
    model: Callable[[], LearningModel]
    clock: Clock
    floor: ForegroundPriority
    has_budget: HasBudget = may_spend

    async def summarise(self, job: Job) -> None:
        """Run the job: summarise a conversation up to a message. Raises StoreError and the provider's errors."""
        uncovered = await self.summaries.uncovered(job.conversation, int(job.payload))
        if uncovered is None or not uncovered.messages:
            return
        batch = summary_batch(uncovered.messages)
        summary = await self._summary(job, uncovered, batch)
        if summary is None:
            await self._reschedule(job, YIELD_DELAY)
        elif not await self.summaries.save(job.conversation, uncovered, batch, summary):
            log.info("a summary was discarded because its messages have changed")
        elif len(batch) < len(uncovered.messages):
            await self._reschedule(job, timedelta())

    async def _summary(self, job: Job, before: Uncovered, messages: Sequence[StoredMessage]) -> SituationSummary | None:
        """Return the new summary; None if a reply needs the model."""
        model = await self.model().at(person_source(job.person), before.channel)
        names = speakers([(message.person, message.name) for message in messages])
        if not model.can_learn or job.attempts > TRIES or not await self.has_budget(job.person):
            return extracted(before.summary, messages, names)

        async def count(call: ModelCall) -> None:
            await self.spending.charge(job.person, SUMMARY, [call], self.clock.now())

        call = complete(model.provider, as_data(summary_prompt(before.summary, messages, names)), count, OPTIONS)
        answer = await self.floor.while_free(call) if model.is_local else await call
        if answer is None:
            return None
        summary = read_summary(answer, before.summary)
        if summary is None:
            raise ProviderUnavailable(memory_texts.JOB_UNREADABLE)
        return summary

    async def _reschedule(self, job: Job, delay: timedelta) -> None:
        run_at = self.clock.now() + delay
        await self.jobs.schedule(
            SUMMARY, job.key, job.payload, run_at, person=job.person, conversation=job.conversation
        )
