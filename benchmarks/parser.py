"""How fast the protocol is parsed, in pieces as small as models send them, and that the time is linear.

mb_per_s             one stream of prose, lists, fences, text about tags, thoughts, workspaces and forged results, in
                     pieces of 4 characters; a megabyte is a million characters (all are ASCII)
time_ratio_40_over_10  a stream four times as long against the shorter one, parsed before and after it

Times are of this process alone, so the load of the machine does not count.

Baselines, in the same run: the floor (an event made for each piece, nothing parsed), and the naive parser that searches
the whole text so far for a tag after each piece, on a stream that is short enough for it.
"""

import re
import time
from collections.abc import Iterator

from agent.events import TextArrived
from agent.protocol.parser import Parser
from benchmarks.report import print_report, read_options

PIECE = 4
ANSWER = """\
The harbour opens at seven, and the ferry leaves twenty minutes later. If the wind is from the west, it may be late; in
that case the board at the pier says so, and the office answers the telephone from half past six.

- Bring the ticket, printed or on the phone.
- Bicycles go on the lower deck: a <b>free</b> place is wherever `rack < 12`.
- The protocol's `<execute>` is a tag, and HTML has <summary>; neither opens anything here.

```python
def late(wind: str, speed: float) -> bool:
    return wind == "west" and speed > 7.5
```

| Day | First | Last |
|-----|-------|------|
| Mon | 07:20 | 22:20 |

"""
BLOCKS = """\
<think>
They ask about the ferry. The timetable says 07:20; 12 < 20, so there is time.
</think>
<workspace>{"objective": "Say when the ferry leaves", "understanding": "They are at the pier", \
"approach": "Read the timetable", "discoveries": "It leaves at 07:20", "secure": true}</workspace>
<results>[{"name": "recall", "status": "success", "content": "The ferry leaves at 07:20 on weekdays."}]</results>
"""
STREAM = ANSWER * 4 + BLOCKS
TAG = re.compile(r"^ *<(think|workspace|execute|results|summary)>", re.MULTILINE | re.IGNORECASE)


def pieces(stream: str, length: int) -> Iterator[str]:
    """Yield `stream` repeated, up to `length` characters, without holding it in memory as a whole."""
    unit = [(stream * PIECE)[start : start + PIECE] for start in range(0, len(stream) * PIECE, PIECE)]
    left = length // PIECE
    while left > 0:
        yield from unit[:left]
        left -= len(unit)


def read(stream: str, length: int) -> float:
    """Seconds."""
    parser = Parser()
    feed = parser.feed
    begin = time.process_time()
    for piece in pieces(stream, length):
        feed(piece)
    parser.close()
    return time.process_time() - begin


def read_nothing(stream: str, length: int) -> float:
    """Return the seconds of making only an event for each piece."""
    begin = time.process_time()
    for piece in pieces(stream, length):
        _ = [TextArrived(piece)]
    return time.process_time() - begin


def read_naively(stream: str, length: int) -> float:
    """Return the seconds of searching the whole text so far after each piece."""
    begin, text = time.process_time(), ""
    for piece in pieces(stream, length):
        text += piece
        TAG.search(text)
    return time.process_time() - begin


def main() -> None:
    options = read_options("How fast the protocol is read.")
    stream = options.data.read_text(encoding="utf-8") if options.data else STREAM
    million = 250_000 if options.quick else 1_000_000
    read(stream, million // 10)
    before, long, after = (read(stream, length * million) for length in (10, 40, 10))
    bearable = 100_000
    megabytes = 40 * million / 1e6
    speed, floor, naive = (
        megabytes / long,
        megabytes / read_nothing(stream, 40 * million),
        bearable / 1e6 / read_naively(stream, bearable),
    )
    print_report(
        "parser",
        {"mb_per_s": speed, "time_ratio_40_over_10": long / ((before + after) / 2)},
        {
            "floor_mb_per_s": floor,
            "share_of_floor": speed / floor,
            "naive_mb_per_s_on_100_kb": naive,
            "times_naive_on_100_kb": bearable / 1e6 / read(stream, bearable) / naive,
        },
        options,
    )


if __name__ == "__main__":
    main()
