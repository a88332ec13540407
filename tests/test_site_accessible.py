"""axe finds nothing wrong on any page of the site: in light and dark colors, on a desktop and on a phone."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, Literal, NamedTuple

import pytest

from tests.browser import DESKTOP, PHONE, open_browser, open_page, violations
from tests.built_site import built_site
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

PARTS: Final = 4  # axe takes a second on a long page: all of them are too many for one test


class Site(NamedTuple):
    address: str
    pages: list[str]


class Quiet(SimpleHTTPRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing of requests."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = built_site(tmp_path_factory.mktemp("site"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield Site(f"http://127.0.0.1:{server.server_port}", pages_of(folder))
    finally:
        server.shutdown()
        serving.join(PATIENCE_S)
        server.server_close()


def pages_of(folder: Path) -> list[str]:
    return sorted(page.relative_to(folder).as_posix() for page in folder.rglob("*.html"))


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("scheme", "size"), [("light", DESKTOP), ("dark", PHONE)])
async def test_axe_finds_no_violation_on_any_page(
    scheme: Literal["light", "dark"], size: tuple[int, int], part: int, site: Site
) -> None:
    pages = site.pages[part::PARTS]
    assert len(pages) > 5
    async with open_browser() as browser, open_page(browser, scheme=scheme, size=size) as opened:
        found: dict[str, list[str]] = {}
        for page in pages:
            await opened.page.goto(f"{site.address}/{page}")
            found[page] = await violations(opened.page)
        assert {page: each for page, each in found.items() if each} == {}
        assert opened.wrong == []
