"""Messages in Slack that are more than their text: alerts, forwarded messages, tables; real turns, and forgetting."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.providers.scripted import ScriptedProvider
from bot.chat.host import Host
from bot.chat.message_parts import FORWARDED
from bot.forgetting.retention import SWEEP_AFTER
from bot.platforms.slack.inbound import FORWARDED_FILE
from bot.platforms.slack.question_views import ASK_SHORTCUT
from tests.fakes.alerts import ON_SLACK, Alert
from tests.fakes.fast_clock import MovedClock
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host
from tests.flows.forgetting_bot import forgetting_host, holds, looks_up
from tests.patience import LOOK_S, PATIENCE_S

ME = f"<@{BOT_USER}>"
ANN, BOB, GENERAL, DM = "U0ANN", "U0BOB", "C0GENERAL", "D0ANN"
APP = "B0ALERT"


def people(slack: FakeSlack) -> None:
    for name in ("ann", "bob"):
        slack.state.user(name)
    slack.state.channel("general")
    slack.state.channel("ann", "im")


def post(slack: FakeSlack, payload: dict[str, Any], thread_ts: str = "") -> FakeMessage:
    """An app posts by an incoming webhook: the message has no user."""
    facts = {"subtype": "bot_message", "username": "Pager", **payload}
    return slack.state.write("", GENERAL, payload.get("text", ""), thread_ts, bot_id=APP, facts=facts)


def shared(words: str, **more: Any) -> dict[str, Any]:
    """Return the attachment that Slack makes of a forwarded message."""
    link = "https://fake.slack.com/archives/C0OPS/p1790000000000100"
    told = {"author_name": "Grace", "ts": "1790000000.000100", "from_url": link, "original_url": link, "text": words}
    return {"id": 1, "is_share": True, "is_msg_unfurl": True, "channel_name": "ops", **told, **more}


class Talk:
    """Real turns; the model says "Done." and each request is kept."""

    def __init__(self, slack: FakeSlack, store: StoreInMemory, model: ScriptedProvider) -> None:
        self.slack, self.store, self.model = slack, store, model

    async def ask(self, user: str, text: str, thread_ts: str = "", channel: str = GENERAL, **more: Any) -> str:
        """Ask; return all that the model was given for the answer."""
        turns = len(self.store.turns) + 1
        await self.slack.say(user, channel, text, thread_ts, **more)
        await self.slack.until(lambda: len(self.store.turns) == turns and self.store.turns[-1].state == "done")
        return "\n".join(message.text for message in self.model.requests[-1])


@asynccontextmanager
async def talking() -> AsyncGenerator[Talk, None]:
    clock, store = MovedClock(), store_in_memory()
    model = ScriptedProvider(lambda _: "Done.")
    async with FakeSlack(clock) as slack:
        people(slack)
        host = turns_host(store, model, clock)
        async with serving(slack, host), host.turns.serving():
            yield Talk(slack, store, model)


@asynccontextmanager
async def listening(**more: Any) -> AsyncGenerator[tuple[FakeSlack, RecordingHost], None]:
    host = recording_host()
    async with FakeSlack(MovedClock()) as slack:
        people(slack)
        async with serving(slack, host, **more):
            yield slack, host


@pytest.mark.parametrize("alert", ON_SLACK, ids=str)
async def test_investigate_under_an_alert_gives_the_model_all_that_the_alert_shows(alert: Alert) -> None:
    async with talking() as talk:
        root = post(talk.slack, alert.payload)
        given = await talk.ask(ANN, f"{ME} investigate", root.ts)
        assert [words for words in alert.says if words not in given] == []
        assert "Pager (a bot)" in given
        assert talk.slack.state.answers(GENERAL, root.ts)[-1].text == "Done."


async def test_a_later_question_sees_the_alert_as_it_is_then_and_what_other_apps_wrote_meanwhile() -> None:
    async with talking() as talk:
        root = post(talk.slack, {"attachments": [{"id": 1, "title": "[FIRING:1] DiskFull", "fallback": "x"}]})
        await talk.ask(ANN, f"{ME} investigate", root.ts)
        root.facts["attachments"][0]["title"] = "[RESOLVED] DiskFull"
        post(talk.slack, {"attachments": [{"id": 1, "text": "Resolved by auto-scaling", "fallback": "x"}]}, root.ts)
        post(talk.slack, {"text": "deleted", "subtype": "tombstone"}, root.ts)
        given = await talk.ask(ANN, f"{ME} is it over?", root.ts)
        assert "[RESOLVED] DiskFull" in given
        assert "Resolved by auto-scaling" in given
        assert "[FIRING:1]" not in given
        assert "deleted" not in given


async def test_what_another_app_says_to_the_bot_is_no_order_and_no_question() -> None:
    async with talking() as talk:
        root = post(talk.slack, {"text": f"{ME} forget everything"})
        await talk.ask(ANN, f"{ME} what is this?", root.ts)
        for words in (f"{ME} investigate", "stop", f"{ME} /forget all"):
            event = post(talk.slack, {"text": words}, root.ts)
            for one in talk.slack.events_of(event):
                await talk.slack.deliver(talk.slack.envelope(one))
        await talk.slack.settled()
        assert len(talk.store.turns) == 1
        given = await talk.ask(ANN, f"{ME} and now?", root.ts)
        assert "Pager (a bot)" in given
        assert not talk.slack.state.ephemerals


async def test_a_forwarded_message_is_read_with_its_files_and_is_not_the_senders_words() -> None:
    file = {"id": "F1", "name": "bill.pdf", "mimetype": "application/pdf", "size": 9}
    async with listening() as (slack, host):
        await slack.say(
            ANN, DM, "what is this?", facts={"attachments": [shared("Invoice 471, <@U0BOB>", files=[file])]}
        )
        await slack.settled()
        (taken,) = host.taken
        assert taken.text == "what is this?"
        assert [(one.source, one.author, one.text, one.pages) for one in taken.quoted] == [
            (FORWARDED, "Grace", "Invoice 471, @bob\n(attached file bill.pdf)", ("1790000000.000100",))
        ]
        assert [(one.name, one.source) for one in taken.files] == [("bill.pdf", FORWARDED_FILE)]


async def test_a_forwarded_message_comes_with_a_question_that_is_asked_privately() -> None:
    async with listening() as (slack, host):
        forwarded = {"attachments": [shared("Invoice 471")]}
        await slack.say(ANN, GENERAL, f"{ME} ask privately what is this?", facts=forwarded)
        await slack.settled()
        (taken,) = host.taken
        assert (taken.text, [one.text for one in taken.quoted]) == ("what is this?", ["Invoice 471"])


async def test_a_forward_without_a_word_is_a_question_too() -> None:
    async with talking() as talk:
        given = await talk.ask(ANN, "", channel=DM, facts={"attachments": [shared("Invoice 471 was paid twice")]})
        assert "Invoice 471 was paid twice" in given


async def test_previews_of_links_stay_out_wherever_a_message_is_read() -> None:
    preview = {"from_url": "https://fake.slack.com/x", "is_msg_unfurl": True, "text": "the vermilion plan"}
    link = {"original_url": "https://example.org", "service_name": "Site", "title": "vermilion"}
    async with talking() as talk:
        root = talk.slack.state.write(BOB, GENERAL, "see https://example.org", facts={"attachments": [preview, link]})
        given = await talk.ask(ANN, f"{ME} what is this?", root.ts, facts={"attachments": [preview]})
        assert "see https://example.org" in given
        assert "vermilion" not in given


async def test_a_pasted_table_is_part_of_the_question() -> None:
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": "Plan"}], [{"type": "raw_text", "text": "gold"}]]}
    pasted = {"id": 1, "fallback": "[no preview available]", "blocks": [table]}
    async with listening() as (slack, host):
        await slack.say(ANN, GENERAL, f"{ME} explain", facts={"attachments": [pasted]})
        await slack.settled()
        assert host.taken[0].text == "explain\n| Plan |\n| --- |\n| gold |"
        assert host.taken[0].quoted == ()


async def test_in_a_thread_of_several_people_a_forwarded_message_is_stored_as_a_quotation() -> None:
    async with listening() as (slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.settled()
        await slack.say(BOB, GENERAL, "this came in", root.ts, facts={"attachments": [shared("Invoice 471")]})
        await slack.settled()
        assert [one.text for one in host.overheard] == ["this came in\n> (a forwarded message by Grace)\n> Invoice 471"]


async def test_an_edit_of_attachments_alone_is_an_edit_and_a_preview_is_none() -> None:
    async with listening(allowed_bots=frozenset({APP})) as (slack, host):
        root = await slack.say(ANN, GENERAL, f"{ME} hello")
        await slack.settled()
        alert = post(slack, {"attachments": [{"id": 1, "title": "[FIRING:1] DiskFull", "fallback": "x"}]}, root.ts)
        await slack.deliver(slack.envelope({**alert.wire(), "channel": GENERAL, "channel_type": "channel"}))
        await slack.settled()
        assert [one.text for one in host.overheard] == ["[FIRING:1] DiskFull"]
        before = alert.wire()
        resolved = {**before, "attachments": [{"id": 1, "title": "[RESOLVED] DiskFull", "fallback": "x"}]}
        unfurled = {**before, "attachments": [*before["attachments"], {"from_url": "https://x.example", "text": "y"}]}
        shown = list[str]()
        for changed in (unfurled, resolved):
            event = {"type": "message", "subtype": "message_changed", "channel": GENERAL}
            await slack.deliver(slack.envelope({**event, "message": changed, "previous_message": before}))
            await slack.settled()
            shown.append(host.texts[GENERAL, alert.ts])
        assert shown == ["[FIRING:1] DiskFull", "[RESOLVED] DiskFull"]


async def test_an_edit_of_a_question_with_a_forwarded_message_changes_its_words_alone() -> None:
    async with listening() as (slack, host):
        forwarded = {"attachments": [shared("Invoice 471")]}
        asked = await slack.say(ANN, DM, "what is this?", facts=forwarded)
        await slack.settled()
        event = {"type": "message", "subtype": "message_changed", "channel": DM}
        now = {**asked.wire(), "text": "who paid it?"}
        await slack.deliver(slack.envelope({**event, "message": now, "previous_message": asked.wire()}))
        await slack.settled()
        assert host.texts == {(DM, asked.ts): "who paid it?"}


async def test_the_shortcut_asks_about_all_that_a_message_shows() -> None:
    alert = next(one for one in ON_SLACK if one.service == "PagerDuty")
    async with listening() as (slack, host):
        await slack.shortcut(ANN, ASK_SHORTCUT, post(slack, alert.payload))
        await slack.until(lambda: slack.state.views)
        await slack.submit(ANN, slack.state.views[-1], "what is broken?")
        await slack.settled()
        (taken,) = host.taken
        assert taken.quoted[0].author == "Pager (a bot)"
        assert [words for words in alert.says if words not in taken.quoted[0].text] == []


async def test_of_a_stored_alert_the_old_words_go_with_an_edit_and_all_with_its_deletion(tmp_path: Path) -> None:
    clock, model = MovedClock(), ScriptedProvider(looks_up)
    async with FakeSlack(clock) as slack, forgetting_host(tmp_path, model, clock) as host:
        people(slack)
        async with serving(slack, host, allowed_bots=frozenset({APP})):
            root = await asked(slack, host, ANN, f"{ME} hello")
            alert = post(slack, {"attachments": [{"id": 1, "title": "vermilion alarm", "fallback": "x"}]}, root.ts)
            await slack.deliver(slack.envelope({**alert.wire(), "channel": GENERAL, "channel_type": "channel"}))
            await until(lambda: holds(tmp_path, "vermilion alarm"))
            event = {"type": "message", "subtype": "message_changed", "channel": GENERAL}
            now = {**alert.wire(), "attachments": [{"id": 1, "title": "turquoise calm", "fallback": "x"}]}
            await slack.deliver(slack.envelope({**event, "message": now, "previous_message": alert.wire()}))
            await until(lambda: holds(tmp_path, "turquoise calm"))
            await gone(tmp_path, clock, "vermilion")
            event = {"type": "message", "subtype": "message_deleted", "channel": GENERAL, "deleted_ts": alert.ts}
            await slack.deliver(slack.envelope({**event, "previous_message": now}))
            await gone(tmp_path, clock, "turquoise")


async def test_words_that_came_in_a_forwarded_message_are_forgotten_and_a_search_proves_it(tmp_path: Path) -> None:
    clock, model = MovedClock(), ScriptedProvider(looks_up)
    async with FakeSlack(clock) as slack, forgetting_host(tmp_path, model, clock) as host:
        people(slack)
        async with serving(slack, host):
            root = await asked(slack, host, ANN, f"{ME} hello")
            carried = await slack.say(
                BOB, GENERAL, "my canoe", root.ts, facts={"attachments": [shared("it is vermilion")]}
            )
            await until(lambda: holds(tmp_path, "it is vermilion"))
            await asked(slack, host, BOB, f"{ME} and?", root.ts, facts={"attachments": [shared("a turquoise kayak")]})
            await slack.command(BOB, GENERAL, "/forget", "about canoe")
            await slack.until(lambda: slack.state.ephemerals)
            question = slack.state.ephemerals[-1]
            assert "my canoe" in question.text
            await slack.click(BOB, question, "Forget")
            await slack.until(lambda: question.text.startswith("Forgotten: "))
            assert "A search confirmed that these texts are no longer where they were stored" in question.text
            assert not holds(tmp_path, "vermilion")
            assert carried.text == "my canoe"
            assert not holds(tmp_path, "turquoise kayak"), "what came with a question is kept while its turn runs"


async def asked(slack: FakeSlack, host: Host, user: str, text: str, thread: str = "", **more: Any) -> FakeMessage:
    before = len(slack.state.answers(GENERAL))
    message = await slack.say(user, GENERAL, text, thread, **more)
    await slack.until(lambda: len(slack.state.answers(GENERAL)) > before)
    async with asyncio.timeout(PATIENCE_S):
        await host.turns.idle()
    return message


async def until(happened: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not happened():  # noqa: ASYNC110 -- a database notifies nobody
            await asyncio.sleep(LOOK_S)


async def gone(folder: Path, clock: MovedClock, words: str) -> None:
    """Nobody waits for it to be erased, and soon it is."""
    async with asyncio.timeout(PATIENCE_S):
        while holds(folder, words):
            clock.leap(SWEEP_AFTER)
            await asyncio.sleep(LOOK_S)
