"""An engine that counts how long code runs for each person, and refuses once their budget is used up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.chat.processes import complete
from bot.python.engine import NO_FUNCTIONS, EngineUnavailable, Functions, PythonEngine, RunEnded, RunFile


class RunBudget(Protocol):
    """The seconds of code that people may use. Its methods raise StoreError."""

    async def used_up(self, person: str) -> str | None:
        """Return the sentence once the person's budget is used up; None while something is left."""
        ...

    async def charge(self, person: str, seconds: float) -> None:
        """Count seconds that code ran for a person."""
        ...


@dataclass(frozen=True, slots=True)
class MeteredEngine:
    """The port PythonEngine. `monotonic`: seconds by a clock that never goes back.

    A run counts from its beginning, without the time it waits for other runs, and also if it is stopped.
    """

    engine: PythonEngine
    budget: RunBudget
    monotonic: Callable[[], float]

    async def run(
        self,
        code: str,
        files: Sequence[RunFile],
        person: str,
        begun: Callable[[], None] = lambda: None,
        functions: Functions = NO_FUNCTIONS,
        earlier: Sequence[RunFile] = (),
    ) -> RunEnded:
        if (sentence := await self.budget.used_up(person)) is not None:
            raise EngineUnavailable(sentence)
        began = list[float]()

        def begin() -> None:
            began.append(self.monotonic())
            begun()

        try:
            return await self.engine.run(code, files, person, begin, functions, earlier)
        finally:
            if began:
                await complete(self.budget.charge(person, self.monotonic() - began[0]))
