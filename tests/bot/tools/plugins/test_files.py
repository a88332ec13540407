"""Nothing outside of a plug-in's folder is read, whatever the folder contains."""

import json
import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.tools.plugins.files import MAX_ENTRIES, PluginFault, PluginFolder, json_lines, line_of
from tests.fakes.plugin_folders import SECRET, write

LIMIT = 1_000


@pytest.fixture
def folder(tmp_path: Path) -> PluginFolder:
    write(tmp_path, {"secret.txt": SECRET, "plug/in/notes.md": "inside", "plug-other/notes.md": SECRET})
    return PluginFolder(tmp_path / "plug")


def refusal(folder: PluginFolder, path: str) -> str:
    with pytest.raises(PluginFault) as caught:
        folder.text(path, LIMIT)
    return caught.value.what


def test_a_file_is_read_by_its_path_from_the_folder(folder: PluginFolder) -> None:
    assert folder.text("in/notes.md", LIMIT) == "inside"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "in/../../secret.txt",
        "in/../notes.md",
        "/etc/passwd",
        "//etc/passwd",
        "./in/notes.md",
        "in//notes.md",
        "in/notes.md/",
        "in\\notes.md",
        "IN/notes.md",
        "in/NOTES.md",
        "in/notes.md\0.txt",
        "../plug-other/notes.md",
        "~/secret.txt",
        "in/notes.md::$DATA",
        "a/" * 30,
        "a" * 5_000,
    ],
)
def test_a_path_that_no_folder_lists_leads_nowhere(folder: PluginFolder, path: str) -> None:
    assert refusal(folder, path) in (
        "the file does not exist",
        "is a path that is too long: at most 12 names and 400 characters",
    )


def test_a_link_may_lead_within_the_folder_and_not_out_of_it(folder: PluginFolder, tmp_path: Path) -> None:
    root = folder.root
    (root / "alias.md").symlink_to("in/notes.md")
    (root / "out.md").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to("..")
    (root / "sibling").symlink_to(tmp_path / "plug-other")
    (root / "through.md").symlink_to("up/secret.txt")
    (root / "round").symlink_to("round")
    (root / "gone").symlink_to("nothing")
    assert folder.text("alias.md", LIMIT) == "inside"
    leaves = "points outside the plug-in's folder, so it is not read"
    for path in ("out.md", "up/secret.txt", "sibling/notes.md", "through.md"):
        assert refusal(folder, path) == leaves
    assert refusal(folder, "round") == refusal(folder, "gone") == "is a broken link"


def test_a_folder_that_becomes_a_link_after_it_was_judged_is_not_followed(folder: PluginFolder, tmp_path: Path) -> None:
    judged = folder.resolve("in/notes.md")
    (folder.root / "in").rename(tmp_path / "moved")
    (folder.root / "in").symlink_to(tmp_path / "plug-other")
    with pytest.raises(OSError, match=r"directory|links"):
        folder._open(judged)  # pyright: ignore[reportPrivateUsage] -- the moment between judging and opening


def test_only_regular_files_are_read_and_nothing_waits(folder: PluginFolder) -> None:
    os.mkfifo(folder.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder.root)  # a socket's name is short
        try:
            listening.bind("sock")
        finally:
            os.chdir(here)
    (folder.root / "zero").symlink_to("/dev/zero")
    assert refusal(folder, "pipe") == refusal(folder, "sock") == refusal(folder, "in") == "is not a regular file"
    assert refusal(folder, "zero") == "points outside the plug-in's folder, so it is not read"


def test_files_beyond_the_limit_and_files_that_are_no_text_are_refused(folder: PluginFolder) -> None:
    (folder.root / "big").write_bytes(b"x" * (LIMIT + 1))
    with (folder.root / "sparse").open("wb") as sparse:
        sparse.truncate(10**11)
    (folder.root / "latin").write_bytes(b"one\ntwo\nthr\xe9e\n")
    (folder.root / "zeros").write_bytes(b"a\0b")
    assert refusal(folder, "big") == "has 1,001 bytes; the limit is 1,000"
    assert refusal(folder, "sparse") == "has 100,000,000,000 bytes; the limit is 1,000"
    assert refusal(folder, "zeros") == "is not text: it contains NUL bytes"
    with pytest.raises(PluginFault, match="latin:3: is not UTF-8 text"):
        folder.text("latin", LIMIT)


def test_a_listing_ends_at_its_limits_and_follows_no_link(folder: PluginFolder, tmp_path: Path) -> None:
    root = folder.root
    write(root, {f"in/{number}.md": "x" for number in range(5)})
    write(root, {"in/a/b/c/deep.md": "x", "in/.git/config": SECRET, "in/node_modules/x.js": "x"})
    (root / "in" / "loop").symlink_to(root)
    (root / "in" / "out").symlink_to(tmp_path)
    listing = folder.files("in", 100, 2)
    assert {name for name, _ in listing.files} == {*(f"{number}.md" for number in range(5)), "notes.md"}
    assert not listing.is_whole
    assert folder.files("in", 100, 3).is_whole
    assert len(folder.files("in", 2, 3).files) == 2


def test_a_folder_with_too_many_entries_is_not_gone_through(folder: PluginFolder) -> None:
    for number in range(MAX_ENTRIES + 1):
        (folder.root / "in" / f"{number}").touch()
    assert refusal(folder, "in/notes.md") == "is in a folder with more than 2,000 entries"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.sampled_from(["..", ".", "", "in", "up", "notes.md", "secret.txt", "/", "\\", "plug"]), max_size=8))
def test_no_path_of_any_names_reaches_what_lies_outside(folder: PluginFolder, names: list[str]) -> None:
    link = folder.root / "up"
    if not link.is_symlink():
        link.symlink_to("..")
    with suppress(PluginFault):
        assert folder.text("/".join(names), LIMIT) == "inside"


@given(st.text(max_size=60))
def test_no_path_of_any_characters_reaches_a_file(path: str) -> None:
    with pytest.raises(PluginFault):
        PluginFolder(Path(__file__).parent).text(f"../{path}", LIMIT)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{\n "a": 1,\n "b" 2\n}', "x.json:3: is not valid JSON: Expecting ':' delimiter, column 6"),
        ("[" * 100, "x.json: nests objects and lists more than 32 levels deep"),
        ('{"a": NaN}', "x.json: contains NaN, Infinity or a number with too many digits"),
        ('{"a": ' + "9" * 5_000 + "}", "x.json: contains NaN, Infinity or a number with too many digits"),
    ],
)
def test_what_is_no_json_is_said_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    write(tmp_path, {"x.json": text})
    with pytest.raises(PluginFault) as caught:
        PluginFolder(tmp_path).json("x.json", 10_000)
    assert str(caught.value) == says


nested = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), nested, max_size=4))
def test_the_line_of_each_field_of_any_json_is_known(value: dict[str, object]) -> None:
    lines = json_lines(text := json.dumps(value, indent=1))
    for key in value:
        assert text.splitlines()[line_of(lines, (key,)) - 1].startswith(f" {json.dumps(key)}:")
