"""`cogency learn` on a database that a bot serves from: where documents go, who finds them, the audit, and erasing."""

from pathlib import Path

import pytest

from agent.errors import Refused
from agent.memory.audience import PersonAudience, label
from bot.app import texts as app_texts
from bot.app.folder_learning import open_learning
from bot.app.settings import Settings
from bot.app.subject_requests import Kind, Order, erase
from bot.knowledge.folders import find_files
from bot.operators.settings import OperatorAct
from store.engine import Store
from tests.bot.app.test_subject_requests import ANN, audit_of, operated, serving
from tests.fakes.clock import FakeClock
from tests.fakes.fast_clock import FastClock
from tests.fakes.incoming import START
from tests.fakes.operators import ANNA

pytestmark = pytest.mark.slow  # files, and a process that serves beside the operator

CLOCK = FakeClock(START)


def handbook(folder: Path) -> Path:
    (folder / "handbook").mkdir()
    (folder / "handbook" / "boats.md").write_text("Our boats are blue.")
    return folder / "handbook"


async def learn(settings: Settings, id_: str, folder: Path) -> tuple[str, list[str]]:
    """Return who finds the documents, and what became of the files."""
    async with open_learning(settings, id_, find_files([str(folder)]), ANNA, CLOCK) as run:
        return run.readers, [outcome.end.name async for outcome in run.outcomes]


async def names(store: Store, audience: str) -> list[tuple[str, str]]:
    return [(document.name, document.channel) for document in await store.documents.listed(frozenset({audience}))]


async def test_documents_belong_to_those_who_read_the_place(tmp_path: Path) -> None:
    folder, name = handbook(tmp_path), "handbook/boats.md"
    async with operated(tmp_path) as (settings, store):
        for id_, readers, audience, channel in (
            ("slack:T1:C1", app_texts.FOUND_BY_READERS, "group:slack:T1:C1", "C1"),
            ("slack:T1:C2", app_texts.FOUND_BY_TEAM, "team:slack:T1", "C2"),
            (ANN, app_texts.FOUND_BY_PERSON, label(PersonAudience(ANN)), ""),
        ):
            assert await learn(settings, id_, folder) == (readers.format(of=id_), ["LEARNED"])
            assert await learn(settings, id_, folder) == (readers.format(of=id_), ["UNCHANGED"])
            assert await names(store, audience) == [(name, channel)]
        assert (await learn(settings, "slack:T1", folder))[1] == ["LEARNED"]
        assert await names(store, "team:slack:T1") == [(name, "C2"), (name, "")]


async def test_a_place_that_nobody_wrote_in_is_refused_with_what_to_do(tmp_path: Path) -> None:
    folder = handbook(tmp_path)
    async with operated(tmp_path) as (settings, _):
        with pytest.raises(Refused, match=r"Did you mean slack:T1:C1.*first mention the bot there"):
            await learn(settings, "discord:T1:C1", folder)
        with pytest.raises(Refused, match=r"place find NAME.*first mention the bot there"):
            await learn(settings, "club", folder)


async def test_each_run_is_in_the_audit_and_erasing_the_place_erases_its_documents(tmp_path: Path) -> None:
    folder = handbook(tmp_path)
    async with operated(tmp_path) as (settings, store):
        await learn(settings, "slack:T1:C1", folder)
        async with serving(store, clock := FastClock()).serving():
            await erase(settings, Order(OperatorAct.ERASE, Kind.PLACE, "slack:T1:C1"), ANNA, clock)
        assert await names(store, "group:slack:T1:C1") == []
    lines = await audit_of(settings)
    assert any("operator:anna" in line and line.endswith("slack:T1:C1 1 learned") for line in lines)
