"""What is left of a recording with sound when the program is killed: all but the last fragment, in step.

The microphone begins 1.5 s late and loses sound, and the camera stalls. Flashes and beeps begin at each whole
second. Files are decoded by ffmpeg; sample n is at n / 48000 s, and pictures are where their timestamps say,
since a camera that stalls leaves a gap between two of them.
"""
import concurrent.futures
import os
import random
import subprocess
import time

import numpy as np
import pytest

from containers import complete_pieces
from program import LIMIT, SPROCKET, running, wait_for_bytes
from recordings import decode
from test_sound import beeps, brightness, samples

KILLS = int(20 * float(os.environ.get("SPROCKET_STRESS", "1")))
# Seconds of a stall, and until the last kill. `SPROCKET_STALL=60` for the real one.
STALL = float(os.environ.get("SPROCKET_STALL", "4"))
LONGEST = 6 + STALL
RATE = 30
SEED = 15
# How many are under way at once.
BATCH = 10


def kill_somewhere(folder, number):
    """Kills a live run at a moment that follows from the number; the movie that it left, and when it was
    killed: seconds after its first picture, at most."""
    draw = random.Random(SEED * 1000 + number)
    movie = folder / f"{number}.{['mov', 'mkv'][number % 2]}"
    partial = movie.with_name(f"{movie.stem}.partial{movie.suffix}")
    # Of the seeds of the scene, one with a stall in its first seconds.
    command = [SPROCKET, "run", "--source", "scene", "--size", "160x120", "--rate", RATE, "--source-set",
               "pace=real", "--source-set", "flash=4", "--source-set", "shake=0", "--source-set", "pan=0",
               "--source-set", "stall=0.01", "--source-set", f"stallfor={int(1000 * STALL)}ms",
               "--source-set", f"seed={number}", "--microphone",
               f"scene:begins=1.5,gap=0.3,gapfor=300ms,seed={number}", "--movie", movie, "--quiet"]
    with running(command) as process:
        wait_for_bytes(partial, process)
        begun = time.monotonic()
        time.sleep(draw.uniform(1, LONGEST))
        lasted = time.monotonic() - begun
        process.kill()
        process.wait()
    assert not movie.exists()
    return partial, lasted


@pytest.fixture(scope="module")
def remains(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kills")
    with concurrent.futures.ThreadPoolExecutor(BATCH) as pool:
        return list(pool.map(lambda number: kill_somewhere(folder, number), range(KILLS)))


def picture_times(path):
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of",
         "csv=p=0", path], capture_output=True, text=True, timeout=LIMIT).stdout.split()
    return np.array([float(text.strip(",")) for text in shown])


def test_pictures_and_sound_play_to_the_last_fragment_in_step(remains, tmp_path):
    stalled = pairs = pieces_seen = 0
    for movie, lasted in remains:
        pieces = complete_pieces(movie)
        pieces_seen += len(pieces)
        if not pieces:
            assert lasted < 2.5, movie
            continue
        whole = tmp_path / f"whole{movie.suffix}"
        whole.write_bytes(movie.read_bytes()[:pieces[-1].end])
        assert decode(whole) == ""
        times, light, sound = picture_times(whole), brightness(whole), samples(whole)
        assert len(times) == len(light) > 0
        # What is behind the last whole fragment does no harm.
        assert len(brightness(movie)) >= len(light) and len(samples(movie)) >= len(sound)
        heard_end, seen_end = len(sound) / 48000, times[-1] + 1 / RATE
        # Of both, all but the last fragment, which is a second at most, and what is on its way.
        assert max(heard_end, seen_end) > lasted - 2.5, (movie, heard_end, seen_end, lasted)
        assert heard_end > seen_end - 1.2, (movie, heard_end, seen_end)
        stalls = np.flatnonzero(np.diff(times) > STALL - 0.5)
        stalled += len(stalls) or heard_end > seen_end + 1.5
        # A late microphone is silence first.
        assert not sound[:int(1.4999 * 48000)].any()
        is_lit = light > (light.min() + light.max()) / 2
        lit = times[np.flatnonzero(is_lit & ~np.concatenate([[False], is_lit[:-1]]))]
        beginning = beeps(sound)
        for flash in lit:
            # A flash is seen by the first picture at or behind it; of a stall's, later.
            second = np.floor(flash + 0.001)
            if flash - second > 1.5 / RATE or second < 2:
                continue
            near = beginning[np.abs(beginning - second) < 0.4]
            if len(near):
                pairs += 1
                assert np.abs(near - second).min() < 0.001, (movie, second, near)
    assert pieces_seen > KILLS and stalled >= KILLS // 5 and pairs > KILLS, (pieces_seen, stalled, pairs)
