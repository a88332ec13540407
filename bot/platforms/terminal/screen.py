"""A growing answer on a terminal: whole blocks are printed once, only the unfinished tail is drawn again.

The rule that keeps long answers from flickering: what is drawn again never exceeds the screen, and what leaves the
screen was printed for good. The scrollback holds each answer once.
"""

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import Segment
from rich.text import Text

from bot.platforms.terminal.blocks import ending, printable, settled_chars
from bot.platforms.terminal.markdown import Answer


class _Tail:
    """The end of `content` that fits on the screen."""

    def __init__(self, content: RenderableType) -> None:
        self._content = content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._content, options.update(height=None), pad=False)
        # One line less than the screen: its first line must stay where the cursor can go back to.
        for line in lines[-(console.height - 1) :]:
            yield from line
            yield Segment.line()


class LiveDisplay:
    """Shows one reply. `show` takes the whole text so far; texts may also shrink or differ at their end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._settled = ""
        self._tail = ""
        self._status = ""
        self._begun = False
        self._closed = False

    def show(self, text: str) -> None:
        if self._closed:
            return
        text = printable(text)
        if not text.startswith(self._settled):
            self._start_again()
        tail = text[len(self._settled) :]
        self._settle(tail, settled_chars(tail))

    def status(self, text: str) -> None:
        if self._closed:
            return
        self._status = printable(text)
        self._draw()

    def trace(self, text: str) -> None:
        if not self._closed:
            line = Text(printable(text), style="dim")
            self._draw(Group("", line) if self._begun else line)

    def fail(self) -> None:
        """A person reads it anyway."""

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._status = ""
        self._settle(self._tail, len(self._tail))
        self._live.stop()
        if self._begun:
            self._console.print()

    def _settle(self, tail: str, chars: int) -> None:
        """Print the first `chars` of `tail` for good, and draw the rest."""
        whole, self._tail = tail[:chars], tail[chars:]
        self._settled += whole
        self._draw(self._block(whole))

    def _start_again(self) -> None:
        """What was printed has been replaced: a terminal cannot take it back, so the new text follows below."""
        self._tail = ""
        self._draw(self._block("---"))
        self._settled = ""

    def _block(self, text: str) -> RenderableType | None:
        """Markdown below what is printed already, with the blank line between blocks."""
        if not text.strip():
            return None
        return Group("", Answer(text)) if self._begun else Answer(text)

    def _draw(self, block: RenderableType | None = None) -> None:
        """One write: the old tail goes, `block` is printed in its place, the new tail follows."""
        self._begun = self._begun or block is not None
        status = Text(self._status, style="dim") if self._status else None
        parts = [part for part in (self._block(ending(self._tail, self._console.height)), status) if part is not None]
        if block is not None:
            # rich draws what it drew last below whatever is printed: the old tail has to go first.
            self._live.update(_Tail(Group()), refresh=self._live.is_started)
            self._console.print(block)
        self._live.update(_Tail(Group(*parts)), refresh=self._live.is_started)
        if parts and not self._live.is_started:
            self._live.start(refresh=True)
