"""What the flows do not cover: labels are limited, and slow work delays no one."""

from agent.messages import ModelCall, Usage
from agent.turn_records import Load
from bot.chat.telemetry import (
    Charged,
    ConnectionClosed,
    ConnectionOpened,
    LoopWoke,
    PageWritten,
    SilenceSeen,
    StoreSeen,
    TurnBegan,
    WriteEnd,
)
from bot.operators.metrics import MAX_NAMES, OTHER, Metrics
from tests.fakes.clock import FakeClock
from tests.flows.test_metrics import read, value


async def test_the_number_of_model_labels_is_limited() -> None:
    metrics = Metrics(FakeClock(), "1")
    for number in range(1_000):
        metrics.record(Charged("turn", [ModelCall(f"here:{number}", Usage(output=1))]))
    samples = read(metrics.page().decode())
    models = {dict(labels)["model"] for name, labels in samples if name == "cogency_tokens_total"}
    assert len(models) == MAX_NAMES + 1
    assert value(samples, "tokens_total", work="turn", model=OTHER, kind="output") == 1_000 - MAX_NAMES


async def test_neither_earlier_text_nor_a_failed_write_counts_as_first_text() -> None:
    clock = FakeClock(auto=False)
    metrics = Metrics(clock, "1")
    metrics.record(TurnBegan(1, "slack", "c", 2.0, resumed=False))
    metrics.record(TurnBegan(2, "slack", "c", 600.0, resumed=True))
    await clock.advance(1)
    for turn, end in ((1, WriteEnd.LIMITED), (1, WriteEnd.DONE), (1, WriteEnd.DONE), (2, WriteEnd.DONE)):
        metrics.record(PageWritten(turn, "edit", end, 0.1, has_text=True))
    samples = read(metrics.page().decode())
    assert value(samples, "first_text_seconds_count", platform="slack") == 1
    assert value(samples, "first_text_seconds_sum", platform="slack") == 3.0


async def test_a_stalled_loop_shows_in_the_age_of_its_beat_and_a_socket_in_its_age() -> None:
    clock = FakeClock(auto=False)
    metrics = Metrics(clock, "1")
    metrics.record(LoopWoke(0.25))
    metrics.record(ConnectionOpened("slack", 1))
    await clock.advance(20)
    metrics.record(ConnectionOpened("slack", 2))
    samples = read(metrics.page().decode())
    assert value(samples, "loop_silence_seconds") == 20
    assert value(samples, "loop_lag_seconds_sum") == 0.25
    assert (value(samples, "socket_age_seconds", platform="slack"), value(samples, "sockets", platform="slack")) == (
        20,
        2,
    )
    metrics.record(ConnectionClosed("slack", 1))
    samples = read(metrics.page().decode())
    assert (value(samples, "socket_age_seconds", platform="slack"), value(samples, "sockets", platform="slack")) == (
        0,
        1,
    )


async def test_a_job_that_is_no_longer_late_reads_as_zero() -> None:
    metrics = Metrics(FakeClock(), "1")
    for late_s, told in (({"learning": 90.0}, 90.0), ({}, 0.0)):
        metrics.record(StoreSeen(Load(1, 7), late_s))
        samples = read(metrics.page().decode())
        assert (value(samples, "job_lag_seconds", job="learning"), value(samples, "backlog")) == (told, 7)


async def test_the_silence_of_a_connected_platform_is_exported() -> None:
    metrics = Metrics(FakeClock(), "1")
    for silent_s, told in (({"slack": 7.0, "discord": 1.0}, 7.0), ({"slack": 12.0}, 12.0), ({}, None)):
        metrics.record(SilenceSeen(silent_s))
        samples = read(metrics.page().decode())
        assert value(samples, "socket_silence_seconds", platform="slack") == told
    assert value(samples, "socket_silence_seconds", platform="discord") is None


async def test_metrics_have_no_created_samples() -> None:
    assert b"_created" not in Metrics(FakeClock(), "1").page()
