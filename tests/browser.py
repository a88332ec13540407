"""Pages in a real Chromium without a window, and what axe finds wrong with them.

The browser comes from npm, packed, with the libraries that a bare machine lacks; Playwright drives it. Nothing but this
machine is reached: whatever else a page asks for is refused and is an error of the test.
"""

import asyncio
import io
import os
import platform
import tarfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from filelock import FileLock
from playwright.async_api import Browser, Page, Route, async_playwright

from tests.films.camera import find_chromium

NODE_MODULES: Final = Path(__file__).parent / "node" / "node_modules"
PACKED: Final = NODE_MODULES / "@sparticuz" / "chromium" / "bin"
UNPACKED: Final = NODE_MODULES / ".chromium"
AXE: Final = NODE_MODULES / "axe-core" / "axe.min.js"
# What WCAG asks of level AA, by the names that axe has for it.
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
# Tests may run as root, where Chromium has no sandbox.
OPTIONS: Final = ("--no-sandbox", "--no-zygote", "--disable-gpu", "--font-render-hinting=none")
# The same on each machine, so that a page is as wide on all of them.
FONTS: Final = "<fontconfig><dir>{0}/fonts</dir><cachedir>{0}/cache</cachedir></fontconfig>"
HERE: Final = frozenset({"127.0.0.1", "localhost", "::1"})
WAIT_MS: Final = 20_000  # For what a page is to show: long enough for a machine that is kept busy
DESK: Final = (1280, 800)
PHONE: Final = (390, 844)


def _unpacked(name: str) -> bytes:
    unpack: Callable[[bytes], bytes] = import_module("brotli").decompress  # it has no types
    return unpack((PACKED / name).read_bytes())


def chromium() -> Path:
    """Where the program lies; unpacked by the first who asks. npm has it for x86_64; elsewhere: one that is there."""
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
                with tarfile.open(fileobj=io.BytesIO(_unpacked(f"{name}.tar.br"))) as one:
                    one.extractall(UNPACKED, filter="data")
            (UNPACKED / "fonts.conf").write_text(FONTS.format(UNPACKED))
            done.touch()
    return UNPACKED / "chromium"


def _environment() -> dict[str, str | float | bool]:
    libraries = os.pathsep.join(filter(None, [str(UNPACKED / "lib"), str(UNPACKED / "al2023" / "lib")]))
    fonts = str(UNPACKED / "fonts.conf")
    return {"PATH": os.environ["PATH"], "HOME": str(UNPACKED), "LD_LIBRARY_PATH": libraries, "FONTCONFIG_FILE": fonts}  # noqa: TID251 -- a process needs one


@asynccontextmanager
async def open_browser() -> AsyncGenerator[Browser, None]:
    """One browser, for the pages of a test module."""
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
    """A page, and what went wrong on it so far: its own errors, its console's, and whom else it asked."""

    page: Page
    wrong: list[str]


@asynccontextmanager
async def open_page(
    browser: Browser,
    *,
    size: tuple[int, int] = DESK,
    scheme: Literal["light", "dark"] = "light",
    sharpness: float = 1,
) -> AsyncGenerator[Opened, None]:
    """A page with cookies of its own. `size`: in CSS pixels; `sharpness`: how many of a picture's each has, in both
    directions.
    """
    context = await browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        reduced_motion="reduce",
        device_scale_factor=sharpness,
    )
    context.set_default_timeout(WAIT_MS)
    page, wrong = await context.new_page(), list[str]()

    async def only_here(route: Route) -> None:
        if urlsplit(route.request.url).hostname in HERE:
            await route.continue_()
            return
        wrong.append(f"asked {route.request.url}")
        await route.abort()

    await context.route("**/*", only_here)
    page.on("pageerror", lambda error: wrong.append(f"raised {error}"))
    page.on("console", lambda said: wrong.append(f"said {said.text}") if said.type == "error" else None)
    try:
        yield Opened(page, wrong)
    finally:
        await context.close()


async def violations(page: Page, *, rules: Sequence[str] = RULES) -> list[str]:
    """What axe finds wrong: a line for each rule and element. It is run as the page's own, whatever its CSP says."""
    session = await page.context.new_cdp_session(page)
    try:
        await session.send("Page.setBypassCSP", {"enabled": True})  # pyright: ignore[reportUnknownMemberType] -- dicts of theirs
        await page.evaluate(AXE.read_text())
        found: Mapping[str, Any] = await page.evaluate("tags => axe.run({runOnly: tags})", list(rules))
    finally:
        await session.detach()
    return [f"{one['id']}: {one['help']}: {node['html'][:200]}" for one in found["violations"] for node in one["nodes"]]


async def overflows(page: Page) -> bool:
    """Whether one would have to scroll sideways to read the page."""
    return bool(await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
