"""Reading channels and searching in Slack: the real client, real turns, and a model that does what it is told to."""

import asyncio
import json
import logging
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import select

from agent.memory.audience import NOWHERE
from agent.messages import Message, Role, Usage
from agent.providers.rehearsal import rehearse
from agent.providers.scripted import ScriptedProvider
from agent.spending import By, SpendingPeriod
from bot.budgets.report import FooterStyle
from bot.chat.logs import RedactingFormatter
from bot.chat.texts import commands as command_texts
from bot.platforms.slack.options import EVERYTHING, scopes
from store import turn_tables
from tests.fakes.alerts import ON_SLACK
from tests.fakes.fast_clock import MovedClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault, limited
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.turns_host import turns_host

ME = f"<@{BOT_USER}>"
ALL = ",".join(sorted(scopes(EVERYTHING)))


def read(**args: Any) -> str:
    return call("read_channel", **args)


def call(name: str, **args: Any) -> str:
    return f"<execute>{json.dumps([{'name': name, 'args': args}])}</execute>"


@dataclass
class Talk:
    clock: MovedClock
    slack: FakeSlack
    store: StoreInMemory
    model: ScriptedProvider
    says: list[str] = field(default_factory=list[str])
    """What the model writes, in order; of each question the first is a call."""
    folded: list[str] = field(default_factory=list[str])
    """What it was asked to take notes of."""

    async def ask(self, user: str, channel: str, text: str, *says: str, thread_ts: str = "") -> FakeMessage:
        turns = len(self.store.turns) + 1
        self.says[:] = says
        asked = await self.slack.say(user, channel, f"{ME} {text}", thread_ts)
        await self.done(turns)
        return asked

    async def done(self, turns: int) -> None:
        await self.slack.until(lambda: len(self.store.turns) == turns and self.store.turns[-1].state == "done")

    @property
    def results(self) -> str:
        """The results that the model was given last."""
        found = [one.text for request in self.model.requests for one in request if one.text.startswith("<results>")]
        return found[-1] if found else ""

    def results_of(self) -> dict[str, Any]:
        return json.loads(self.results.removeprefix("<results>").partition("\n</results>")[0])[0]


@asynccontextmanager
async def talking(
    instead: Callable[[Sequence[Message]], str] | None = None,
    *,
    granted: str = "",
    notes: Callable[[str], str] = lambda _: "Nothing much.",
    footer: FooterStyle = FooterStyle.OFF,
) -> AsyncGenerator[Talk, None]:
    """Ann and bob, each in direct messages, both in two public channels and a private one; bob in another one.

    `instead`: another model; else one that writes what it is told to, and takes `notes`.
    """
    clock = MovedClock()
    async with FakeSlack(clock, scopes=granted) as slack:
        says, folded = list[str](), list[str]()

        def answer(messages: Sequence[Message]) -> str:
            if messages[0].role is Role.SYSTEM and messages[0].text.startswith("You take notes"):
                folded.append(messages[-1].text)
                return notes(messages[-1].text)
            return says.pop(0)

        talk = Talk(clock, slack, store_in_memory(), ScriptedProvider(instead or answer), says, folded)
        for name in ("ann", "bob"):
            slack.state.user(name)
        for name in ("ann", "bob"):
            slack.state.channel(name, "im")
        for name in ("general", "incident"):
            slack.state.channel(name)
        for name in ("secret", "bobs"):
            slack.state.channel(name, "private")
        slack.state.channels["C0BOBS"].members.discard("U0ANN")
        host = turns_host(talk.store, talk.model, clock, footer=footer)
        async with serving(slack, host), host.turns.serving():
            yield talk


async def test_the_last_messages_of_a_channel_reach_the_model_with_writer_time_link_and_thread() -> None:
    async with talking() as talk:
        state = talk.slack.state
        root = state.write("U0BOB", "C0INCIDENT", "the ferry is down, ask <@U0ANN>")
        state.write("U0ANN", "C0INCIDENT", "on it", root.ts)
        state.edit(root, "the ferry is up again, thanks <@U0ANN>")
        state.write("U0BOB", "C0INCIDENT", "", files=[{"id": "F1", "name": "log.txt"}])
        state.write("U0PAGER", "C0INCIDENT", "resolved", bot_id="B0PAGER")
        await talk.ask("U0ANN", "C0GENERAL", "what happened in #incident?", read(where="#incident"), "It is up [2].")
        result = talk.results_of()
    assert result["status"] == "success"
    told = result["content"].split("\n\n")
    assert "4 messages" in told[0]
    assert told[0].startswith("[1] #incident: 4 messages")
    assert told[1].startswith("[2] ")
    assert told[1].endswith(f"bob: https://fake.slack.com/archives/C0INCIDENT/p{root.ts.replace('.', '')}")
    assert told[2] == "> the ferry is up again, thanks @ann"
    assert ", ann, in the thread of [2]: https://" in told[3]
    assert told[6] == "> (file: log.txt)"
    assert "(a bot)" in told[7]
    answer = talk.slack.state.answers("C0GENERAL")[-1].text
    assert answer.startswith("It is up [2].\n\n**Sources**\n- [2] [bob, ")
    assert root.ts.replace(".", "") in answer


async def test_who_is_not_in_a_private_channel_reads_nothing_of_it_and_cannot_tell_it_from_none() -> None:
    async with talking() as talk:
        talk.slack.state.write("U0BOB", "C0BOBS", "the vermilion plan")
        said = dict[str, str]()
        for where in (
            "#bobs",
            "C0BOBS",
            "https://fake.slack.com/archives/C0BOBS/p1700000000000001",
            "#nothing",
            "C0NONE1",
        ):
            await talk.ask("U0ANN", "D0ANN", "read it", read(where=where), "I cannot.")
            result = talk.results_of()
            assert result["status"] == "failure"
            said[where] = result["content"].replace(where, "…")
    assert len(set(said.values())) == 1
    assert not any("vermilion" in one.text for request in talk.model.requests for one in request)


async def test_what_a_private_channel_holds_is_refused_in_public_and_read_in_its_members_direct_messages() -> None:
    async with talking() as talk:
        talk.slack.state.write("U0BOB", "C0SECRET", "the vermilion plan")
        await talk.ask("U0ANN", "C0GENERAL", "read it", read(where="C0SECRET"), "I cannot show it here.")
        assert "some people here cannot read" in talk.results_of()["content"]
        assert "vermilion" not in talk.results
        await talk.ask("U0ANN", "D0ANN", "read it", read(where="C0SECRET"), "A plan.")
        assert "vermilion" in talk.results
        talk.slack.state.channels["C0SECRET"].members.discard("U0ANN")
        await talk.ask("U0ANN", "D0ANN", "read it", read(where="C0SECRET"), "Not any more.")  # nothing is remembered
        assert talk.results_of()["status"] == "failure"
        # What came of it is found by no search, and its record says only that it was there.
        assert [one.drawn_from for _, one in talk.store.messages if one.text.startswith("A plan.")] == [NOWHERE]


async def test_the_shortcut_has_a_whole_thread_read_for_who_chose_it_alone() -> None:
    async with talking() as talk:
        root = talk.slack.state.write("U0BOB", "C0SECRET", "shall we paint it vermilion?")
        for number in range(60):
            talk.slack.state.write("U0ANN", "C0SECRET", f"opinion {number}", root.ts)
        link = f"https://fake.slack.com/archives/C0SECRET/p{root.ts.replace('.', '')}"
        talk.says[:] = [read(where=link), "Opinions differ."]
        await talk.slack.shortcut("U0ANN", "cogency_summarise", root)
        await talk.done(1)
        question = talk.model.requests[0][-1].text
        assert command_texts.SUMMARISE_THREAD_QUESTION.format(link=link) in question
        assert "61 messages" in talk.results
    (shown,) = talk.slack.state.ephemerals
    assert shown.user == "U0ANN"
    assert shown.text.startswith("Opinions differ.")
    assert link in shown.text


async def test_a_week_of_two_thousand_messages_is_read_in_bounded_calls_and_noted_with_progress_and_cost() -> None:
    def notes(asked: str) -> str:
        first = asked.partition("[")[2].partition("]")[0]
        return f"<think>Hm.</think>The ferry was late [{first}], and somebody sank [99999]."

    async with talking(notes=notes, footer=FooterStyle.COST) as talk:
        talk.model.usage = Usage(input_uncached=1_000, output=100)
        write_a_week(talk)
        before = len(talk.slack.state.calls)
        await talk.ask("U0ANN", "D0ANN", "catch me up", read(where="#incident", since="3 days"), "Ferries were late.")
        calls = talk.slack.state.calls[before:]
        result = talk.results_of()["content"]
        today = SpendingPeriod.days_until(talk.clock.now(), 1)
        spent = await talk.store.spending.totals(today, By.DAY, person="slack:T0TEAM:U0ANN")
        shown = json.dumps([one.args for one in calls])
        answer = json.dumps(talk.slack.state.answers("D0ANN")[-1].wire())
    asked = 2 + len(talk.folded)  # the answer's two rounds, and each note is on the bill
    assert sum(one.method == "conversations.history" for one in calls) <= 11
    assert 2 <= len(talk.folded) <= 12
    assert "PARTIAL" not in result
    assert "2,000 messages" in result
    assert "of about 2,000 messages read" in shown
    assert "99999" not in result
    assert result.count("https://fake.slack.com/archives/C0INCIDENT/") == len(talk.folded)
    assert len(result) <= 24_000
    assert spent[0].spent.calls == asked
    assert f"{1_000 * asked:,} tokens in, {100 * asked:,} out" in answer
    assert not any("vermilion" in one.text for request in talk.model.requests for one in request)


def write_a_week(talk: Talk) -> None:
    """Two thousand messages in a channel, and as many in one that Ann is not in."""
    for number in range(2_000):
        talk.slack.state.write("U0BOB", "C0INCIDENT", f"message {number}: the ferry from pier {number % 9} is late")
        talk.slack.state.write("U0BOB", "C0BOBS", f"message {number}: the vermilion ferry in #incident is late")


async def test_the_rehearsal_model_reads_as_much_and_notes_what_a_few_messages_say() -> None:
    async with talking(rehearse, footer=FooterStyle.COST) as talk:
        write_a_week(talk)
        before = len(talk.slack.state.calls)
        await talk.ask("U0ANN", "D0ANN", "catch me up on #incident since yesterday")
        answer = talk.slack.state.answers("D0ANN")[-1]
        asked = [one.method for one in talk.slack.state.calls[before:]]
        shown = json.dumps([one.args for one in talk.slack.state.calls])
    assert asked.count("conversations.history") <= 11
    assert len(talk.model.requests) <= 2 + 12
    assert "of about 2,000 messages read" in shown
    assert "2,000 messages" in answer.text
    assert "bob: message 0: the ferry from pier 0 is late [2]" in answer.text
    assert "**Sources**" in answer.text
    assert re.search(r"[\d,]+ tokens in, [\d,]+ out", json.dumps(answer.wire()))
    assert not any("vermilion" in one.text for request in talk.model.requests for one in request)


async def test_long_threads_are_read_in_a_bounded_number_of_calls_and_what_was_left_is_said() -> None:
    async with talking() as talk:
        for number in range(3):
            root = talk.slack.state.write("U0BOB", "C0INCIDENT", f"shall pier {number} be painted?")
            for opinion in range(2_700):
                talk.slack.state.write("U0BOB", "C0INCIDENT", f"opinion {opinion}", root.ts)
        before = len(talk.slack.state.calls)
        await talk.ask("U0ANN", "D0ANN", "catch me up", read(where="#incident", since="3 days"), "Many opinions.")
        calls = [one.method for one in talk.slack.state.calls[before:]]
        result = talk.results_of()["content"]
    assert calls.count("conversations.history") + calls.count("conversations.replies") <= 40
    assert "PARTIAL, which the person must be told: some threads are long" in result


async def test_who_has_told_the_bot_to_learn_nothing_is_left_out_and_counted() -> None:
    async with talking() as talk:
        talk.slack.state.write("U0BOB", "C0INCIDENT", "the vermilion plan")
        talk.slack.state.write("U0ANN", "C0INCIDENT", "what plan?")
        await talk.store.preferences.set("slack:T0TEAM:U0BOB", "learning", "paused")
        await talk.ask("U0ANN", "D0ANN", "catch me up", read(where="#incident"), "Somebody asked something.")
        result = talk.results_of()["content"]
    assert "learn nothing from them: 1." in result
    assert "what plan?" in result
    assert not any("vermilion" in one.text for request in talk.model.requests for one in request)


async def test_an_app_that_slack_limits_waits_as_told_and_says_what_it_could_not_read() -> None:
    async with talking() as talk:
        for number in range(450):
            talk.slack.state.write("U0BOB", "C0INCIDENT", f"message {number}")
        talk.slack.faults["conversations.history"].extend([Fault(), limited(30), Fault(), limited(900)])
        await talk.ask("U0ANN", "D0ANN", "catch me up", read(where="#incident", since="1 day"), "Partly.")
        result = talk.results_of()["content"]
        shown = json.dumps([one.args for one in talk.slack.state.calls])
    assert "I may go on in 30 s" in shown
    assert "PARTIAL, which the person must be told: Slack lets this app read only a few messages a minute" in result
    assert "400 messages" in result


async def test_stop_ends_a_reading_that_takes_long_and_what_was_asked_of_the_model_is_counted() -> None:
    async with talking() as talk:
        talk.slack.state.write("U0BOB", "C0INCIDENT", "hello")
        talk.slack.stalled["conversations.history"] = asyncio.Event()
        talk.says[:] = [read(where="#incident")]
        asked = await talk.slack.say("U0ANN", "D0ANN", "catch me up")
        await talk.slack.until(lambda: "conversations.history" in talk.slack.state.stalling)
        await talk.slack.say("U0ANN", "D0ANN", "stop", asked.ts)
        await talk.done(1)
        today = SpendingPeriod.days_until(talk.clock.now(), 1)
        spent = await talk.store.spending.totals(today, By.DAY, person="slack:T0TEAM:U0ANN")
        assert talk.store.turns[0].outcome == "stopped"
        assert spent[0].spent.calls == 1


async def test_slacks_search_finds_for_the_asker_of_a_message_and_its_right_ends_with_the_turn(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with talking(granted=ALL) as talk:
        state = talk.slack.state
        state.searchable = True
        state.write("U0BOB", "C0INCIDENT", "before it")
        hit = state.write("U0BOB", "C0INCIDENT", "the Apollo decision: vermilion")
        state.write("U0BOB", "C0SECRET", "the Apollo decision in secret")
        await talk.ask("U0ANN", "D0ANN", "what was decided?", call("search_slack", query="apollo decision"), "Red.")
        result = talk.results_of()["content"]
        (token,) = [one for one in state.action_tokens if one in json.dumps([call.args for call in state.calls])]
        assert [one.args["action_token"] for one in state.called("assistant.search.context")] == [token]
        shown = json.dumps([one.wire() for one in state.messages])
        stored = str(talk.store.database.now(lambda connection: connection.execute(select(turn_tables.turn)).all()))
    assert "[1] #incident, bob, Mon 2026-01-05" in result
    assert f": https://fake.slack.com/archives/C0INCIDENT/p{hit.ts.replace('.', '')}" in result
    assert "> (before: before it)" in result
    assert "secret" not in result
    assert token not in stored
    assert token not in shown
    lines = RedactingFormatter(()).format
    assert not [record.name for record in caplog.records if token in lines(record)]


async def test_alerts_and_forwarded_messages_of_a_channel_reach_the_model_whole() -> None:
    alert = next(one for one in ON_SLACK if one.service == "Grafana")
    preview = {"from_url": "https://fake.slack.com/x", "is_msg_unfurl": True, "text": "the secret plan"}
    shared = {"is_share": True, "author_name": "Grace", "text": "it is vermilion", "files": [{"name": "plan.pdf"}]}
    async with talking() as talk:
        state = talk.slack.state
        state.write("", "C0INCIDENT", "", bot_id="B0PAGER", facts={"subtype": "bot_message", **alert.payload})
        state.write("U0BOB", "C0INCIDENT", "look", facts={"attachments": [shared, preview]})
        await talk.ask("U0ANN", "C0GENERAL", "what happened in #incident?", read(where="#incident"), "It is down.")
        told = talk.results_of()["content"]
    assert [words for words in alert.says if words.splitlines()[0] not in told] == []
    assert "> look\n> > (a forwarded message by Grace)\n> > it is vermilion\n> > (attached file plan.pdf)" in told
    assert "> (file: plan.pdf)" in told
    assert "secret" not in told


async def test_slacks_search_shows_the_blocks_of_an_apps_message() -> None:
    blocks = [{"type": "section", "fields": [{"type": "mrkdwn", "text": "*Apollo:* docking failed"}]}]
    async with talking(granted=ALL) as talk:
        state = talk.slack.state
        state.searchable = True
        state.write("U0BOB", "C0INCIDENT", "Apollo alert", bot_id="B0PAGER", blocks=blocks)
        await talk.ask("U0ANN", "D0ANN", "what failed?", call("search_slack", query="apollo"), "Docking.")
        assert "> *Apollo:* docking failed" in talk.results_of()["content"]


@pytest.mark.parametrize("code", ["assistant_search_context_disabled", "missing_scope"])
async def test_where_slack_has_no_search_that_is_said_in_a_sentence_and_not_asked_again(code: str) -> None:
    async with talking(granted=ALL) as talk:
        talk.slack.state.searchable = True
        talk.slack.state.search_error = code
        for _ in range(2):
            await talk.ask("U0ANN", "D0ANN", "what was decided?", call("search_slack", query="apollo"), "I cannot.")
            assert talk.results_of()["content"] == (
                f"Slack's search is not available to this app right now ({code}): continue without it"
            )
        asked = [one for one in talk.slack.state.refused + talk.slack.state.calls if "search" in one.method]
    assert len(asked) == 1


async def test_without_a_right_to_search_the_prefix_is_the_same_and_the_model_is_told_why() -> None:
    async with talking(granted=ALL) as talk:
        await talk.ask("U0ANN", "D0ANN", "what was decided?", call("search_slack", query="apollo"), "I cannot.")
        assert "write the question as a message" in talk.results_of()["content"]
        talk.slack.state.searchable = True
        await talk.ask("U0ANN", "D0ANN", "hello", "Hello.")
        prefixes = {request[0].text for request in talk.model.requests}
        await talk.ask("U0ANN", "C0SECRET", "search", call("search_slack", query="apollo"), "Not here.")
        assert "not everyone who can read this place" in talk.results_of()["content"]
    assert len(prefixes) == 1
