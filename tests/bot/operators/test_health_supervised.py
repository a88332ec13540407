"""What supervisors receive: values, over HTTP from another thread, and over systemd's socket."""

import asyncio
import logging
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from agent.errors import SettingsError, StoreUnavailable
from bot.chat.listen_errors import PortInUse
from bot.chat.telemetry import LoopWoke, TelemetryEvent
from bot.operators import health
from bot.operators.health import METRICS_TYPE, Liveness, Vitals, supervised
from tests.fakes.clock import FakeClock
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.sign_in_world import free_port
from tests.patience import PATIENCE_S


@dataclass
class Parts:
    """The vitals, each as a switch. `hangs`: the database neither answers nor fails."""

    stopped: bool = False
    away: bool = False
    hangs: bool = False
    connected: set[str] = field(default_factory=lambda: {"slack", "discord"})
    silent_s: dict[str, float] = field(default_factory=dict[str, float])

    async def ask(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.away:
            raise StoreUnavailable("away")

    def vitals(self) -> Vitals:
        return Vitals(
            lambda: self.stopped, self.ask, {"slack", "discord"}, lambda: self.connected, lambda: self.silent_s
        )


@asynccontextmanager
async def beating(parts: Parts | None) -> AsyncGenerator[tuple[Liveness, FakeClock, list[str]]]:
    clock, states = FakeClock(auto=False), list[str]()
    alive = Liveness(clock, None if parts is None else parts.vitals())
    task = asyncio.create_task(alive.run(states.append, health.BEAT_S))
    await clock.advance(0)
    try:
        yield alive, clock, states
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_what_is_no_http_on_its_port_writes_nothing_into_the_log(caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    garbage = (
        b"GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        b"GET http://[::1 HTTP/1.1\r\nHost: a\r\n\r\n",
    )
    async with supervised(FakeClock(), ("127.0.0.1", port), {}), asyncio.timeout(PATIENCE_S):
        for request in garbage:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            assert b" 400 " in await reader.readline()
            writer.close()
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_before_the_database_is_open_it_is_alive_and_not_ready() -> None:
    async with beating(None) as (alive, _, _):
        assert (alive.restart_reasons(), alive.unready_reasons()) == ([], [health.STARTING])


async def test_only_missing_parts_are_named() -> None:
    parts = Parts()
    async with beating(parts) as (alive, clock, _):
        await clock.advance(health.LOOK_S)
        assert (alive.restart_reasons(), alive.unready_reasons()) == ([], [])
        parts.connected, parts.away = {"discord"}, True
        await clock.advance(health.LOOK_S)
        assert (alive.restart_reasons(), alive.unready_reasons()) == ([], [health.STORE, "slack is not connected"])
        parts.connected, parts.away = {"slack", "discord"}, False
        await clock.advance(health.LOOK_S)
        assert alive.unready_reasons() == []


async def test_a_stopped_worker_needs_a_restart() -> None:
    parts = Parts(stopped=True)
    async with beating(parts) as (alive, clock, told):
        told.clear()
        await clock.advance(5)
        assert alive.restart_reasons() == [health.WORKER]
        assert alive.unready_reasons() == [health.WORKER]
        assert told == [], "systemd starts it anew"


async def test_a_connection_that_is_silent_for_too_long_needs_a_restart() -> None:
    parts = Parts(silent_s={"slack": 4.0, "discord": health.SILENT_S})
    async with beating(parts) as (alive, clock, told):
        await clock.advance(health.LOOK_S)
        assert (alive.restart_reasons(), alive.unready_reasons()) == ([], [])
        parts.silent_s["discord"] += 11
        told.clear()
        await clock.advance(5)
        assert alive.restart_reasons() == alive.unready_reasons() == ["discord has been silent for 161 s"]
        assert told == [], "systemd starts it anew"


async def test_a_stalled_loop_is_detected_by_the_age_of_its_beat() -> None:
    parts, clock = Parts(), FakeClock(auto=False)
    alive = Liveness(clock, parts.vitals(), stored="")
    await clock.advance(health.STALLED_S)
    assert alive.restart_reasons() == []
    await clock.advance(1)
    assert alive.restart_reasons() == ["the event loop has been blocked for 11 s"]
    assert alive.unready_reasons() == alive.restart_reasons()


async def test_systemd_is_notified_of_a_beat_each_second() -> None:
    async with beating(Parts()) as (_, clock, told):
        await clock.advance(3)
        assert told == ["WATCHDOG=1"] * 4


async def asked(port: int, path: str) -> tuple[int, object]:
    async with httpx.AsyncClient(timeout=PATIENCE_S, verify=NO_AUTHORITIES) as client:
        answer = await client.get(f"http://127.0.0.1:{port}{path}")
        return answer.status_code, answer.json()


@pytest.mark.slow
async def test_a_supervisor_gets_an_http_answer_while_the_loop_is_stalled() -> None:
    parts, clock, port = Parts(), FakeClock(auto=False), free_port()
    async with supervised(clock, ("127.0.0.1", port), {}) as alive:
        assert await asked(port, "/livez") == (200, {"ok": True, "why": []})
        assert await asked(port, "/readyz") == (503, {"ok": False, "why": [health.STARTING]})
        alive.vitals = parts.vitals()
        await clock.advance(health.LOOK_S)
        assert await asked(port, "/readyz") == (200, {"ok": True, "why": []})
        alive.beat -= 20  # as if the beat had stopped
        with httpx.Client(timeout=PATIENCE_S, verify=NO_AUTHORITIES) as client:
            answer = client.get(f"http://127.0.0.1:{port}/livez")  # noqa: ASYNC212 -- this loop is blocked meanwhile
        assert (answer.status_code, answer.json()["why"]) == (503, ["the event loop has been blocked for 20 s"])
    with pytest.raises(httpx.ConnectError):
        await asked(port, "/livez")


async def test_connections_that_ask_nothing_keep_no_supervisor_out_and_few_file_descriptors() -> None:
    port, idle = free_port(), list[asyncio.StreamWriter]()
    async with supervised(FakeClock(auto=False), ("127.0.0.1", port), {}):
        readers = list[asyncio.StreamReader]()
        for _ in range(2 * health.CONNECTIONS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /livez HT")
            readers.append(reader)
            idle.append(writer)
        assert (await asked(port, "/livez"))[0] == 200
        async with asyncio.timeout(PATIENCE_S):
            for reader in readers[: health.CONNECTIONS]:
                with suppress(ConnectionError):
                    assert await reader.read() == b""  # the server has closed it
        for writer in idle:
            writer.close()


@pytest.mark.parametrize(("metrics", "status"), [(lambda: b"cogency_backlog 0.0\n", 200), (None, 404)])
async def test_metrics_are_served_at_the_same_address_if_enabled(
    metrics: Callable[[], bytes] | None, status: int
) -> None:
    port = free_port()
    async with (
        supervised(FakeClock(auto=False), ("127.0.0.1", port), {}, metrics=metrics),
        httpx.AsyncClient(timeout=PATIENCE_S, verify=NO_AUTHORITIES) as client,
    ):
        answer = await client.get(f"http://127.0.0.1:{port}/metrics")
    assert answer.status_code == status
    assert metrics is None or (answer.content, answer.headers["content-type"]) == (metrics(), METRICS_TYPE)


async def test_the_delay_of_the_loop_is_reported() -> None:
    told, clock = list[TelemetryEvent](), FakeClock(auto=False)

    class Listener:
        def record(self, event: TelemetryEvent, /) -> None:
            told.append(event)

    alive = Liveness(clock, telemetry=Listener())
    task = asyncio.create_task(alive.run(lambda _: None, health.BEAT_S))
    await clock.advance(0)
    alive.beat -= 0.5  # as if it had stalled for this long
    await clock.advance(health.BEAT_S)
    task.cancel()
    assert told[:1] == [LoopWoke(0.5)]


async def test_a_port_in_use_is_reported_in_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            PortInUse,
            match=rf"^COGENCY_HEALTH: port {port} on 127.0.0.1 is already in use",
        ):
            async with supervised(FakeClock(auto=False), ("127.0.0.1", port), {}):
                pass


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
async def test_an_address_of_no_machine_of_ours_is_a_wrong_setting(host: str) -> None:
    with pytest.raises(SettingsError, match=rf"^COGENCY_HEALTH: cannot listen on {host}:8081 \("):
        async with supervised(FakeClock(auto=False), (host, 8081), {}):
            pass


@pytest.mark.parametrize("prefix", ["", "@"])
async def test_systemd_is_notified_of_the_start_the_beats_and_the_end(tmp_path: Path, prefix: str) -> None:
    name = f"@{tmp_path.name}" if prefix else str(tmp_path / "notify")
    clock = FakeClock(auto=False)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(name.replace("@", "\0", 1))
        heard.settimeout(PATIENCE_S)
        async with supervised(clock, None, {"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "1500000"}):
            await clock.advance(0.5)
        said = [heard.recv(100).decode() for _ in range(4)]
    assert said == ["READY=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"]


async def test_without_systemd_and_an_address_nothing_is_sent() -> None:
    async with supervised(FakeClock(auto=False), None, {}) as alive:
        assert alive.unready_reasons() == [health.STARTING]


async def test_a_database_that_hangs_does_not_stop_the_beat() -> None:
    parts = Parts(hangs=True)
    async with beating(parts) as (alive, clock, told):
        await clock.advance(30)
        assert len(told) == 31
        assert alive.unready_reasons() == [health.STARTING]
