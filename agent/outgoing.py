"""Events that leave the bot as webhooks: what they are, who subscribed to them, and their deliveries. Pure.

Rule: an event holds ids and counts, and no words that people wrote.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from agent.admission_terms import Whose
from agent.messages import JsonObject

TRIED_FOR: Final = timedelta(hours=24)  # How long an event is tried: longer than most outages
# How long a delivery that was given up is listed, and can be retried.
FAILED_KEPT: Final = timedelta(days=7)


class OutgoingEvent(StrEnum):
    """The values are stored, and are the names that receivers see."""

    TURN_FINISHED = "turn.finished"
    """A turn ended, with an answer or without one."""
    FEEDBACK_GIVEN = "feedback.given"
    """A reader judged an answer, or took their verdict back."""
    TOOL_CALLED = "tool.called"
    """A tool call ended, or did not run because it was refused."""
    CONSENT_ASKED = "consent.asked"
    """A turn waits for its asker, who decides about tool calls."""
    BUDGET_NEAR = "budget.near"
    """Most of a day's budget is spent."""
    HANDOFF_ASKED = "handoff.asked"
    """A person asked people of the place to take over a conversation."""
    HANDOFF_TAKEN = "handoff.taken"
    """One of them took it."""
    HANDOFF_ENDED = "handoff.ended"
    """It was handed back or withdrawn, or nobody took it in time."""
    FORGOTTEN = "forgotten"
    """Messages, or what was known from them, were erased."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """A row of the operator's file, as the store needs it. `places`: sources, channels and audiences by their ids
    ("slack:T1", "slack:T1:C1", "discord:7"); none: everywhere. `address`: a hash of the URL: if it changes, a row that
    was disabled is enabled again.
    """

    name: str
    events: frozenset[OutgoingEvent]
    places: frozenset[str] = frozenset()
    address: str = ""

    def wants(self, event: OutgoingEvent, place: frozenset[str]) -> bool:
        """Return whether it wants this event there. `place`: all ids of the place."""
        return event in self.events and (not self.places or not self.places.isdisjoint(place))


@dataclass(frozen=True, slots=True, kw_only=True)
class NearBudget:
    """A budget of which most is spent today. `owner`: of the preferences with its changes; `id`: of the person, channel
    or workspace, "" for everyone; `source`: the workspace of a channel or a person. Limits are None if there are none.
    """

    whose: Whose
    owner: str
    id: str
    source: str
    percent: int
    tokens: int
    token_limit: int | None
    dollars: float
    dollar_limit: float | None
    resets: datetime


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event for one row. `event`: the value of an `OutgoingEvent`, perhaps of a later version. `key`: those of one
    key are delivered in the order of their ids. `until`: when it is given up; `attempts`: those that have failed.
    """

    id: int
    row: str
    key: str
    event: str
    time: datetime
    until: datetime
    data: JsonObject
    turn: int | None = None
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class FailedDelivery:
    """A delivery that was given up. `reason`: of the last attempt, without words of the receiver."""

    id: int
    row: str
    event: str
    time: datetime
    failed: datetime
    attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class TurnWords:
    """A question and its answer, as stored."""

    question: str
    answer: str


CLEANUP: Final = "outgoing_cleanup"  # The kind of the job that deletes failed deliveries after a while


def job_kind(row: str) -> str:
    """The kind of job that delivers a row's events. Its key is that of the deliveries."""
    return f"outgoing:{row}"
