"""`/code`: the Python code that ran for a reply, and the numbers of its charts.

Rules
  Whoever can read a reply can see how it was computed: the button below it leads here, and only its presser sees the
  answer. A typed number names a reply of this channel, for its readers; without one, the newest of one's own is meant.
  Code and numbers may hold what the reply leaves out: of a reply that was drawn from what not all its readers may read,
  only the asker sees them.
  What is shown is read from the records of the turn's actions, so it is forgotten with the turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.errors import Refused
from agent.memory.audience import WIDE, label
from agent.messages import ToolCall
from agent.ports.replies import Replies
from agent.ports.tools import Asker
from agent.shown_replies import Answered
from bot.chat.commands import declaration
from bot.chat.panels import Panel, PanelAction, PanelFile
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import is_exact_in_code, literal
from bot.python import texts
from bot.python.chart_data import NAME as CHART
from bot.python.chart_data import ChartError, chart_of, markdown_table
from bot.python.code_argument import code_of

PYTHON: Final = "python"
NUMBERS: Final = "numbers"  # Before the number of a reply: its charts' tables
_NONE: Final = {PYTHON: texts.NO_CODE, CHART: texts.NO_NUMBERS}
_NONE_HERE: Final = {PYTHON: texts.NO_CODE_HERE, CHART: texts.NO_NUMBERS_HERE}
SHOWN_CHARS: Final = 2_500  # Of code in a panel: Slack's sections hold 3,000


@dataclass(frozen=True, slots=True)
class CodeService:
    """What `/code` needs: the replies, and what their turns called."""

    replies: Replies

    async def calls(self, asker: Asker, words: str, tool: str) -> Sequence[ToolCall]:
        """Return what the meant reply called. Raises Refused if there is none that this person may see here."""
        if words and not words.isdecimal():
            raise Refused(texts.WHICH_REPLY)
        if words:
            reply = await self.replies.by_turn(int(words[:18]))
        else:
            reply = await self.replies.newest_with([tool], asker.person.id, asker.channel)
        if reply is None or not may_see(asker, reply):
            raise Refused(_NONE[tool] if words else _NONE_HERE[tool])
        if reply.drawn_from != WIDE and reply.person != asker.person.id:
            raise Refused(texts.CODE_OF_ASKER)
        calls = await self.replies.calls(reply.turn, [tool])
        if not calls:
            raise Refused(_NONE[tool])
        return calls


def may_see(asker: Asker, reply: Answered) -> bool:
    """Return whether the reply is one that this person reads where they are. Pure."""
    is_here = not asker.channel or reply.channel == asker.channel
    return is_here and (reply.person == asker.person.id or reply.audience == label(asker.place.audience))


async def show(service: CodeService, call: declaration.CommandCall) -> Panel:
    asker, words = await call.caller.asker(), call.words.strip()
    if words.partition(" ")[0].casefold() == NUMBERS:
        return numbers_panel(await service.calls(asker, words.partition(" ")[2].strip(), CHART))
    return code_panel(await service.calls(asker, words, PYTHON))


def code_panel(calls: Sequence[ToolCall]) -> Panel:
    """Return the code of these calls, as a file where it is long or a message would not show it as it is. Pure."""
    scripts = [code for call in calls if (code := code_of(call.args).strip("\n"))]
    if not scripts:
        return Panel(texts.NO_CODE, refused=True)
    heads = [texts.RUN_OF.format(number=number, runs=len(scripts)) for number in range(1, len(scripts) + 1)]
    numbered = len(scripts) > 1
    whole = (
        "\n\n".join(f"# {head}\n{code}" for head, code in zip(heads, scripts, strict=True)) if numbered else scripts[0]
    )
    file = PanelFile("code.py", whole)
    if len(whole) > SHOWN_CHARS or not is_exact_in_code(whole):
        return Panel(texts.CODE_IN_FILE, file=file)
    blocks = [f"```python\n{code}\n```" for code in scripts]
    return Panel(
        "\n".join(f"{head}\n{block}" for head, block in zip(heads, blocks, strict=True)) if numbered else blocks[0]
    )


def numbers_panel(calls: Sequence[ToolCall]) -> Panel:
    """Return the tables of these charts. Pure."""
    tables = list[str]()
    for call in calls:
        try:
            chart = chart_of(call.args)
        except ChartError:
            continue
        tables.append(f"**{literal(chart.title)}**\n\n{markdown_table(chart)}")
    text = "\n\n".join(tables)
    if not text:
        return Panel(texts.NO_NUMBERS, refused=True)
    return Panel(text) if len(text) <= SHOWN_CHARS else Panel(texts.NUMBERS_IN_FILE, file=PanelFile("numbers.md", text))


async def press_code(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """The code of the reply above the button."""
    return PanelAction(reply_texts.CODE_BUTTON, str(pressed.turn))


async def press_numbers(_: object, pressed: declaration.PressedReply) -> PanelAction:
    """The numbers of the charts of the reply above the button."""
    return PanelAction(reply_texts.NUMBERS_BUTTON, f"{NUMBERS} {pressed.turn}")


COMMAND = declaration.Command(
    name="code",
    summary="See the Python code behind an answer, or the numbers behind its charts",
    run=show,
    presses={ReplyAction.CODE: press_code, ReplyAction.NUMBERS: press_numbers},
    arguments=(declaration.Argument("words", "“numbers” shows the numbers behind a chart", hint="[numbers]"),),
    bare=False,
    examples={"": "see the code behind my last computed answer", "numbers": "see the numbers behind my last chart"},
)
