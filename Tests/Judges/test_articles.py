"""The programs of Examples/Articles with the two scenes, by ffprobe, exiftool, LibRaw and OpenCV."""
import subprocess

import cv2
import numpy as np
import pytest
import rawpy

from articles import NAMES, Taken, ask, assert_callbacks_come_in_order, callbacks
from program import LIMIT
from recordings import movie_packets, time_base, without_exif

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """What each program left, by its name: each runs once."""
    found = {}

    def run(name):
        if name not in found:
            found[name] = Taken(name, tmp_path_factory.mktemp(name) / "files")
        return found[name]
    return run


def number(text, before):
    """The number before a word."""
    words = text.replace(",", "").split()
    return float(words[words.index(before) - 1])


# Arguments.

@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("arguments, words", [
    ([], "one folder is needed"), (["a", "b"], "not 2"), (["a", "--size"], "there is no option --size"),
    (["a", "--camera"], "--camera needs a name"), (["a", "--camera", "none"], "no device is called none"),
    (["a", *["--camera", "scene:back scene"] * 3], "two cameras and one microphone are the most"),
])
def test_wrong_arguments_are_one_sentence(name, arguments, words, tmp_path):
    result = ask(name, *[tmp_path / word if word in ("a", "b") else word for word in arguments])
    assert result.returncode == 2 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith(f"{name}: ") and words in result.stderr


def test_an_unexpected_error_is_one_sentence(taken):
    again = ask("quick-camera", taken("quick-camera").folder)
    assert again.returncode == 1
    assert len(again.stderr.splitlines()) == 1
    assert again.stderr.startswith("quick-camera: ") and "exists" in again.stderr


def test_one_camera_has_none_to_switch_to(tmp_path):
    found = Taken("quick-camera", tmp_path, "--camera", "scene:front scene")
    assert found.said("switch") == "no, one camera was named"
    assert not (tmp_path / "quick-front.jpg").exists()


# S0.

def test_a_manual_photograph_has_the_settings_in_its_tags(taken):
    found = taken("manual-camera")
    tags = found.tags("manual.jpg")
    assert found.size("manual.jpg") == (1920, 1080) and tags["Orientation"] == 6
    # Of the slider at 0.8, between 1 ms and a thirtieth of a second.
    wanted = 0.001 + 0.8**5 * (1 / 30 - 0.001)
    assert tags["ExposureTime"] == pytest.approx(wanted, rel=0.01)
    assert tags["ISO"] == 200
    assert found.comment("manual.jpg")["lens_position"] == pytest.approx(0.3, abs=0.005)


def test_a_manual_movie_is_turned_and_has_sound(taken):
    movie = taken("manual-camera").movie("manual.mov")
    assert movie.rotation == -90 and movie.audio
    assert 0.8 < movie.seconds < 2.5
    assert taken("manual-camera").all_said("recording") == ["started", "finished"]


def test_what_the_camera_lacks_is_told_with_the_reason(taken):
    found = taken("manual-camera")
    for step in ("focus continuous", "exposure continuous", "white balance continuous", "torch", "zoom 2"):
        assert found.said(step).startswith("no, back scene has no control for"), step
    assert found.said("exposure of 1 hour").startswith("no, the exposure time of back scene is ")
    assert found.said("preset 352x288") == (
        "no, back scene does not offer 352x288; the nearest that it offers is 320x240")
    for step in ("focus at a point", "expose at a point"):
        assert found.said(step) == "yes"


def test_a_refused_change_is_a_runtime_error_and_changes_nothing(taken):
    found = taken("manual-camera")
    assert found.said("refused") in found.all_said("runtime error")
    assert "12345x6789" in found.said("refused")
    assert found.said("running") == "true with preset medium"


def test_the_subjects_change_is_noticed(taken):
    assert int(taken("manual-camera").said("subject area").split()[1]) >= 1


# S1.

def test_the_front_cameras_lack_of_1080p_is_told_and_its_best_is_taken(taken):
    found = taken("quick-camera")
    refusal = "front scene does not offer 1920x1080; the nearest that it offers is 1280x720"
    assert found.said("preset 1920x1080") == "set"
    assert found.said("switch") == f"no, {refusal}"
    assert refusal in found.all_said("runtime error")
    assert found.said("kept") == "back scene with preset 1920x1080"
    assert found.said("alternative") == "1280x720"
    assert found.all_said("switched") == [
        "front scene with preset 1280x720", "back scene with preset 640x480"]


def test_photographs_have_the_cameras_sizes_and_the_turn(taken):
    found = taken("quick-camera")
    sizes = {"quick-back.jpg": (640, 480), "quick-front.jpg": (1280, 720), "quick-focused.jpg": (640, 480)}
    for name, size in sizes.items():
        assert found.size(name) == size and found.tags(name)["Orientation"] == 6, name


def test_a_tap_is_a_point_of_the_camera(taken):
    found = taken("quick-camera")
    # The turned picture is 480x640, and covers the view's 360x640 with 60 beyond each side.
    across, down = (90 + 60) / 480, 160 / 640
    assert found.said("tap").endswith(f"is {down:.2f}/{1 - across:.2f} of the camera")
    assert "settled" in found.said("focus") and "settled" in found.said("exposure")
    exposure = number(found.said("exposure"), "ms") / 1000
    assert found.tags("quick-focused.jpg")["ExposureTime"] == pytest.approx(exposure, rel=0.05)


# S2.

def test_callbacks_come_in_order_with_the_settings_number(taken):
    found = taken("photo-capture")
    captures = assert_callbacks_come_in_order(found)
    asked = [int(found.said(what).split()[1])
             for what in ("single", "again", "bracket", "live", "raw and processed")]
    assert list(captures) == asked and len(set(asked)) == 5
    live = [call.split()[0] for call in captures[asked[3]]]
    assert live.index("didRecordLiveMovie") < live.index("liveMovie")


def test_each_format_is_a_photograph_of_the_same_size(taken):
    found = taken("photo-capture")
    for name in ("single.jpeg", "single.png", "again.jpeg", "again.png"):
        assert found.size(name) == (640, 480), name
    assert found.comment("single.jpeg")["frame"] < found.comment("again.jpeg")["frame"]
    assert any(call.startswith("thumbnail of") for call in sum(callbacks(found).values(), []))
    assert found.said("flash").startswith("no, back scene has no flash")


def test_a_bracket_has_its_exposure_steps(taken):
    found = taken("photo-capture")
    light = [tags["ExposureTime"] * tags["ISO"]
             for tags in (found.tags(f"bracket-{step}.jpeg") for step in (1, 2, 3))]
    assert [value / light[1] for value in light] == pytest.approx([0.5, 1, 2], rel=0.02)


def test_a_live_photos_movie_shows_the_photograph_at_its_time(taken):
    found = taken("photo-capture")
    said = next(call for calls in callbacks(found).values() for call in calls
                if call.startswith("liveMovie"))
    length, moment = number(said, "ms") / 1000, float(said.split()[-2]) / 1000
    movie = found.movie("live.mov")
    assert movie.audio and 0 < moment < length
    assert movie.seconds == pytest.approx(length, abs=0.15)
    photograph = without_exif((found.folder / "live.jpeg").read_bytes())
    packets = movie_packets(found.folder / "live.mov")
    same = [packet for packet in packets if packet.data == photograph]
    assert len(same) == 1
    ticks = (same[0].ticks - packets[0].ticks) / time_base(found.folder / "live.mov")
    assert ticks == pytest.approx(moment, abs=0.002)


def test_a_raw_photograph_is_the_mosaic_of_the_jpegs_frame(taken):
    found = taken("photo-capture")
    with rawpy.imread(str(found.folder / "raw.dng")) as raw:
        assert raw.raw_image.shape == (480, 640) and raw.num_colors == 3
        assert [raw.color_desc[place] for place in raw.raw_pattern.flat] == list(b"RGBG"[:2] + b"GB")
        # The scene's mosaic is not linear; LibRaw sees it through the table that makes it so.
        assert 255 < raw.raw_image.max() <= raw.white_level == 65535
        developed = cv2.cvtColor(raw.postprocess(half_size=True), cv2.COLOR_RGB2GRAY)
    processed = cv2.imread(str(found.folder / "raw.jpeg"), cv2.IMREAD_GRAYSCALE)
    assert processed.shape == (480, 640)
    assert found.comment("raw.dng")["frame"] == found.comment("raw.jpeg")["frame"]
    half = cv2.resize(processed, developed.shape[::-1], interpolation=cv2.INTER_AREA)
    assert np.corrcoef(half.ravel(), developed.ravel())[0, 1] > 0.9


# S3.

def test_the_session_says_what_it_cannot_do(taken):
    found = taken("session-camera")
    assert found.said("preset") == "high" and found.said("can add the camera") == "yes"
    assert found.said("can add it again").startswith("no, back scene is an input")
    assert found.said("can switch") == "true, to front scene"
    assert found.all_said("switched") == ["front scene", "back scene"]
    assert found.said("torch").startswith("no, back scene has no control for a torch")
    assert found.said("refused") == "presetUnsupported"
    assert any("12345x6789" in error for error in found.all_said("runtime error"))


def test_the_exposure_is_locked_when_it_has_settled(taken):
    found = taken("session-camera")
    said = found.said("expose, then lock")
    assert said.endswith("kept true")
    tags = found.tags("session.jpg")
    assert tags["ExposureTime"] == pytest.approx(number(said, "ms") / 1000, rel=0.05)
    assert tags["Orientation"] == 3


def test_a_thumbnail_is_the_movies_first_frame(taken, tmp_path):
    found = taken("session-camera")
    movie = found.movie("session.mov")
    assert movie.size == (640, 480) and movie.audio
    assert movie.seconds == pytest.approx(number(found.said("movie"), "ms") / 1000, abs=0.15)
    assert "no, " in found.said("movie again") and "another name" in found.said("movie again")
    first = tmp_path / "first.png"
    subprocess.run(["ffmpeg", "-v", "error", "-i", found.folder / "session.mov", "-frames:v", "1", "-vf",
                    "scale=160:120:flags=area", first], check=True, timeout=LIMIT)
    expected = cv2.imread(str(first), cv2.IMREAD_GRAYSCALE).astype(int)
    thumbnail = cv2.imread(str(found.folder / "session-thumbnail.jpg"), cv2.IMREAD_GRAYSCALE)
    assert thumbnail.shape == (120, 160)
    assert np.abs(expected - thumbnail).mean() < 4


# S4.

def test_one_call_records_for_the_longest_duration(taken):
    for name in ("call-back.mov", "call-front.mov"):
        movie = taken("three-ways").movie(name)
        assert movie.size == (640, 480) and movie.seconds == pytest.approx(1, abs=0.15), name


def test_a_movie_output_stabilizes_and_turns(taken):
    movie = taken("three-ways").movie("output.mov")
    assert movie.rotation == -90 and movie.audio
    assert movie.seconds == pytest.approx(1.5, abs=0.5)


@pytest.mark.parametrize("shape, width, height", [("1x1", 480, 480), ("4x3", 480, 640), ("full", 360, 640)])
def test_a_writers_movie_is_as_it_was_set(shape, width, height, taken):
    movie = taken("three-ways").movie(f"writer-{shape}.mp4")
    # The turn exchanges what is shown and what is stored.
    assert movie.size == (height, width) and movie.rotation == -90
    assert movie.video["codec_name"] == "h264" and "Baseline" in movie.video["profile"]
    assert not movie.video["has_b_frames"]
    assert movie.audio["codec_name"] == "aac" and movie.audio["profile"] == "LC"
    assert (movie.audio["sample_rate"], movie.audio["channels"]) == ("22050", 1)
    # The encoders' means are those of longer movies.
    assert float(movie.audio["bit_rate"]) == pytest.approx(28_000, rel=0.4)
    assert 0.3 < float(movie.video["bit_rate"]) / (width * height * 6) < 1.5
    assert movie.seconds == pytest.approx(1.3, abs=0.4)
    pictures, sounds = movie.times(), movie.times("a:0")
    assert all(later > earlier for (earlier, _), (later, _) in zip(pictures, pictures[1:]))
    keys = [place for place, (_, is_key) in enumerate(pictures) if is_key]
    assert keys[0] == 0 and max(np.diff([*keys, len(pictures)])) <= 30
    assert abs(sounds[0][0] - pictures[0][0]) < 0.15
