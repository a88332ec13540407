"""The documents as a site: `make docs`, or `python -m docs.site.build`, writes it into `build/site`.

Rules
- A page stands in the repository once, and its links work there. Here they are made to work in the site, and where
  they call a page by its file, they call it by its title.
- A link leads to a page or to a file, which then is part of the site. A link or an anchor that leads nowhere fails.
- A browser that shows the site asks no other host for anything, and neither does the build.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Final

ROOT: Final = Path(__file__).parents[2]
OUT: Final = ROOT / "build"
# Pages that are not called in the site as they are below `docs`.
OUTSIDE: Final = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "vulnerabilities.md",
    "deploy/README.md": "deploy.md",
    "docs/adr/README.md": "adr/index.md",
}
# The repository's first page is not a page of the site, which has its own; a link to the one leads to the other.
FRONT: Final = {"README.md": "index.md"}
# Pages about what was: the search shows answers of today, not these words of another time beside them.
NOT_SEARCHED: Final = ("CHANGELOG.md", "docs/adr/", "docs/seeds.md")
NO_SEARCH: Final = "---\nsearch:\n  exclude: true\n---\n\n"
ASSETS: Final = ("films", "pictures")  # Folders of `docs` with what pages show
FILES: Final = "files"  # Where files of the repository to which pages link are put
LINK: Final = re.compile(r"((?:\[[^\[\]]*)?\]\()([^()\s]+)(\))")
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)
_LOADING: Final = {"href": {"link"}, "src": {"script", "img", "iframe", "video", "audio", "source", "embed"}}
_FOREIGN: Final = re.compile(r"(?:https?:)?//", re.IGNORECASE)
_IN_STYLES: Final = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)", re.IGNORECASE)


class BrokenLink(Exception):
    """A page and a link in it that leads nowhere."""


def pages() -> dict[str, str]:
    """What becomes a page: its path in the repository, and the one in the site."""
    below = sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").rglob("*.md"))
    return {path: path.removeprefix("docs/") for path in below} | OUTSIDE


def parts(text: str) -> Iterator[tuple[bool, str]]:
    """The text in pieces, each with whether it is code: fenced blocks, and code within a line."""
    for number, part in enumerate(re.split(r"(^```.*?^```|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)):
        yield bool(number % 2), part


def staged(path: str, text: str) -> tuple[str, set[str]]:
    """The page of that path as the site has it, and the files of the repository to which it links.

    Raises BrokenLink.
    """
    known, linked = pages() | FRONT, set[str]()

    def moved(match: re.Match[str]) -> str:
        target, mark, anchor = match[2].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        there = normpath((PurePosixPath(path).parent / target).as_posix())
        if (ROOT / there).is_dir() and f"{there}/README.md" in known:
            there = f"{there}/README.md"
        before = match[1]
        if there in known:
            place = known[there]
            if before[1:-2] in {there, target}:  # in the repository a page is called by its file
                before = f"[{title(there)}]("
        elif not (ROOT / there).is_file():
            raise BrokenLink(f"{path}: {match[2]} leads nowhere")
        elif there.startswith(tuple(f"docs/{folder}/" for folder in ASSETS)):
            place = there.removeprefix("docs/")
        else:
            linked.add(there)
            place = file_place(there)
        return f"{before}{relpath(place, PurePosixPath(known[path]).parent)}{mark}{anchor}{match[3]}"

    return "".join(part if is_code else LINK.sub(moved, part) for is_code, part in parts(text)), linked


def title(path: str) -> str:
    """How a page is called."""
    found = _TITLE.search((ROOT / path).read_text(encoding="utf-8"))
    return found[1] if found else path


def file_place(path: str) -> str:
    """Where a file of the repository lies in the site: servers hide what begins with a dot."""
    return f"{FILES}/{path.lstrip('.')}"


def stage(out: Path) -> None:
    """Write what the site is built from. Raises BrokenLink."""
    shutil.rmtree(out, ignore_errors=True)
    files: set[str] = set()
    for path, place in pages().items():
        text, linked = staged(path, (ROOT / path).read_text(encoding="utf-8"))
        files |= linked
        (out / "pages" / place).parent.mkdir(parents=True, exist_ok=True)
        head = NO_SEARCH if path.startswith(NOT_SEARCHED) else ""
        (out / "pages" / place).write_text(head + text, encoding="utf-8")
    for path in files:
        (out / "pages" / file_place(path)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, out / "pages" / file_place(path))
    for folder in ASSETS:
        if (ROOT / "docs" / folder).is_dir():
            shutil.copytree(ROOT / "docs" / folder, out / "pages" / folder)
    for name in ("extra.css", "extra.js"):
        shutil.copyfile(ROOT / "docs/site" / name, out / "pages" / name)
    shutil.copyfile(ROOT / "docs/site/zensical.toml", out / "zensical.toml")


class _Loaded(HTMLParser):
    """What a browser loads by itself to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "link" and given.get("rel") in {"canonical", "next", "prev", "alternate"}:
            return
        self.addresses += [given[name] or "" for name, tags in _LOADING.items() if tag in tags and name in given]


def foreign(html: str) -> list[str]:
    """Addresses of other hosts that a browser would ask when it shows this page."""
    reader = _Loaded()
    reader.feed(html)
    return [one for one in [*reader.addresses, *_IN_STYLES.findall(html)] if _FOREIGN.match(one)]


def asked(site: Path) -> list[str]:
    """Each page or style of the site with an address of another host that it would have a browser ask."""
    pages_ = ((page, foreign(page.read_text(encoding="utf-8"))) for page in site.rglob("*.html"))
    styles = ((style, _IN_STYLES.findall(style.read_text(encoding="utf-8"))) for style in site.rglob("*.css"))
    return [f"{file.relative_to(site)}: {one}" for found in (pages_, styles) for file, each in found for one in each]


def main() -> int:
    try:
        stage(OUT)
    except BrokenLink as error:
        sys.stderr.write(f"{error}\n")
        return 1
    # In a process of its own, in that folder: it takes paths as seen from there.
    built = subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict"], cwd=OUT, check=False)
    if built.returncode:
        return built.returncode
    if found := asked(OUT / "site"):
        sys.stderr.write("".join(f"{one}\n" for one in found))
        return 1
    where = (OUT / "site").relative_to(ROOT)
    sys.stdout.write(
        f"The site is in {where}; `python3 -m http.server -d {where}` shows it at http://localhost:8000.\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
