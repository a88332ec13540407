"""`chart`: draws a chart of numbers that the model has, without code of the model's.

Rules
  The picture is drawn in the sandbox by a program of ours, from plain data, because text of others is drawn, too.
  The colors are those of Okabe and Ito, which people with any form of color blindness can tell apart; marks and
  hatches tell series apart without color. The ground is white and opaque, so that it is readable on dark pages.
  Its description for people who cannot see it holds its title and numbers; `/code numbers` shows them as a table.
  It says what the model says, and so belongs to the readers of the place, like the answer itself.
"""

import json
from dataclasses import dataclass, field
from typing import Final

from agent.errors import ToolError
from agent.messages import JsonObject, SharedFile
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from bot.chat.attachments.picture_headers import picture_size
from bot.python import texts
from bot.python.chart_data import NAME, SCHEMA, alt_text, as_json, chart_of, file_name
from bot.python.engine import EngineUnavailable, PythonEngine, RunFile

# Matplotlib's own texts are read as text: "$" would begin a formula, which can be wrong.
DRAW: Final = """
import json
import matplotlib
matplotlib.rcParams.update({"text.parse_math": False, "axes.axisbelow": True, "font.size": 11})
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter
with open("/files/chart.json", encoding="utf-8") as file:
    chart = json.load(file)
COLORS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000"]
HATCHES = ["", "//", "..", "xx", "--", "\\\\\\\\", "oo", "++"]
MARKS = ["o", "s", "^", "D", "v", "P", "X", "*"]
INK = "#222222"
labels, series, kind = chart["labels"], chart["series"], chart["kind"]
names = [label if isinstance(label, str) else f"{label:.6g}" for label in labels]
gap = float("nan")
figure, axes = plt.subplots(figsize=(8, 4.8), facecolor="white", layout="constrained")
axes.set_title(chart["title"], color=INK, wrap=True, fontweight="bold")
def number(value, _=None):
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"
if kind == "pie":
    colors = [COLORS[at % len(COLORS)] for at in range(len(labels))]
    total = sum(series[0][1])
    shown = [f"{name} ({100 * value / total:.0f}%)" for name, value in zip(names, series[0][1])]
    wedges, _ = axes.pie(series[0][1], colors=colors, startangle=90, counterclock=False,
                         wedgeprops={"edgecolor": "white", "linewidth": 1.5})
    for at, wedge in enumerate(wedges):
        wedge.set_hatch(HATCHES[at // len(COLORS)])
    axes.legend(wedges, shown, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
else:
    numeric = all(not isinstance(label, str) for label in labels)
    places = labels if numeric and kind != "bars" else list(range(len(labels)))
    for at, (name, values) in enumerate(series):
        values = [gap if value is None else value for value in values]
        style = {"label": name, "color": COLORS[at]}
        if kind == "bars":
            width = 0.8 / len(series)
            shifted = [place - 0.4 + width * (at + 0.5) for place in places]
            axes.bar(shifted, values, width, hatch=HATCHES[at], edgecolor=INK, linewidth=0.6, **style)
        elif kind == "lines":
            axes.plot(places, values, marker=MARKS[at], markersize=5, linewidth=2, **style)
        else:
            axes.scatter(places, values, marker=MARKS[at], s=36, edgecolors=INK, linewidths=0.5, **style)
    if not (numeric and kind != "bars"):
        every = max(1, len(names) // 24)
        axes.set_xticks(places[::every], [name if len(name) <= 24 else name[:23] + "…" for name in names[::every]])
        if sum(map(len, names[::every])) > 70:
            axes.tick_params(axis="x", rotation=40)
            for label in axes.get_xticklabels():
                label.set_horizontalalignment("right")
    axes.yaxis.set_major_formatter(FuncFormatter(number))
    axes.set_xlabel(chart["x_title"], color=INK)
    axes.set_ylabel(chart["y_title"], color=INK)
    axes.grid(axis="both" if kind == "points" else "y", color="#DDDDDD", linewidth=0.8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK)
    if len(series) > 1:
        figure.legend(loc="outside right upper", frameon=False)
figure.savefig("/out/chart.png", dpi=150, facecolor="white")
"""


@dataclass(frozen=True, slots=True)
class ChartTool:
    engine: PythonEngine
    timeout_s: float = 180.0
    """Waiting for the runs of others, and the run itself."""
    name: str = NAME
    description: str = texts.CHART_DESCRIPTION
    effect: ToolEffect = ToolEffect.READS
    runs_code: bool = True
    schema: JsonObject = field(default_factory=lambda: SCHEMA)

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        chart = chart_of(args)
        data = RunFile("chart.json", json.dumps(as_json(chart)).encode())
        try:
            ended = await self.engine.run(DRAW, [data], context.person.id)
        except EngineUnavailable as error:
            raise ToolError(str(error), ours=True) from None
        picture = next((file.data for file in ended.files if file.name == "chart.png"), b"")
        if ended.failed or not picture_size(picture):
            raise ToolError(texts.CHART_FAILED, ours=True)
        return ToolOutput(
            texts.CHART_DRAWN.format(title=chart.title),
            parts=(SharedFile(file_name(chart.title), "image/png", picture, alt_text(chart), chart),),
            audience=context.place.audience,
            words=context.words,
            read=(),
        )
