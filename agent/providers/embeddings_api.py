"""Vectors of texts, from a service that speaks OpenAI's `/embeddings`.

Rules. One request, no retry: whoever asks has a job that is tried again, or does without. An answer that does not hold
a vector of numbers for each text is an error, never a guess.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Final

from agent.errors import ProviderError
from agent.messages import ModelCall, Usage, estimate_tokens
from agent.providers.catalog import Endpoint
from agent.providers.faults import Fault, FaultKind, provider_error, read_fault
from agent.providers.http_client import Http, TransportError, Unreachable
from agent.providers.wire import as_count, as_list, as_object, parse_json
from agent.records import Embedded

TIMEOUT_S: Final = 60.0
"""For a batch on a local model that has to be loaded first."""


class HttpEmbedder:
    """The port Embedder on a service."""

    def __init__(self, endpoint: Endpoint, model: str, key: str | None, http: Http | None = None) -> None:
        self._endpoint = endpoint
        self._model = model
        self._key = key
        self._http = http or Http(proxies=not endpoint.is_local)

    @property
    def name(self) -> str:
        return f"{self._endpoint.name}:{self._model}"

    @property
    def is_local(self) -> bool:
        """Whether it runs on this machine."""
        return self._endpoint.is_local

    async def embed(self, texts: Sequence[str]) -> Embedded:
        request = json.dumps({"model": self._model, "input": list(texts), "encoding_format": "float"}).encode()
        headers = {"content-type": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        try:
            async with asyncio.timeout(TIMEOUT_S):
                url = f"{self._endpoint.base_url}/embeddings"
                async with self._http.request("POST", url, headers, request) as reply:
                    body = await reply.read()
        except TimeoutError:
            raise self._error(Fault(FaultKind.SLOW, waited_s=TIMEOUT_S)) from None
        except TransportError as error:
            kind = FaultKind.UNREACHABLE if isinstance(error, Unreachable) else FaultKind.CUT
            raise self._error(Fault(kind)) from None
        if reply.status != 200:
            raise self._error(read_fault(reply.status, body))
        vectors = read_vectors(body, len(texts))
        if vectors is None:
            raise self._error(Fault(FaultKind.UNREADABLE))
        reported = as_count(as_object(as_object(parse_json(body)).get("usage")).get("prompt_tokens"))
        tokens = reported or sum(map(estimate_tokens, texts))
        usage = Usage(input_uncached=tokens, bytes_up=len(request), estimated=not reported)
        return Embedded(vectors, ModelCall(self.name, usage))

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    def _error(self, fault: Fault) -> ProviderError:
        return provider_error(fault, self._endpoint, self._model, self._key, begun=False)


def read_vectors(body: bytes, count: int) -> tuple[tuple[float, ...], ...] | None:
    """The vectors in an answer to POST /embeddings, by their index; None unless there is one for each text."""
    entries = [as_object(entry) for entry in as_list(as_object(parse_json(body)).get("data"))]
    found: dict[int, tuple[float, ...]] = {}
    for place, entry in enumerate(entries):
        index = entry.get("index", place)
        numbers = as_list(entry.get("embedding"))
        if not isinstance(index, int) or not numbers:
            return None
        found[index] = tuple(float(number) for number in numbers if isinstance(number, int | float))
        if len(found[index]) != len(numbers):
            return None
    lengths = {len(vector) for vector in found.values()}
    return tuple(found[at] for at in range(count)) if found.keys() == set(range(count)) and len(lengths) <= 1 else None
