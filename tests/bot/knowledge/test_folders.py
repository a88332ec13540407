"""Which files of folders are documents, and what they are called."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused
from agent.memory.documents import MAX_NAME_CHARS
from bot.knowledge.folders import FoundFiles, LeftOut, document_name, find_files

pytestmark = pytest.mark.slow  # files


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the text of {name}")


def names(found: FoundFiles) -> list[str]:
    return [file.name for file in found.files]


def test_the_files_of_a_folder_are_called_by_their_paths_in_order(tmp_path: Path) -> None:
    write(tmp_path / "handbook", "b.md", "guides/README.md", "README.md", "guides/a/deep.txt", "Makefile")
    found = find_files([str(tmp_path / "handbook")])
    assert names(found) == [
        "handbook/Makefile",
        "handbook/README.md",
        "handbook/b.md",
        "handbook/guides/README.md",
        "handbook/guides/a/deep.txt",
    ]
    assert (found.folders, found.left_out, found.unread) == (["handbook/"], {}, ())


def test_hidden_files_locks_of_office_programs_and_what_has_no_text_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "h", "a.md", ".env", ".git/config", "~$a.docx", "logo.png", "song.mp3", "old.zip")
    (tmp_path / "h" / "empty.md").touch()
    found = find_files([str(tmp_path / "h")])
    assert names(found) == ["h/a.md"]
    assert found.left_out == {LeftOut.HIDDEN: 3, LeftOut.KIND: 3, LeftOut.EMPTY: 1}


def test_no_link_leads_out_of_the_folder_or_reads_a_file_twice(tmp_path: Path) -> None:
    write(tmp_path, "secret.md", "elsewhere/pay.md", "h/guide.md", "h/.data/real.md", "h/.data/in/x.md")
    links = {
        "passwords.md": "../secret.md",
        "absolute.md": str(tmp_path / "secret.md"),
        "above": "..",
        "itself": ".",
        "broken.md": "nowhere.md",
        "loop.md": "loop.md",
        "other": "../elsewhere",
        "latest.md": "guide.md",
        "config.md": ".data/real.md",
        "inner": ".data/in",
    }
    for name, target in links.items():
        (tmp_path / "h" / name).symlink_to(target)
    found = find_files([str(tmp_path / "h")])
    # As Kubernetes mounts a ConfigMap: a visible link to a hidden file of the folder is that file's name.
    assert names(found) == ["h/guide.md", "h/config.md", "h/inner/x.md"]
    assert found.left_out == {LeftOut.HIDDEN: 1, LeftOut.LINK: 8}


def test_a_folder_that_is_a_link_keeps_the_name_of_the_link(tmp_path: Path) -> None:
    write(tmp_path, ".worktrees/4f2a/a.md")
    (tmp_path / "handbook").symlink_to(".worktrees/4f2a")
    assert names(find_files([str(tmp_path / "handbook")])) == ["handbook/a.md"]


def test_files_and_patterns_name_documents_as_learn_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "docs/a.md", "docs/b.md", "docs/.hidden.md", "docs/sub/a.md")
    monkeypatch.chdir(tmp_path)
    assert names(find_files(["docs/a.md", "docs/.hidden.md"])) == ["a.md", ".hidden.md"]
    assert names(find_files(["docs/*.md"])) == ["a.md", "b.md"]
    assert names(find_files([str(tmp_path / "docs" / "*.md")])) == ["a.md", "b.md"]
    assert names(find_files(["docs/a.md", "docs/*.md", "./docs/b.md"])) == ["a.md", "b.md"]
    assert names(find_files(["."])) == [f"{tmp_path.name}/docs/{name}" for name in ("a.md", "b.md", "sub/a.md")]


def test_two_files_of_one_name_do_not_replace_each_other(tmp_path: Path) -> None:
    write(tmp_path, "x/a.md", "y/a.md")
    found = find_files([str(tmp_path / "x" / "a.md"), str(tmp_path / "y" / "a.md")])
    assert [(file.name, "same name" in file.fault) for file in found.files] == [("a.md", False), ("a.md", True)]


def test_what_is_not_there_or_is_too_much_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "h", "a", "b", "c")
    with pytest.raises(Refused, match="There is no file or folder"):
        find_files([str(tmp_path / "nowhere")])
    with pytest.raises(Refused, match="No file matches"):
        find_files([str(tmp_path / "h" / "*.md")])
    with pytest.raises(Refused, match="There is no file or folder"):
        find_files(["a\0b"])
    with pytest.raises(Refused, match="more than 2 files"):
        find_files([str(tmp_path / "h")], most=2)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes in folders")
def test_a_pipe_in_a_folder_is_not_opened(tmp_path: Path) -> None:
    write(tmp_path / "h", "a.md")
    os.mkfifo(tmp_path / "h" / "pipe.md")
    assert names(find_files([str(tmp_path / "h")])) == ["h/a.md"]


_PART = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=90)


@given(st.lists(_PART, min_size=1, max_size=6).map("/".join))
def test_a_documents_name_is_one_bounded_line_and_keeps_its_folder(path: str) -> None:
    name = document_name(path)
    assert 0 < len(name) <= MAX_NAME_CHARS
    assert name.isprintable()
    if len(path) <= MAX_NAME_CHARS and path.isprintable() and " " not in path:
        assert name == path


def test_long_paths_with_one_end_stay_two_documents() -> None:
    ends = [document_name(f"handbook/{folder * 80}/{'x' * 80}/read.md") for folder in "ab"]
    assert ends[0] != ends[1]
    assert all(name.startswith("handbook/…") and name.endswith("/read.md") for name in ends)
