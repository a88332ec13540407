"""The operators' commands about outgoing webhooks, and their check by `cogency doctor`."""

import json
from contextlib import closing
from functools import partial

from agent.errors import SettingsError
from agent.machine import CLOCK
from bot.app.settings import Settings
from bot.chat.findings import Finding, Level
from bot.chat.network.connections import SystemResolver
from bot.chat.network.guard import WebRefused
from bot.chat.texts.formatting import counted
from bot.setup import texts as setup_texts
from bot.web.feature import route
from bot.webhooks.outgoing.feature import sender
from bot.webhooks.outgoing.settings import outgoing_rows
from store.engine import open_outbox

MAX_LISTED = 1_000


async def failed_lines(settings: Settings) -> list[str]:
    """Return a line for each disabled webhook and each failed event. Works while the bot runs. Raises StoreError."""
    async with open_outbox(settings.storage.url) as outbox:
        disabled, failed = await outbox.disabled(), await outbox.failed(MAX_LISTED)
    lines = [setup_texts.WEBHOOK_DISABLED.format(name=name, since=since) for name, since in sorted(disabled.items())]
    lines += [
        setup_texts.WEBHOOK_FAILED.format(
            number=each.id,
            name=each.row,
            event=each.event,
            time=each.time,
            attempts=counted(each.attempts, "attempt", "attempts"),
            reason=each.reason,
        )
        for each in failed
    ]
    return lines or [setup_texts.NO_FAILED_WEBHOOKS]


async def failed_objects(settings: Settings) -> list[str]:
    """Return each failed event as JSON. Works while the bot runs. Raises StoreError."""
    async with open_outbox(settings.storage.url) as outbox:
        failed = await outbox.failed(MAX_LISTED)
    return [
        json.dumps(
            {
                "number": each.id,
                "webhook": each.row,
                "event": each.event,
                "time": each.time.isoformat(),
                "failed": each.failed.isoformat(),
                "attempts": each.attempts,
                "reason": each.reason,
            }
        )
        for each in failed
    ]


async def retry(settings: Settings, name: str, number: int | None) -> tuple[bool, str]:
    """Let failed events of a webhook be delivered again; return whether there are any, and the message. Works while the
    bot runs. Raises SettingsError and StoreError.
    """
    if name not in {row.name for row in outgoing_rows(settings.outgoing, settings.webhook_variables)}:
        return False, setup_texts.WEBHOOK_UNKNOWN.format(name=name)
    async with open_outbox(settings.storage.url) as outbox:
        count = await outbox.retry(name, number, CLOCK.now())
    if number is not None and not count:
        return False, setup_texts.WEBHOOK_NUMBER_UNKNOWN.format(name=name, number=number)
    if not count:
        return True, setup_texts.WEBHOOK_ENABLED.format(name=name)
    return True, setup_texts.WEBHOOK_RETRIED.format(name=name, events=counted(count, "event", "events"))


async def webhook_findings(settings: Settings) -> list[Finding]:
    """Check the file of webhooks, and that each receiver's address may be reached; no finding without webhooks. Nothing
    is sent.
    """
    finding = partial(Finding, where="Webhooks")
    try:
        rows = outgoing_rows(settings.outgoing, settings.webhook_variables)
    except SettingsError as error:
        return [finding(Level.PROBLEM, what=setup_texts.WEBHOOKS_WRONG, remedy=str(error))]
    findings = list[Finding]()
    with closing(SystemResolver()) as resolver:
        sending = sender(settings.web.networks, route(settings.web), resolver)
        for row in rows:
            try:
                await sending.check(row.target)
            except WebRefused as refused:
                what = setup_texts.WEBHOOK_REFUSED.format(name=row.name, host=row.target.authority)
                findings.append(
                    finding(Level.WARNING, what=what, remedy=f"{str(refused)[:1].upper()}{str(refused)[1:]}.")
                )
            else:
                what = setup_texts.WEBHOOK_REACHES.format(name=row.name, host=row.target.authority)
                findings.append(finding(Level.GOOD, what=what))
    return findings
