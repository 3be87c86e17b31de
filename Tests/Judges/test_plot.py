"""The picture of a run: that it is one, what is on it, and what is said of reports that are none."""
import contextlib
import errno
import io
import json
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from unittest import mock

import matplotlib.figure
import matplotlib.pyplot
import PIL.Image
import pytest

from program import LIMIT, ROOT, SPROCKET, one_sentence, read_lines, sprocket

PANELS = ["Luma and EV", "Exposure and gain", "Focus score and lens position", "Camera path, x",
          "Camera path, y", "Camera roll, and crop left", "Latency", "Drops"]


def plot(*arguments):
    """As `plotted_apart`, in this process: matplotlib takes longer to load than to draw."""
    script = ROOT / "Tools/plot.py"
    output, errors, code = io.StringIO(), io.StringIO(), 0
    with mock.patch.object(sys, "argv", [str(script), *map(str, arguments)]), \
            contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:  # With a sentence, or with a code.
            code = end.code if isinstance(end.code, int) else 1
            errors.write("" if code == end.code else str(end.code))
    matplotlib.pyplot.close("all")
    return subprocess.CompletedProcess(arguments, code, output.getvalue(), errors.getvalue())


def plotted_apart(*arguments):
    command = [sys.executable, ROOT / "Tools/plot.py", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=LIMIT)


def words(reports, folder, *options):
    """The texts of an SVG that shows these reports."""
    out = folder / "run.svg"
    result = plot(reports, out, "--overwrite", *options)
    assert result.returncode == 0, result.stderr
    root = xml.etree.ElementTree.parse(out).getroot()
    return ["".join(element.itertext()).strip() for element in root.iterfind(".//{*}text")]


def written(folder, lines):
    path = folder / "written.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def frame(number, fate="delivered", **others):
    captured = None if fate == "missing" else 7_000_000_000 + number * 20_000_000
    return {"sequence": number, "epoch": 0, "captured_ns": captured, "clock": "monotonic",
            "fate": fate, "latency_us": None if captured is None else 1500.0 + number, **others}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    reports = tmp_path_factory.mktemp("plot") / "run.jsonl"
    sprocket("run", "--source", "scene", "--size", "160x120", "--frames", 120, "--stage", "meter",
             "--stage", "focus", "--stage", "stabilize", "--source-set", "drop=0.05", "--source-set",
             "corrupt=0.05", "--reports", reports, "--quiet")
    return reports


def test_a_png_is_a_page_with_curves_in_color(run, tmp_path):
    out = tmp_path / "run.png"
    result = plotted_apart(run, out)
    assert result.returncode == 0, result.stderr
    with PIL.Image.open(out) as image:
        image.load()
        assert image.format == "PNG"
        assert image.width >= 1000 and image.height >= 1000
        colored = sum(count for count, pixel in image.convert("RGB").getcolors(1 << 24)
                      if max(pixel) - min(pixel) > 80)
        assert colored > 3000


def test_an_svg_names_every_panel_and_counts_every_drop(run, tmp_path):
    texts = words(run, tmp_path)
    assert set(PANELS) <= set(texts)
    fates = [line["fate"] for line in read_lines(run)]
    for fate in ("missing", "corrupt"):
        assert fates.count(fate) > 0
        assert f"{fate} ({fates.count(fate)})" in texts
    lost = len(fates) - fates.count("delivered")
    assert f"{lost} of {len(fates)} frames not delivered" in texts


def test_what_was_not_measured_is_left_out(tmp_path):
    texts = words(written(tmp_path, [frame(number) for number in range(5)]), tmp_path)
    assert [title for title in PANELS if title in texts] == ["Latency", "Drops"]
    assert "none" in texts and "frame missing" not in texts


def test_jumps_of_the_sequence_without_a_line_are_drops(tmp_path):
    lines = [frame(0), frame(1, "missing"), frame(2), frame(5), frame(6, "late", stage="latedrop")]
    texts = words(written(tmp_path, lines), tmp_path)
    assert {"missing (1)", "no line (2)", "late by latedrop (1)"} <= set(texts)
    assert "4 of 7 frames not delivered" in texts


def test_a_large_jump_is_one_drop_of_many(tmp_path):
    texts = words(written(tmp_path, [frame(0), {**frame(1), "sequence": 4_000_000_001}]), tmp_path)
    assert "no line (4000000000)" in texts
    assert "4000000000 of 4000000002 frames not delivered" in texts


def test_a_curve_is_broken_where_time_goes_back(tmp_path):
    lines = [frame(number, meter={"mean": 9.0}) for number in range(10)]
    lines[4]["captured_ns"] -= 50_000_000
    out = tmp_path / "run.svg"
    result = plot(written(tmp_path, lines), out)
    assert result.returncode == 0, result.stderr
    # Numbers 0 to 3, and 5 to 9: frame 4 by itself is no line.
    assert strokes(out, "#1f5fa8") == [4, 5]


def test_a_curve_is_broken_and_marked_where_frames_are_missing(tmp_path):
    lines = [frame(number, meter={"mean": 9.0}) for number in range(14)]
    lines[4] = frame(4, "corrupt")
    del lines[9]
    out = tmp_path / "run.svg"
    result = plot(written(tmp_path, lines), out, "--fields", "meter.mean")
    assert result.returncode == 0, result.stderr
    assert strokes(out, "#1f5fa8") == [4, 4, 4]  # Numbers 0 to 3, 5 to 8, and 10 to 13.
    marks = xml.etree.ElementTree.parse(out).getroot().findall(".//{*}g[@id='LineCollection_1']//{*}path")
    assert len(marks) == 2


def test_a_frame_that_a_stage_did_not_report_on_is_no_gap(tmp_path):
    lines = [frame(number, own={"score": 1.0 * number}) for number in range(9)]
    del lines[4]["own"]
    out = tmp_path / "run.svg"
    assert plot(written(tmp_path, lines), out, "--fields", "own").returncode == 0
    assert strokes(out, "#1f5fa8") == [8]


def own(number):
    """What a stage of one's own may report."""
    return frame(number, own={"x": 0.1 * number, "y": 0.2 * number, "far": 1e6 * number, "count": number,
                              "state": "low" if number < 5 else "high", "ok": number % 2 == 0,
                              "row": [1, 2], "never": None})


@pytest.fixture
def program(tmp_path):
    """One whose stages have units."""
    path = tmp_path / "program"
    fields = [{"name": name, "unit": "m"} for name in ("x", "y", "far")] + [{"name": "count", "unit": ""}]
    stages = [{"name": "own", "reports": fields}, {"name": "none"}]
    path.write_text(f"#!/bin/sh\necho '{json.dumps(stages)}'\n")
    path.chmod(0o755)
    return path


def test_each_number_and_word_of_ones_own_stage_is_drawn(tmp_path, program):
    reports = written(tmp_path, [own(number) for number in range(10)])
    texts = words(reports, tmp_path)
    assert {"own.x", "own.y", "own.far", "own.count", "own.state", "own.ok", "Latency"} <= {*texts}
    assert {"low", "high"} <= {*texts}
    assert not any(text in name for name in texts for text in ("row", "never"))
    # Curves of one unit share an axis if each one's changes stay visible there.
    texts = words(reports, tmp_path, "--program", program)
    assert {"own.x, own.y", "own.far", "own.count", "m"} <= {*texts}


def test_fields_can_be_chosen_and_the_others_are_told(tmp_path):
    reports = written(tmp_path, [own(number) for number in range(10)])
    result = plot(reports, tmp_path / "run.svg", "--fields", "own.count,latency_us")
    assert result.stdout.startswith(f"{tmp_path}/run.svg is drawn; --fields can name others: own.x, own.y,")
    texts = words(reports, tmp_path, "--fields", "own.count,latency_us")
    assert "own.count" in texts and "latency_us" in texts and "Drops" in texts
    assert "own.x" not in texts and "Latency" not in texts


@pytest.mark.parametrize("fields, said", [
    ("own.cuont", "has no field `own.cuont`; did you mean `own.count`? there are: latency_us, own.x"),
    ("onw", "did you mean `own`?"), ("own.row", "is a row of numbers"), ("own.never", "has no value in any"),
    (",", "--fields names no field")])
def test_fields_that_cannot_be_drawn_are_refused_in_a_sentence(fields, said, tmp_path):
    refused(plot(written(tmp_path, [own(number) for number in range(10)]), tmp_path / "run.png", "--fields",
                 fields), said)


def test_a_program_that_knows_no_stages_is_refused_in_a_sentence(tmp_path):
    reports = written(tmp_path, [own(number) for number in range(10)])
    for program in ("/bin/false", "/bin/echo", tmp_path / "none"):
        refused(plot(reports, tmp_path / "run.png", "--program", program), "does not answer `stages --json`")


def height(folder, field, low, high):
    """How many points of an SVG's height a curve from `low` to `high` takes; a panel has about 110."""
    stage, name = field.split(".")
    lines = [frame(number, **{stage: {name: low + (high - low) * number / 9}}) for number in range(10)]
    assert plot(written(folder, lines), folder / "run.svg", "--overwrite").returncode == 0
    root = xml.etree.ElementTree.parse(folder / "run.svg").getroot()
    curve = next(path.get("d") for path in root.iterfind(".//{*}path")
                 if "#1f5fa8" in path.get("style", "") and path.get("d").count("L") == 9)
    heights = [float(y) for y in re.findall(r"[ML] \S+ (\S+)", curve)]
    return max(heights) - min(heights)


@pytest.mark.parametrize("low, high", [(0, 4000), (-3, -2.9), (1e6, 1e6 + 1)])
def test_an_axis_fits_its_data(low, high, tmp_path):
    assert height(tmp_path, "own.score", low, high) > 70


def test_noise_of_luma_does_not_look_like_news(tmp_path):
    assert height(tmp_path, "meter.mean", 100, 101) < 8 and height(tmp_path, "meter.mean", 30, 220) > 70


def strokes(svg, color):
    """How many points each piece of the first long curve of this color has."""
    for path in xml.etree.ElementTree.parse(svg).getroot().iterfind(".//{*}path"):
        commands = re.findall("[ML]", path.get("d", ""))
        if color in path.get("style", "") and len(commands) > 5:
            return [len(piece) for piece in re.findall("ML+", "".join(commands))]
    return []


def test_null_and_nan_are_no_values(tmp_path):
    values = [None, math.nan, 3.0, math.inf, 5.0]
    lines = [frame(number, meter={"mean": value, "offset": None}, focus={"score": None})
             for number, value in enumerate(values)]
    texts = words(written(tmp_path, lines), tmp_path)
    assert "Luma and EV" in texts and "mean luma" in texts
    assert "Focus score and lens position" not in texts
    assert "offset from the target" not in texts


def test_states_of_controllers_are_named(tmp_path):
    def line(number):
        word = "waiting" if number == 0 else "coarse" if number < 50 else "focused"
        return frame(number, lens=0.01 * number, focus={"score": 1.0}, autofocus={"state": word})
    texts = words(written(tmp_path, [line(number) for number in range(100)]), tmp_path)
    assert {"waiting", "coarse", "focused"} <= set(texts)


def test_one_frame_alone_can_be_drawn(tmp_path):
    assert "Latency" in words(written(tmp_path, [frame(0)]), tmp_path)


@pytest.mark.parametrize("text, said", [
    ("", "is empty"),
    ("{\"sequence\":0", ":1 is not a line of JSON"),
    ("[]\n", ":1 is no line"),
    ("{\"produced\": 3}\n", ":1 is no line"),
    (json.dumps(frame(0, "missing")) + "\n", "no frame that was captured"),
    *[(json.dumps({**frame(0), **wrong}) + "\n", ":1 is no line") for wrong in (
        {"sequence": None}, {"sequence": 10 ** 400}, {"epoch": "0"}, {"captured_ns": "now"},
        {"latency_us": [1]}, {"fate": None}, {"stage": 7})],
    ("{\"sequence\": " + "1" * 5000 + "}\n", ":1 is not a line of JSON"),
    (b"\xff\xfe", "cannot be read"),
], ids=lambda value: repr(value)[:40])
def test_what_are_no_reports_is_refused_in_a_sentence(text, said, tmp_path):
    reports = tmp_path / "bad.jsonl"
    reports.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(plot(reports, tmp_path / "run.png"), said)
    assert not (tmp_path / "run.png").exists()


def test_wrong_paths_are_refused_in_a_sentence(run, tmp_path):
    refused(plotted_apart(tmp_path / "none.jsonl", tmp_path / "run.png"), "is not there")
    refused(plot(run, tmp_path / "run.pdf"), "end in .png or .svg")
    refused(plot(run, tmp_path / "none/run.png"), "cannot be written")
    refused(plot(tmp_path, tmp_path / "run.png"), "cannot be read")
    refused(plot("", ""), "sprocket plot run.jsonl")


def test_a_picture_is_replaced_on_request_alone_and_is_whole_or_not_there(run, tmp_path):
    out = tmp_path / "run.png"
    out.write_text("mine")
    refused(plot(run, out), "exists; give another name, or --overwrite")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with mock.patch.object(matplotlib.figure.Figure, "savefig", side_effect=full):
        refused(plot(run, out, "--overwrite"), "cannot be written: No space left", code=1)
    assert out.read_text() == "mine" and list(tmp_path.iterdir()) == [out]
    assert plot("--overwrite", "--", run, out).returncode == 0
    with PIL.Image.open(out) as image:
        assert image.format == "PNG"
    assert list(tmp_path.iterdir()) == [out]


@pytest.fixture
def beside(tmp_path):
    """The program in a folder, beside one that prints its arguments in place of the one that draws."""
    folder = tmp_path / "bin"
    folder.mkdir()
    shutil.copy(SPROCKET, folder / "sprocket")
    (folder / "sprocket-plot").write_text("#!/bin/sh\nfor word; do echo \"$word\"; done\n")
    (folder / "sprocket-plot").chmod(0o755)
    return folder / "sprocket"


def test_paths_are_no_options_and_a_missing_python_is_told(beside):
    def said(**environment):
        words = [beside, "plot", "--fields", "focus", "--overwrite", "--", "-run.jsonl", "-a.png"]
        return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, env=environment)
    assert said(PATH=os.environ["PATH"]).stdout.split() == [
        f"--program={beside}", "--fields=focus", "--overwrite", "--", "-run.jsonl", "-a.png"]
    missing = said(PATH="/nowhere")
    assert missing.returncode == 1 and missing.stdout == ""
    assert "no python3 is in PATH; install Debian's python3-matplotlib" in one_sentence(missing.stderr)


def refused(result, said, code=2):
    assert result.returncode == code
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert result.stderr.startswith("plot: ") and said in result.stderr
