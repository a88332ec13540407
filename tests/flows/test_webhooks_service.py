"""Webhooks of `cogency run` as an operator starts it: kill -9 after the receipt, and Prometheus' own Alertmanager."""

import asyncio
import json
import os
import re
import signal
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import httpx

from agent.machine import CLOCK
from benchmarks.house_code import ROOT
from bot.webhooks.presets import samples
from tests.fakes.debian_programs import debian_program, with_data
from tests.fakes.model_server import DONE, ModelServer, head, text
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.sign_in_world import free_port
from tests.fakes.slack import FakeSlack
from tests.flows.test_service import by_model, on_slack, service
from tests.patience import PATIENCE_S, until

SECRET = "0123456789abcdef-secret"
CHANNEL = "C0GENERAL"
ROUTE = """
route:
  receiver: bot
  group_by: [alertname]
  group_wait: 100ms
  group_interval: 1s
  repeat_interval: 1h
"""
PAGE = ROOT / "docs" / "webhooks.md"


def configuration(bot: str) -> str:
    """Return the configuration that the page shows, for this bot, with a route."""
    (block,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return ROUTE + block.replace("https://bot.example.com", bot).replace("the secret of the webhook", SECRET)


def on_http(folder: Path, port: int, more: str = "") -> Mapping[str, str]:
    """The settings of a bot with one webhook."""
    hook = f'[alerts]\npreset = "alertmanager"\nsecret_env = "ALERTS"\nchannel = "slack:{CHANNEL}"\n{more}'
    (folder / "hooks.toml").write_text(hook)
    return {"COGENCY_HTTP": f"127.0.0.1:{port}", "COGENCY_WEBHOOKS": "hooks.toml", "ALERTS": SECRET}


async def delivered(address: str, body: bytes) -> int:
    """Deliver as Alertmanager does, which tries again until the bot listens; return the status."""
    headers = {"authorization": f"Bearer {SECRET}", "content-type": "application/json"}
    async with httpx.AsyncClient(verify=NO_AUTHORITIES) as http, asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return (await http.post(f"{address}/hooks/alerts", content=body, headers=headers)).status_code
            except httpx.TransportError:
                await asyncio.sleep(0.05)  # no event reports that a process listens


async def test_an_event_that_was_acknowledged_is_posted_once_after_a_kill(tmp_path: Path) -> None:
    port, body = free_port(), samples("alertmanager")[0].body
    address = f"http://127.0.0.1:{port}"
    async with FakeSlack(CLOCK) as slack, ModelServer([]) as model:
        general = slack.state.channel("general")
        hooked = {**on_slack(slack), **by_model(model), **on_http(tmp_path, port)}
        unreachable = {**hooked, "SLACK_API_BASE_URL": f"http://127.0.0.1:{free_port()}"}
        async with service(tmp_path, **unreachable) as process:
            assert await delivered(address, body) == 202
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert slack.state.answers(general) == []
        async with service(tmp_path, **hooked):
            assert await delivered(address, body) == 200, "a duplicate"
            await until(lambda: slack.state.answers(general))
            other = json.dumps({**json.loads(body), "groupKey": "other", "commonLabels": {"alertname": "Other"}})
            assert await delivered(address, other.encode()) == 202
            await until(lambda: len(slack.state.answers(general)) == 2)
        first, second = (message.text for message in slack.state.answers(general))
        assert "HighLatency" in first
        assert "Other" in second


@asynccontextmanager
async def alertmanager(folder: Path, bot: str) -> AsyncGenerator[str]:
    """Prometheus' Alertmanager, which notifies the bot; yields its address."""
    program, libraries = debian_program("prometheus-alertmanager", "usr/bin/prometheus-alertmanager")
    (folder / "alertmanager.yml").write_text(configuration(bot))
    at = f"127.0.0.1:{free_port()}"
    process = await asyncio.create_subprocess_exec(
        *with_data(program),
        f"--config.file={folder / 'alertmanager.yml'}",
        f"--storage.path={folder / 'alerts'}",
        f"--web.listen-address={at}",
        "--cluster.listen-address=",
        env={"PATH": os.defpath, "LD_LIBRARY_PATH": libraries},
        stdout=DEVNULL,
        stderr=DEVNULL,
    )
    try:
        yield f"http://{at}"
    finally:
        process.kill()
        await process.wait()


async def alert(address: str, ends: timedelta) -> None:
    """Report an alert to Alertmanager, as Prometheus does."""
    now = CLOCK.now()
    labels = {"alertname": "DiskFull", "host": "db-2"}
    row = {
        "labels": labels,
        "annotations": {"summary": "The disk of db-2 is full"},
        "startsAt": (now - timedelta(minutes=1)).isoformat(),
        "endsAt": (now + ends).isoformat(),
    }
    async with httpx.AsyncClient(verify=NO_AUTHORITIES) as http, asyncio.timeout(PATIENCE_S):
        while True:
            try:
                (await http.post(f"{address}/api/v2/alerts", json=[row])).raise_for_status()
            except httpx.TransportError:
                await asyncio.sleep(0.05)  # no event reports that a process listens
            else:
                return


async def test_alertmanager_reports_an_alert_which_is_asked_about_and_resolved_in_one_thread(tmp_path: Path) -> None:
    bot = f"http://127.0.0.1:{(port := free_port())}"
    more = 'do = "ask"\nask = "What fills it?"\n'
    async with FakeSlack(CLOCK) as slack, ModelServer([[head(), text("The logs of last night."), DONE]]) as model:
        general = slack.state.channel("general")
        settings = {**on_slack(slack), **by_model(model), **on_http(tmp_path, port, more)}
        async with service(tmp_path, **settings), alertmanager(tmp_path, bot) as address:
            await alert(address, timedelta(hours=1))
            await until(lambda: slack.state.answers(general))
            (fired,) = slack.state.answers(general)
            assert "DiskFull" in fired.text
            assert "The disk of db-2 is full" in fired.text
            await until(lambda: "The logs of last night." in slack.state.answers(general, fired.ts)[0].text)
            await alert(address, timedelta(seconds=-1))
            await until(lambda: "is resolved" in slack.state.answers(general, fired.ts)[1].text)
            assert len(slack.state.answers(general)) == 1 + 2
