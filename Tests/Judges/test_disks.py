"""Disks that are full, gone, read-only or taken: that sink fails with one sentence, it alone, and what
its ledger says is what can be read."""
import json
import shutil
import signal
import subprocess
import time

import pytest

from containers import complete_pieces
from program import LIMIT, SPROCKET, fates, one_sentence, read_summary, running, wait_for
from recordings import decode, dump_images, image_schemas, movie_packets, stream_messages

# Each sink in a folder of its own, by its key in the summary.
FILES = {"movie": "movie.mov", "stills": "", "dump": "dump.mcap", "reports": "reports.jsonl"}
VICTIMS = list(FILES)
# Bytes that are less than what the sink writes in `FRAMES` frames, and room for some of it.
TOO_SMALL = {"movie": "1500k", "stills": "1500k", "dump": "1500k", "reports": "32k"}
FRAMES = 400

# Mounts a disk at $1 with options $2, runs the rest, and keeps what was left on the disk in $3.
MOUNTED = '''
mount -t tmpfs -o "$2" disk "$1" || exit 99
folder=$1 kept=$3
shift 3
"$@"
status=$?
cp -r "$folder/." "$kept"
exit $status
'''


def mounted(folder, options, kept, command):
    """Runs a command that sees a small disk at `folder`, in a name space of its own."""
    result = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", MOUNTED, "sh", folder, options, kept,
         *command], capture_output=True, timeout=LIMIT)
    result.errors = result.stderr.decode()
    if result.returncode == 99 or "unshare" in result.errors:
        pytest.skip(f"no disk can be mounted here: {result.errors.strip()}")
    return result


def command(folder, *more):
    """A run into every sink, each in a folder of its own."""
    for name in (*FILES, "other"):
        (folder / name).mkdir(exist_ok=True)
    sinks = [part for name, file in FILES.items() for part in (f"--{name}", folder / name / file)]
    return [SPROCKET, "run", "--source", "scene", "--size", "320x240", "--rate", "60", "--quiet",
            "--checksum", "--summary", folder / "other/summary.json", *sinks, *more]


def readable(name, folder, is_complete):
    """How many frames other programs find in what the sink left."""
    if name == "stills":
        pictures = [path for path in folder.iterdir() if "partial" not in path.name]
        assert all(decode(path) == "" for path in pictures[::20] + pictures[-1:])
        return len(pictures)
    left = list(folder.iterdir())
    if not left:
        return 0
    [path] = left
    assert (path.name == FILES[name]) == is_complete, path
    if name == "reports":
        return sum(1 for line in path.read_bytes().split(b"\n")[:-1] if json.loads(line))
    if name == "movie" and is_complete:
        assert decode(path) == ""
        return len(movie_packets(path))
    if name == "movie":
        return sum(piece.pictures for piece in complete_pieces(path))
    if is_complete:
        return len(dump_images(path))
    return sum(1 for schema, _ in stream_messages(path) if schema in image_schemas())


def assert_others_are_complete(folder, victim, summary):
    """Every other sink has all that it says, under its final name."""
    for name in FILES:
        if name == victim:
            continue
        ledger = summary["sinks"][name]
        assert ledger["failed"] == ledger["behind"] == 0, name
        assert ledger["delivered"] == summary["produced"], name
        assert readable(name, folder / name, True) == ledger["delivered"], name


def judge(folder, victim, kept):
    """The ledger of a sink that failed in mid-run, against what is left of it."""
    summary = read_summary(folder / "other/summary.json")
    ledger = summary["sinks"][victim]
    assert ledger["failed"] > 0
    assert ledger["failed"] + ledger["delivered"] == summary["produced"], fates(ledger)
    assert readable(victim, kept, False) >= ledger["delivered"]
    assert_others_are_complete(folder, victim, summary)
    assert len(summary["errors"]) == 1
    return summary


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_full_disk_fails_that_sink_alone(victim, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    run = command(tmp_path, "--frames", str(FRAMES))
    result = mounted(tmp_path / victim, f"size={TOO_SMALL[victim]}", kept, run)
    assert result.returncode == 1, result.errors
    sentence = one_sentence(result.errors)
    assert str(tmp_path / victim) in sentence and "space" in sentence
    summary = judge(tmp_path, victim, kept)
    assert summary["sinks"][victim]["delivered"] > 0


def has_bytes(folder):
    """Whether something was written into a file of the folder; files may be renamed meanwhile."""
    try:
        return any(path.stat().st_size for path in folder.iterdir())
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_folder_that_goes_away_fails_that_sink_alone(victim, tmp_path):
    with running(command(tmp_path, "--source-set", "pace=real")) as process:
        wait_for(lambda: has_bytes(tmp_path / victim), process)

        def is_removed():
            shutil.rmtree(tmp_path / victim, ignore_errors=True)  # Something may be added meanwhile.
            return not (tmp_path / victim).exists()

        wait_for(is_removed)
        time.sleep(0.5)  # Frames come while it is away; at its end the run looks once more.
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=LIMIT)[1].decode()
    assert process.returncode == 1, errors
    assert str(tmp_path / victim) in one_sentence(errors)
    assert not (tmp_path / victim).exists()
    (tmp_path / victim).mkdir()
    summary = judge(tmp_path, victim, tmp_path / victim)
    assert summary["sinks"][victim]["delivered"] == 0


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_disk_that_is_read_only_is_told_before_the_run(victim, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    result = mounted(tmp_path / victim, "ro", kept, command(tmp_path, "--frames", "3"))
    assert result.returncode == 2, result.errors
    sentence = one_sentence(result.errors)
    assert str(tmp_path / victim) in sentence and "read-only" in sentence.lower()
    assert [path for name in FILES for path in (tmp_path / name).iterdir()] == []


@pytest.mark.parametrize("victim", VICTIMS)
def test_what_exists_is_refused_unless_overwrite_is_given(victim, tmp_path):
    run = command(tmp_path, "--frames", "3")
    # A run of one frame makes what a folder of stills would have.
    subprocess.run(command(tmp_path, "--frames", "1"), check=True, timeout=LIMIT)
    for name in FILES:
        if name != victim:
            shutil.rmtree(tmp_path / name)
            (tmp_path / name).mkdir()
    (tmp_path / "other/summary.json").unlink()
    [file] = (tmp_path / victim).iterdir()
    before = file.read_bytes()
    result = subprocess.run(run, capture_output=True, timeout=LIMIT)
    errors = result.stderr.decode()
    assert result.returncode == 2, errors
    sentence = one_sentence(errors)
    assert "--overwrite" in sentence and str(tmp_path / victim) in sentence
    assert file.read_bytes() == before
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
    subprocess.run([*run, "--overwrite"], check=True, timeout=LIMIT)
    assert readable(victim, tmp_path / victim, True) == 3


def test_a_link_to_a_folder_and_a_name_with_strange_letters_are_names_like_others(tmp_path):
    (tmp_path / "real folder").mkdir()
    (tmp_path / "link").symlink_to("real folder")
    movie = tmp_path / "link" / "Über uns, 100% #1.mov"
    subprocess.run([SPROCKET, "run", "--source", "scene", "--frames", "3", "--size", "64x48", "--movie",
                    movie, "--quiet"], check=True, timeout=LIMIT)
    assert len(movie_packets(movie)) == 3
    assert [path.name for path in (tmp_path / "real folder").iterdir()] == [movie.name]


def test_a_link_to_nothing_is_not_replaced(tmp_path):
    link = tmp_path / "movie.mov"
    link.symlink_to("elsewhere/movie.mov")
    result = subprocess.run([SPROCKET, "run", "--source", "scene", "--frames", "3", "--size", "64x48",
                             "--movie", link, "--overwrite"], capture_output=True, timeout=LIMIT)
    assert result.returncode == 2 and "is a link to nothing" in one_sentence(result.stderr.decode())
    assert link.is_symlink()


@pytest.mark.parametrize("kind", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize("name", ["movie", "dump", "reports"])
def test_a_link_under_a_partial_name_loses_nothing(name, kind, tmp_path):
    run = command(tmp_path, "--frames", "3", "--overwrite")
    precious, [stem, ending] = tmp_path / "precious", FILES[name].split(".")
    precious.write_bytes(b"precious")
    partial = tmp_path / name / f"{stem}.partial.{ending}"
    getattr(partial, kind)(precious)
    result = subprocess.run(run, capture_output=True, timeout=LIMIT)
    assert result.returncode == 2
    sentence = one_sentence(result.stderr.decode())
    assert str(partial) in sentence and "link" in sentence and "move that away" in sentence
    assert precious.read_bytes() == b"precious"
    partial.unlink()
    subprocess.run(run, check=True, timeout=LIMIT)
    assert precious.read_bytes() == b"precious"
    assert readable(name, tmp_path / name, True) == 3


def test_links_among_stills_and_later_files_of_a_movie_lose_nothing(tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    (tmp_path / "stills").mkdir()
    (tmp_path / "stills/still-00000001.partial.jpg").hardlink_to(precious)
    (tmp_path / "stills/still-00000002.partial.jpg").symlink_to(precious)
    (tmp_path / "stills/still-00000003.jpg").symlink_to(precious)
    (tmp_path / "movie-2.mov").symlink_to(precious)
    subprocess.run([SPROCKET, "run", "--source", "scene", "--size", "64x48", "--frames", "100",
                    "--source-set", "formatchange=0.05", "--movie", tmp_path / "movie.mov", "--stills",
                    tmp_path / "stills", "--overwrite", "--quiet"], check=True, timeout=LIMIT)
    assert precious.read_bytes() == b"precious"
    assert not (tmp_path / "movie-2.mov").is_symlink()
    names = sorted(path.name for path in (tmp_path / "stills").iterdir())
    assert names == [f"still-{number:08}.jpg" for number in range(100)]
    assert not any((tmp_path / "stills" / name).is_symlink() for name in names)
