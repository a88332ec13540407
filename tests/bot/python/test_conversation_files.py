"""What code saves is there for later runs of its conversation, for those who may read what it was made from."""

import asyncio
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.incoming import Person
from agent.memory.audience import HERE as DRAWN_HERE
from agent.memory.audience import NOWHERE, WIDE
from agent.messages import Keep, Provenance, SharedFile
from agent.ports.saved_files import FileSource
from agent.ports.tools import ToolContext, ToolOutput
from bot.python import conversation_files, texts
from bot.python.conversation_files import GivenFiles, is_path
from bot.python.engine import RunEnded, RunFile
from tests.bot.python.test_tool import ANN, CONTEXT, SALES, Conversation, attached, conversation
from tests.fakes.cpython_engine import CPythonEngine
from tests.patience import until

SAVES = 'open("/out/sums.csv", "w").write("month,sum\\njuly,3\\n")\nNone'
READS = 'print(open("/out/sums.csv").read())'
ASKED = FileSource(CONTEXT.message, asked=True)


async def run(talk: Conversation, code: str, context: ToolContext = CONTEXT) -> str:
    return (await talk.tool(CPythonEngine()).run({"code": code}, context)).text


@pytest.mark.slow
async def test_a_later_run_finds_what_an_earlier_one_saved() -> None:
    talk = conversation((3, "sales.csv", SALES))
    await run(talk, SAVES)
    output = await talk.tool(CPythonEngine()).run({"code": READS}, replace(CONTEXT, message=9))
    assert "july,3" in output.text
    assert output.text.endswith(f"{texts.EARLIER} sums.csv")
    assert not output.parts, "what was handed over before is not handed over again"
    assert set(output.sources) == {3, CONTEXT.message}
    assert output.words is Provenance.FOREIGN


@pytest.mark.slow
async def test_a_file_is_saved_with_all_that_it_was_made_from() -> None:
    talk = conversation((3, "sales.csv", SALES))
    await run(talk, SAVES, replace(CONTEXT, sources=(5,), documents=(6,)))
    (changes,) = talk.saved.changes
    assert set(changes.sources) == {ASKED, FileSource(3, attached=("sales.csv",)), FileSource(5)}
    assert (changes.documents, changes.drawn_from, changes.audience) == ((6,), WIDE, "group:slack:T1:C1")
    await run(talk, 'open("more.csv", "w").write(open("sums.csv").read())\nNone', replace(CONTEXT, message=9))
    later = talk.saved.changes[-1]
    assert {ASKED, FileSource(9, asked=True), FileSource(5)} <= set(later.sources)
    assert later.documents == (6,)


@pytest.mark.slow
async def test_code_can_change_and_remove_what_it_saved() -> None:
    talk = conversation()
    await run(talk, f'{SAVES}\nopen("/out/old.csv", "w").write("x")')
    await run(talk, 'import os\nos.remove("/out/old.csv")\nopen("/out/sums.csv", "a").write("august,4\\n")')
    assert talk.saved.contents == {"sums.csv": b"month,sum\njuly,3\naugust,4\n"}


@pytest.mark.parametrize(
    ("turn", "drawn"), [(WIDE, WIDE), ("person:slack:T1:U1", "person:slack:T1:U1"), (DRAWN_HERE, DRAWN_HERE)]
)
async def test_what_the_turn_read_before_labels_what_code_writes(turn: str, drawn: str) -> None:
    talk = conversation()
    output = await run(talk, SAVES, replace(CONTEXT, drawn_from=turn))
    assert texts.NOT_KEPT not in output
    assert talk.saved.changes[-1].drawn_from == drawn


async def test_after_a_result_that_may_not_be_kept_neither_is_a_file_and_the_model_knows() -> None:
    talk = conversation()
    assert texts.NOT_KEPT in await run(talk, SAVES, replace(CONTEXT, drawn_from=NOWHERE))
    assert talk.saved.files == []


APPENDS = 'open("/out/log.txt", "a").write("x")\nNone'


@pytest.mark.slow
async def test_a_call_that_runs_again_after_a_kill_does_not_run_its_code_again() -> None:
    """Its files had been saved when the process was killed, but its result had not."""
    talk, engine = conversation(), CPythonEngine()
    turn = replace(CONTEXT, turn=4, call="2.1")
    await talk.tool(engine).run({"code": APPENDS}, turn)
    again = await talk.tool(engine).run({"code": APPENDS}, turn)
    assert again.text == f"{texts.RAN_BEFORE}\n{texts.EARLIER} log.txt"
    assert again.parts == (SharedFile("log.txt", "text/plain", b"x"),)
    assert again.words is Provenance.FOREIGN
    assert len(engine.runs) == 1
    for other in (replace(turn, call="2.2"), replace(turn, turn=5), replace(CONTEXT, turn=0, call="2.1")):
        await talk.tool(engine).run({"code": APPENDS}, other)
    assert talk.saved.contents == {"log.txt": b"xxxx"}


async def test_a_run_that_is_stopped_leaves_nothing() -> None:
    talk = conversation()
    await run(talk, SAVES)
    hangs = f'{APPENDS}\nopen("/out/sums.csv", "w").write("half")\nimport time\ntime.sleep(600)'
    engine = CPythonEngine()
    running = asyncio.create_task(talk.tool(engine).run({"code": hangs}, CONTEXT))
    await until(lambda: engine.runs)
    running.cancel()
    await asyncio.wait({running})
    assert talk.saved.contents == {"sums.csv": b"month,sum\njuly,3\n"}


@pytest.mark.slow
async def test_a_file_of_the_askers_own_data_is_not_there_for_others() -> None:
    talk = conversation()
    await run(talk, SAVES, replace(CONTEXT, drawn_from=f"person:{ANN.id}"))
    assert "july,3" in await run(talk, READS)
    engine, ben = CPythonEngine(), Person("slack:T1:U2", "Ben")
    output = await replace(talk, asker=ben).tool(engine).run({"code": "1"}, replace(CONTEXT, person=ben))
    assert engine.runs[0][1] == ()
    assert "sums.csv" not in output.text, "its name may say what it is about"


@pytest.mark.slow
async def test_a_result_of_a_private_file_is_for_its_reader_alone() -> None:
    talk = conversation((3, "a.csv", b"1"))
    await run(talk, SAVES, replace(CONTEXT, drawn_from=f"person:{ANN.id}"))
    assert (await talk.tool(CPythonEngine()).run({"code": "1"}, CONTEXT)).audience is None
    assert talk.saved.changes[-1].drawn_from == f"person:{ANN.id}"


@pytest.mark.slow
async def test_a_file_goes_with_the_attached_file_that_it_was_made_from() -> None:
    talk = conversation((3, "sales.csv", SALES))
    await run(talk, SAVES)
    talk.contents[3] = {}
    output = await run(talk, "1")
    assert f"{texts.NOT_GIVEN} sums.csv: {conversation_files.SOURCE_GONE}" in output
    assert talk.saved.files == []


@pytest.mark.slow
async def test_while_its_source_cannot_be_read_a_file_is_not_given_but_stays() -> None:
    talk = conversation((3, "sales.csv", SALES))
    await run(talk, SAVES)
    talk.contents[3] = None
    assert "sums.csv: the person cannot read where" in await run(talk, "1")
    talk.contents[3] = {"sales.csv": SALES}
    assert "july,3" in await run(talk, READS)


@pytest.mark.slow
async def test_a_source_that_is_long_ago_is_checked_too() -> None:
    talk = conversation((3, "sales.csv", SALES))
    await run(talk, SAVES)
    for number in range(20, 20 + conversation_files.MAX_MESSAGES + 2):
        talk.messages.append(attached(number, f"{number}.csv"))
        talk.contents[number] = {f"{number}.csv": b"1"}
    assert "july,3" in await run(talk, READS)
    talk.contents[3] = {}
    assert conversation_files.SOURCE_GONE in await run(talk, "1")
    assert talk.saved.files == []


@pytest.mark.slow
async def test_a_source_that_is_not_found_is_no_proof_that_it_can_be_read() -> None:
    talk = conversation((3, "sales.csv", SALES))
    await run(talk, SAVES)
    talk.messages.clear()
    assert f"sums.csv: {conversation_files.UNCHECKED}" in await run(talk, "1")


@pytest.mark.slow
async def test_saved_files_count_for_the_limit_of_a_run() -> None:
    talk = conversation()
    await run(talk, 'open("big.bin", "wb").write(bytes(100))\nNone')
    talk.messages.append(attached(4, "a.csv"))
    talk.contents[4] = {"a.csv": b"x" * 60}
    tool = talk.tool(CPythonEngine())
    output = await replace(tool, limits=replace(tool.limits, given_bytes=150)).run({"code": "1"}, CONTEXT)
    assert f"a.csv: {conversation_files.TOO_MUCH}" in output.text


@pytest.mark.slow
async def test_two_files_that_cannot_both_be_there_are_told() -> None:
    talk = conversation()
    await run(talk, 'open("a", "w").write("1")\nNone')
    first = talk.saved.files.pop()
    await run(talk, 'import os\nos.mkdir("a")\nopen("a/b", "w").write("1")\nNone')
    talk.saved.files.insert(0, first)
    output = await run(talk, "1")
    assert f"a: {conversation_files.NAME_TAKEN}" in output
    assert f"{texts.EARLIER} a/b" in output


def test_only_paths_below_the_folder_of_results_are_saved() -> None:
    assert all(map(is_path, ("a", "a/b.csv", "größen.csv", " ", "...")))
    assert not any(map(is_path, ("", "/a", "a/", "../a", "a/../b", "./a", "a\0b", "x" * 401)))


@given(st.text(max_size=30))
def test_a_saved_path_never_leads_out(name: str) -> None:
    if is_path(name):
        assert not name.startswith("/")
        assert ".." not in name.split("/")


async def test_what_code_itself_read_labels_what_it_wrote() -> None:
    talk = conversation()
    files = talk.tool(CPythonEngine()).files
    ended = RunEnded(files=(RunFile("pay.csv", b"1"),))
    for labels, drawn in (
        (ToolOutput(sources=(8,), documents=(9,)), f"person:{ANN.id}"),
        (ToolOutput(audience=CONTEXT.place.audience), WIDE),
    ):
        assert await files.save(CONTEXT, GivenFiles(), ended, labels)
        assert talk.saved.changes[-1].drawn_from == drawn
    assert FileSource(8) in talk.saved.changes[0].sources
    assert talk.saved.changes[0].documents == (9,)
    assert not await files.save(CONTEXT, GivenFiles(), ended, ToolOutput(keep=Keep.TURN))
