"""What files may not make the program do: open others, wait for ever, write gigabytes."""
import os
import signal
import subprocess

import pytest

import stuck
from program import LIMIT, SPROCKET, one_sentence, read_summary, sprocket, wait_for


@pytest.fixture(scope="module")
def movie(tmp_path_factory):
    path = tmp_path_factory.mktemp("inputs") / "movie.mov"
    sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--size", "320x240", "--frames",
             60, "--movie", path, "--quiet")
    return path


@pytest.fixture(scope="module")
def sleeper(tmp_path_factory):
    return stuck.library(tmp_path_factory.mktemp("stuck"))


@pytest.mark.parametrize("name, text, kind", [
    ("list.m3u8", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1.0,\n{}\n#EXT-X-ENDLIST\n", "hls"),
    ("list.mp4", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1.0,\n{}\n#EXT-X-ENDLIST\n", "hls"),
    ("list.avi", "ffconcat version 1.0\nfile '{}'\n", "concat"),
])
def test_playlists_are_refused_by_name(movie, tmp_path, name, text, kind):
    (tmp_path / name).write_text(text.format(movie))
    result = sprocket("run", "--source", f"file:{tmp_path / name}", "--null", check=False)
    assert result.returncode == 2
    assert f"kind {kind}" in one_sentence(result.errors)


def test_addresses_of_networks_are_refused():
    result = sprocket("run", "--source", "file:http://localhost:1/movie.mp4", "--null", check=False)
    assert result.returncode == 2 and "network" in one_sentence(result.errors)


@pytest.mark.parametrize("rate", ["1/2147483647", "2147483646/2147483647", "10000"])
def test_any_rate_that_is_taken_runs_to_its_end(tmp_path, rate):
    sprocket("run", "--source", "scene", "--source-set", "pace=fast", "--size", "64x48", "--rate", rate,
             "--frames", 20, "--checksum", "--summary", tmp_path / "summary.json", "--quiet")
    assert read_summary(tmp_path / "summary.json")["produced"] == 20


def test_a_scene_whose_next_frame_is_due_in_68_years_can_be_stopped():
    command = [SPROCKET, "run", "--source", "scene", "--size", "64x48", "--rate", "1/2147483647", "--pipe",
               "gray", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        # The first frame has come; the program waits for the next one.
        assert len(process.stdout.read(64 * 48)) == 64 * 48
        process.send_signal(signal.SIGINT)
        assert process.wait(LIMIT) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("after", [0, 20_000])
def test_a_read_that_sleeps_is_one_that_nothing_ends(movie, sleeper, tmp_path, after):
    """The helper itself: the program is still there, and asleep in its source."""
    witness = tmp_path / "asleep"
    command = [SPROCKET, "run", "--source", f"file:{movie}", "--null", "--quiet"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL,
                               env=stuck.environment(sleeper, movie, after, witness))
    try:
        wait_for(witness.exists, process)
        assert os.path.exists(f"/proc/{process.pid}")
    finally:
        process.kill()
        process.wait()
