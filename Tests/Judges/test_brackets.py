"""A bracket's stills are the right frames: by exiftool, by the scene's own truth, and by their pixels. Where
the camera does not obey, the program says so and ends with an error."""
import json
import math
import re
import subprocess

import numpy
import pytest
from PIL import Image

from program import one_sentence, read_lines, read_summary, sprocket

STILL = {"pan": 0, "shake": 0, "roll": 0}
# The scene's sensor: sRGB, as the frames declare it.
LINEAR = numpy.array([v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4
                      for v in numpy.arange(256) / 255])


def run(folder, steps, *arguments, check=True, frames=600, **scene):
    """A bracket of the scene: its result, its lines of reports, the truth of each frame, the summary."""
    settings = [["--source-set", f"{key}={value}"] for key, value in {**STILL, **scene}.items()]
    result = sprocket(
        "run", "--source", "scene", "--size", "320x240", "--frames", frames, *sum(settings, []),
        "--source-set", f"truth={folder / 'truth'}", "--reports", folder / "reports", "--summary",
        folder / "summary", "--quiet", "--overwrite", *(["--bracket", steps] if steps else []), *arguments,
        check=check)
    lines = [{"number": number, **line} for number, line in enumerate(read_lines(folder / "reports"))]
    truth = {line["sequence"]: line for line in read_lines(folder / "truth") if "exposure_us" in line}
    return result, lines, truth, read_summary(folder / "summary")


def tags(paths):
    listed = subprocess.run(["exiftool", "-j", "-n", *map(str, paths)], capture_output=True, check=True)
    return json.loads(listed.stdout)


def chosen(lines):
    return [line for line in lines if line.get("bracket", {}).get("step")]


def exposed(line, start=10_000):
    return math.log2(line["exposure_us"] * line["gain"] / start)


@pytest.mark.parametrize("scene", [
    {}, {"delay": 4}, {"exposurelag": 3, "gainlag": 1}, {"exposurelag": 1, "noise": 3},
    {"exposurelag": 4, "gainlag": 4, "drop": 0.05}, {"exposurelag": 2, "pan": 40, "shake": 2},
], ids=str)
def test_the_five_stills_are_the_five_steps(scene, tmp_path):
    shots = tmp_path / "shots"
    _, lines, truth, summary = run(
        tmp_path, "-2,-1,0,1,2EV", "--stills", f"{shots}/{{bracket}}-{{n}}.jpg", exposure=3000, **scene)
    stills = sorted(shots.iterdir())
    assert [path.name[0] for path in stills] == list("12345")
    light = [LINEAR[numpy.asarray(Image.open(path).convert("L"))] for path in stills]
    for index, (path, found) in enumerate(zip(stills, tags(stills))):
        asked = index - 2
        number = int(path.stem.split("-")[1])
        line = next(line for line in lines if line["number"] == number)
        assert abs(exposed(truth[line["sequence"]], 3000) - asked) < 0.01
        assert found["ExposureMode"] == 2 and found["ExposureCompensation"] == asked
        comment = json.loads(found["UserComment"])
        assert (comment["bracket_step"], comment["bracket_steps"]) == (index + 1, 5)
        assert comment["bracket_verified"] == "picture" == line["bracket"]["verified"]
        assert abs(comment["bracket_measured_ev"] - asked) <= 0.2
        # The pixels themselves, where neither picture is clipped or dark.
        both = (light[index] < 0.8) & (light[2] < 0.8) & (light[index] > 0.01) & (light[2] > 0.01)
        ratio = math.log2(numpy.median(light[index][both]) / numpy.median(light[2][both]))
        if not scene.get("pan"):
            assert abs(ratio - asked) < 0.35, (index, ratio)
    assert len(chosen(lines)) == 5
    # The values from before are in force again, and the run ended with the bracket.
    last = [line for line in lines if "bracket" in line][-1]
    assert last["bracket"]["state"] == "complete" and len(lines) < 500
    assert (last["exposure_us"], last["gain"]) == (3000, 1)
    assert not summary["errors"]


@pytest.mark.parametrize("lag", [1, 2, 3, 4])
def test_the_delay_is_learned_from_the_picture(lag, tmp_path):
    for gamma in (1.8, 2.2, 2.6):
        _, lines, truth, summary = run(
            tmp_path, "-1,1EV", exposurelag=lag, gamma=gamma, exposure=5000, frames=300)
        assert summary["source"]["control_delays"] == {"exposure": {"frames": lag, "origin": "measured"}}
        # Each step's frame is the first that shows it.
        by_number = {line["number"]: truth[line["sequence"]] for line in lines}
        for line in chosen(lines):
            now, before = by_number[line["number"]], by_number[line["number"] - 1]
            assert now["exposure_us"] != before["exposure_us"]


def test_gain_goes_on_where_exposure_ends(tmp_path):
    _, lines, truth, summary = run(tmp_path, "0,3EV", exposure=20_000, exposurelag=2, gainlag=3, light=-3)
    last = truth[chosen(lines)[1]["sequence"]]
    assert abs(last["exposure_us"] - 1e6 / 30) < 1 and abs(exposed(last, 20_000) - 3) < 0.01
    delays = {name: delay["frames"] for name, delay in summary["source"]["control_delays"].items()}
    assert delays == {"exposure": 2, "gain": 3}


@pytest.mark.parametrize("speed", [0, 1])
def test_lens_positions_are_taken_where_the_lens_rests(speed, tmp_path):
    shots = tmp_path / "shots"
    arguments = ["--stills", shots]
    if speed:
        arguments = ["--stage", "focus", "--stage", f"bracket:steps=lens=0/0.5/1,speed={speed}", "--sink",
                     f"stills:{shots},when=bracket.step > 0"]
    _, lines, truth, _ = run(tmp_path, None if speed else "lens=0,0.5,1", *arguments, lenslag=2,
                             lensspeed=speed, frames=200)
    picked = chosen(lines)
    assert [line["bracket"]["value"] for line in picked] == [0, 0.5, 1]
    assert [line["bracket"]["verified"] for line in picked] == ["answer"] * 3
    for line, wanted in zip(picked, (0, 0.5, 1)):
        assert abs(truth[line["sequence"]]["lens"] - wanted) < 0.01
    assert len(list(shots.iterdir())) == 3
    assert "ExposureMode" not in tags(sorted(shots.iterdir()))[0]


def test_it_waits_for_automatic_exposure_to_end(tmp_path):
    _, lines, truth, _ = run(tmp_path, "-1,0,1EV", "--auto-exposure", "auto", light=-2, exposurelag=2)
    settings = [exposed(truth[line["sequence"]]) for line in chosen(lines)]
    assert settings[1] > 1 and [round(setting - settings[1], 1) for setting in settings] == [-1, 0, 1]


def test_what_cannot_be_is_an_error_and_says_why(tmp_path):
    result, lines, _, summary = run(
        tmp_path, "-12,0EV", "--stills", tmp_path / "shots", check=False)
    assert result.returncode != 0
    assert "cannot expose by -12 EV" in one_sentence(result.errors)
    last = [line for line in lines if "bracket" in line][-1]
    assert last["bracket"]["state"] == "failed" and len(summary["errors"]) == 1
    result, lines, _, _ = run(tmp_path, "-1,0,1EV", frames=12, check=False)
    assert result.returncode != 0 and re.search(r"ended with \d of 3 steps", one_sentence(result.errors))


@pytest.mark.parametrize("arguments, words", [
    (["--bracket", "1,2"], "is not allowed"),
    (["--bracket", "-1,1EV", "--auto-exposure", "continuous"], "--auto-exposure auto"),
    (["--bracket", "-1,1EV", "--stills", "s", "--every", "1s"], "leave one out"),
    (["--bracket", "iris=1,2"], "steps iris"),
    (["--stills", "s-{bracket}.jpg"], "the stage bracket"),
])
def test_what_makes_no_sense_is_refused(arguments, words, tmp_path):
    arguments = [str(tmp_path / word) if word.startswith("s") else word for word in arguments]
    result = sprocket("run", "--source", "scene", "--size", "160x120", "--frames", 20, "--quiet", *arguments,
                      check=False)
    assert result.returncode != 0 and words in one_sentence(result.errors)


def test_stills_of_any_condition(tmp_path):
    """`when` is the stills' own: it works without a bracket, too."""
    shots, reports = tmp_path / "shots", tmp_path / "reports"
    scene = ["run", "--source", "scene", "--size", "160x120", "--frames", 60, "--quiet", "--stage", "meter",
             "--source-set", "lightstep=2", "--source-set", "lightat=1", "--reports", reports, "--overwrite"]
    sprocket(*scene)
    means = [line["meter"]["mean"] for line in read_lines(reports)]
    limit = (means[0] + means[-1]) / 2
    sprocket(*scene, "--sink", f"stills:{shots},when=meter.mean > {limit}")
    wanted = [number for number, mean in enumerate(means) if mean > limit]
    assert [int(path.stem.split("-")[1]) for path in sorted(shots.iterdir())] == wanted
    assert 0 < len(wanted) < 60


def test_a_bracket_ends_a_run_that_also_records_by_a_condition(tmp_path):
    _, lines, _, summary = run(
        tmp_path, "-1,0,1EV", "--stills", f"{tmp_path}/{{bracket}}.jpg", "--movie", tmp_path / "m-{n}.mov",
        "--record-when", "meter.mean >= 0", "--keep", "100ms", exposure=3000)
    assert len(list(tmp_path.glob("*.jpg"))) == 3 and len(lines) < 500
    assert summary["sinks"]["movie"]["delivered"] > 0


def test_a_picture_that_is_too_bright_to_compare_is_taken_and_told(tmp_path):
    _, lines, _, _ = run(tmp_path, "0,6EV")
    assert [line["bracket"]["verified"] for line in chosen(lines)] == ["picture", "none"]
