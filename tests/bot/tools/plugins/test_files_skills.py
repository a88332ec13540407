"""Valid `SKILL.md` files, and the faults of invalid ones."""

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from bot.tools.plugins.files import NO_CHARACTER, PluginFault, PluginFolder, find_skills, parse_skill
from tests.fakes.plugin_folders import SECRET, skill, write
from tests.patience import cpu_s


def fault(text: str, folder: str = "report") -> str:
    with pytest.raises(PluginFault) as caught:
        parse_skill(text, "SKILL.md", folder)
    return str(caught.value)


def test_a_skill_is_its_name_its_description_and_what_stands_below() -> None:
    head = parse_skill(
        "---\nname: report\ndescription: >-\n  Two\n  lines.\n---\n\n# Do\n---\nmore\n", "SKILL.md", "report"
    )
    assert (head.name, head.description, head.body) == ("report", "Two lines.", "# Do\n---\nmore")
    assert head.notes == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# Report", "SKILL.md:1: must begin with a line of three hyphens, followed by its name and description"),
        ("---\nname: report\n", "SKILL.md:1: has no second line of three hyphens after its name and description"),
        ("---\nname: report\n---\n", "SKILL.md:1: has no description"),
        ("---\n# none\n---\n", "SKILL.md:2: needs a name and a description, as in `name: report`"),
        (
            "---\ndescription: x\nname: Report\n---",
            "SKILL.md:3: the name can contain only lowercase letters, digits and single hyphens",
        ),
        ("---\nname: a--b\n---", "SKILL.md:2: the name cannot begin or end with a hyphen or have two in a row"),
        ("---\nname: other\n---", "SKILL.md:2: the name is 'other' but must match its folder, 'report'"),
        (
            "---\nname: ../report\n---",
            "SKILL.md:2: the name can contain only lowercase letters, digits and single hyphens",
        ),
        ("---\nname: report\ndescription: ''\n---", "SKILL.md:3: the description is empty"),
        ("---\nname: report\ndescription: [a]\n---", "SKILL.md:3: the description must be text"),
        (skill("report", "x" * 1_025), "SKILL.md:3: the description has 1,025 characters; the limit is 1,024"),
        ("---\nname: report\nname: report\n---", "SKILL.md:3: has 'name' twice"),
        ("---\nname: report\n? [a]\n: b\n---", "SKILL.md:3: has a field whose name is not text"),
        ("---\nname: &x report\ndescription: *x\n---", "SKILL.md:2: uses a YAML anchor or alias: write the value out"),
        ("---\nm: {a: {b: {c: {d: e}}}}\n---", "SKILL.md:2: nests mappings and lists more than 4 levels deep"),
        (
            "---\nname: report\ndescription: Use it when: asked\n---",
            (
                "SKILL.md:3: is not valid YAML: mapping values are not allowed here; put text that contains a colon "
                "in quotes"
            ),
        ),
        ("---\n" + "a: b\n" * 9_000, "SKILL.md:1: has no second line of three hyphens within 16,000 characters"),
        *(
            (f'---\nname: report\ndescription: "{escape}"\n---', f"SKILL.md:3: {NO_CHARACTER}")
            for escape in ("\\ud800", "\\U00110000", "\\UFFFFFFFF")
        ),
        (
            "---\nname: re\x07port\n---",
            "SKILL.md:2: contains a character that YAML does not allow between its two lines of hyphens",
        ),
    ],
)
def test_a_skill_that_does_not_conform_is_said_with_its_line(text: str, says: str) -> None:
    assert fault(text) == says


def test_what_the_form_does_not_know_and_what_is_not_obeyed_are_notes() -> None:
    more = "allowed-tools: Bash(rm:*)\nmodel: big\nmetadata:\n  author: x\n"
    assert [str(note) for note in parse_skill(skill("report", more=more), "S", "report").notes] == [
        "S:4: 'allowed-tools' is ignored: a skill cannot allow tools",
        "S:5: 'model' is unknown and ignored",
    ]


@given(st.text(max_size=300))
def test_no_text_makes_reading_a_skill_fail_otherwise(text: str) -> None:
    for written in (text, f"---\n{text}\n---\n", f"---\nname: {text}\ndescription: {text}\n---\n"):
        with suppress(PluginFault):
            parse_skill(written, "SKILL.md", "report")


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["[", "{", "- ", "a: ", "? ", "&a ", "*a ", "!", "'", "\n ", "a: b\n", "a:\n ", "|\n"])
def test_no_head_takes_long_to_read(unit: str) -> None:
    began = time.process_time()
    with suppress(PluginFault):
        parse_skill(f"---\n{unit * (15_000 // len(unit))}\n---\n", "SKILL.md", "report")
    assert time.process_time() - began < cpu_s(5)


async def test_a_broken_skill_leaves_the_others_usable(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"SKILL.md": skill("stolen", body=SECRET)})
    root = write(
        tmp_path / "plug",
        {
            "skills/good/SKILL.md": skill("good", body="Do it well."),
            "skills/bad/SKILL.md": "nothing",
            "skills/empty/README.md": "no skill",
            "skills/lower/skill.md": skill("lower"),
            "skills/nested/deeper/SKILL.md": skill("deeper"),
            "skills/loose.md": "no folder",
        },
    )
    (root / "skills/stolen").symlink_to(outside)
    (root / "skills/linked").mkdir()
    (root / "skills/linked/SKILL.md").symlink_to(outside / "SKILL.md")
    (root / "skills/folder/SKILL.md").mkdir(parents=True)
    skills, faults, notes = find_skills(PluginFolder(root), "plug")
    assert ([one.name for one in skills], notes) == (["good"], [])
    assert [str(one) for one in faults] == [
        "skills/bad/SKILL.md:1: must begin with a line of three hyphens, followed by its name and description",
        "skills/folder/SKILL.md: is not a regular file",
        "skills/linked/SKILL.md: points outside the plug-in's folder, so it is not read",
        "skills/stolen: points outside the plug-in's folder, so it is not read",
    ]
    assert await skills[0].read("SKILL.md") == "Do it well."
    for path in ("../bad/SKILL.md", "/etc/passwd", "references/none.md"):
        with pytest.raises(ToolError, match="the file does not exist"):
            await skills[0].read(path)


async def test_a_file_that_is_not_listed_is_not_read(tmp_path: Path) -> None:
    hidden = (".env", ".git/config", "a/.netrc", "node_modules/x/.npmrc", "node_modules/x/index.md")
    root = write(tmp_path, {f"skills/good/{name}": SECRET for name in hidden} | {"skills/good/SKILL.md": skill("good")})
    ((good,), _, _) = find_skills(PluginFolder(root), "plug")
    assert await good.files() == ([], True)
    for name in (*hidden, "a/../.env", "./.env"):
        with pytest.raises(ToolError, match="the file does not exist"):
            await good.read(name)


async def test_a_skill_is_read_as_it_is_now(tmp_path: Path) -> None:
    root = write(tmp_path, {"skills/good/SKILL.md": skill("good", body="Old.")})
    ((good,), _, _) = find_skills(PluginFolder(root), "plug")
    write(root, {"skills/good/SKILL.md": skill("good", body="New."), "skills/good/a/b.md": "More."})
    assert (await good.read("SKILL.md"), await good.read("a/b.md")) == ("New.", "More.")
    assert await good.files() == (["a/b.md"], True)
