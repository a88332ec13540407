"""Speech turned into text by a service that speaks OpenAI's `/audio/transcriptions`.

Rules. One request, no retry: the person is told to try again. The service gets the sound, and a name that says its form
and nothing else.
"""

import asyncio
import re
from collections.abc import Mapping
from hashlib import blake2s
from typing import Final

from agent.errors import ProviderError
from agent.messages import ModelCall, Usage, estimate_tokens
from agent.ports import Transcript
from agent.providers.catalog import Endpoint
from agent.providers.faults import Fault, FaultKind, provider_error, read_fault
from agent.providers.http_client import Http, TransportError, Unreachable
from agent.providers.wire import as_count, as_object, as_text, parse_json

TIMEOUT_S: Final = 45.0
"""Twenty minutes of speech take a fast model half of that; whoever spoke waits meanwhile."""
MAX_CHARS: Final = 60_000
"""More than anybody says in a message: what is longer is a fault of the service."""

_ENDINGS: Final = {
    "audio/aac": "m4a",
    "audio/flac": "flac",
    "audio/m4a": "m4a",
    "audio/mp3": "mp3",
    "audio/mp4": "m4a",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/opus": "ogg",
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/webm": "webm",
    "audio/x-m4a": "m4a",
    "audio/x-wav": "wav",
}
_ENDING: Final = re.compile(r"\.([a-z0-9]{2,5})$")


class HttpTranscriber:
    """The port Transcriber on a service."""

    def __init__(
        self, endpoint: Endpoint, model: str, key: str | None, http: Http | None = None, timeout_s: float = TIMEOUT_S
    ) -> None:
        self._endpoint = endpoint
        self._model = model
        self._key = key
        self._http = http or Http(proxies=not endpoint.is_local)
        self._timeout_s = timeout_s

    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:
        boundary = blake2s(sound, digest_size=16).hexdigest()  # nobody can make a sound that holds it
        fields = {"model": self._model, "response_format": "json"}
        request = _form(boundary, fields, sound, ending(name, media_type))
        headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        try:
            async with asyncio.timeout(self._timeout_s):
                url = f"{self._endpoint.base_url}/audio/transcriptions"
                async with self._http.request("POST", url, headers, request) as reply:
                    body = await reply.read()
        except TimeoutError:
            raise self._error(Fault(FaultKind.SLOW, waited_s=self._timeout_s)) from None
        except TransportError as error:
            kind = FaultKind.UNREACHABLE if isinstance(error, Unreachable) else FaultKind.CUT
            raise self._error(Fault(kind)) from None
        if reply.status != 200:
            raise self._error(read_fault(reply.status, body))
        answer = as_object(parse_json(body))
        text = answer.get("text")
        if not isinstance(text, str):
            raise self._error(Fault(FaultKind.UNREADABLE))
        return Transcript(text[:MAX_CHARS], ModelCall(self._name, _usage(answer, text, len(request))))

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    @property
    def _name(self) -> str:
        return f"{self._endpoint.name}:{self._model}"

    def _error(self, fault: Fault) -> ProviderError:
        return provider_error(fault, self._endpoint, self._model, self._key, begun=False)


def ending(name: str, media_type: str) -> str:
    """How the name of such a file ends, by which services know its form."""
    kind = media_type.partition(";")[0].strip().lower()
    own = _ENDING.search(name.lower())
    return _ENDINGS.get(kind) or (own[1] if own else "ogg")


def _form(boundary: str, fields: dict[str, str], sound: bytes, ending: str) -> bytes:
    parts = [
        f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    about = f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="speech.{ending}"\r\n'
    parts += [f"{about}content-type: application/octet-stream\r\n\r\n".encode(), sound]
    return b"".join([*parts, f"\r\n--{boundary}--\r\n".encode()])


def _usage(answer: Mapping[str, object], text: str, bytes_up: int) -> Usage:
    """As reported: some services count tokens, others seconds, others nothing."""
    used = as_object(answer.get("usage"))
    tokens_in, tokens_out = as_count(used.get("input_tokens")), as_count(used.get("output_tokens"))
    if as_text(used.get("type")) == "tokens" or tokens_in:
        return Usage(input_uncached=tokens_in, output=tokens_out, bytes_up=bytes_up)
    return Usage(output=estimate_tokens(text), bytes_up=bytes_up, estimated=True)
