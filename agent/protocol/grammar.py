"""The delimiter protocol's words: tags, fields, limits, and the text that teaches a model to use them. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class BlockKind(StrEnum):
    """A kind of block, by the name of its tag."""

    THINK = "think"
    WORKSPACE = "workspace"
    EXECUTE = "execute"
    RESULTS = "results"
    SUMMARY = "summary"


TAG_NAMES = {kind.value: kind for kind in BlockKind} | {
    "thinking": BlockKind.THINK,
    "thought": BlockKind.THINK,
    "tool_call": BlockKind.EXECUTE,
    "tool_calls": BlockKind.EXECUTE,
    "function_call": BlockKind.EXECUTE,
    "tool_response": BlockKind.RESULTS,
}
"""Every name that is read as a tag. Those that are not a kind's own are what models were trained on elsewhere."""

WORKSPACE_FIELDS = ("objective", "understanding", "approach", "discoveries")
SUMMARY_FIELDS = ("goal", "progress", "current_approach", "key_findings", "next_focus")

WORKSPACE_SCHEMA = (
    '<workspace>{"objective": "…", "understanding": "…", "approach": "…", "discoveries": "…"}</workspace>'
)
"""One line, as a model is to write it."""

SUMMARY_SCHEMA = (
    '<summary>{"goal": "…", "progress": "…", "current_approach": "…", "key_findings": "…", "next_focus": "…"}</summary>'
)

STOP_SEQUENCE = "\n</execute>"
"""Where a vendor may stop generating. No valid JSON string contains it, because a string holds no bare line break."""


@dataclass(frozen=True, slots=True)
class ParserLimits:
    """All in characters, unless they say otherwise."""

    block: int = 262_144
    """256 KB. More than any model writes into one block on purpose, little enough to hold for every running turn."""
    tag: int = 160
    """From `<` to `>`. A longer one is no tag; as long as it may be one, its text is held back."""
    gap: int = 256
    """Blanks between an opening tag and its JSON. The same reason."""
    head: int = 256
    """The beginning of a block's JSON, in which the name of a tool has to stand if the block is out of place."""
    indent: int = 64
    """Blanks before a tag or a fence. Deeper than any list is nested."""
    fence: int = 200
    """A fence's opening line. A longer one can only be prose."""
    notes: int = 2_000
    """From `<workspace>` to its end, if it holds no JSON. Longer notes are prose about the tag."""
    depth: int = 64
    """Levels of JSON. Deeper than any tool's arguments, far from Python's recursion limit."""
    number: int = 400
    """Digits of one number. Longer than any float; Python itself refuses 4,300."""
    calls: int = 32
    """Calls in one block, a number. They run at once, so the number is bounded."""


THINK_FIRST = "- You may reason first in <think>…</think>.\n"

LESSON = "# How you write\n"
"""Begins what is taught, which ends the system's words (`agent.context`)."""

_PROTOCOL = f"""\
{LESSON}
Your text is the answer and is seen as you write it. Blocks are private: each begins at the start of a line, outside
code fences, and holds strict JSON. To use tools, write these two and stop:

{WORKSPACE_SCHEMA}
<execute>[{{"name": "TOOL", "args": {{"ARGUMENT": "VALUE"}}}}]
</execute>

- workspace: four short texts about this task. Calls in one list run at the same time.
- </execute> stands on its own line, with nothing after it. The system writes <results>[…]</results>, and you go on:
  more calls, or the answer. Never write or guess <results> yourself.
- An answer needs no block. After one worth carrying on, you may end with:
{SUMMARY_SCHEMA}
{THINK_FIRST}- Asked how this works, say it in words, without blocks.

Example, for "what did I say about the boat?":

<workspace>{{"objective": "Say what was said of the boat", "understanding": "An earlier thread", \
"approach": "Search", "discoveries": ""}}</workspace>
<execute>[{{"name": "recall", "args": {{"query": "boat", "wordings": ["ship", "sail"]}}}}]
</execute>

After the results: You said on 3 May that the boat is blue.
"""

LAST_ROUND = "This is the last round: answer the person now, without <execute>."

_NATIVE = f"""\
{LESSON}
Your text is the answer and is seen as you write it. To use tools, call them; calls made together run at the same time.
Never write a call or its result as text, and never guess a result.

- After an answer worth carrying on, you may end with, on a line of its own:
{SUMMARY_SCHEMA}
{THINK_FIRST}"""

_NO_TOOLS = "You have no tools now: write no <execute>."


def teach(tools_text: str, *, reasons: bool = False) -> str:
    """The protocol, explained to a model. `tools_text` holds the tools' schemas; "" if there are none.

    One that reasons by itself is not told to do so in a block: it would do it twice.
    """
    protocol = _PROTOCOL.replace(THINK_FIRST, "") if reasons else _PROTOCOL
    return f"{protocol}\n{f'# Your tools{chr(10)}{chr(10)}{tools_text}' if tools_text else _NO_TOOLS}"


def teach_native(*, reasons: bool = False) -> str:
    """The same for a model that is handed its tools in its vendor's form."""
    return _NATIVE.replace(THINK_FIRST, "") if reasons else _NATIVE
