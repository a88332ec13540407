"""Pages in a headless Chromium, and their accessibility violations as found by axe.

npm installs the browser, compressed, with the libraries that a minimal machine lacks; Playwright drives it. Only this
machine can be reached: any other request of a page is refused and is an error of the test.
"""

import asyncio
import io
import os
import platform
import tarfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from filelock import FileLock
from playwright.async_api import Browser, Page, Request, async_playwright

from tests.films.camera import find_chromium
from tests.patience import PATIENCE_S

NODE_MODULES: Final = Path(__file__).parent / "node" / "node_modules"
PACKED: Final = NODE_MODULES / "@sparticuz" / "chromium" / "bin"
UNPACKED: Final = NODE_MODULES / ".chromium"
AXE: Final = NODE_MODULES / "axe-core" / "axe.min.js"
# Only violations leave the page: a report has each element that passes a rule, too, and takes seconds to send.
_VIOLATED: Final = "async tags => (await axe.run({runOnly: tags, resultTypes: ['violations']})).violations"
# The rules of WCAG's level AA, by axe's names.
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
# Tests may run as root, where Chromium has no sandbox.
OPTIONS: Final = (
    *("--no-sandbox", "--no-zygote", "--disable-gpu", "--font-render-hinting=none"),
    # To ask Playwright about each request would take longer, and nothing would stay in the browser's cache.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]",
)
# The same fonts on each machine, so that a page has the same width on all.
FONTS: Final = "<fontconfig><dir>{0}/fonts</dir><cachedir>{0}/cache</cachedir></fontconfig>"
HERE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
OF_PAGE: Final = ("data:", "blob:", "about:")  # They leave no browser
WAIT_MS: Final = 20_000  # For a page to change: long enough for a busy machine
DESKTOP: Final = (1280, 800)
PHONE: Final = (390, 844)


def _unpacked(name: str) -> bytes:
    unpack: Callable[[bytes], bytes] = import_module("brotli").decompress  # it has no types
    return unpack((PACKED / name).read_bytes())


def chromium() -> Path:
    """Return the path of the browser, unpacked by the first caller. npm has it for x86_64; else find one."""
    if platform.machine() != "x86_64":
        return Path(find_chromium(""))
    with FileLock(NODE_MODULES / ".chromium.lock"):
        done = UNPACKED / "done"
        if not done.exists():
            UNPACKED.mkdir(exist_ok=True)
            program = UNPACKED / "chromium"
            program.write_bytes(_unpacked("chromium.br"))
            program.chmod(0o755)
            for name in ("al2023", "fonts", "swiftshader"):
                with tarfile.open(fileobj=io.BytesIO(_unpacked(f"{name}.tar.br"))) as archive:
                    archive.extractall(UNPACKED, filter="data")
            (UNPACKED / "fonts.conf").write_text(FONTS.format(UNPACKED))
            done.touch()
    return UNPACKED / "chromium"


def _environment() -> dict[str, str | float | bool]:
    libraries = os.pathsep.join(filter(None, [str(UNPACKED / "lib"), str(UNPACKED / "al2023" / "lib")]))
    fonts = str(UNPACKED / "fonts.conf")
    return {"PATH": os.environ["PATH"], "HOME": str(UNPACKED), "LD_LIBRARY_PATH": libraries, "FONTCONFIG_FILE": fonts}  # noqa: TID251 -- a process needs PATH


@asynccontextmanager
async def open_browser() -> AsyncGenerator[Browser, None]:
    """Start one browser for the pages of a test module."""
    program = await asyncio.to_thread(chromium)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=OPTIONS, env=_environment(), chromium_sandbox=False
        )
        try:
            yield browser
        finally:
            await browser.close()


@dataclass(frozen=True, slots=True)
class Opened:
    """A page, and its errors so far: exceptions, the console's errors, and requests to other hosts."""

    page: Page
    wrong: list[str]


@asynccontextmanager
async def open_page(
    browser: Browser,
    *,
    size: tuple[int, int] = DESKTOP,
    scheme: Literal["light", "dark"] = "light",
    sharpness: float = 1,
) -> AsyncGenerator[Opened, None]:
    """Open a page with its own cookies. `size`: in CSS pixels; `sharpness`: pixels of a screenshot for each CSS pixel,
    in both directions.
    """
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        reduced_motion="reduce",
        device_scale_factor=sharpness,
    )
    context.set_default_timeout(WAIT_MS)
    page, wrong = await context.new_page(), list[str]()

    def note(request: Request) -> None:
        if urlsplit(request.url).hostname not in HERE and not request.url.startswith(OF_PAGE):
            wrong.append(f"asked {request.url}")

    context.on("request", note)
    page.on("pageerror", lambda error: wrong.append(f"raised {error}"))
    page.on("console", lambda message: wrong.append(f"said {message.text}") if message.type == "error" else None)
    try:
        yield Opened(page, wrong)
    finally:
        await context.close()


@cache
def _axe() -> str:
    return f"{AXE.read_text()};0"  # 0: else what the program ends with would be sent back


async def violations(page: Page, *, rules: Sequence[str] = RULES) -> list[str]:
    """Return a line for each rule that axe finds violated and each element. It runs in the page, bypassing the CSP."""
    async with asyncio.timeout(PATIENCE_S):  # Playwright bounds no evaluation, and a crashed page answers none
        session = await page.context.new_cdp_session(page)
        try:
            await session.send("Page.setBypassCSP", {"enabled": True})  # pyright: ignore[reportUnknownMemberType] -- dicts of theirs
            # Playwright would parse this program three times, to see whether it is a function.
            await session.send("Runtime.evaluate", {"expression": _axe()})  # pyright: ignore[reportUnknownMemberType] -- as above
            violated: Sequence[Mapping[str, Any]] = await page.evaluate(_VIOLATED, list(rules))
        finally:
            await session.detach()
    return [f"{rule['id']}: {rule['help']}: {node['html'][:200]}" for rule in violated for node in rule["nodes"]]


async def overflows(page: Page) -> bool:
    """Return whether the page is wider than the window."""
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
