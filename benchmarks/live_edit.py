"""How soon readers see what a model writes, while one reply grows and while ten grow at once.

freshness_p50_ms_slack_stream_1, …_10  from a token's production to the moment at which a message shows it; the median
freshness_p50_ms_slack_edit_1, …_10    of all tokens of all replies
freshness_p50_ms_discord_1, …_10
calls_per_minute_slack_stream_1, …     requests that post, grow, end or edit a message, refused ones too, from the first
                                       token until the last one is seen

A model writes 60 tokens a second; ten replies start at the same moment, two in each channel. The product is the real
one, from a person's question to the pages of its answer, on slack-bolt and discord.py: in Slack once with native
streams, in threads too, and once without. Slack and Discord are the tests', which apply the documented limits. On
Slack a minute has 50 edits, 20 starts of a stream, 100 additions to streams and 20 ends, in the whole workspace, and a
channel takes a message a second. On Discord a channel takes five edits and five messages in five seconds.

All waits are skipped (`benchmarks.skipping_loop`): a minute of replies takes a second, and each delay counts as it
would. The time of a request on the internet is not included; it is the same for both.

Baseline, in the same run and under the same names: a bot that edits each reply every second, and waits when it is
refused (`benchmarks.fixed_interval`). It does not use streams: its figures beside those are of edits.

The notes show for both: freshness at the median, of the latest twentieth and at worst; how often the slowest and the
fastest reply was updated; and how many requests were refused.
"""

import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from benchmarks.live_edit_bots import (
    Load,
    Run,
    edits_on_discord,
    edits_on_slack,
    interval_on_discord,
    interval_on_slack,
    streams_on_slack,
)
from benchmarks.live_edit_voices import first_seen
from benchmarks.report import print_report, read_options
from benchmarks.skipping_loop import run_skipping

Bot: TypeAlias = Callable[[Load], "Awaitable[Run]"]

# For each surface: the product, and the baseline.
CONTESTS: Final[dict[str, tuple[Bot, Bot]]] = {
    "slack_stream": (streams_on_slack, interval_on_slack),
    "slack_edit": (edits_on_slack, interval_on_slack),
    "discord": (edits_on_discord, interval_on_discord),
}
AT_ONCE: Final = (1, 10)
SECONDS, QUICK_SECONDS = 60.0, 20.0


@dataclass(frozen=True, slots=True)
class Measured:
    """`lags_ms`: of all tokens. `moves`: how often each reply showed new text."""

    lags_ms: Sequence[float]
    calls_per_minute: float
    moves: Sequence[int]
    refused: int

    @property
    def p50_ms(self) -> float:
        return statistics.median(self.lags_ms)

    def told(self, who: str) -> str:
        worst = sorted(self.lags_ms)
        p95 = worst[len(worst) * 95 // 100]
        return (
            f"  {who:<28} {self.p50_ms:>8.0f} {p95:>8.0f} {worst[-1]:>8.0f} ms  {self.calls_per_minute:>6.1f} calls/min"
            f"  {min(self.moves):>4}-{max(self.moves)} moves  {self.refused:>4} refused"
        )


def measured(bot: Bot, load: Load, busy_s: Callable[[], float] = time.thread_time) -> Measured:
    """Run one bot, in its own event loop with `run_skipping`.

    Raises AssertionError if it did not show the whole text.
    """

    async def work() -> Run:
        return await bot(load)

    run = run_skipping(work(), busy_s)
    first = first_seen(run.shown)
    seen = [voice.seen(first) for voice in run.voices]
    spoken = [voice.spoken for voice in run.voices]
    seconds = max(map(max, seen)) - min(map(min, spoken))
    return Measured(
        [1000 * (late - soon) for voice in zip(seen, spoken, strict=True) for late, soon in zip(*voice, strict=True)],
        (run.written + run.refused) * 60 / seconds,
        [len({*moments}) for moments in seen],
        run.refused,
    )


def compare(seconds: float) -> tuple[dict[str, float], dict[str, float], str]:
    """Return metrics, baseline and notes."""
    metrics: dict[str, float] = {}
    baseline: dict[str, float] = {}
    notes = [f"replies of {seconds:g} s; freshness p50, p95, worst; fewest and most moves of a reply"]
    for surface, bots in CONTESTS.items():
        for replies in AT_ONCE:
            for bot, who, values in zip(bots, ("product", "every second"), (metrics, baseline), strict=True):
                result = measured(bot, Load(replies, seconds))
                values[f"freshness_p50_ms_{surface}_{replies}"] = result.p50_ms
                values[f"calls_per_minute_{surface}_{replies}"] = result.calls_per_minute
                notes.append(result.told(f"{surface}_{replies}, {who}"))
    return metrics, baseline, "\n".join(notes)


def main() -> None:
    options = read_options("How soon what a model says is seen.")
    metrics, baseline, notes = compare(QUICK_SECONDS if options.quick else SECONDS)
    print_report("live_edit", metrics, baseline, options, notes)


if __name__ == "__main__":
    main()
