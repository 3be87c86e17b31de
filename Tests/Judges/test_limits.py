"""What the system does not give: threads, address space, memory; and files that ask for too much of it.
Every run ends by itself with one sentence, and what was recorded is complete."""
import json
import os
import pathlib
import resource
import subprocess

import pytest

from program import LIMIT, SPROCKET, one_sentence, read_summary, sprocket, wait_for
from recordings import decode, movie_packets

SCENE = ["run", "--source", "scene", "--size", "320x240", "--rate", "60", "--quiet"]


def limited(kind, amount, *arguments, user=None):
    """Runs the program under a limit, as another user where one is given."""
    def limit():
        resource.setrlimit(kind, (amount, amount))
    result = subprocess.run([SPROCKET, *map(str, arguments)], capture_output=True, timeout=LIMIT,
                            preexec_fn=limit, user=user, extra_groups=[] if user else None)
    result.errors = result.stderr.decode()
    return result


@pytest.mark.parametrize("workers, step", [(1, 5), (48, 50)])
def test_too_little_address_space_is_told_in_a_sentence(workers, step, tmp_path):
    """Between too little for the first thread and enough for all."""
    statuses = []
    for place in range(30):
        sinks = ["--movie", tmp_path / "m.mov", "--stills", tmp_path / "stills", "--dump",
                 tmp_path / "d.mcap", "--reports", tmp_path / "r.jsonl", "--checksums", tmp_path / "c",
                 "--summary", tmp_path / "s.json", "--overwrite"]
        result = limited(resource.RLIMIT_AS, 240 + step * place << 20, *SCENE, "--frames", "30", "--workers",
                         workers, "--stage", "meter", "--stage", "stabilize", *sinks)
        statuses.append(result.returncode)
        assert result.returncode in (0, 1), (place, result.returncode, result.errors)
        if result.returncode:
            assert "ulimit -v" in one_sentence(result.errors)
    # The heap is shared, and the reserve is the same for all: what was enough once is enough.
    assert {0, 1} == set(statuses) and statuses == sorted(statuses, reverse=True), statuses


@pytest.mark.parametrize("scene, least, step", [
    (["--size", "3840x2160"], 240, 60),
    (["--size", "1280x720", "--source-set", "cached=60"], 240, 20),
    (["--size", "640x480", "--format", "YUYV", "--source-set", "cached=100"], 100, 20),
])
def test_a_scene_that_does_not_fit_is_told_in_a_sentence(scene, least, step):
    """What the scene draws at its start is allocated before the engine plans its frames."""
    statuses = []
    while statuses[-2:] != [0, 0] and len(statuses) < 30:
        result = limited(resource.RLIMIT_AS, least + step * len(statuses) << 20, "run", "--source", "scene",
                         *scene, "--source-set", "pace=fast", "--frames", "2", "--quiet", "--checksum")
        statuses.append(result.returncode)
        assert result.returncode in (0, 1), (statuses, result.returncode, result.errors)
        if result.returncode:
            assert "ulimit -v" in one_sentence(result.errors)
    assert {0, 1} == set(statuses) and statuses == sorted(statuses, reverse=True), statuses


def test_a_scene_that_is_drawn_too_slowly_says_what_helps(tmp_path):
    sprocket("run", "--source", "scene", "--size", "3840x2160", "--rate", "240", "--duration", "1s",
             "--quiet", "--summary", tmp_path / "s.json")
    note, = read_summary(tmp_path / "s.json")["notes"]
    assert "not drawn as fast as 240 frames/s" in note and "cached=30" in note


@pytest.mark.skipif(os.geteuid() != 0, reason="no limit of threads holds for one user alone")
def test_too_few_threads_are_told_in_a_sentence():
    # A user whose id no other process has.
    user = 2_000_000 + os.getpid()
    try:
        refused = 0
        for threads in range(1, 16):
            result = limited(resource.RLIMIT_NPROC, threads, *SCENE, "--frames", "10", "--workers", "8",
                             "--stage", "meter", "--checksum", user=user)
            assert result.returncode in (0, 1), (threads, result.returncode, result.errors)
            if result.returncode:
                refused += 1
                assert "ulimit -u" in one_sentence(result.errors)
        assert 3 < refused
    except PermissionError:
        pytest.skip("another user may not run the program where it lies")


@pytest.mark.parametrize("stack", [64 << 10, resource.RLIM_INFINITY])
def test_the_size_of_a_stack_is_not_the_shells(stack):
    result = limited(resource.RLIMIT_STACK, stack, *SCENE, "--frames", "10", "--stage", "stabilize",
                     "--checksum")
    assert result.returncode == 0, result.errors


def bomb(folder):
    """A photograph of 16x16 pixels whose header says 65500x65500."""
    sprocket("run", "--source", "scene", "--size", "16x16", "--frames", "1", "--quiet", "--stills",
             folder / "stills")
    data = bytearray(next((folder / "stills").glob("*.jpg")).read_bytes())
    # The last: a thumbnail comes before it.
    frame = data.rindex(b"\xff\xc0")
    data[frame + 5:frame + 9] = (65500).to_bytes(2, "big") * 2
    path = folder / "bomb.jpg"
    path.write_bytes(data)
    return path


def test_pictures_beyond_the_memory_are_refused_before_any_is_taken(tmp_path):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    result = sprocket("run", "--source", f"file:{bomb(tmp_path)}", "--checksum", "--quiet", "--memory",
                      "2G", check=False)
    assert result.returncode == 2 and "larger than its bytes can hold" in one_sentence(result.errors)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, 600_000)


def test_memory_is_a_limit_that_can_be_set():
    refused = sprocket(*SCENE, "--frames", "3", "--checksum", "--memory", "500K", check=False)
    assert refused.returncode == 1 and "500 kB are allowed" in one_sentence(refused.errors)
    sprocket(*SCENE, "--frames", "3", "--checksum", "--memory", "1.5G")
    wrong = sprocket(*SCENE, "--memory", "much", check=False)
    assert wrong.returncode == 2 and "memory" in one_sentence(wrong.errors)


def test_a_readers_end_is_the_pipes_and_not_the_movies(tmp_path):
    movie, summary = tmp_path / "movie.mov", tmp_path / "summary.json"
    command = [SPROCKET, *SCENE[:-1], "--frames", "180", "--pipe", "y4m", "--movie", movie, "--summary",
               summary]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.read(100)
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert process.wait(LIMIT) == 0
    assert len(movie_packets(movie)) == 180 and decode(movie) == ""
    told = read_summary(summary)
    assert told["sinks"]["movie"]["delivered"] == 180
    assert told["sinks"]["pipe"]["flushed"] > 0
    assert told["notes"] and all(note in errors for note in told["notes"])


def test_no_memory_is_in_huge_pages():
    """libx264 asks for them, and the kernel fills what is left of them minutes later: memory would grow."""
    with subprocess.Popen([SPROCKET, *SCENE, "--duration", "30s", "--null"]) as run:
        status = pathlib.Path(f"/proc/{run.pid}/status")
        wait_for(lambda: "THP_enabled:\t0" in status.read_text(), run)
        run.terminate()


def test_figures_say_whose_they_are(tmp_path):
    summary = tmp_path / "summary.json"
    sprocket(*SCENE, "--frames", "60", "--stage", "meter", "--checksum", "--summary", summary)
    told = json.loads(summary.read_text())
    assert 0 < told["produced_s"] <= told["elapsed_s"]
    assert 0 < told["run_cpu_s"] <= told["cpu_s"]
    stage = told["stages"]["meter"]
    assert 0 < stage["cpu_us"]


@pytest.mark.parametrize("date", ["1912-06-23 12:00:00", "1969-12-31 23:59:50", "2126-03-01 12:00:00",
                                  "2231-12-31 23:59:50"])
def test_a_run_of_another_century(date, tmp_path):
    # faketime moves all clocks, also those of the threads.
    result = subprocess.run(
        ["faketime", date, SPROCKET, *SCENE, "--frames", "20", "--movie", "a.mov", "--stills", "{time}.jpg",
         "--dump", "a.mcap", "--summary", "a.json", "--stage", "meter"], cwd=tmp_path, capture_output=True,
        timeout=LIMIT)
    assert result.returncode == 0, result.stderr.decode()
    assert movie_packets(tmp_path / "a.mov") and len(list(tmp_path.glob("*.jpg"))) == 20
    sinks = read_summary(tmp_path / "a.json")["sinks"]
    assert all(sink["delivered"] == 20 for sink in sinks.values()), sinks
