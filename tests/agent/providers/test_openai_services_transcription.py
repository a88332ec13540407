"""Speech written down by a service with OpenAI's /audio/transcriptions, on our server."""

import asyncio
from dataclasses import replace
from email import message_from_bytes

import pytest

from agent.errors import ProviderError, ProviderRefused, ProviderUnavailable
from agent.ports.transcription import Transcript
from agent.providers.catalog import OPENAI
from agent.providers.openai_services import HttpTranscriber, ending
from agent.providers.wire import MAX_COUNT
from tests.fakes.model_server import CUT, ModelServer, Reply, Wait, whole
from tests.patience import PATIENCE_S

SOUND = bytes(range(256)) * 4


async def heard(reply: Reply, timeout_s: float = 5.0) -> tuple[Transcript, ModelServer]:
    async with asyncio.timeout(PATIENCE_S), ModelServer([reply]) as server:
        opened = HttpTranscriber(replace(OPENAI, base_url=server.url), "m-1", "key", timeout_s=timeout_s)
        try:
            return await opened.transcribe(SOUND, "voice-message.ogg", "audio/ogg; codecs=opus"), server
        finally:
            await opened.aclose()


async def test_the_words_come_back_and_the_call_is_counted() -> None:
    usage = {"type": "tokens", "input_tokens": 14, "output_tokens": 5}
    transcript, server = await heard(whole(200, {"text": "The boat is blue.", "usage": usage}))
    assert transcript.text == "The boat is blue."
    assert (transcript.call.model, transcript.call.usage.input_uncached) == ("openai:m-1", 14)
    assert transcript.call.usage.output == 5
    [request] = server.requests
    assert request.path == "/v1/audio/transcriptions"
    assert request.headers["authorization"] == "Bearer key"
    form = message_from_bytes(b"content-type: " + request.headers["content-type"].encode() + b"\r\n\r\n" + request.body)
    parts = {
        str(part.get_param("name", header="content-disposition")): part
        for part in form.walk()
        if not part.is_multipart()
    }
    assert parts["model"].get_payload() == "m-1"
    assert parts["file"].get_filename() == "speech.ogg"
    assert SOUND in request.body


async def test_seconds_are_no_tokens() -> None:
    transcript, _ = await heard(whole(200, {"text": "Blue.", "usage": {"type": "duration", "seconds": 3}}))
    assert transcript.call.usage.estimated


async def test_no_report_makes_a_bill_that_cannot_be_added_up() -> None:
    usage = {"type": "tokens", "input_tokens": 10**30, "output_tokens": -1}
    transcript, _ = await heard(whole(200, {"text": "Blue.", "usage": usage}))
    assert (transcript.call.usage.input_uncached, transcript.call.usage.output) == (MAX_COUNT, 0)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (whole(200, {"words": "none"}), ProviderError),
        (whole(401, {"error": {"message": "no"}}), ProviderRefused),
        (whole(429, {}), ProviderUnavailable),
        ([CUT], ProviderError),
    ],
)
async def test_whatever_goes_wrong_is_an_error_with_a_sentence(reply: Reply, kind: type[ProviderError]) -> None:
    with pytest.raises(kind, match=r"\."):
        await heard(reply)


async def test_a_service_that_says_nothing_is_not_waited_for_for_ever() -> None:
    with pytest.raises(ProviderError):
        await heard([Wait(asyncio.Event().wait)], timeout_s=0.05)


@pytest.mark.parametrize(
    ("name", "media_type", "said"),
    [
        ("voice-message.ogg", "audio/ogg; codecs=opus", "ogg"),
        ("clip", "audio/x-m4a", "m4a"),
        ("memo.MP3", "", "mp3"),
        ("memo", "", "ogg"),
        ('a".\r\n', "audio/strange", "ogg"),
    ],
)
def test_a_sound_is_named_by_its_form_alone(name: str, media_type: str, said: str) -> None:
    assert ending(name, media_type) == said
