"""The model of `benchmarks.chaos`: the same question always gets the same answer.

A question contains its name, as in [c07-03]; so does every sentence of its answer, by which each page is recognised.
Most answers come at once. Others grow slowly, fill several pages, or call the tool `remember` once or twice. The text
of each note has unique letters, so that a call that the model had to repeat leaves a second note; the rest of it are
words of the question, as the bot keeps nothing else.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from random import Random
from types import TracebackType
from typing import Any, Final, Self

from aiohttp import web

QUESTION: Final = re.compile(r"\[(c\d+-\d+)\]")
RESULTS: Final = re.compile(r"^<results>", re.MULTILINE)
NOTE: Final = re.compile(r"Note of (c\d+-\d+), call (\d), written ([a-j]+)")
WORDS: Final = [
    "the",
    "boat",
    "lies",
    "in",
    "a",
    "calm",
    "harbour",
    "near",
    "old",
    "lighthouse",
    "while",
    "gulls",
    "circle",
]
PIECE: Final = 40  # Characters that come at a time


class Kind(Enum):
    """How an answer is produced."""

    AT_ONCE = "at once"
    SLOWLY = "slowly"
    IN_PAGES = "in pages"
    ONE_CALL = "one call"
    TWO_CALLS = "two calls"


SENTENCES: Final = {Kind.AT_ONCE: 3, Kind.SLOWLY: 12, Kind.IN_PAGES: 75, Kind.ONE_CALL: 4, Kind.TWO_CALLS: 4}
CALLS: Final = {Kind.ONE_CALL: 1, Kind.TWO_CALLS: 2}
# For each round of such an answer; long enough to be disturbed.
TAKES_S: Final = {Kind.SLOWLY: 2.0, Kind.IN_PAGES: 3.0, Kind.ONE_CALL: 0.6, Kind.TWO_CALLS: 0.6}


def texts(question: str, kind: Kind) -> list[str]:
    """Return the text of each round: before each call, and at the end."""
    chance = Random(question)
    rounds = CALLS.get(kind, 0) + 1
    return [_prose(question, SENTENCES[kind] if last else 1, chance) for last in [*[False] * (rounds - 1), True]]


def whole(question: str, kind: Kind) -> str:
    """Return the whole reply."""
    return "\n\n".join(texts(question, kind))


def _prose(question: str, sentences: int, chance: Random) -> str:
    said = (f"For {question} {' '.join(chance.choices(WORDS, k=8))}." for _ in range(sentences))
    return "".join(sentence + ("\n\n" if n % 7 == 6 else " ") for n, sentence in enumerate(said)).strip()


@dataclass(slots=True)
class Model:
    """A server at `model.url`, inside of `async with Model(kinds) as model`. `kinds`: how each question is answered."""

    kinds: dict[str, Kind]
    requests: int = 0
    repeated: list[str] = field(default_factory=list[str])
    """Questions for which a call was requested again after its result had been received."""
    asked_by: Counter[str] = field(default_factory=Counter[str])
    """Requests by their API key."""
    url: str = ""
    _rounds: dict[str, int] = field(default_factory=dict[str, int])
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        self.asked_by[request.headers.get("authorization", "").removeprefix("Bearer ")] += 1
        question, seen = _asked(await request.json())
        if seen < self._rounds.get(question, 0):
            self.repeated.append(question)
        self._rounds[question] = max(seen, self._rounds.get(question, 0))
        kind = self.kinds[question]
        said = texts(question, kind)[min(seen, CALLS.get(kind, 0))]
        if seen < CALLS.get(kind, 0):
            said += _call(f"Note of {question}, call {seen + 1}, written {_letters(next(self._numbers))}")
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        with suppress(ConnectionError):  # the client was killed
            await _stream(response, said, TAKES_S.get(kind, 0.0))
        return response


async def _stream(response: web.StreamResponse, said: str, takes_s: float) -> None:
    pieces = [*_pieces(said)] if takes_s else [said]
    for piece in pieces:
        await response.write(_event({"choices": [{"delta": {"content": piece}}]}))
        if takes_s:
            await asyncio.sleep(takes_s / len(pieces))
    await response.write(
        _event({"choices": [{"delta": {"content": ""}, "finish_reason": "stop"}]}) + b"data: [DONE]\n\n"
    )


def _asked(body: dict[str, Any]) -> tuple[str, int]:
    """Return the question of a request, and the number of results since it was asked."""
    people: list[str] = [message["content"] for message in body["messages"] if message["role"] == "user"]
    places = [(place, found[-1]) for place, text in enumerate(people) if (found := QUESTION.findall(text))]
    place, question = places[-1]
    return question, sum(len(RESULTS.findall(text)) for text in people[place:])


def asking(question: str) -> str:
    """Return the text of the message that asks a question."""
    return f"[{question}] where is my boat? Keep a note of call 1 and of call 2."


def _letters(number: int) -> str:
    """Spell a number in letters: digits would have to be the person's words."""
    return str(number).translate(str.maketrans("0123456789", "abcdefghij"))


def _call(note: str) -> str:
    return f'\n<execute>[{{"name": "remember", "args": {{"text": "{note}"}}}}]\n</execute>'


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def _event(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
