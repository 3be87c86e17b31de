"""Draws what a run's reports say, over time, on one page.

    python Tools/plot.py REPORTS.jsonl OUT.png|OUT.svg

`make plot REPORTS=PATH OUT=PATH` installs what this needs and calls it.
"""

import collections
import dataclasses
import itertools
import json
import math
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")  # Needs no screen.

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator

Line = dict  # One line of the reports.
BLUE, ORANGE, GREEN, GRAY = "#1f5fa8", "#d9661f", "#2d8a4e", "#777777"
PALE_BLUE, PALE_ORANGE = "#a9c8ea", "#f4bf9f"
STATE_COLORS = ("#8fbce6", "#f7c46c", "#a5d6a0", "#e39a9a", "#c3b1e1", "#d5d5d5")
STATE_STRIP = 0.09  # Of a panel's height.


class Unusable(Exception):
    """A sentence for whoever called."""


@dataclasses.dataclass(frozen=True)
class Series:
    """A curve: where in a line its values lie, and how it is drawn."""

    path: str
    label: str
    color: str
    factor: float = 1


@dataclasses.dataclass(frozen=True)
class Side:
    """Curves of one unit, which share an axis."""

    unit: str
    series: tuple[Series, ...]
    # What the axis shows in any case, so that noise does not look like news.
    shown: tuple[float, ...] = ()
    logarithmic: bool = False


@dataclasses.dataclass(frozen=True)
class Panel:
    """Curves over time, and the state of the controller that moves them. It is drawn where there
    are values for its left side."""

    title: str
    left: Side
    right: Side | None = None
    controller: str = ""


PANELS = (
    Panel(
        "Luma and EV",
        Side("level", (Series("meter.mean", "mean luma", BLUE),), shown=(0, 255)),
        Side("EV", (Series("meter.log_luminance", "log luminance", ORANGE),
                    Series("meter.offset", "offset from the target", GREEN)), shown=(-4, 1))),
    Panel(
        "Exposure and gain",
        Side("ms", (Series("exposure_us", "exposure", BLUE, 1e-3),), logarithmic=True),
        Side("times", (Series("gain", "gain", ORANGE),), logarithmic=True), "autoexposure"),
    Panel(
        "Focus score and lens position",
        Side("score", (Series("focus.score", "focus score", BLUE),), shown=(0,)),
        Side("0 near, 1 far", (Series("lens", "lens position", ORANGE),), shown=(0, 1)),
        "autofocus"),
    Panel(
        "Camera path",
        Side("px", (Series("stabilize.path_x", "x as taken", PALE_BLUE),
                    Series("stabilize.smooth_x", "x stabilized", BLUE),
                    Series("stabilize.path_y", "y as taken", PALE_ORANGE),
                    Series("stabilize.smooth_y", "y stabilized", ORANGE)), shown=(-1, 1))),
    Panel(
        "Camera roll, and crop left",
        Side("degrees", (Series("stabilize.path_roll", "roll as taken", PALE_BLUE),
                         Series("stabilize.smooth_roll", "roll stabilized", BLUE)), shown=(-0.1, 0.1)),
        Side("fraction", (Series("stabilize.crop_left", "crop left", GREEN),), shown=(0, 1))),
    Panel("Latency", Side("ms", (Series("latency_us", "latency", BLUE, 1e-3),), shown=(0,))),
)


# What the reports say.

def read(path: pathlib.Path) -> list[Line]:
    """The lines of a file that `sprocket run --reports` wrote."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Unusable(f"{path} is not there; make it with `sprocket run --reports {path}`") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unusable(f"{path} cannot be read: {getattr(error, 'strerror', error.__doc__)}") from None
    lines = [parsed(path, number, line) for number, line in enumerate(text.splitlines(), 1)]
    if not lines:
        raise Unusable(f"{path} is empty: the run produced no frame; nothing can be drawn")
    if not any(is_number(line["captured_ns"]) for line in lines):
        raise Unusable(f"{path} holds no frame that was captured; nothing can be drawn")
    return lines


def parsed(path: pathlib.Path, number: int, text: str) -> Line:
    try:
        line = json.loads(text)
    except ValueError:
        raise Unusable(
            f"{path}:{number} is not a line of JSON: give what --reports wrote; it may be cut off") from None
    if not isinstance(line, dict) or not has_its_keys(line):
        raise Unusable(f"{path}:{number} is no line that `sprocket run --reports` writes")
    return line


def has_its_keys(line: Line) -> bool:
    """Whether there is what each line has, and of its type."""
    return (all(isinstance(line.get(key), int) and is_number(line[key]) for key in ("sequence", "epoch"))
            and all(key in line and (line[key] is None or is_number(line[key]))
                    for key in ("captured_ns", "latency_us"))
            and isinstance(line.get("fate"), str) and isinstance(line.get("stage", ""), str))


def is_number(value: object) -> bool:
    """Whether that can be drawn; no integer that is written has more than 64 bits."""
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) < 1 << 64
    return isinstance(value, float) and math.isfinite(value)


def found(line: Line, path: str) -> object:
    """What lies at `path`, such as `meter.mean`; `None` where the line has nothing there."""
    value: object = line
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def seconds(lines: list[Line]) -> list[float]:
    """When each frame was captured, since the first; frames that never came stand evenly between
    their neighbours."""
    known = [index for index, line in enumerate(lines) if is_number(line["captured_ns"])]
    first = lines[known[0]]["captured_ns"]
    times = [0.0] * len(lines)
    for before, after in zip(known, known[1:] + [len(lines)]):
        start = lines[before]["captured_ns"]
        end = lines[after]["captured_ns"] if after < len(lines) else start
        for index in range(before, after):
            times[index] = (start + (end - start) * (index - before) / (after - before) - first) * 1e-9
    return times


def curve(lines: list[Line], times: list[float], series: Series) -> tuple[list[float], list[float]]:
    """Times and values where there are any; a gap where an epoch begins, and where time goes back and
    where it is again later than ever."""
    x: list[float] = []
    y: list[float] = []
    epoch = lines[0]["epoch"]
    latest = -math.inf
    for line, time in zip(lines, times, strict=True):
        value = found(line, series.path)
        if not is_number(value):
            continue
        goes_back = bool(x) and time < x[-1]
        catches_up = bool(x) and x[-1] < latest <= time
        if line["epoch"] != epoch or goes_back or catches_up:
            x.append(time)
            y.append(math.nan)
        latest = time if line["epoch"] != epoch else max(latest, time)
        epoch = line["epoch"]
        x.append(time)
        y.append(value * series.factor)
    return x, y


def has_values(side: Side, lines: list[Line]) -> bool:
    return any(is_number(found(line, one.path)) for one in side.series for line in lines)


def drops(lines: list[Line], times: list[float]) -> dict[str, list[tuple[float, int]]]:
    """When how many frames were lost: by fate (and stage), and where numbers jump without a line."""
    lost: dict[str, list[tuple[float, int]]] = collections.defaultdict(list)
    last: tuple[int, int] | None = None
    for line, time in zip(lines, times, strict=True):
        if line["fate"] != "delivered":
            lost[" by ".join(filter(None, (line["fate"], line.get("stage"))))].append((time, 1))
        if last and line["epoch"] == last[0] and line["sequence"] > last[1] + 1:
            lost["no line"].append((time, line["sequence"] - last[1] - 1))
        last = line["epoch"], line["sequence"]
    return lost


def states(lines: list[Line], times: list[float], controller: str) -> list[tuple[str, float, float]]:
    """A controller's words, each from when to when it was said."""
    spans: list[tuple[str, float, float]] = []
    for line, time in zip(lines, times, strict=True):
        word = found(line, f"{controller}.state")
        if not isinstance(word, str):
            continue
        if spans and spans[-1][0] == word:
            spans[-1] = word, spans[-1][1], time
        else:
            if spans:
                spans[-1] = spans[-1][0], spans[-1][1], time
            spans.append((word, time, time))
    return spans


# How it is drawn.

def draw(lines: list[Line], name: str, out: pathlib.Path) -> None:
    times = seconds(lines)
    wanted = [panel for panel in PANELS if has_values(panel.left, lines)]
    absent = [panel.title for panel in PANELS if panel not in wanted]
    lost = drops(lines, times)
    heights = [2.0] * len(wanted) + [0.7 + 0.22 * max(len(lost), 1)]
    figure, axes = pyplot.subplots(
        len(heights), sharex=True, squeeze=False, figsize=(11, sum(heights) + 0.9),
        height_ratios=heights, layout="constrained")
    for panel, axis in zip(wanted, axes[:, 0]):
        draw_panel(axis, panel, lines, times)
    draw_drops(axes[-1, 0], lost, len(lines))
    for axis in axes[:, 0]:
        axis.grid(axis="x", color="#e4e4e4", linewidth=0.6)
        for before, line, time in zip(lines, lines[1:], times[1:]):
            if line["epoch"] != before["epoch"]:
                axis.axvline(time, color=GRAY, linestyle=":", linewidth=1)
    axes[-1, 0].set_xlabel("seconds since the first frame")
    axes[-1, 0].set_xlim(0, max(max(times), 1e-3))
    figure.suptitle(summary(name, lines, times, absent), fontsize=10)
    save(figure, out)


def summary(name: str, lines: list[Line], times: list[float], absent: list[str]) -> str:
    delivered = sum(line["fate"] == "delivered" for line in lines)
    text = f"{name}: {len(lines)} frames in {max(times):.1f} s, {delivered} delivered"
    epochs = len({line["epoch"] for line in lines})
    if epochs > 1:
        text += f", {epochs} epochs (dotted: a new one begins)"
    return text + (f"\nnot in these reports: {', '.join(absent)}" if absent else "")


def draw_panel(axis: Axes, panel: Panel, lines: list[Line], times: list[float]) -> None:
    axis.set_title(panel.title, loc="left", fontsize=10, fontweight="bold")
    handles = draw_side(axis, panel.left, lines, times)
    if panel.right and has_values(panel.right, lines):
        handles += draw_side(axis.twinx(), panel.right, lines, times)
    if panel.controller:
        handles += draw_states(axis, states(lines, times, panel.controller))
    axis.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(handles),
                fontsize=8, frameon=False, borderaxespad=0.2)


def draw_side(axis: Axes, side: Side, lines: list[Line], times: list[float]) -> list[Line2D]:
    handles: list[Line2D] = []
    for series in side.series:
        x, y = curve(lines, times, series)
        label = series.label
        if series.path == "latency_us":
            label += ": " + percentiles([value for value in y if math.isfinite(value)])
        if x:
            handles += axis.plot(x, y, color=series.color, linewidth=1.1, label=label)
    colors = {handle.get_color() for handle in handles}
    axis.set_ylabel(side.unit, fontsize=8, color=colors.pop() if len(colors) == 1 else "black")
    axis.tick_params(labelsize=8)
    scale(axis, side, [value for handle in handles for value in handle.get_ydata()
                       if math.isfinite(value)])
    return handles


def scale(axis: Axes, side: Side, values: list[float]) -> None:
    """Chooses the axis' ends, with room above for a controller's states."""
    low, high = min([*values, *side.shown]), max([*values, *side.shown])
    if side.logarithmic and low > 0:
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_locator(NullLocator())
        # Two that do not move shall not lie upon each other.
        below, above = (4, 2) if axis.yaxis.get_ticks_position() == "right" else (2, 4)
        axis.set_ylim(low / below, high * above)
    else:
        room = (high - low or abs(high) or 1) * 0.15
        axis.set_ylim(low - room / 3, high + room)


def percentiles(values: list[float]) -> str:
    ordered = sorted(values)
    p50, p99 = (ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0.5, 0.99))
    return f"p50 {p50:.1f}, p99 {p99:.1f}, most {ordered[-1]:.1f} ms"


def draw_states(axis: Axes, spans: list[tuple[str, float, float]]) -> list[Patch]:
    """A strip along the panel's top, its color shaded downwards, each word where it has room.
    Returns a legend of the words that found none."""
    colors = dict(zip(dict.fromkeys(word for word, _, _ in spans), itertools.cycle(STATE_COLORS)))
    whole = max((end for _, _, end in spans), default=0) or 1
    unsaid = dict(colors)
    for word, start, end in spans:
        axis.axvspan(start, end, color=colors[word], alpha=0.25, linewidth=0)
        axis.axvspan(start, end, ymin=1 - STATE_STRIP, color=colors[word], linewidth=0)
        if (end - start) / whole > 0.012 * len(word):
            axis.text((start + end) / 2, 1 - STATE_STRIP / 2, word, fontsize=7, ha="center",
                      va="center", transform=axis.get_xaxis_transform())
            unsaid.pop(word, None)
    return [Patch(color=color, label=word) for word, color in unsaid.items()]


def draw_drops(axis: Axes, lost: dict[str, list[tuple[float, int]]], count: int) -> None:
    axis.set_title("Drops", loc="left", fontsize=10, fontweight="bold")
    counts = {name: sum(many for _, many in at) for name, at in lost.items()}
    axis.set_title(f"{sum(counts.values())} of {count + counts.get('no line', 0)} frames not delivered",
                   loc="right", fontsize=8)
    names = [f"{name} ({many})" for name, many in counts.items()] or ["none"]
    for row, at in enumerate(lost.values()):
        axis.eventplot([time for time, _ in at], lineoffsets=row, linelengths=0.7, linewidths=1.2,
                       colors=ORANGE)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.tick_params(labelsize=8)


def save(figure: pyplot.Figure, out: pathlib.Path) -> None:
    # Text stays text in an SVG.
    with pyplot.rc_context({"svg.fonttype": "none"}):
        try:
            figure.savefig(out, dpi=120)
        except OSError as error:
            raise Unusable(f"{out} cannot be written: {error.strerror}") from None


def main(arguments: list[str]) -> None:
    if len(arguments) != 2 or not all(arguments):
        raise Unusable("say what to draw and where: make plot REPORTS=run.jsonl OUT=run.png")
    reports, out = map(pathlib.Path, arguments)
    if out.suffix.lower() not in (".png", ".svg"):
        raise Unusable(f"{out} has to end in .png or .svg")
    draw(read(reports), reports.name, out)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Unusable as error:
        sys.exit(f"plot: {error}")
