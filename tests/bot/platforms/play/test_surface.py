"""The page's messages: what each person receives, what is stored, and a reply that is being written."""

from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import SettingsError
from agent.machine import CLOCK
from agent.shown_replies import ShownPage, ShownReply
from bot.chat.reply.surface import OutFile, PageContent, PageFound, PageGone, PageKey, ReplyAction, ReplyEnd
from bot.platforms.play.inbound import read_message
from bot.platforms.play.surface import MessageFile, MessageLog, PlayMessage, PlaySurface, clear, html_of, render_message
from bot.platforms.play.workspace import CHANNELS, PEOPLE
from tests.examples import examples

KEY = PageKey(3, 0)
DOES = st.lists(
    st.tuples(
        st.sampled_from(["add", "change", "remove", "status", "cut"]),
        st.sampled_from(sorted(CHANNELS)),
        st.integers(0, 9),
        st.sampled_from(["", *sorted(PEOPLE)]),
    ),
    max_size=20,
)


def new_log(path: Path | None = None) -> MessageLog:
    return MessageLog(MessageFile(path), CLOCK, lambda: "log-1")


def reply_in(log: MessageLog, channel: str = "general") -> PlaySurface:
    async def waiting(_: int) -> None:
        """Show nothing."""

    question = read_message(PEOPLE["ann"], CHANNELS[channel], "1", "hi", CLOCK.now(), "UTC")
    return PlaySurface(log, question, waiting)


@settings(max_examples=examples(40))
@given(DOES)
def test_whoever_is_told_what_changed_since_the_last_time_sees_what_stands_there_and_nothing_of_others(
    does: list[tuple[str, str, int, str]],
) -> None:
    log, known, change = new_log(), dict[str, dict[str, Any]](), 0
    for what, channel, number, only in does:
        match what:
            case "add":
                log.add(channel, "cogency", text=f"said {number}", only=only)
            case "change":
                log.change(str(number), text="changed")
            case "remove":
                log.remove(str(number))
            case "status":
                log.status("reply", channel, "", "Thinking" if number % 2 else "")
            case _:
                change, found = log.since(change, "ben")
                known |= {one.id: render_message(one) for one in found}
    change, found = log.since(change, "ben")
    known |= {one.id: render_message(one) for one in found}
    _, all_of_it = log.since(0, "ben")
    assert {name: one for name, one in known.items() if not one.get("gone")} == {
        one.id: render_message(one) for one in all_of_it if not one.gone
    }
    assert all(one["channel"] in ("general", "dm-ben") and one.get("only", "") in ("", "ben") for one in known.values())
    assert log.since(change, "ben") == (change, [])


def test_what_is_kept_is_as_it_was_and_what_is_deleted_leaves_no_bytes(tmp_path: Path) -> None:
    file = MessageFile(tmp_path / "messages")
    log = MessageLog(file, CLOCK, lambda: "log-1")
    log.add("plans", "ann", text="a vermilion boat", key="ann k1")
    page: dict[str, Any] = {
        "steps": (("Looking", "done", "Done."),),
        "files": (("a.txt", "x"),),
        "panel": {"parts": []},
        "turn": 4,
    }
    log.add("plans", "cogency", text="noted", offers=("good",), grows=True, **page)
    log.status("reply", "plans", "", "Thinking")
    log.remove("1")
    before = log.of("2")
    file.close()
    again = MessageLog(MessageFile(tmp_path / "messages"), CLOCK, lambda: "log-2")
    assert again.name == "log-1"
    assert again.since(0, "ann")[1] == [before, PlayMessage("1", "plans", "ann", key="ann k1", gone=True)]
    assert again.has_key("ann k1")
    assert again.add("plans", "ann", text="more").id == "3"
    assert b"vermilion" not in (tmp_path / "messages").read_bytes()
    assert (tmp_path / "messages").stat().st_mode & 0o077 == 0


def test_a_file_that_keeps_no_messages_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "messages").write_text("Something else entirely, of more than a few words." * 50)
    with pytest.raises(SettingsError, match="another file with --keep"):
        MessageFile(tmp_path / "messages")


def test_the_oldest_messages_go_but_none_that_grows() -> None:
    log = MessageLog(MessageFile(None), CLOCK, lambda: "log-1", limit=3)
    log.add("general", "cogency", text="grows", grows=True)
    for number in range(6):
        log.add("general", "ann", text=str(number))
    assert [one.text for one in log.since(0, "ann")[1]] == ["grows", "4", "5"]


async def test_a_reply_grows_in_one_message_below_its_question_with_its_status_and_its_buttons() -> None:
    log = new_log()
    log.add("general", "ann", text="@Cogency hi")
    reply = reply_in(log)
    await reply.status("Thinking…")
    (status,) = [one for one in log.since(0, "ben")[1] if one.status]
    assert (status.text, status.thread) == ("Thinking…", "1")
    page = await reply.post(KEY, PageContent("He", offers=frozenset({ReplyAction.STOP})))
    with pytest.raises(PageFound):
        await reply.post(KEY, PageContent("He"))
    assert await reply.find(KEY) == page
    await reply.edit(page, PageContent("Hello", final=True, offers=frozenset({ReplyAction.GOOD}), turn=3))
    reply.finish(ReplyEnd.DONE)
    found = {one.id: one for one in log.since(0, "ben")[1] if not one.gone}
    assert [one.text for one in found.values()] == ["@Cogency hi", "Hello"]
    assert (found[page.id].turn, found[page.id].offers, found[page.id].grows) == (3, ("good",), False)
    await reply.delete(page)
    with pytest.raises(PageGone):
        await reply.edit(page, PageContent("again"))


async def test_a_picture_is_handed_over_with_its_bytes_and_a_text_as_text() -> None:
    log, png = new_log(), b"\x89PNG\r\n\x1a\n\xff"
    files = [OutFile("chart.png", png), OutFile("a.txt", "größer".encode()), OutFile("b.bin", b"\xff")]
    await reply_in(log).attach(KEY, files, again=False)
    (message,) = log.since(0, "ben")[1]
    assert message.files == (
        ("chart.png", b64encode(png).decode(), "image/png"),
        ("a.txt", "größer"),
        ("b.bin", b64encode(b"\xff").decode(), "application/octet-stream"),
    )
    assert PlayMessage.decode(message.encode()) == message


async def test_files_are_handed_over_once_and_words_for_the_asker_are_theirs_alone() -> None:
    log = new_log()
    reply = reply_in(log)
    (first,) = await reply.attach(KEY, [OutFile("a.txt", b"x")], again=False)
    assert await reply.attach(KEY, [OutFile("a.txt", b"x")], again=True) == (first,)
    await reply.send_ephemeral("for you")
    assert [one.text for one in log.since(0, "ben")[1]] == [""]
    assert [one.text for one in log.since(0, "ann")[1]] == ["", "for you"]


def test_what_is_forgotten_goes_from_the_page_and_what_was_noted_says_so() -> None:
    log = new_log()
    page = log.add("general", "cogency", text="I said it.", offers=("good", "undo"))
    clear(log, ShownPage("play", "general", page.id, ShownReply.KEPT))
    assert log.of(page.id) == replace(page, offers=("good",))
    clear(log, ShownPage("play", "general", page.id, ShownReply.TITLE))
    assert log.of(page.id) is not None
    clear(log, ShownPage("play", "general", page.id))
    assert log.of(page.id) is None


@pytest.mark.parametrize(
    "written",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[a](javascript:alert(1))",
        "[a](data:text/html,x)",
        "![a](https://example.com/a.png)",
        "<a href='x' onclick='y'>z</a>",
        '[a](https://example.com/"onmouseover="x)',
    ],
)
def test_what_people_and_models_write_is_no_html(written: str) -> None:
    class Made(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag in ("p", "a")
            for name, value in attrs:
                assert name in ("href", "rel", "target")
                assert name != "href" or str(value).startswith("https://")

    Made().feed(html_of(written))


def test_a_link_opens_elsewhere_and_is_told_nothing() -> None:
    assert html_of("[a](https://example.com)") == (
        '<p><a href="https://example.com" rel="noopener noreferrer" target="_blank">a</a></p>\n'
    )


def test_a_text_that_is_too_long_to_be_read_as_markdown_stands_as_it_is() -> None:
    assert html_of("<b>" + "[" * 20_000).startswith("<pre>&lt;b&gt;[[")


def test_the_alignment_of_a_tables_cells_is_a_class() -> None:
    html = html_of("| a | b |\n| --- | ---: |\n| 1 | 2 |")
    assert '<th>a</th>\n<th class="right">b</th>' in html
    assert '<td class="right">2</td>' in html
    assert "style" not in html
