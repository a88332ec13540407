"""Schedules: reminders, scheduled questions and long work, from the modules that own them."""
# pyright: reportUnusedImport=false

from agent.schedules.definitions import (
    Admitted,
    CheckKind,
    FirstCheck,
    NewSchedule,
    NotAllowed,
    Notice,
    Occurrence,
    Schedule,
    ScheduleKind,
    ScheduleRefused,
    ScheduleState,
    Timing,
)
from agent.schedules.ids import NOTICE, TERMINAL, lasting_source, occurrence_id, schedule_id, source_of
from agent.schedules.lateness import LATE_AFTER, MAX_DELAY, MAX_MISSED, is_stale, last_until, late_note
from agent.schedules.long_work import (
    MAX_AT_WORK,
    MAX_ROUND_TIME,
    WORK,
    WORK_CHARS,
    WORK_ROUNDS,
    WORK_TIME,
    asked_in,
    work_conversation,
    worked_for,
)
from agent.schedules.port import SchedulePlatform, Schedules
from agent.schedules.times import (
    DEFAULT_DURATION,
    MAX_AHEAD,
    MAX_WEEKS,
    MAX_YEARS,
    MIN_INTERVAL,
    SHOWN_TIMES,
    following_in_words,
    in_words,
    moment_of,
    next_occurrence,
    problem_of,
    with_end,
    zone_of,
)
