"""Draws what a run's reports say, over time, on one page.

    sprocket plot REPORTS.jsonl OUT.png|OUT.svg [--fields FIELD,...]

The program calls this with its own path behind `--program`. Without fields, what built-in stages
report has panels made for it, and each number of any other stage is drawn. Fields share an axis where they
have the same unit, which `PROGRAM stages --json` tells.
"""

import argparse
import collections
import dataclasses
import difflib
import errno
import itertools
import json
import math
import pathlib
import subprocess
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot: this Python has no matplotlib; install Debian's python3-matplotlib")

matplotlib.use("Agg")  # Needs no screen.

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullLocator

Line = dict  # One line of the reports.
BLUE, ORANGE, GREEN, GRAY, RED = "#1f5fa8", "#d9661f", "#2d8a4e", "#777777", "#c22f2f"
PALE_BLUE, PALE_ORANGE = "#a9c8ea", "#f4bf9f"
STATE_COLORS = ("#8fbce6", "#f7c46c", "#a5d6a0", "#e39a9a", "#c3b1e1", "#d5d5d5")
STATE_STRIP = 0.09  # Of a panel's height.
MARK = 0.06  # The same, of the marks where frames are missing.
CURVE_COLORS = (BLUE, ORANGE, GREEN, "#8a4fa3", "#a06a2c", GRAY)
# Smallest share of a shared axis that a curve must use. Larger: fewer curves share an axis.
LEAST_SHARE = 0.2


class Unusable(Exception):
    """A sentence for whoever called, and the exit code: 2 for a wrong request, 1 where the machine cannot."""

    def __init__(self, sentence: str, code: int = 2):
        super().__init__(sentence)
        self.code = code


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
    # Values that the axis always shows.
    shown: tuple[float, ...] = ()
    # Smallest span of the axis, so that noise does not look like a change.
    span: float = 0
    logarithmic: bool = False


@dataclasses.dataclass(frozen=True)
class Panel:
    """Curves over time, and a word that is said with them, such as the state of a controller."""

    title: str
    left: Side | None
    right: Side | None = None
    word: str = ""


LATENCY = Panel("Latency", Side("ms", (Series("latency_us", "latency", BLUE, 1e-3),), shown=(0,)))
PANELS = (
    Panel(
        "Luma and EV",
        Side("level", (Series("meter.mean", "mean luma", BLUE),), span=32),
        Side("EV", (Series("meter.log_luminance", "log luminance", ORANGE),
                    Series("meter.offset", "offset from the target", GREEN)), span=1)),
    Panel(
        "Exposure and gain",
        Side("ms", (Series("exposure_us", "exposure", BLUE, 1e-3),), logarithmic=True),
        Side("times", (Series("gain", "gain", ORANGE),), logarithmic=True), "autoexposure.state"),
    Panel(
        "Focus score and lens position",
        Side("score", (Series("focus.score", "focus score", BLUE),), shown=(0,)),
        Side("0 near, 1 far", (Series("lens", "lens position", ORANGE),), span=0.2),
        "autofocus.state"),
    *(Panel(
        f"Camera path, {axis}",
        Side("px", (Series(f"stabilize.path_{axis}", "as taken", pale),
                    Series(f"stabilize.smooth_{axis}", "stabilized", color)), span=2))
      for axis, pale, color in (("x", PALE_BLUE, BLUE), ("y", PALE_ORANGE, ORANGE))),
    Panel(
        "Camera roll, and crop left",
        Side("degrees", (Series("stabilize.path_roll", "roll as taken", PALE_BLUE),
                         Series("stabilize.smooth_roll", "roll stabilized", BLUE)), span=0.2),
        Side("fraction", (Series("stabilize.crop_left", "crop left", GREEN),), shown=(0,))),
    LATENCY,
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
    except (ValueError, RecursionError):
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
    return isinstance(value, float) and abs(value) < 1e100


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
    """Times and values where there are any. A gap where frames are missing in between, where an epoch begins,
    and where time goes back and where it is again later than ever."""
    x: list[float] = []
    y: list[float] = []
    latest = -math.inf
    is_broken = False
    before: Line | None = None
    for line, time in zip(lines, times, strict=True):
        begins = before is not None and line["epoch"] != before["epoch"]
        is_broken |= begins or (before is not None and line["sequence"] > before["sequence"] + 1)
        before = line
        value = found(line, series.path)
        if not is_number(value):
            # A delivered frame without a report is not a gap.
            is_broken |= line["fate"] != "delivered"
            continue
        goes_back = bool(x) and time < x[-1]
        catches_up = bool(x) and x[-1] < latest <= time
        if x and (is_broken or goes_back or catches_up):
            x.append(time)
            y.append(math.nan)
        latest = time if begins else max(latest, time)
        is_broken = False
        x.append(time)
        y.append(value * series.factor)
    return x, y


def missing(lines: list[Line], times: list[float], panel: Panel) -> list[float]:
    """When frames were lost that a panel has no value of."""
    paths = [one.path for side in (panel.left, panel.right) if side for one in side.series]
    lost = [time for line, time in zip(lines, times, strict=True)
            if line["fate"] != "delivered" and not any(is_number(found(line, path)) for path in paths)]
    jumps = [(start + end) / 2 for before, line, start, end in zip(lines, lines[1:], times, times[1:])
             if line["epoch"] == before["epoch"] and line["sequence"] > before["sequence"] + 1]
    return lost + jumps


def has_values(side: Side | None, lines: list[Line]) -> bool:
    return side is not None and any(
        is_number(found(line, one.path)) for one in side.series for line in lines)


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


def states(lines: list[Line], times: list[float], path: str) -> list[tuple[str, float, float]]:
    """The words of a field, each from when to when it was said."""
    spans: list[tuple[str, float, float]] = []
    for line, time in zip(lines, times, strict=True):
        value = found(line, path)
        word = str(value).lower() if isinstance(value, bool) else value
        if not isinstance(word, str):
            continue
        if spans and spans[-1][0] == word:
            spans[-1] = word, spans[-1][1], time
        else:
            if spans:
                spans[-1] = spans[-1][0], spans[-1][1], time
            spans.append((word, time, time))
    return spans


# Kinds of curves.

# Keys of a line that do not belong to a stage, and their units.
OF_ALL = {"latency_us": ("ms", 1e-3), "exposure_us": ("ms", 1e-3), "gain": ("times", 1), "lens": ("", 1)}
NO_STAGE = {"sequence", "epoch", "captured_ns", "clock", "fate", "stage", "events", *OF_ALL}


def fields(lines: list[Line]) -> dict[str, str]:
    """Every field, by its path, in the order of the stages: `number`, `word`, `row`, or `none` where no line
    has a value."""
    kinds = {name: "none" for name in OF_ALL if any(name in line for line in lines)}
    for line in lines:
        kinds.update({f"{stage}.{name}": "none" for stage, report in line.items()
                      if stage not in NO_STAGE and isinstance(report, dict) for name in report
                      if f"{stage}.{name}" not in kinds})
        for path in [path for path, kind in kinds.items() if kind == "none"]:
            value = found(line, path)
            kinds[path] = ("number" if is_number(value) else "word" if isinstance(value, (str, bool))
                           else "row" if isinstance(value, list) else "none")
    return kinds


def units(program: str) -> dict[str, str]:
    """The units of the fields that a program's stages report."""
    try:
        text = subprocess.run([program, "stages", "--json"], capture_output=True, text=True, check=True,
                              timeout=60).stdout
        return {f"{kind['name']}.{field['name']}": field["unit"]
                for kind in json.loads(text) for field in kind.get("reports", [])}
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        raise Unusable(f"{program} does not answer `stages --json`; give the program that wrote the "
                       "reports, or none") from None


def asked(names: str, kinds: dict[str, str], reports: pathlib.Path) -> list[str]:
    """The fields that are asked for, `meter` for all of a stage's; refused where one cannot be drawn."""
    chosen: list[str] = []
    for name in filter(None, (name.strip() for name in names.split(","))):
        of_stage = [path for path, kind in kinds.items()
                    if path.startswith(f"{name}.") and kind in ("number", "word")]
        if name not in kinds and not of_stage:
            stages = list(dict.fromkeys(map(stage_of, kinds)))
            near = difflib.get_close_matches(name, [*kinds, *stages], 1)
            raise Unusable(f"{reports.name} has no field `{name}`; " + "".join(
                f"did you mean `{one}`? " for one in near) + f"there are: {', '.join(kinds) or 'none'}")
        if kinds.get(name) == "row":
            raise Unusable(f"{name} is a row of numbers; give fields that are one number or word")
        if kinds.get(name) == "none":
            raise Unusable(f"{name} has no value in any frame of {reports.name}; leave it out")
        chosen += [path for path in of_stage or [name] if path not in chosen]
    if not chosen:
        raise Unusable("--fields names no field; give such as --fields meter.mean,focus.score")
    return chosen


def chosen_panels(
        paths: list[str], kinds: dict[str, str], unit_of: dict[str, str], lines: list[Line]) -> list[Panel]:
    """A panel for each field, in order. Numbers of one stage and one unit share theirs where its axis fits
    them all."""
    groups: list[list[str]] = []
    ranges = {path: extent(path, lines) for path in paths if kinds[path] == "number"}
    for path in paths:
        unit = unit_of.get(path)
        for group in groups:
            if (path in ranges and unit and unit == unit_of.get(group[0]) and group[0] in ranges
                    and stage_of(path) == stage_of(group[0]) and len(group) < len(CURVE_COLORS)
                    and fit([ranges[one] for one in [*group, path]])):
                group.append(path)
                break
        else:
            groups.append([path])
    return [Panel(", ".join(group), side(group, unit_of)) if group[0] in ranges
            else Panel(group[0], None, word=group[0]) for group in groups]


def stage_of(path: str) -> str:
    return path.partition(".")[0]


def side(paths: list[str], unit_of: dict[str, str]) -> Side:
    unit, factor = OF_ALL.get(paths[0], (unit_of.get(paths[0], ""), 1))
    return Side(unit, tuple(
        Series(path, path.rpartition(".")[2], color, factor) for path, color in zip(paths, CURVE_COLORS)))


def extent(path: str, lines: list[Line]) -> tuple[float, float]:
    values = [value for line in lines if is_number(value := found(line, path))]
    return min(values), max(values)


def fit(ranges: list[tuple[float, float]]) -> bool:
    """Whether one axis shows how each of them changes."""
    whole = max(high for _, high in ranges) - min(low for low, _ in ranges)
    return all(high == low or high - low >= LEAST_SHARE * whole for low, high in ranges)


def usual_panels(kinds: dict[str, str], unit_of: dict[str, str], lines: list[Line]) -> list[Panel]:
    """Panels made for built-in stages, and one for each number of all others; latency last."""
    made = [panel for panel in PANELS if has_values(panel.left, lines)]
    known = {stage_of(path) for panel in PANELS for path in paths_of(panel)}
    others = [path for path, kind in kinds.items()
              if stage_of(path) not in known and kind in ("number", "word")]
    own = chosen_panels(others, kinds, unit_of, lines)
    return [panel for panel in made if panel != LATENCY] + own + [LATENCY] * (LATENCY in made)


def paths_of(panel: Panel) -> list[str]:
    sides = [side for side in (panel.left, panel.right) if side]
    return [one.path for side in sides for one in side.series] + [panel.word] * bool(panel.word)


# How it is drawn.

def draw(lines: list[Line], name: str, panels: list[Panel], out: pathlib.Path) -> None:
    times = seconds(lines)
    lost = drops(lines, times)
    # A panel that only shows words needs less height.
    heights = [2.0 if panel.left else 0.8 for panel in panels] + [0.7 + 0.22 * max(len(lost), 1)]
    figure, axes = pyplot.subplots(
        len(heights), sharex=True, squeeze=False, figsize=(11, sum(heights) + 0.9),
        height_ratios=heights, layout="constrained")
    for panel, axis in zip(panels, axes[:, 0]):
        draw_panel(axis, panel, lines, times)
    draw_drops(axes[-1, 0], lost, len(lines))
    for axis in axes[:, 0]:
        axis.grid(axis="x", color="#e4e4e4", linewidth=0.6)
        for before, line, time in zip(lines, lines[1:], times[1:]):
            if line["epoch"] != before["epoch"]:
                axis.axvline(time, color=GRAY, linestyle=":", linewidth=1)
    axes[-1, 0].set_xlabel("seconds since the first frame")
    axes[-1, 0].set_xlim(0, max(max(times), 1e-3))
    figure.suptitle(summary(name, lines, times), fontsize=10)
    save(figure, out)


def summary(name: str, lines: list[Line], times: list[float]) -> str:
    delivered = sum(line["fate"] == "delivered" for line in lines)
    text = f"{name}: {len(lines)} frames in {max(times):.1f} s, {delivered} delivered"
    epochs = len({line["epoch"] for line in lines})
    if epochs > 1:
        text += f", {epochs} epochs (dotted: a new one begins)"
    return text


def draw_panel(axis: Axes, panel: Panel, lines: list[Line], times: list[float]) -> None:
    axis.set_title(panel.title, loc="left", fontsize=10, fontweight="bold")
    handles: list[Line2D | Patch] = []
    right = panel.right if has_values(panel.right, lines) else None
    if panel.left:
        handles += draw_side(axis, panel.left, lines, times, is_alone=right is None)
    else:
        axis.set_yticks([])
    if right:
        handles += draw_side(axis.twinx(), right, lines, times, is_alone=False)
    if panel.left and (gaps := missing(lines, times, panel)):
        handles.append(axis.vlines(gaps, 0, MARK, color=RED, linewidth=0.8, label="frame missing",
                                   transform=axis.get_xaxis_transform()))
    if panel.word:
        spans = states(lines, times, panel.word)
        handles += draw_states(axis, spans, STATE_STRIP if panel.left else 1)
    # A single curve that the title names needs no legend.
    if len(handles) > 1 or not panel.left or panel.left.series[0].path != panel.title:
        axis.legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=max(len(handles), 1),
                    fontsize=8, frameon=False, borderaxespad=0.2)


def draw_side(
        axis: Axes, side: Side, lines: list[Line], times: list[float], is_alone: bool) -> list[Line2D]:
    """Of a side that is not alone, each curve's name says the unit, and so its axis."""
    handles: list[Line2D] = []
    for series in side.series:
        x, y = curve(lines, times, series)
        label = series.label if is_alone or not side.unit else f"{series.label} ({side.unit})"
        if series.path == "latency_us":
            label += ": " + percentiles([value for value in y if math.isfinite(value)])
        if x:
            handles += axis.plot(x, y, color=series.color, linewidth=1.1, label=label)
            # A value with gaps on both sides has no line, so it gets a marker.
            alone = [place for place in range(len(y)) if not any(
                math.isfinite(value) for value in y[max(place - 1, 0):place] + y[place + 1:place + 2])]
            axis.plot([x[place] for place in alone], [y[place] for place in alone], ".",
                      color=series.color, markersize=3)
    colors = {handle.get_color() for handle in handles}
    axis.set_ylabel(side.unit, fontsize=8, color=colors.pop() if len(colors) == 1 else "black")
    axis.tick_params(labelsize=8)
    scale(axis, side, [value for handle in handles for value in handle.get_ydata()
                       if math.isfinite(value)])
    return handles


def scale(axis: Axes, side: Side, values: list[float]) -> None:
    """Chooses the axis' ends, with room above for a controller's states."""
    low, high = min([*values, *side.shown]), max([*values, *side.shown])
    low, high = low - max(side.span - (high - low), 0) / 2, high + max(side.span - (high - low), 0) / 2
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
        # Marks of missing frames use the lower end of the axis.
        axis.set_ylim(low - room * 0.7, high + room)


def percentiles(values: list[float]) -> str:
    ordered = sorted(values)
    p50, p99 = (ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0.5, 0.99))
    return f"p50 {p50:.1f}, p99 {p99:.1f}, most {ordered[-1]:.1f} ms"


def draw_states(axis: Axes, spans: list[tuple[str, float, float]], height: float) -> list[Patch]:
    """A strip along the panel's top, its color shaded downwards, each word where it has room.
    Returns a legend of the words that found none."""
    colors = dict(zip(dict.fromkeys(word for word, _, _ in spans), itertools.cycle(STATE_COLORS)))
    whole = max((end for _, _, end in spans), default=0) or 1
    unsaid = dict(colors)
    for word, start, end in spans:
        axis.axvspan(start, end, color=colors[word], alpha=0.25, linewidth=0)
        axis.axvspan(start, end, ymin=1 - height, color=colors[word], linewidth=0)
        if (end - start) / whole > 0.012 * len(word):
            axis.text((start + end) / 2, 1 - height / 2, word, fontsize=7, ha="center",
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
                       colors=RED)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.tick_params(labelsize=8)


def save(figure: pyplot.Figure, out: pathlib.Path) -> None:
    # A picture has its name when it is whole; devices are written as they are.
    partial = out.with_name(f"{out.stem}.partial{out.suffix}") if out.is_file() or not out.exists() else out
    # Text stays text in an SVG.
    with pyplot.rc_context({"svg.fonttype": "none"}):
        try:
            figure.savefig(partial, dpi=120)
            partial.replace(out)
        except OSError as error:
            if partial != out:
                partial.unlink(missing_ok=True)
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
            raise Unusable(f"{out} cannot be written: {error.strerror}", 1 if is_full else 2) from None


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("reports", nargs="?", default="")
    parser.add_argument("out", nargs="?", default="")
    parser.add_argument("--fields")
    parser.add_argument("--program")
    parser.add_argument("--overwrite", action="store_true")
    given = parser.parse_args(arguments)
    if not given.reports or not given.out:
        raise Unusable("say what to draw and where: sprocket plot run.jsonl run.png "
                       "[--fields meter.mean,focus.score]")
    reports, out = pathlib.Path(given.reports), pathlib.Path(given.out)
    if out.suffix.lower() not in (".png", ".svg"):
        raise Unusable(f"{out} has to end in .png or .svg")
    if out.is_file() and not given.overwrite:
        raise Unusable(f"{out} exists; give another name, or --overwrite")
    lines = read(reports)
    kinds = fields(lines)
    unit_of = units(given.program) if given.program else {}
    panels = (usual_panels(kinds, unit_of, lines) if given.fields is None
              else chosen_panels(asked(given.fields, kinds, reports), kinds, unit_of, lines))
    draw(lines, reports.name, panels, out)
    drawn = {path for panel in panels for path in paths_of(panel)}
    others = [path for path, kind in kinds.items() if kind in ("number", "word") and path not in drawn]
    print(f"{out} is drawn" + (f"; --fields can name others: {', '.join(others)}" if others else ""))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except Unusable as error:
        print(f"plot: {error}", file=sys.stderr)
        sys.exit(error.code)
