"""Answers as models write them, as hypothesis strategies and by length: Markdown of every kind that a page break can
cut.
"""

from hypothesis import strategies as st

GRAPHEMES = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "🇯🇵", "👍🏽", "e\u0301", "🧑🏿‍🚀", "각", "1️⃣", "ก็"]
ATOMS = [
    "[the harbour](http://example.org/a_(b)/c-d)",
    "`code with blanks`",
    "``a ` b``",
    "**bold words**",
    "*leaning words*",
    "~~struck words~~",
    "https://example.org/a/long/path?with=parts&and=more#end",
    "<@1234567890>",
    "![a picture](http://example.org/p.png)",
]
WORDS = ["boat", "blue", "a", "harbour,", "lies", "Lübeck.", "snake_case", "2*3", "x", "…"]
CJK = ["船は青いです。", "港に停泊しています、", "我的船是蓝色的。", "它停在港口「吕贝克」。"]

_sentence = st.lists(st.sampled_from([*WORDS * 3, *ATOMS, *GRAPHEMES, *CJK]), min_size=1, max_size=40).map(" ".join)
_cjk = st.lists(st.sampled_from(CJK), min_size=1, max_size=40).map("".join)
_emoji = st.lists(st.sampled_from(GRAPHEMES), min_size=1, max_size=60).map("".join)
_list = st.lists(_sentence, min_size=1, max_size=6).map(lambda items: "\n".join(f"- {item}" for item in items))
_heading = st.sampled_from(["# Title", "## What I found", "### Next"])
_code_line = st.sampled_from(
    ["x = 1", "    return y", "", "def f(a, b): ...", "# a comment with `ticks`", "| a | b |", "> q"]
)
_code = st.lists(_code_line, min_size=1, max_size=40)


@st.composite
def _fence(draw: st.DrawFn) -> str:
    marker, inner = draw(st.sampled_from([("```", "~~~"), ("~~~", "```"), ("````", "```")]))
    indent = draw(st.sampled_from(["", "", "   "]))
    info = draw(st.sampled_from(["", "py", "json", "c++"]))
    lines = draw(_code)
    if draw(st.booleans()):
        lines = [*lines, f"{inner}sh", "ls", inner, "x"]
    opening = draw(st.sampled_from([indent, "- "])) if indent == "" else indent
    inside = " " * len(opening)
    return "\n".join([f"{opening}{marker}{info}", *(f"{inside}{line}" for line in lines), f"{inside}{marker}"])


@st.composite
def _table(draw: st.DrawFn) -> str:
    columns = draw(st.integers(1, 4))
    rows = draw(
        st.lists(st.lists(st.sampled_from(["1", "blue", "船", "👍🏽", "`a`"]), min_size=columns, max_size=columns))
    )
    head = ["| " + " | ".join(f"col {number}" for number in range(columns)) + " |", "|" + "---|" * columns]
    return "\n".join([*head, *("| " + " | ".join(row) + " |" for row in rows)])


_quote = _code.map(lambda lines: "\n".join(["> ```py", *(f"> {line}" for line in lines), "> ```"]))
_block = st.one_of(_sentence, _cjk, _emoji, _list, _heading, _fence(), _table(), _quote)

# Well-formed answers, from one word to some thousand characters.
answers = st.lists(_block, min_size=1, max_size=8).map("\n\n".join)

# Any text that may confuse a Markdown parser.
scribbles = st.text(alphabet="`~|-:> \n\r\tab1.*_[]()<!\\#船👍\u200d🏽", max_size=600)


def prose(chars: int) -> str:
    """Return about `chars` characters of sentences, each another one: a model that repeats itself is stopped."""
    sentences = (f"Boat {number} of {number * 7} is blue." for number in range(chars // 20))
    return " ".join(sentences)[:chars].strip()


def answer_of(chars: int, *, masked: bool = False) -> str:
    """Return an answer of exactly `chars` characters, with prose, code, tables, emoji and CJK in turn. `masked`: its
    links hide their addresses; else the address stands beside the words, as for an address that no turn has read.
    """
    blocks: list[str] = []
    number = 0
    while sum(map(len, blocks)) < chars:
        number += 1
        code = "\n".join(
            f"    total_{line} = sum(range({line}))  # {GRAPHEMES[line % 9]}" for line in range(number * 7)
        )
        rows = "\n".join(f"| {row} | {CJK[row % 4]} | {GRAPHEMES[row % 9]} |" for row in range(number * 5))
        blocks += [
            f"## Part {number}\n\n",
            " ".join(" ".join((*WORDS, *ATOMS, *GRAPHEMES, *CJK, f"({turn})")) for turn in range(number)) + "\n\n",
            f"```python\ndef part_{number}():\n{code}\n```\n\n",
            f"| No. | What | Face |\n|---:|:---|---|\n{rows}\n\n",
            "".join("".join((*CJK, f"{turn}、")) for turn in range(number * 2)) + "\n\n",
        ]
    text = "".join(blocks)
    return (text if masked else text.replace("](", "] ("))[:chars]


_bit = st.sampled_from(
    [
        *[
            "word ",
            "word ",
            "blue boat ",
            "2 * 3 ",
            "snake_case ",
            "a",
            "1",
            "12",
            " ",
            "  ",
            "\n",
            "\n",
            "\n\n",
            "\n\n",
            "船は青い",
        ],
        *[
            "`",
            "``",
            "```",
            "~~~",
            "~~",
            "~",
            "*",
            "**",
            "_",
            "__",
            "||",
            "|",
            "---",
            "|---|\n",
            "- ",
            "> ",
            "# ",
            "1. ",
        ],
        *[
            "[",
            "]",
            "](",
            ")",
            "[a](",
            "][",
            "!",
            "<",
            ">",
            "<@",
            "http",
            "https://",
            '"',
            "\\",
            "\r\n",
            "py\n",
            ":",
            ".",
        ],
    ]
)
# Words between all characters that may begin, end or become Markdown: for rules that depend on a few more characters.
edges = st.lists(_bit, min_size=1, max_size=60).map("".join)
