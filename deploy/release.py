"""Whether a tag may become a release, and its text: `python -m deploy.release v0.1.0 [--notes URL]`.

The tag is "v" and the version of pyproject.toml, CHANGELOG.md has a section of that version with a date, and
docs/upgrading.md says what to do for it. URL is the address of the repository, to which links of the section lead.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_SECTION: Final = re.compile(r"^## \[([^\]]+)\](.*)$", re.MULTILINE)
_LINKED: Final = re.compile(r"\]\((?=docs/|deploy/|[A-Z]+\.md)")  # The beginning of a link to a file of the repository
_TARGETS: Final = re.compile(r"^\[[^\]]+\]: \S+\n?", re.MULTILINE)
_DATE: Final = re.compile(r" - \d{4}-\d{2}-\d{2}")


def notes_of(tag: str, pyproject: str, changelog: str, upgrading: str, address: str = "") -> str:
    """What the changelog says of this release. Raises ValueError, in one sentence, where it may not become one."""
    version = tomllib.loads(pyproject)["project"]["version"]
    if tag != f"v{version}":
        raise ValueError(f"The tag is {tag}, and pyproject.toml says {version}: they must agree.")
    sections = [*_SECTION.finditer(changelog)]
    for number, section in enumerate(sections):
        if section[1] == version:
            if not _DATE.fullmatch(section[2]):
                raise ValueError(f'CHANGELOG.md gives {version} no date: write "## [{version}] - 2026-01-31".')
            if f"\n### {version}\n" not in upgrading:
                raise ValueError(f'docs/upgrading.md has no "### {version}": say there what to do for it.')
            end = sections[number + 1].start() if number + 1 < len(sections) else len(changelog)
            said = _TARGETS.sub("", changelog[section.end() : end]).strip()
            return f"{_LINKED.sub(f']({address}/blob/{tag}/', said) if address else said}\n"
    raise ValueError(f'CHANGELOG.md has no section "## [{version}]": give what is unreleased this version.')


def main(arguments: list[str]) -> int:
    tag, *options = arguments
    files = ("pyproject.toml", "CHANGELOG.md", "docs/upgrading.md")
    pyproject, changelog, upgrading = ((ROOT / file).read_text(encoding="utf-8") for file in files)
    try:
        notes = notes_of(tag, pyproject, changelog, upgrading, "".join(options[1:]))
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(notes if options[:1] == ["--notes"] else f"{tag} can be released.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
