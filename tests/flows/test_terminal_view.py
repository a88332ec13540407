"""A person's view of their memory at the terminal: real processes, pipes and a real database."""

import json
from pathlib import Path

from bot.chat.exit_codes import Exit
from bot.memory import texts as memory_texts
from tests.flows.test_terminal import cogency


def test_entries_are_seen_deleted_corrected_and_exported(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    told = "remember that my boat is blue\nremember that tea is hot\n"
    typed = f"{told}/memory\n/memory delete 1\n/memory export {path}\n"
    ran = cogency(tmp_path, "chat", typed=typed)
    assert "- **1** my boat is blue" in ran.stdout
    listed, _, after = ran.stdout.partition("Deleted entry 1")
    assert "- **2** tea is hot" in listed
    left = after.partition(memory_texts.MEMORY_HEADING)[2]
    assert "- **2** tea is hot" in left
    assert "boat" not in left
    exported = json.loads(path.read_text())
    assert [fact["text"] for fact in exported["facts"]] == ["tea is hot"]
    kept = cogency(tmp_path, "chat", typed=f"/memory export {path}\n/memory export {tmp_path}/none/mine.json\n")
    assert kept.returncode == Exit.FAILED
    assert kept.stderr.rstrip().endswith(
        "mine.json could not be written (No such file or directory). Choose another file or folder."
    )
    assert "already exists, so nothing was written." in kept.stderr
    assert kept.stdout == ""
    assert json.loads(path.read_text()) == exported
    again = cogency(tmp_path, "chat", typed="/memory correct 2 tea is cold\n/memory\n/memory delete 1\n")
    assert "- **2** tea is cold" in again.stdout
    assert "Your list does not have an entry 1" in again.stderr


def test_the_first_reply_alone_says_what_is_kept_and_a_setting_silences_it(tmp_path: Path) -> None:
    first = cogency(tmp_path, "chat", typed="hello\nhello again\n")
    assert first.stdout.count(memory_texts.KEEPS) == 1
    assert memory_texts.KEEPS not in cogency(tmp_path, "chat", typed="hello\n").stdout
    (tmp_path / "new").mkdir()
    assert (
        memory_texts.KEEPS not in cogency(tmp_path / "new", "chat", typed="hello\n", COGENCY_FIRST_KEEPS="off").stdout
    )
