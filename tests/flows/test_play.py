"""`cogency play` without a browser: the whole bot on the rehearsal model, and each person's socket."""

import asyncio
import json
import re
import signal
import sys
from asyncio.subprocess import PIPE
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from agent.errors import SettingsError
from agent.machine import CLOCK
from agent.memory.audience import PersonAudience, Place
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, Timing
from bot.budgets import texts as budgets_texts
from bot.handoff import texts as handoff_texts
from bot.platforms.play.run import WRONG_TOKEN
from bot.setup.browser import open_browser
from bot.tools.texts import DENIAL_TITLE, DENY_WITH_REASON
from store.engine import open_store
from tests.fakes.play_people import PlayPage, Told, labels, playing
from tests.fakes.telling_model import ALLOW as ALLOW_ONCE
from tests.fakes.telling_model import REFUSE
from tests.flows.test_service import environment
from tests.patience import PATIENCE_S

BOAT = "remember that the boat is vermilion"


async def test_a_reply_grows_before_everybody_who_reads_the_channel_in_the_thread_of_its_question(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        assert (await ann.say("general", "@Cogency what can you do?"))["type"] == "done"
        seen = await ben.shown("rehearsal")
        (question,) = [one for one in ben.there("general") if one["author"] == "ann"]
        assert (seen["thread"], seen["channel"]) == (question["id"], "general")
        told = [one for frame in ben.frames if frame["type"] == "changed" for one in frame["messages"]]
        grown = [one["html"] for one in told if one["id"] == seen["id"]]
        assert len(grown) > 3
        assert grown == sorted(grown, key=len)
        assert not [one for one in ben.messages.values() if one.get("status") and not one.get("gone")]


async def test_what_one_tells_in_private_the_other_is_not_told_and_it_is_known_to_the_one_with_its_source(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("dm-ann", BOAT)
        await ann.shown("I will remember that")
        await ben.say("dm-ben", "what do you know about the boat?")
        await ben.shown("I found nothing")
        await ben.say("general", "@Cogency what do you know about the boat?")
        await ben.shown("I found nothing about “boat”")
        await ann.say("dm-ann", "/new")
        await ann.shown("starts a new conversation")
        await ann.say("dm-ann", "what do you know about the boat?")
        answer = await ann.shown("This is what I found")
        assert "vermilion" in answer["html"]
        (told,) = [one for one in ann.there("dm-ann") if one["author"] == "ann" and BOAT in one["html"]]
        assert f"/#message-{told['id']}" in answer["html"]
        assert "vermilion" not in str(ben.frames)


async def test_what_was_said_in_a_private_channel_is_known_to_its_reader_alone_and_not_said_in_public(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        assert "plans" not in ben.channels
        await ann.say("plans", f"@Cogency {BOAT}")
        await ann.shown("I will remember that")
        await ann.say("general", "@Cogency what do you know about the boat?")
        await ann.shown("I found nothing")
        await ann.say("dm-ann", "what do you know about the boat?")
        assert "vermilion" in (await ann.shown("This is what I found"))["html"]
        assert (await ben.say("plans", "hello"))["type"] == "refused"
        assert "vermilion" not in str(ben.frames)


async def test_a_tool_that_others_notice_runs_once_its_asker_has_allowed_it(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("dm-ann", 'use post_message {"where": "#general", "text": "Lunch at noon."}')
        waits = await ann.first(lambda one: one["panel"])
        assert "post_message" in waits["html"]
        assert (waits["only"], ben.there("general")) == ("ann", [])
        assert (await ann.press(waits, ALLOW_ONCE))["type"] == "done"
        posted = await ben.shown("Lunch at noon.")
        assert (posted["channel"], posted["note"]) == ("general", "posted for Ann")
        await ann.shown("Posted:")


async def test_what_one_approves_is_done_where_they_read_and_a_poll_counts_the_votes_of_both(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")

        async def act(page: PlayPage, tool: str, **args: object) -> None:
            await page.say("general", f"@Cogency use {tool} {json.dumps(args)}")
            asked = await page.first(lambda one: one["panel"] and f"Approve <code>{tool}</code>" in one["html"])
            await page.press(asked, ALLOW_ONCE)

        await act(ann, "create_poll", question="Lunch?", options=["Pizza", "Pasta"])
        poll = (await ben.first(lambda one: one["panel"] and "Lunch?" in one["html"]))["id"]
        for page, label in ((ann, "Pizza"), (ben, "Pizza"), (ann, "Pasta")):
            await page.press(await page.first(lambda one: one["id"] == poll), label)
        await ben.until(lambda: "2 votes" in ben.messages[poll]["html"])
        await act(ann, "close_poll", message=f"#message-{poll}")
        await ben.until(lambda: "closed" in ben.messages[poll]["html"])
        assert ben.messages[poll]["panel"] is None
        await act(ben, "add_reaction", message=f"#message-{poll}", emoji="thumbsup")
        await ann.until(lambda: ann.messages[poll]["marks"] == ["👍"])
        await act(ann, "create_thread", title="Cake", text="Who brings it?")
        root, first = [await ben.first(lambda one, text=text: one["html"] == text) for text in THREAD]
        assert (root["thread"], first["thread"], first["note"]) == ("", root["id"], "posted for Ann")
        await act(ben, "post_message", where="#plans", text="hi")
        await ben.shown("no such channel")
        assert not ann.there("plans")


THREAD = ("<p><strong>Cake</strong></p>\n", "<p>Who brings it?</p>\n")


async def test_a_person_approves_what_another_asked_for_or_denies_it_with_a_reason(tmp_path: Path) -> None:
    rows = tmp_path / "tool-policy.txt"
    rows.write_text("post_message * * ask by manager\n")
    async with playing(tmp_path, COGENCY_TOOL_POLICY=str(rows)) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        for number, (label, filled) in enumerate({ALLOW_ONCE: {}, DENY_WITH_REASON: {"reason": "Too early."}}.items()):
            await ben.say("general", f'@Cogency use post_message {{"where": "#general", "text": "Lunch {number}."}}')
            await ann.shown("I am asking Ann in direct messages")
            asked = await ann.first(lambda one, words=f"Lunch {number}.": one["panel"] and words in one["html"])
            assert asked["channel"] == "dm-ann"
            assert "Ben needs your approval" in asked["html"]
            assert not ben.with_words("needs your approval")
            told = await ann.press(asked, label)
            if filled:
                assert told["window"]["title"] == DENIAL_TITLE
                await ann.press(asked, label, filled=filled)
        await ben.shown("Lunch 0.")
        await ann.shown("denied by Ann")
        assert not [one for one in ben.there("general") if one["note"] == "posted for Ben" and "Lunch 1" in one["html"]]


async def test_a_person_extends_the_budget_of_another_whose_answer_waits_for_it(tmp_path: Path) -> None:
    async with playing(
        tmp_path,
        COGENCY_PERSON_TOKENS_PER_DAY="100",
        COGENCY_BUDGET_APPROVERS="manager",
        COGENCY_BUDGET_EXTENSION_PERCENT="1000",
    ) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ben.say("general", "@Cogency what can you do?")
        await ben.shown("rehearsal")
        await ben.say("general", "@Cogency what can you do?")
        await ben.shown("used up today's budget")
        asked = await ann.first(lambda one: one["panel"] and "Ben's budget for today does not cover" in one["html"])
        assert asked["channel"] == "dm-ann"
        assert not ben.with_words("Ben's budget")
        await ann.press(asked, budgets_texts.EXTEND)
        await ann.shown("is 1000% higher today")
        await ben.shown("Your budget for today is")


async def test_an_answer_asks_its_asker_before_it_goes_beyond_its_own_limit(tmp_path: Path) -> None:
    async with playing(tmp_path, COGENCY_RUN_TOKENS="100", COGENCY_RUN_DOLLARS="0") as here:
        ben = await here.page("ben")
        await ben.say("dm-ben", "use schedules {}")
        waits = await ben.first(lambda one: one["panel"] and "the limit of 100 tokens" in one["html"])
        assert waits["only"] == "ben"
        await ben.press(waits, budgets_texts.FINISH)
        await ben.shown("I stopped early.")


TRIED = {
    "remember": ["remember that my boat is called Vermilion"],
    "recall": ["remember that my boat is called Vermilion", "/new", "what do you know about my boat?"],
    "recall twice": ["remember that my boat is red", *["what do you know about my boat?"] * 2],
    "recall an answer": ["remember that my boat is red", *["/new", "what do you know about my boat?"] * 2],
    "post": ['use post_message {"where": "#general", "text": "Lunch at noon."}'],
    "remind": ["remind me in 5 minutes to swim", "use schedules {}"],
}


@pytest.mark.parametrize("tried", TRIED.values(), ids=TRIED)
async def test_whatever_one_has_tried_of_the_page_of_the_documents_a_reminder_to_oneself_needs_no_approval(
    tried: list[str], tmp_path: Path
) -> None:
    async with playing(tmp_path) as here:
        ann = await here.page("ann")

        def answers() -> list[Told]:
            return [one for one in ann.there("dm-ann") if one["author"] == "cogency" and not one["grows"]]

        for text in tried:
            before = len(answers())
            await ann.say("dm-ann", text)
            if "post_message" in text:
                await ann.press(await ann.first(lambda one: one["panel"]), ALLOW_ONCE)
                await ann.shown("Posted:")
            else:
                await ann.until(lambda known=before: len(answers()) > known)
        before = len(answers())
        await ann.say("dm-ann", "remind me in 1 minute to stretch")
        # It may be posted already, and a note to an earlier answer may come between.
        await ann.until(lambda: any("Kept as number" in one["html"] for one in answers()[before:]))


async def test_each_is_told_alone_who_they_are(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("general", "/whoami")
        assert "channel:general" in (await ann.shown("person:ann"))["html"]
        await ben.say("dm-ben", "/whoami")
        assert "channel:" not in (await ben.shown("person:ben"))["html"]
        assert "person:ann" not in str(ben.frames)


async def test_who_refuses_a_tool_reads_that_it_was_not_used(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann = await here.page("ann")
        await ann.say("general", '@Cogency use post_message {"where": "#general", "text": "Lunch at noon."}')
        waits = await ann.first(lambda one: one["panel"])
        await ann.press(waits, REFUSE)
        await ann.shown("That did not work")
        assert not [one for one in ann.there("general") if one["note"]]


async def agreed(page: PlayPage, question: str) -> Told:
    """The receipt, once it was agreed; what has changed meanwhile is asked about anew."""
    while (shown := page.messages[question])["panel"]:
        await page.press(shown, "Forget")
        before = shown

        def answered() -> bool:
            now = page.messages[question]
            return now != before and (not now["panel"] or "Forget" in labels(now))  # noqa: B023 -- awaited at once

        await page.until(answered)
    return shown


async def test_what_is_forgotten_is_shown_first_has_a_receipt_and_is_not_found_any_more(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann = await here.page("ann")
        await ann.say("dm-ann", BOAT)
        reply = await ann.shown("I will remember that")
        await ann.say("dm-ann", "/forget about boat")
        asked = await ann.first(lambda one: one["panel"])
        assert asked["asked"] == "/forget about boat"
        receipt = await agreed(ann, asked["id"])
        assert "search" in receipt["html"]
        await ann.until(lambda: ann.messages[reply["id"]].get("gone"))
        await ann.say("dm-ann", "/new")
        await ann.say("dm-ann", "what do you know about the boat?")
        await ann.shown("I found nothing")


async def test_a_page_that_was_cut_off_is_told_what_it_missed_and_nothing_twice(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("general", "@Cogency hello", key="k1")
        await ben.shown("rehearsal")
        await ben.socket.close()
        await ann.say("general", "@Cogency hello", key="k1")
        await ann.say("general", "nobody is asked here", key="k2")
        again = await here.page("ben", before=ben)
        await again.shown("nobody is asked here", author="ann")
        told = [one["id"] for frame in again.frames if frame["type"] == "changed" for one in frame["messages"]]
        assert len(told) == 1
        assert len(again.there("general")) == 3


async def test_what_is_kept_stands_there_after_a_new_start_and_the_page_goes_on_with_its_token(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, token = await here.page("ann"), here.token
        await ann.say("dm-ann", BOAT)
        await ann.shown("I will remember that")
        before = ann.there("dm-ann")
    async with playing(tmp_path) as here:
        assert here.token == token
        again = await here.page("ann", before=ann)
        assert not again.hello["anew"]
        assert again.there("dm-ann") == before
        await again.say("dm-ann", "/new")
        await again.shown("starts a new conversation")
        await again.say("dm-ann", "what do you know about the boat?")
        assert "vermilion" in (await again.shown("This is what I found"))["html"]


async def test_edits_and_deletions_of_ones_own_messages_count_and_those_of_others_are_refused(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("general", f"@Cogency {BOAT}")
        reply = await ann.shown("I will remember that")
        (question,) = [one for one in ann.there("general") if one["author"] == "ann"]
        assert (await ben.ask("edit", message=question["id"], text="@Cogency hi"))["type"] == "refused"
        assert (await ben.ask("remove", message=question["id"]))["type"] == "refused"
        assert (await ben.ask("remove", message=reply["id"]))["type"] == "refused"
        await ann.ask("edit", message=question["id"], text=f"@Cogency {BOAT} and old")
        await ben.until(lambda: ben.messages[question["id"]]["edited"])
        await ann.ask("remove", message=question["id"])
        await ben.until(lambda: ben.messages[question["id"]].get("gone"))
        await ann.say("dm-ann", "what do you know about the boat?")
        await ann.shown("I found nothing")


async def test_buttons_below_a_reply_judge_repeat_and_delete_it(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("general", "@Cogency hello")
        reply = await ben.shown("rehearsal")
        await ben.offer(reply, "good")
        assert (await ben.shown("Thank you"))["only"] == "ben"
        await ben.offer(reply, "bad")
        asked = await ben.shown("What was wrong with the answer?")
        assert (await ben.press(asked, "Say what was wrong…"))["window"]["title"] == "What was wrong?"
        await ben.press(asked, "Say what was wrong…", filled={"reason": "wrong", "comment": "I am no boat."})
        assert (await ben.shown("The managers of this channel"))["only"] == "ben"
        await ben.offer(reply, "delete")
        assert (await ben.shown("Only the person who asked"))["only"] == "ben"
        await ann.offer(reply, "regenerate")
        await ann.until(lambda: len([one for one in ann.with_words("rehearsal") if not one["grows"]]) == 2)
        assert (await ann.offer(reply, "regenerate"))["type"] == "refused"
        await ann.offer(reply, "delete")
        await ben.until(lambda: ben.messages[reply["id"]].get("gone"))
        assert not [one for one in ann.messages.values() if one.get("only") == "ben"]


async def test_a_growing_answer_stops_at_a_word_and_at_a_press(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann = await here.page("ann")
        await ann.say("dm-ann", "show me some code")
        grows = await ann.first(lambda one: "stop" in one.get("offers", ()))
        await ann.offer(grows, "stop")
        await ann.until(lambda: not ann.messages[grows["id"]]["grows"])
        await ann.say("dm-ann", "stop")
        await ann.shown("Nothing is running here")


async def test_a_reminder_is_set_listed_changed_in_a_window_and_cancelled(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann = await here.page("ann")
        await ann.say("dm-ann", "/remind")
        empty = await ann.first(lambda one: one["panel"])
        window = (await ann.press(empty, "New reminder…"))["window"]
        assert [one["name"] for one in window["fields"]] == ["when", "what", "me"]
        filled = {"when": "tomorrow at 9:00", "what": "water the plants", "me": "me"}
        await ann.press(empty, "New reminder…", filled=filled)
        await ann.first(lambda one: "water the plants" in one["html"])
        await ann.say("dm-ann", "/schedules")
        listed = await ann.first(lambda one: one["asked"] == "/schedules")
        await ann.press(listed, "Cancel")
        await ann.until(lambda: "Cancel" not in str(ann.messages[listed["id"]]["panel"]))


async def test_a_repetition_that_lapsed_while_nothing_ran_asks_after_the_next_start_and_goes_on(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann = await here.page("ann")
        await ann.say("dm-ann", "hello")
        await ann.shown("rehearsal")
    now = CLOCK.now()
    timing = Timing("UTC", rule="*/5 * * * *", until=now - timedelta(seconds=1), lapses=True)
    place, created = Place(PersonAudience("play:ann")), now - timedelta(minutes=11)
    store = await open_store(f"sqlite:///{tmp_path / 'play.db'}")
    new = NewSchedule("play:ann", "play", "dm-ann", place, ScheduleKind.REMINDER, "water", timing, created, direct=True)
    kept = await store.schedules.add(new)
    assert isinstance(kept, Schedule)
    await store.close()
    async with playing(tmp_path) as here:
        ann = await here.page("ann")
        asks = await ann.first(lambda one: "keep" in one.get("offers", ()))
        assert "is paused" in asks["html"]
        await ann.say("dm-ann", "/schedules")
        listed = await ann.first(lambda one: one["asked"] == "/schedules")
        assert "resume it" in str(listed)
        await ann.offer(asks, "keep")
        await ann.shown("Resumed: ")
        await ann.until(lambda: "keep" not in ann.messages[asks["id"]]["offers"])
        assert "Kept for another six months" in ann.messages[asks["id"]]["html"]


async def test_a_command_is_answered_to_its_user_alone_and_a_mistyped_one_is_told_the_nearest(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("general", "/memory")
        assert (await ann.until(lambda: ann.there("general")))[0]["only"] == "ann"
        await ann.say("general", "/memroy")
        await ann.shown("Did you mean")
        await ann.say("general", "/settings")
        settings = await ann.shown("Settings")
        await ann.press(settings, "Stop learning")
        await ann.until(lambda: "Resume learning" in str(ann.messages[settings["id"]]["panel"]))
        assert (await ann.ask("press", message=settings["id"], button=99))["type"] == "done"
        await ann.shown("This command was updated")
        assert ben.there("general") == []


async def test_no_other_page_name_or_token_is_listened_to_and_nothing_but_the_page_is_served(tmp_path: Path) -> None:
    async with playing(tmp_path) as here, httpx.AsyncClient(trust_env=False) as http:
        elsewhere = f"example.com:{here.port}"
        for origin, headers in (
            ("http://127.0.0.1:1", {}),
            ("http://example.com", {}),
            (f"http://{elsewhere}", {"Host": elsewhere}),
        ):
            with pytest.raises(InvalidStatus):
                await here.connecting("ann", origin=origin, headers=headers)
        for person, token in (("ann", "x"), ("ann", f"{here.token}x"), ("nobody", here.token)):
            async with here.connecting(person, token=token) as refused:
                with pytest.raises(ConnectionClosedError) as closed:
                    await refused.recv()
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == WRONG_TOKEN
        address = f"http://127.0.0.1:{here.port}"
        page = await http.get(f"{address}/")
        assert here.token not in page.text
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'; style-src 'self'" in policy
        assert (await http.get(f"{address}/", headers={"Host": "example.com"})).status_code == 421
        for path in ("/static/../run.py", "/static/..%2frun.py", "/static/%2e%2e/run.py", "/static/", "/x"):
            assert (await http.get(f"{address}{path}")).status_code == 404
        assert (await http.post(f"{address}/")).status_code == 405


async def test_whatever_a_page_sends_is_answered_and_nothing_of_the_other_person_can_be_reached(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("dm-ann", BOAT)
        private = await ann.shown("I will remember that")
        for kind, what in (
            ("offer", {"message": private["id"], "offer": "good"}),
            ("press", {"message": private["id"], "button": 0}),
            ("edit", {"message": private["id"], "text": "x"}),
            ("say", {"channel": "dm-ann", "text": "x", "key": "", "thread": ""}),
            ("say", {"channel": "general", "text": "x", "key": "", "thread": private["id"]}),
            ("say", {"channel": "general", "text": "  ", "key": "", "thread": ""}),
            ("explode", {}),
        ):
            assert (await ben.ask(kind, **what))["type"] == "refused"
        await ben.socket.send(b"\x00")
        await ben.socket.wait_closed()
        assert "vermilion" not in str(ben.frames)


async def test_the_program_says_where_the_page_is_keeps_nothing_and_ends_well_with_ctrl_c(tmp_path: Path) -> None:
    settings = environment(tmp_path, {"COGENCY_MODEL": "rehearsal", "TMPDIR": str(tmp_path)})
    (tmp_path / "bot.db").unlink()  # so that whatever stands here afterwards is the program's
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "play", "--no-browser", cwd=tmp_path, stdout=PIPE, stderr=PIPE, env=settings
    )
    assert started.stdout is not None
    async with asyncio.timeout(PATIENCE_S):
        told = (await started.stdout.readuntil(b"Ctrl-C to stop.")).decode()
        assert re.search(r"http://127\.0\.0\.1:\d+/#token=\S{40}", told)
        started.send_signal(signal.SIGINT)
        _, wrong = await started.communicate()
    assert (started.returncode, wrong.decode()) == (0, "")
    assert not any(tmp_path.iterdir())  # noqa: ASYNC240 -- nothing else runs


async def test_a_port_that_is_taken_is_told_and_without_one_named_another_is_used(tmp_path: Path) -> None:
    async with playing(tmp_path) as here:
        with pytest.raises(SettingsError, match=f"Port {here.port} .* --port"):
            async with playing(tmp_path, keep="other.db", port=int(here.port)):
                pass


def test_a_browser_is_opened_only_where_it_has_windows() -> None:
    if sys.platform == "linux":
        assert not open_browser("http://127.0.0.1:1", {})


async def test_a_person_takes_over_from_the_bot_which_is_silent_in_the_thread_until_it_is_handed_back(
    tmp_path: Path,
) -> None:
    async with playing(tmp_path) as here:
        ann, ben = await here.page("ann"), await here.page("ben")
        await ann.say("general", "/channel human managers")
        await ann.shown("People who can take over")
        asked = await ben.say("general", "@Cogency what can you do?")
        answer = await ben.first(lambda one: "human" in one.get("offers", ()) and not one["grows"])
        await ben.offer(answer, "human")
        preview = await ben.shown("I will ask Ann")
        assert not ann.with_words("asks for a human")
        await ben.press(preview, handoff_texts.BUTTON)
        request = await ann.first(lambda one: one["panel"] and "Ben asks for a human" in one["html"])
        assert request["channel"] == "dm-ann"
        await ann.press(request, handoff_texts.TAKE_BUTTON)
        notice = await ben.first(lambda one: "hand_back" in one.get("offers", ()))
        assert "Ann has taken over" in notice["html"]
        replies = len(ben.with_words("rehearsal"))
        await ben.say("general", "And now?", thread=answer["thread"])
        await ann.offer(notice, "hand_back")
        await ben.shown("This conversation was handed back to me")
        assert len(ben.with_words("rehearsal")) == replies
        assert asked
