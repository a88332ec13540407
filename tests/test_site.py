"""The pages become a site in which every link and anchor leads somewhere, and which asks no other host for anything.

That the site's own program builds it without a warning, `make docs` shows in CI: the tests do without that program.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from posixpath import normpath
from typing import Any, Final, cast

import pytest

from benchmarks.house_code import ROOT
from docs.site import build
from docs.site.build import LINK, BrokenLink, asked, foreign, pages, parts, stage, staged

HEADING: Final = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)


def headings(text: str) -> set[str]:
    """The anchors of a page, as GitHub makes them; the site's program makes the same of the headings that we write."""
    prose = "".join(re.sub(r"[^\n]", "x", part) if part.startswith("```") else part for _, part in parts(text))
    # An underscore within a word is no emphasis, and stays: "COGENCY_ALLOW" has the anchor "cogency_allow".
    said = (re.sub(r"\]\([^)]*\)|[`*\[\]]|\b_\B|\B_\b", "", heading) for heading in HEADING.findall(prose))
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in said}


def anchors(page: str) -> Iterator[tuple[str, str]]:
    """Links of a page with an anchor: the page to which they lead, and the anchor."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for is_code, part in parts(text):
        for _, link, _ in [] if is_code else LINK.findall(part):
            target, mark, anchor = link.partition("#")
            if mark and "://" not in target:
                yield normpath((Path(page).parent / target).as_posix()) if target else page, anchor


@pytest.mark.parametrize("page", [*pages(), "README.md"])
def test_every_anchor_to_which_a_page_links_is_a_heading(page: str) -> None:
    gone = [
        f"{there}#{anchor}"
        for there, anchor in anchors(page)
        if anchor not in headings((ROOT / there).read_text(encoding="utf-8"))
    ]
    assert gone == []


def named(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case _:
            below = cast("list[Any] | dict[str, Any]", value)
            for one in below.values() if isinstance(below, dict) else below:
                yield from named(one)


def test_every_page_stands_in_the_navigation_once() -> None:
    navigation = [*named(tomllib.loads((ROOT / "docs/site/zensical.toml").read_text())["project"]["nav"])]
    assert sorted(navigation) == sorted(pages().values())


def test_the_pages_and_every_file_to_which_they_link_are_staged(tmp_path: Path) -> None:
    stage(tmp_path)
    made = {file.relative_to(tmp_path / "pages").as_posix() for file in (tmp_path / "pages").rglob("*.*")}
    assert {*pages().values()} <= made
    for page in pages().values():
        text = (tmp_path / "pages" / page).read_text(encoding="utf-8")
        links = [link for is_code, part in parts(text) if not is_code for _, link, _ in LINK.findall(part)]
        near = [link.partition("#")[0] for link in links if "://" not in link]
        there = {normpath((Path(page).parent / link).as_posix()) for link in near if link}
        assert there <= made


def test_a_link_is_led_to_where_its_page_or_file_lies_in_the_site() -> None:
    others = "[d](https://example.com/x) `[e](no.md)` [f](#here)"
    made, files = staged(
        "docs/web.md", f"[a](memory.md#past-conversations) [b](../SECURITY.md) [c](../.env.example) {others}"
    )
    assert made == f"[a](memory.md#past-conversations) [b](vulnerabilities.md) [c](files/env.example) {others}"
    assert files == {".env.example"}
    assert staged("SECURITY.md", "[docs/web.md](docs/web.md)")[0] == "[The web](web.md)"
    assert staged("SECURITY.md", "[`code`](docs/web.md)")[0] == "[`code`](web.md)"
    assert staged("docs/adr/0001-audience-is-a-place.md", "[a](../../README.md)")[0] == "[a](../index.md)"


def test_a_link_that_leads_nowhere_fails_the_build() -> None:
    with pytest.raises(BrokenLink, match=r"web\.md: nothing\.md leads nowhere"):
        staged("docs/web.md", "[a](nothing.md)")


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://cdn.example/x.js">',
        '<img src="//cdn.example/x.png">',
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<div style="background: url(https://cdn.example/x.png)">',
        "<style>@import 'https://fonts.example/css';</style>",
        '<iframe src="https://video.example/1"></iframe>',
    ],
)
def test_what_a_browser_would_ask_of_another_host_is_noticed(html: str, tmp_path: Path) -> None:
    assert foreign(html)
    (tmp_path / "page.html").write_text(html)
    assert [line.partition(":")[0] for line in asked(tmp_path)] == ["page.html"]


def test_a_link_that_a_reader_may_follow_asks_nobody() -> None:
    assert not foreign(
        '<a href="https://example.com">x</a> <link rel="canonical" href="https://e.com/"> <img src="a.png">'
    )


def test_where_the_repository_s_first_page_is_meant_the_site_s_is_shown() -> None:
    assert build.FRONT["README.md"] in pages().values()
