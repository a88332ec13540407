"""Embeddings and transcriptions from services with OpenAI's `/embeddings` and `/audio/transcriptions`.

Rules. One request, no retry: the caller retries its job, continues without a result, or reports the error. An answer
without a vector of numbers for each text is an error. A transcription service receives the sound and a file name that
shows its format only.
"""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2s
from typing import Final

from agent.embeddings import Embedded
from agent.errors import ProviderError
from agent.messages import ModelCall, Usage, estimate_tokens
from agent.ports.transcription import Transcript
from agent.providers.catalog import Endpoint
from agent.providers.credentials import CredentialsUnavailable, Key, OutgoingRequest, authorise
from agent.providers.faults import Fault, FaultKind, asked_wait_s, provider_error, read_fault
from agent.providers.http_client import Http, TransportError, Unreachable, Untrusted
from agent.providers.key_pool import KeyRing
from agent.providers.wire import as_count, as_list, as_object, as_text, parse_json

EMBED_TIMEOUT_S: Final = 60.0  # For a batch, and a local model that has to be loaded first
LISTEN_TIMEOUT_S: Final = 45.0  # Twenty minutes of speech take a fast model half of that; the asker waits
MAX_CHARS: Final = 60_000  # More than any voice message: a longer text is an error of the service

_ENDINGS: Final = {
    **dict.fromkeys(("audio/aac", "audio/m4a", "audio/mp4", "audio/x-m4a"), "m4a"),
    **dict.fromkeys(("audio/mp3", "audio/mpeg"), "mp3"),
    **dict.fromkeys(("audio/ogg", "audio/opus"), "ogg"),
    **dict.fromkeys(("audio/wav", "audio/wave", "audio/x-wav"), "wav"),
    "audio/flac": "flac",
    "audio/webm": "webm",
}
_ENDING: Final = re.compile(r"\.([a-z0-9]{2,5})$")


class _HttpService:
    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        key: Key,
        http: Http | None = None,
        timeout_s: float | None = None,
        ring: KeyRing | None = None,
    ) -> None:
        """`ring`: several keys, of which each request takes the next one if the first is refused or limited."""
        self.name = f"{endpoint.name}:{model}"
        self.is_local = endpoint.is_local
        self._endpoint = endpoint
        self._model = model
        self._key = key
        self._ring = None if ring is None or ring.is_single else ring
        self._http = http or Http(proxies=not endpoint.is_local)
        self._timeout_s = timeout_s

    @property
    def _has_own_key(self) -> bool:
        return self._ring is not None and self._ring.is_own

    async def aclose(self) -> None:
        await self._http.aclose()

    async def _post(self, path: str, content_type: str, request: bytes, timeout_s: float) -> bytes:
        if self._ring is None:
            return await self._post_with(self._key, path, content_type, request, timeout_s)
        for index in self._ring.usable(self.name):
            try:
                body = await self._post_with(self._ring.keys[index], path, content_type, request, timeout_s)
            except ProviderError as error:
                self._ring.failed(index, self.name, error)
                if error.key_trouble is None:
                    raise
            else:
                self._ring.worked(index, self.name)
                return body
        raise self._ring.exhausted(self.name)

    async def _post_with(self, key: Key, path: str, content_type: str, request: bytes, timeout_s: float) -> bytes:
        headers = {"content-type": content_type}
        url, limit_s = self._endpoint.url(path, self._model), self._timeout_s or timeout_s
        outgoing = OutgoingRequest("POST", url, headers, request)
        try:
            async with asyncio.timeout(limit_s):
                headers |= await authorise(self._endpoint, key, outgoing)
                async with self._http.request("POST", url, headers, request) as reply:
                    body = await reply.read()
        except CredentialsUnavailable as error:
            raise self._error(key, Fault(FaultKind.NO_CREDENTIALS, message=str(error))) from None
        except TimeoutError:
            raise self._error(key, Fault(FaultKind.SLOW, waited_s=limit_s)) from None
        except Untrusted as error:
            raise self._error(key, Fault(FaultKind.UNTRUSTED, message=error.problem)) from None
        except TransportError as error:
            kind = FaultKind.UNREACHABLE if isinstance(error, Unreachable) else FaultKind.CUT
            raise self._error(key, Fault(kind)) from None
        if reply.status != 200:
            raise self._error(key, replace(read_fault(reply.status, body), retry_after_s=asked_wait_s(reply.headers)))
        return body

    def _error(self, key: Key, fault: Fault) -> ProviderError:
        return provider_error(fault, self._endpoint, self._model, key, begun=False)


class HttpEmbedder(_HttpService):
    weight = 0.8
    """The weight of vectors in a search: measured with a model of whole sentences."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        request = json.dumps(
            {"model": self._endpoint.name_for(self._model), "input": list(texts), "encoding_format": "float"}
        ).encode()
        body = await self._post("/embeddings", "application/json", request, EMBED_TIMEOUT_S)
        vectors = read_vectors(body, len(texts))
        if vectors is None:
            raise self._error(self._key, Fault(FaultKind.UNREADABLE))
        reported = as_count(as_object(as_object(parse_json(body)).get("usage")).get("prompt_tokens"))
        tokens = reported or sum(map(estimate_tokens, texts))
        usage = Usage(input_uncached=tokens, bytes_up=len(request), estimated=not reported)
        return Embedded(vectors, ModelCall(self.name, usage, own_key=self._has_own_key))


class HttpTranscriber(_HttpService):
    async def transcribe(self, sound: bytes, name: str, media_type: str) -> Transcript:
        boundary = blake2s(sound, digest_size=16).hexdigest()  # a hash of the sound: the sound cannot contain it
        fields = {"model": self._endpoint.name_for(self._model), "response_format": "json"}
        request = _form(boundary, fields, sound, ending(name, media_type))
        content_type = f"multipart/form-data; boundary={boundary}"
        body = await self._post("/audio/transcriptions", content_type, request, LISTEN_TIMEOUT_S)
        answer = as_object(parse_json(body))
        text = answer.get("text")
        if not isinstance(text, str):
            raise self._error(self._key, Fault(FaultKind.UNREADABLE))
        usage = _usage(answer, text, len(request))
        return Transcript(text[:MAX_CHARS], ModelCall(self.name, usage, own_key=self._has_own_key))


def read_vectors(body: bytes, count: int) -> tuple[tuple[float, ...], ...] | None:
    """Return the vectors of a response to POST /embeddings by index, or None unless each text has one."""
    entries = [as_object(entry) for entry in as_list(as_object(parse_json(body)).get("data"))]
    vectors: dict[int, tuple[float, ...]] = {}
    for position, entry in enumerate(entries):
        index = entry.get("index", position)
        numbers = as_list(entry.get("embedding"))
        if not isinstance(index, int) or not numbers:
            return None
        vectors[index] = tuple(float(number) for number in numbers if isinstance(number, int | float))
        if len(vectors[index]) != len(numbers):
            return None
    lengths = {len(vector) for vector in vectors.values()}
    is_complete = vectors.keys() == set(range(count)) and len(lengths) <= 1
    return tuple(vectors[position] for position in range(count)) if is_complete else None


def ending(name: str, media_type: str) -> str:
    """Return the file extension by which services recognise the format."""
    plain_type = media_type.partition(";")[0].strip().lower()
    match = _ENDING.search(name.lower())
    return _ENDINGS.get(plain_type) or (match[1] if match else "ogg")


def _form(boundary: str, fields: dict[str, str], sound: bytes, ending: str) -> bytes:
    parts = [
        f'--{boundary}\r\ncontent-disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="speech.{ending}"\r\n'
    parts += [f"{head}content-type: application/octet-stream\r\n\r\n".encode(), sound]
    return b"".join([*parts, f"\r\n--{boundary}--\r\n".encode()])


def _usage(answer: Mapping[str, object], text: str, bytes_up: int) -> Usage:
    """Read the usage: some services report tokens, others seconds, others nothing."""
    used = as_object(answer.get("usage"))
    tokens_in, tokens_out = as_count(used.get("input_tokens")), as_count(used.get("output_tokens"))
    if as_text(used.get("type")) == "tokens" or tokens_in:
        return Usage(input_uncached=tokens_in, output=tokens_out, bytes_up=bytes_up)
    return Usage(output=estimate_tokens(text), bytes_up=bytes_up, estimated=True)
