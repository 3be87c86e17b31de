"""Exposure goes where the scene's own truth says that it should, soon and not beyond; and stays there."""
import math

import pytest

from program import one_sentence, read_lines, read_summary, sprocket

STILL = {"pan": 0, "shake": 0, "roll": 0}
STEP_AT = 60  # Frames; the scene has 30 in a second.


class Run:
    """A run of a scene that stands still: reports, and by its truth the exposure of each frame in EV."""

    def __init__(self, folder, frames, *arguments, **scene):
        reports, truth, summary = (folder / name for name in ("reports", "truth", "summary"))
        settings = [["--source-set", f"{key}={value}"] for key, value in {**STILL, **scene}.items()]
        sprocket("run", "--source", "scene", "--format", "GREY", "--size", "160x120", "--frames", frames,
                 *sum(settings, []), "--source-set", f"truth={truth}", "--reports", reports,
                 "--summary", summary, "--quiet", "--overwrite", *arguments)
        self.lines = read_lines(reports)
        self.truth = [line for line in read_lines(truth) if "exposure_us" in line]
        self.summary = read_summary(summary)

    @property
    def control(self):
        return [line["autoexposure"] for line in self.lines if "autoexposure" in line]

    @property
    def settings(self):
        return [math.log2(line["exposure_us"] * line["gain"]) for line in self.truth]

    def errors(self, right):
        """By how many EV each frame got too much light."""
        return [setting + line["light_ev"] - right
                for setting, line in zip(self.settings, self.truth)]


def right_setting(folder, gamma):
    """By bisection, without a controller: the setting whose frames the meter finds on its target."""
    low, high = -6.0, 6.0
    for _ in range(12):
        middle = (low + high) / 2
        run = Run(folder, 1, "--stage", "meter", gamma=gamma, exposure=10_000 * 2**middle)
        low, high = (middle, high) if run.lines[0]["meter"]["offset"] < 0 else (low, middle)
    return math.log2(10_000) + (low + high) / 2


@pytest.mark.parametrize("gamma", [1.8, 2.0, 2.2, 2.4, 2.6, 0])
def test_a_step_of_four_stops_is_over_soon_and_not_overshot(gamma, tmp_path):
    right = right_setting(tmp_path, gamma)
    for delay in (1, 2, 3, 4):
        for step in (4, -4):
            run = Run(tmp_path, 120, "--auto-exposure", "continuous", gamma=gamma, delay=delay,
                      light=-step / 4, lightstep=step, lightat=STEP_AT / 30)
            errors = run.errors(right)
            assert abs(errors[STEP_AT] - errors[STEP_AT - 1] - step) < 0.5, "the light has changed there"
            assert abs(errors[STEP_AT - 1]) <= 0.1
            wrong = [index for index in range(STEP_AT, 120) if abs(errors[index]) > 0.1]
            assert wrong[-1] + 1 - STEP_AT <= 8 + delay, (delay, step)
            overshoot = max(-error * step / 4 for error in errors[STEP_AT:])
            assert overshoot <= 0.3, (delay, step)
            assert run.control[-1]["state"] == "converged" and run.control[-1]["delay"] == delay


@pytest.mark.parametrize("exposure_lag", [0, 1, 2])
@pytest.mark.parametrize("gain_lag", [0, 1, 2])
def test_lags_that_nobody_knows_overshoot_nothing(exposure_lag, gain_lag, tmp_path):
    """The light changes. Exposure ends at the frame rate; gain, whose lag was never seen, goes on."""
    late = 0
    for delay, step, light in ((1, -4, 0), (2, -3, 1), (3, 4, -2), (4, -2.5, 0)):
        run = Run(tmp_path, 160, "--auto-exposure", "continuous", gamma=2.2, delay=delay, light=light,
                  lightstep=step, lightat=STEP_AT / 30, exposurelag=exposure_lag, gainlag=gain_lag)
        offset = sum(line["meter"]["offset"] for line in run.lines[-20:]) / 20
        assert abs(offset) <= 0.1
        errors = run.errors(run.settings[-1] + run.truth[-1]["light_ev"] - offset)
        overshoot = max(-error * step / abs(step) for error in errors[STEP_AT:])
        assert overshoot <= 0.3, (delay, step)
        wrong = [index for index in range(STEP_AT, 160) if abs(errors[index]) > 0.1]
        late += wrong[-1] + 1 - STEP_AT > 10 + delay + max(exposure_lag, gain_lag)
        last = run.control[-1]
        assert last["state"] == "converged" and last["unsure"] == 0
        assert last["lag_least"] <= last["lag"]
    assert late <= 1


@pytest.mark.parametrize("scene", [{}, {"light": -5}, {"noise": 3}, {"delay": 4, "gamma": 2.6}], ids=str)
def test_ten_thousand_noisy_frames_move_nothing(scene, tmp_path):
    run = Run(tmp_path, 10_000, "--auto-exposure", "continuous", **scene)
    assert len(set(run.settings[100:])) == 1
    assert len({line["meter"]["mean"] for line in run.lines[100:]}) > 100, "there is noise"


def test_exposure_comes_before_gain_and_ends_at_the_frame_rate(tmp_path):
    run = Run(tmp_path, 80, "--auto-exposure", "continuous", light=-4)
    last = run.truth[-1]
    assert abs(last["exposure_us"] - 1e6 / 30) < 1 and last["gain"] > 2
    slow = Run(tmp_path, 80, "--stage", "meter", "--stage", "autoexposure:slowest=5", light=-4).truth[-1]
    assert slow["gain"] == 1 and 1e6 / 30 < slow["exposure_us"] <= 1e6 / 5
    balanced = Run(tmp_path, 80, "--stage", "meter", "--stage", "autoexposure:program=balanced",
                   light=-2).truth[-1]
    assert abs(balanced["exposure_us"] - 1e6 / 60) < 1 and balanced["gain"] > 1


@pytest.mark.parametrize("mains", [50, 60])
def test_a_lamps_periods_are_exposed_whole(mains, tmp_path):
    for light in (-1, -0.5):
        run = Run(tmp_path, 80, "--stage", "meter", "--stage", f"autoexposure:flicker={mains}", light=light)
        periods = run.truth[-1]["exposure_us"] * 2 * mains / 1e6
        assert abs(periods - round(periods)) < 1e-3 and round(periods) >= 1
        assert abs(run.lines[-1]["meter"]["offset"]) < 0.1


def test_bias_and_modes(tmp_path):
    biased = Run(tmp_path, 80, "--stage", "meter", "--stage", "autoexposure:bias=1")
    assert abs(biased.lines[-1]["meter"]["offset"] - 1) < 0.12
    once = Run(tmp_path, 120, "--auto-exposure", "auto", light=-2, lightstep=3, lightat=2)
    assert once.control[-1]["state"] == "locked"
    assert len(set(once.settings[50:])) == 1 and once.settings[50] > once.settings[0] + 1
    locked = Run(tmp_path, 60, "--auto-exposure", "locked", light=-2)
    assert set(locked.settings) == {math.log2(10_000)}
    custom = Run(tmp_path, 60, "--stage", "meter", "--stage", "autoexposure:mode=custom,exposure=5000,gain=3")
    assert (custom.truth[-1]["exposure_us"], custom.truth[-1]["gain"]) == (5000, 3)


def test_the_point_decides(tmp_path):
    """Two points of one picture that are not equally bright ask for different exposures."""
    settings = {point: Run(tmp_path, 80, "--auto-exposure", "continuous", "--point", point).settings[-1]
                for point in ("0.5/0.1", "0.5/0.5", "0.5/0.9")}
    assert max(settings.values()) - min(settings.values()) > 0.5, settings


def test_the_same_for_any_number_of_workers(tmp_path):
    runs = [Run(tmp_path, 120, "--auto-exposure", "continuous", "--workers", workers, light=-1, lightstep=3,
                lightat=2) for workers in (1, 2, 5)]
    for line in [line for run in runs for line in run.lines]:
        del line["latency_us"]
    assert runs[0].lines == runs[1].lines == runs[2].lines


def test_what_cannot_be_steered_is_refused(tmp_path):
    movie = tmp_path / "movie.mov"
    sprocket("run", "--source", "scene", "--frames", 3, "--movie", movie, "--quiet")
    for arguments in (["--source", f"file:{movie}"], ["--source", "scene", "--source-set", "cached=5"]):
        result = sprocket("run", *arguments, "--auto-exposure", "auto", check=False)
        assert result.returncode == 2 and "controls" in one_sentence(result.errors)
    result = sprocket("run", "--source", "scene", "--auto-exposure", "always", check=False)
    assert result.returncode == 2 and "continuous" in result.errors
    for arguments in (["--point", "0.5/0.5"], ["--auto-exposure", "auto", "--point", "2/0"],
                      ["--stage", "meter:mode=zones", "--point", "0.5/0.5"],
                      ["--stage", "autoexposure", "--auto-exposure", "auto"]):
        result = sprocket("run", "--source", "scene", "--frames", 1, *arguments, check=False)
        assert result.returncode == 2 and one_sentence(result.errors), arguments
