"""Two apps of Slack in one process, each of its own workspace: and what the end of one does to the other."""

import asyncio
import json
from functools import partial

import pytest

from agent.errors import SettingsError
from agent.memory.forgetting_plans import Gone
from agent.messages import ModelCall, Usage
from agent.providers.scripted import Until
from bot.budgets.budgets import SUMS_FRESH_S, Budget, Budgets
from bot.forgetting.retention import GONE
from bot.platforms.slack.apps import serve_apps
from bot.platforms.slack.options import SlackApp, SlackOptions, SocketMode
from bot.platforms.slack.revocation import CONFIRM_S
from bot.platforms.slack.run import SERVED_LATELY
from bot.settings.secret import Secret
from tests.fakes.fast_clock import MovedClock
from tests.fakes.recording_host import recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import http_events
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_pair import ONE, SHARED, Both, app_of, both, mention
from tests.fakes.slack_things import other_app
from tests.patience import PATIENCE_S, until


async def ask_each(world: Both) -> None:
    """One question in each workspace, each answered there by its own app."""
    for turns, there in enumerate((world.one, world.two), start=1):
        name = there.who.workspace
        await world.slack.say(f"U0ANN{name.upper()}", f"C0GENERAL{name.upper()}", mention(there.who, "and my canoe?"))
        await world.done(turns)
    assert [turn.incoming.source for turn in world.store.turns] == ["slack:T0TEAM", "slack:T0TWO"]
    assert (world.answered(world.one), world.answered(world.two)) == (["Done."], ["Done."])


async def test_two_apps_answer_each_in_its_own_workspace_through_its_own_sockets() -> None:
    async with both() as world:
        await ask_each(world)
        assert len(world.slack.sockets_of(ONE)) == len(world.slack.sockets_of(world.two.who)) == 1
        assert {call.token for call in world.two.calls} == {"xoxb-two", "xapp-two"}


@pytest.mark.parametrize("path", ["", "/slack/events"])
async def test_over_http_each_request_goes_to_its_own_app(path: str) -> None:
    """At an address of each app's own, and at one for all, where its id tells."""
    async with both(http=http_events(), path=path) as world:
        await ask_each(world)
        await world.slack.command("U0ANNTWO", "C0GENERALTWO", "/memory", who=world.two.who)
        await world.until(lambda: world.two.ephemerals)
        assert not world.one.ephemerals


async def test_one_apps_secret_opens_no_other_app() -> None:
    async with both(http=http_events()) as world:
        body = json.dumps({"type": "url_verification", "challenge": "x", "api_app_id": ONE.id}).encode()
        forged = world.slack.posts.signed(body, secret=world.two.who.secret)
        for path, status in ((ONE.path, 401), ("/slack/events", 401), ("/slack/events/three", 503), ("/slack/x", 404)):
            assert (await world.slack.posts.post(body, forged, path=path))[0] == status
        unknown = json.dumps({"type": "url_verification", "api_app_id": "A0THREE"}).encode()
        assert (await world.slack.posts.post(unknown, world.slack.posts.signed(unknown), path="/slack/events"))[
            0
        ] == 503


@pytest.mark.parametrize("how", ["app_uninstalled", "tokens_revoked", "token_revoked"])
async def test_an_app_that_is_uninstalled_goes_alone_and_its_words_in_time(
    how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with both() as world:
        if how == "token_revoked":  # only an answer tells
            world.two.revoked = how
            await world.slack.say("U0ANNTWO", "C0GENERALTWO", mention(world.two.who, "hello"))
        else:
            event = {"type": how, "tokens": {"bot": [world.two.who.user]}}
            await world.slack.deliver(world.slack.envelope(event, who=world.two.who))
        await until(lambda: set(world.apps.running) == {"one"})
        assert [line for line in caplog.messages if line.startswith("Slack two: the app was uninstalled")]
        assert world.host.platforms.troubles.keys() == {"slack:two"}
        assert not world.host.platforms.away(), "the platform is served"
        going = world.store.waiting_jobs[GONE, "slack:T0TWO"]
        assert Gone.decode(going.payload).sources == {"slack:T0TWO"}
        before = len(world.store.turns)
        await world.slack.say("U0ANNFAKE", "C0GENERALFAKE", mention(ONE, "and my canoe?"))
        await world.until(lambda: world.answered(world.one) == ["Done."])
        assert len(world.store.turns) == before + 1
        world.two.revoked = ""
        await world.apps.start(app_of(world.two.who, "two"))  # it was installed again in time
        await until(lambda: "slack:T0TWO" in world.host.platforms.sources())
        await until(lambda: not world.host.platforms.troubles)
        assert (GONE, "slack:T0TWO") not in world.store.waiting_jobs, "nothing is lost"


@pytest.mark.parametrize("over_http", [False, True])
@pytest.mark.parametrize("kind", ["app_uninstalled", "tokens_revoked"])
@pytest.mark.parametrize("team", ["T0ELSEWHERE", ""])
async def test_an_app_that_another_workspace_uninstalls_goes_on_being_served_in_this_one(
    team: str, kind: str, over_http: bool
) -> None:
    """The socket of a distributed app, or its address, gets the events of every workspace that installed it."""
    async with both(http=http_events() if over_http else None, path="/slack/events") as world:
        event = {"type": kind, "tokens": {"bot": [world.one.who.user]}}
        await world.slack.deliver(world.slack.envelope(event, team_id=team, authorizations=[]))
        await world.slack.say("U0ANNFAKE", "C0GENERALFAKE", mention(ONE, "and my canoe?"))
        await world.until(lambda: world.answered(world.one) == ["Done."])
        assert set(world.apps.running) == {"one", "two"}
        assert not [key for key in world.store.waiting_jobs if key[0] == GONE]


# Calls of one answer, before it, while it grows and at its end.
REFUSED_ONCE = ["users.info", "conversations.info", "chat.postMessage", "chat.update"]


@pytest.mark.parametrize("code", ["account_inactive", "token_revoked", "invalid_auth"])
@pytest.mark.parametrize("method", REFUSED_ONCE)
async def test_a_token_that_is_refused_once_on_any_call_goes_on_being_served(method: str, code: str) -> None:
    async with both() as world:
        is_shown = partial(world.until, lambda: world.answered(world.two))
        world.model.script = [["Do", Until(is_shown), "ne."], "Done."]
        world.slack.faults[method].append(Fault(error=code))
        await world.slack.say("U0ANNTWO", "C0GENERALTWO", mention(world.two.who, "and my canoe?"))
        await world.until(lambda: not world.slack.faults[method])
        await world.until(lambda: world.answered(world.two) == ["Done."])
        await world.until(lambda: len(world.two.called("auth.test")) > 1)
        world.clock.ahead_s += CONFIRM_S
        await world.slack.say("U0ANNTWO", "C0GENERALTWO", mention(world.two.who, "and my canoe?"))
        await world.done(2)
        assert set(world.apps.running) == {"one", "two"}
        assert not world.host.platforms.troubles
        assert (GONE, "slack:T0TWO") not in world.store.waiting_jobs


async def test_a_token_that_is_refused_for_half_a_minute_goes_on_being_served() -> None:
    async with both() as world:
        world.two.revoked = "invalid_auth"
        await world.slack.say("U0ANNTWO", "C0GENERALTWO", mention(world.two.who, "and my canoe?"))
        await world.until(lambda: len(world.two.called("auth.test")) > 1 or world.two.denied > 3)
        world.two.revoked = ""
        await world.until(lambda: world.answered(world.two) == ["Done."])
        assert set(world.apps.running) == {"one", "two"}
        assert (GONE, "slack:T0TWO") not in world.store.waiting_jobs


@pytest.mark.parametrize("code", ["account_inactive", "token_revoked"])
async def test_a_token_that_is_refused_once_at_the_start_erases_nothing(code: str) -> None:
    async with both() as world:
        await world.apps.stop("two")
        world.clock.ahead_s += SERVED_LATELY.total_seconds()
        world.slack.faults["auth.test"].append(Fault(error=code))
        await world.apps.start(app_of(world.two.who, "two"))
        await until(lambda: "slack:T0TWO" in world.host.platforms.sources())
        assert (GONE, "slack:T0TWO") not in world.store.waiting_jobs


@pytest.mark.parametrize("code", ["account_inactive", "token_revoked", "invalid_auth"])
async def test_an_app_that_was_uninstalled_while_nothing_ran_begins_its_grace_at_the_next_start(code: str) -> None:
    async with both() as world:
        await world.apps.stop("two")
        world.two.revoked = code
        await _given_up(world, "two")
        assert (GONE, "slack:T0TWO") not in world.store.waiting_jobs, "another process may serve it with a newer token"
        world.clock.ahead_s += SERVED_LATELY.total_seconds()
        await _given_up(world, "two")
        assert ((GONE, "slack:T0TWO") in world.store.waiting_jobs) == (code != "invalid_auth"), "or it was mistyped"
        begun = dict(world.store.waiting_jobs)
        await _given_up(world, "two")
        assert begun == world.store.waiting_jobs, "the grace goes on"
        world.two.revoked = ""
        await world.apps.start(app_of(world.two.who, "two"))
        await until(lambda: "slack:T0TWO" in world.host.platforms.sources())
        await until(lambda: (GONE, "slack:T0TWO") not in world.store.waiting_jobs)


async def _given_up(world: Both, name: str) -> None:
    """It is started, and Slack does not take its token."""
    before = len(world.apps.failures)
    await world.apps.start(app_of(world.two.who, name))
    await until(lambda: len(world.apps.failures) > before and name not in world.apps.running)


async def test_an_app_that_is_refused_at_the_start_leaves_the_others_serving(caplog: pytest.LogCaptureFixture) -> None:
    clock = MovedClock()
    async with FakeSlack(clock) as slack:
        host = recording_host()
        bad = SlackApp(Secret("xoxb-bad"), SocketMode(Secret("xapp-bad")), "bad", file="apps.toml")
        serving = asyncio.create_task(serve_apps(host, [bad, app_of(ONE, "one")], SlackOptions(slack.url), clock))
        await slack.connected(1)
        await until(lambda: host.platforms.troubles.get("slack:bad"))
        said = "Slack does not accept bot_token of the app bad in apps.toml (invalid_auth). Copy it again"
        assert host.platforms.troubles["slack:bad"].startswith(said)
        assert [line for line in caplog.messages if line.startswith(f"Slack bad: {said}")]
        assert not serving.done()
        serving.cancel()
        await asyncio.wait({serving})


async def test_a_process_of_which_every_app_is_refused_ends_with_the_first_reason() -> None:
    async with FakeSlack(MovedClock()) as slack:
        slack.faults["auth.test"] += [Fault(error="invalid_auth")] * 2
        apps = [app_of(ONE, "one"), app_of(other_app("two"), "two")]
        with pytest.raises(SettingsError, match=r"the app one in apps\.toml"):
            async with asyncio.timeout(PATIENCE_S):
                await serve_apps(recording_host(), apps, SlackOptions(slack.url), slack.clock)


async def test_an_app_that_is_stopped_leaves_its_turns_to_others_and_forgets_nothing() -> None:
    async with both() as world:
        await world.apps.stop("two")
        await world.apps.stop("nobody")
        assert world.apps.running == {"one"}
        assert world.host.platforms.sources() == {"slack:T0TEAM"}
        assert (GONE, "slack:T0TWO") not in world.store.waiting_jobs


async def test_a_workspace_whose_budget_is_used_up_reads_so_and_the_other_one_is_answered() -> None:
    async with both(budgets=Budgets(apps={"one": Budget(tokens=1)})) as world:
        await ask_each(world)
        took = ModelCall("rehearsal", Usage(output=1))
        await world.store.spending.charge("slack:T0TEAM:U0BEN", "learning", [took], world.clock.now())
        world.clock.ahead_s += SUMS_FRESH_S + 1
        await world.slack.say("U0ANNFAKE", "C0GENERALFAKE", mention(ONE, "and my kayak?"))
        await world.until(lambda: world.one.ephemerals)
        assert "This workspace has used up today's budget of 1 token. It resets at" in world.one.ephemerals[0].text
        await world.slack.say("U0ANNTWO", "C0GENERALTWO", mention(world.two.who, "and my kayak?"))
        await world.done(3)
        assert (world.answered(world.one), world.answered(world.two)) == (["Done."], ["Done.", "Done."])


# A channel that both workspaces share


async def shared(world: Both) -> str:
    world.one.share("C0GENERALFAKE", world.two, **SHARED)
    return "C0GENERALFAKE"


@pytest.mark.parametrize("first", ["one", "two"])
async def test_of_two_apps_in_a_shared_channel_the_one_that_is_mentioned_first_answers(first: str) -> None:
    async with both() as world:
        place, there = await shared(world), world.one if first == "one" else world.two
        other = world.two if first == "one" else world.one
        await world.slack.say("U0ANNFAKE", place, mention(there.who, "and my canoe?"))
        await world.done(1)
        await world.slack.say("U0ANNFAKE", place, mention(there.who, f"or <@{other.who.user}>: and my canoe?"))
        await world.done(2)
        await world.slack.settled()
        assert (world.answered(there), world.answered(other)) == (["Done.", "Done."], [])
        assert len(world.store.turns) == 2


@pytest.mark.parametrize("last", ["one", "two"])
async def test_in_a_thread_of_two_apps_the_one_that_was_mentioned_last_answers_what_mentions_none(last: str) -> None:
    async with both() as world:
        place, order = await shared(world), [world.one, world.two]
        order = order if last == "two" else [*order, world.one]
        thread, turns = "", 0
        for there in order:
            asked = await world.slack.say("U0ANNFAKE", place, mention(there.who, "and my canoe?"), thread)
            thread, turns = thread or asked.ts, turns + 1
            await world.done(turns)
        for question in ("and my kayak?", "and my raft?"):
            await world.slack.say("U0ANNFAKE", place, question, thread)
            turns += 1
            await world.done(turns)
            await world.slack.settled()
        sources = [turn.incoming.source for turn in world.store.turns]
        assert sources == [
            *("slack:T0TEAM" if one is world.one else "slack:T0TWO" for one in order),
            *[sources[-1]] * 2,
        ]
        assert sources[-1] == ("slack:T0TEAM" if last == "one" else "slack:T0TWO")


async def test_what_one_workspace_chose_for_a_shared_channel_is_nothing_to_the_bot_of_the_other() -> None:
    async with both() as world:
        place, boss = await shared(world), world.two.user("bosstwo", is_admin=True)

        def is_shown(word: str) -> bool:  # what is said by an address counts in the first one's
            return any(word in ephemeral.text for ephemeral in world.one.ephemerals)

        world.two.channels[place].members.add(boss)
        for words, shown in (("instructions Speak of herons.", "herons"), ("who person:slack:T0TWO:U0B", "@U0B")):
            await world.slack.command(boss, place, "/channel", words, who=world.two.who)
            await world.until(partial(is_shown, shown))
        await world.slack.say("U0ANNFAKE", place, mention(ONE, "and my canoe?"))
        await world.done(1)
        assert world.answered(world.one) == ["Done."]
        await world.slack.say(boss, place, mention(world.two.who, "and my canoe?"))
        await world.done(2)
        given = ["herons" in "".join(message.text for message in request) for request in world.model.requests]
        assert given == sorted(given)
        assert {*given} == {False, True}


@pytest.mark.parametrize(
    "event", [{"type": "channel_shared"}, {"type": "channel_deleted"}], ids=lambda one: one["type"]
)
async def test_what_the_app_of_one_workspace_hears_of_a_shared_channel_moves_and_erases_nothing_of_the_other(
    event: dict[str, str],
) -> None:
    """Else the public words of one workspace would belong to the channel as the other one reads it, or be gone."""
    async with both() as world:
        await world.slack.say("U0ANNFAKE", "C0GENERALFAKE", mention(ONE, "remember my canoe, it is vermilion"))
        await world.done(1)
        before = list(world.store.messages)
        place = await shared(world)
        await world.slack.deliver(world.slack.envelope({**event, "channel": place}, who=world.two.who))
        await world.slack.say("U0ANNTWO", "C0GENERALTWO", mention(world.two.who, "hello"))
        await world.done(2)
        assert list(world.store.messages)[: len(before)] == before
        gone = world.store.waiting_jobs.get((GONE, f"slack:T0TWO:{place}"))
        assert (gone is not None) == (event["type"] == "channel_deleted")
        assert gone is None or Gone.decode(gone.payload).within == "slack:T0TWO"


async def test_what_was_told_in_one_workspace_is_given_to_no_model_in_the_other_or_where_both_read() -> None:
    async with both() as world:
        place = await shared(world)
        await world.slack.say("U0ANNFAKE", "D0DMFAKE", "remember my canoe, it is vermilion")
        await world.done(1)
        before = len(world.model.requests)
        world.two.users["U0ANNFAKE"] = world.one.users["U0ANNFAKE"]  # the same person, in both
        world.two.channels["C0GENERALTWO"].members.add("U0ANNFAKE")
        questions = (("C0GENERALTWO", world.two), (place, world.one), (place, world.two))
        for turns, (channel, there) in enumerate(questions, start=2):
            await world.slack.say("U0ANNFAKE", channel, mention(there.who, "which colour has the canoe?"))
            await world.done(turns)
        given = [message.text for request in world.model.requests[before:] for message in request]
        assert not [text for text in given if "vermilion" in text]
