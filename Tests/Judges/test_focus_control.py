"""The lens is where the scene is sharp, by the scene's own truth; and it stays there."""
import pytest

from program import one_sentence, read_lines, read_summary, sprocket


class Run:
    """A run of the scene with `autofocus`: its reports, its truth, and its account."""

    def __init__(self, folder, frames, stage="autofocus", options=(), **scene):
        reports, truth, summary = (folder / name for name in ("reports", "truth", "summary"))
        settings = [["--source-set", f"{key}={value}"] for key, value in scene.items()]
        sprocket("run", "--source", "scene", "--size", "320x240", *options, "--stage", "meter",
                 "--stage", "focus", "--stage", stage, "--frames", frames, *sum(settings, []),
                 "--source-set", f"truth={truth}", "--reports", reports, "--summary", summary,
                 "--quiet", "--overwrite")
        self.lines = [line["autofocus"] for line in read_lines(reports) if "autofocus" in line]
        self.truth = [line for line in read_lines(truth) if "lens" in line]
        self.summary = read_summary(summary)

    @property
    def error(self):
        """How far the lens is from the focus at the end, as a share of its way."""
        return abs(self.truth[-1]["lens"] - self.truth[-1]["focus"])

    @property
    def last(self):
        return self.lines[-1]

    def states(self):
        words = [line["state"] for line in self.lines]
        return [word for word, before in zip(words, [None, *words]) if word != before]


@pytest.mark.parametrize("focus", [0, 0.15, 0.5, 0.83, 1])
def test_it_finds_the_focus_from_every_start(focus, tmp_path):
    for lens in (0, 0.22, 0.5, 0.71, 1):
        run = Run(tmp_path, 250, focus=focus, lens=lens)
        assert run.states()[-1] == "focused", run.states()
        assert run.error <= 0.01, (focus, lens, run.last)
        assert run.last["looks"] <= 25 and run.last["searches"] == 1


@pytest.mark.parametrize("scene", [
    {"delay": 1}, {"delay": 3}, {"delay": 4}, {"noise": 3}, {"light": -3}, {"gamma": 1.8},
    {"gamma": 2.6}, {"backlash": 0.05}, {"lensspeed": 4, "backlash": 0.03},
    {"drop": 0.1, "corrupt": 0.1}], ids=str)
def test_it_copes_with(scene, tmp_path):
    for lens in (0.05, 0.9):
        # As most raw formats, grey has the sensor's noise as it is.
        run = Run(tmp_path, 300, options=["--format", "GREY"], focus=0.4, lens=lens, **scene)
        assert run.last["state"] == "focused" and run.error <= 0.012, (lens, run.last)


@pytest.mark.parametrize("lag", range(7))
def test_a_lens_that_lags_is_focused_or_not_called_so(lag, tmp_path):
    """The picture shows the lens later than the source says; nobody knows by how much."""
    for focus, lens, delay in ((0.27, 0.54, 4), (0.5, 0.45, 1), (0.24, 0.16, 2)):
        run = Run(tmp_path, 600, focus=focus, lens=lens, delay=delay, lenslag=lag)
        wrong = [index for index, (line, truth) in enumerate(zip(run.lines, run.truth))
                 if line["state"] == "focused" and abs(truth["lens"] - truth["focus"]) > 0.02]
        assert not wrong, (focus, lens, wrong[:3])
        assert run.last["state"] == "focused", run.states()
        assert run.last["lag_known"] and run.last["lag_least"] <= lag <= run.last["lag"]


def test_a_slow_lens_is_waited_for(tmp_path):
    run = Run(tmp_path, 500, "autofocus:speed=0.6", focus=0.3, lens=0.9, lensspeed=0.6)
    assert run.last["state"] == "focused" and run.error <= 0.01, run.last


def test_it_does_not_hunt(tmp_path):
    run = Run(tmp_path, 5000, focus=0.4, lens=0.1, shake=5, pan=60)
    assert run.last["searches"] == 1 and run.last["state"] == "focused"
    assert len({line["lens"] for line in run.truth[300:]}) == 1
    assert run.error <= 0.01


def test_it_follows_the_scene_in_continuous_alone(tmp_path):
    change = {"focus": 0.25, "lens": 0.9, "focusstep": 0.5, "focusat": 8}
    run = Run(tmp_path, 500, **change)
    assert run.last["searches"] == 2 and run.last["state"] == "focused" and run.error <= 0.01
    run = Run(tmp_path, 500, "autofocus:mode=auto", **change)
    assert run.last["searches"] == 1 and run.last["state"] == "locked"
    assert abs(run.truth[-1]["lens"] - 0.25) <= 0.01


def test_it_finds_what_is_far_out_of_focus(tmp_path):
    """From where the scene is a blur of two dozen pixels and more."""
    for lens in (0, 1):
        run = Run(tmp_path, 400, focus=0.4, lens=lens, defocus=60, options=["--format", "GREY"])
        assert run.last["state"] == "focused" and run.error <= 0.01, (lens, run.last)


def test_it_rests_where_there_is_nothing_to_see(tmp_path):
    """A scene in the dark: the lens is where it was, and is left there."""
    run = Run(tmp_path, 1000, focus=0.2, lens=0.7, light=-16)
    assert run.states() == ["coarse", "resting"]
    assert run.last["searches"] == 1 and run.truth[-1]["lens"] == pytest.approx(0.7)
    # The light comes on, for good.
    run = Run(tmp_path, 600, focus=0.2, lens=0.7, light=-16, lightstep=16, lightat=8)
    assert run.states()[:2] == ["coarse", "resting"] and run.last["state"] == "focused"
    assert run.error <= 0.01


def test_locked_and_custom_do_as_they_are_told(tmp_path):
    run = Run(tmp_path, 60, "autofocus:mode=locked", focus=0.2, lens=0.7)
    assert run.states() == ["locked"] and {line["lens"] for line in run.truth} == {0.7}
    run = Run(tmp_path, 60, "autofocus:mode=custom,position=0.33", focus=0.2, lens=0.7)
    assert run.states() == ["settling", "locked"] and run.truth[-1]["lens"] == 0.33


def test_results_are_the_same_whatever_the_workers(tmp_path):
    runs = [Run(tmp_path, 200, options=["--workers", count], focus=0.2) for count in (1, 2, 5)]
    assert runs[0].lines == runs[1].lines == runs[2].lines


def test_what_it_needs_is_said_in_a_sentence(tmp_path):
    def refused(*arguments):
        result = sprocket("run", *arguments, "--frames", 3, "--quiet", check=False)
        assert result.returncode == 2
        return one_sentence(result.errors)
    scene = ["--source", "scene", "--size", "64x48"]
    assert "the stage focus before it (--stage)" in refused(*scene, "--stage", "autofocus")
    assert "controls" in refused(*scene, "--source-set", "cached=3", "--stage", "focus", "--stage",
                                 "autofocus")
    assert "0 to 1" in refused(*scene, "--stage", "focus", "--stage", "autofocus:position=2")
