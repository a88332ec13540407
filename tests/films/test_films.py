"""The films of the documents: what they are recorded from is the real bot, and what draws them escapes everything."""

import json
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageSequence

from tests.examples import examples
from tests.films import chat_in_terminal, forgetting_in_discord, private_in_play, reply_in_slack
from tests.films.camera import NoChromium, find_chromium, without_flicker
from tests.films.chat_pages import discord_page, slack_page
from tests.films.chat_states import Shot, ShownButton, ShownChat, ShownMessage, Speaker
from tests.films.make import ALL, FOLDER
from tests.films.recording import MODEL, STARTS, Pace
from tests.films.terminal_pages import terminal_pages

QUICK = Pace(3.0)  # Fast, and slow enough that an answer is seen while it grows
HURRIED = Pace(8.0)
MOST_BYTES = 1_500_000
ANN = Speaker("Ann")


def said_by_app(shots: list[Shot]) -> list[str]:
    """What the newest message of the bot showed, each text once, in order."""
    newest = [[one.text for one in shot.chat.messages if one.speaker.is_app][-1:] for shot in shots]
    return [*dict.fromkeys(text for texts in newest for text in texts)]


@pytest.mark.server
async def test_the_film_of_a_reply_shows_a_real_one_that_grows_after_a_real_look_into_a_channel(tmp_path: Path) -> None:
    shots = await reply_in_slack.record(tmp_path, QUICK)
    assert [shot.at_s for shot in shots] == sorted(shot.at_s for shot in shots)
    assert "cogency is reading messages…" in {shot.chat.status for shot in shots}
    *growing, last = said_by_app(shots)
    assert len(growing) >= 2
    assert all(len(before) < len(after) for before, after in pairwise([*growing, last]))
    assert last.startswith(reply_in_slack.ANSWER.strip())
    assert "**Sources**\n- [3] [Cy, Mon 2026-10-05 09:31](" in last
    assert last.endswith(f"*{MODEL}*")
    page = slack_page(shots[-1].chat)
    assert "<strong>Card payments failed from 09:12 to 09:47.</strong>" in page
    assert '<span class="mention">#incident</span>' in page
    assert "Regenerate</button>" in page


@pytest.mark.server
async def test_the_film_of_forgetting_shows_what_was_known_the_receipt_and_that_nothing_is_found(
    tmp_path: Path,
) -> None:
    shots = await forgetting_in_discord.record(tmp_path, HURRIED)
    said = said_by_app(shots)
    order = [
        next(number for number, text in enumerate(said) if begins in text)
        for begins in (
            f"Remembered: {forgetting_in_discord.FACT}",
            forgetting_in_discord.KNOWS,
            "I will forget everything that mentions “interview”",
            "Forgotten: 4 messages, 1 fact, ",
            forgetting_in_discord.KNOWS_NOTHING,
        )
    ]
    assert order == sorted(order)
    standing = [one.text for one in shots[-1].chat.messages if one.speaker.is_app]
    assert [text.partition(":")[0] for text in standing] == ["Forgotten", "I find nothing about an interview"]
    page = discord_page(shots[-1].chat)
    assert "A search confirmed that these texts are no longer where they were stored" in page
    assert "Only you can see this" in page


@pytest.mark.server
async def test_the_film_of_the_terminal_is_a_recording_that_asciinema_plays(tmp_path: Path) -> None:
    cast = await chat_in_terminal.record(tmp_path, HURRIED)
    header, *events = map(json.loads, cast.asciicast("cogency chat").splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, cast.width, cast.height)
    assert [(at_s, kind) for at_s, kind, _ in events] == sorted((at_s, "o") for at_s, _, _ in events)
    pages = [page for _, page in terminal_pages(cast, "cogency chat")]
    assert any("Your boat is <" in page and "vermilion</span>: you told me" in page for page in pages)
    assert "Forgotten: 4 messages, 1 fact, " in pages[-1]
    assert chat_in_terminal.KNOWS_NOTHING in pages[-1]


# What draws them


class Tags(HTMLParser):
    """The names of all tags, and where links lead."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names = set[str]()
        self.addresses = set[str]()
        self.feed(page.partition("</head>")[2])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.addresses |= {value or "" for name, value in attrs if name in {"href", "src"}}
        assert not any(name.startswith("on") for name, _ in attrs)


OF_PAGES = {"body", "header", "main", "footer", "article", "div", "span", "b", "i", "s", "time", "button"}
OF_MARKDOWN = {"a", "p", "br", "em", "strong", "ul", "ol", "li", "pre", "code", "blockquote", "hr", "s"}
OF_LONG_MARKDOWN = {"h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"}
HOSTILE = st.lists(
    st.sampled_from(
        ["<script>", "</div>", '"', "'", "&lt;", "<@1>", "`", "[a](javascript:b)", "![a](b)", "**", "\0", "a"]
    )
    | st.text(max_size=5)
).map("".join)


@given(HOSTILE, HOSTILE)
@settings(max_examples=examples(100))
def test_whatever_people_write_stays_text(words: str, name: str) -> None:
    message = ShownMessage(Speaker(name), STARTS, words, ((ShownButton(words),),), edited=True, command=(ANN, words))
    chat = ShownChat(name, (message, message), {"<@1>": name}, status=words, draft=words)
    for page in (slack_page(chat), discord_page(chat)):
        tags = Tags(page)
        assert tags.names <= OF_PAGES | OF_MARKDOWN | OF_LONG_MARKDOWN
        assert not any(address.startswith("javascript:") for address in tags.addresses)


def test_a_mention_has_a_name_and_one_that_nobody_knows_stays_as_it_is() -> None:
    page = slack_page(ShownChat("#a", (ShownMessage(ANN, STARTS, "<@U1> and <@U2>"),), {"<@U1>": "@ben"}))
    assert '<span class="mention">@ben</span> and &lt;@U2&gt;' in page


def test_what_stands_there_too_shortly_is_not_drawn_and_what_stays_the_same_only_once() -> None:
    pages = [(0.0, "a"), (1.0, "b"), (1.01, "c"), (2.0, "c"), (3.0, "d")]
    assert without_flicker(pages) == [(0.0, "a"), (1.0, "c"), (3.0, "d")]


def test_pictures_that_stay_the_same_are_one_frame_which_lasts_until_the_next() -> None:
    def png(colour: str) -> bytes:
        Image.new("RGB", (2, 2), colour).save(written := BytesIO(), "PNG")
        return written.getvalue()

    taken = [(5.0, png("red")), (5.5, png("red")), (6.0, png("blue")), (6.5, png("red"))]
    made = private_in_play.frames(taken, last_s=2)
    assert [(one.picture.getpixel((0, 0)), one.lasts_s) for one in made] == [
        ((255, 0, 0), 1.0),
        ((0, 0, 255), 0.5),
        ((255, 0, 0), 2.0),
    ]


def test_without_a_browser_one_sentence_says_what_to_do() -> None:
    with pytest.raises(NoChromium) as missing:
        find_chromium("/nowhere/chromium")
    assert str(missing.value) == (
        "Films need a browser, and CHROMIUM names /nowhere/chromium, which is no program: install chromium, or set "
        "CHROMIUM to its path."
    )


@pytest.mark.parametrize("name", ALL)
def test_each_film_of_the_documents_is_small_lasts_half_a_minute_at_most_and_begins_again(name: str) -> None:
    path = FOLDER / f"{name}.gif"
    assert path.stat().st_size < MOST_BYTES
    with Image.open(path) as film:
        lasting = [one.info["duration"] for one in ImageSequence.Iterator(film)]
        assert len(lasting) > 20
        assert 10_000 < sum(lasting) < 30_000
        assert film.info["loop"] == 0
