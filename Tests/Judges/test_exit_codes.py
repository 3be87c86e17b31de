"""docs/exit-codes.md: each row against mistakes in several commands."""
import os
import re

import pytest

from conftest import sprocket
from program import one_sentence

DOCUMENT = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "exit-codes.md")
SCENE = "run --source scene --size 64x48 --frames 3 --quiet"
with open(DOCUMENT) as document:
    ROWS = re.findall(r"^\| ((?:a|nothing|something) .*) \| (\d) \|$", document.read(), re.MULTILINE)
# By the beginning of a row: command lines that make that mistake.
MISTAKES = {
    "a command, option": [
        "nope", "run --nope", "photo", "export", "export in.mov", "inspect", "bench", "ask", "help nope",
        "help run nope", "stages a b", f"{SCENE} --frames 4", f"{SCENE} --on-unplug wait",
        f"{SCENE} --every 1s",
        "devices --control brightness=1", "photo a.jpg --bracket -1,1EV", "run --quiet --verbose",
        f"{SCENE} --point 0.5/0.5", f"{SCENE} --stage meter --auto-exposure auto --stage autoexposure"],
    "a value": [
        f"{SCENE} --workers 99", f"{SCENE} --memory x", f"{SCENE} --stage focus:window=7",
        f"{SCENE} --pipe nope", "completions nope", "photo a.jpg --source scene --quality 0",
        "photo --run none --moment x", "bench --stage meter --against in.mov --fail-above 0.5%",
        "bench --stage meter --cpu 1023", "export in.mov out.mov --scale x",
        "bench --stage meter --workers 0", "photo a.gif --source scene"],
    "a stage, source": [
        "run --source nope --frames 1", f"{SCENE} --stage nope", f"{SCENE} --sink nope:x",
        f"{SCENE} --source-set nope=1", f"{SCENE} --control nope=1", f"{SCENE} --format ZZZZ",
        f"{SCENE} --movie b.mov --codec nope", "stages nope", "bench --stage nope",
        "export in.mov out.mov --stage nope", f"{SCENE} --audio-stage nope",
        "photo a.jpg --source scene --stage nope"],
    "a file to read": [
        "run --source file:FILE", "photo a.jpg --source file:FILE", "run --source replay:FILE",
        "export FILE out.mov", "inspect FILE", "recover FILE out.mov",
        "check FILE", "run --pipeline FILE", f"{SCENE} --like FILE", f"{SCENE} --script FILE",
        "bench --stage meter --against FILE", "export --copy FILE out.mov"],
    "a file to write": [
        f"{SCENE} --movie FILE.mov", f"{SCENE} --dump FILE.mcap", f"{SCENE} --reports FILE.txt",
        f"{SCENE} --summary FILE.json", f"{SCENE} --trace FILE.json", f"{SCENE} --checksums FILE.txt",
        f"{SCENE} --sound FILE.wav --microphone scene", "photo FILE.jpg --source scene",
        "export in.mov FILE.mov", "recover in.mov FILE.mov", "bench --stage meter --json FILE.json",
        f"{SCENE} --sink stills:FILE.png,count=1", f"{SCENE} --share FILE/s",
        f"{SCENE} --control-socket FILE/s"],
    "a description": ["check wrong.yaml", "run --pipeline wrong.yaml"],
    "a camera": [
        "run", "run --movie a.mov --quiet", "run --source camera", "run --source camera:/dev/video77",
        "run --source camera:nope", "photo a.jpg", "bench --source camera --stage meter", "devices nope",
        f"{SCENE} --virtual /dev/video77", f"{SCENE} --microphone device --sound a.wav",
        f"{SCENE} --microphone hw:7 --sound a.wav", "devices /dev/video77 --control brightness=1"],
    "a full disk": [
        f"{SCENE} --reports /dev/full", f"{SCENE} --dump /dev/full", f"{SCENE} --memory 1k --null"],
    "a run that": ["ask none status", "top none", "ask none/none status"],
    "nothing came": [
        "photo a.jpg --source file:in.mov --after 60s", "run --source file:in.mov --stills s --source-set "
        "startup=99", "run --source file:in.mov --movie b.mov --source-set startup=99"],
    "something failed": ["run --source file:in.mov --movie b.mov --dump /dev/full"],
}
# Rows that another judge has, since they need another machine.
ELSEWHERE = {"a library": "test_loading.py"}


def commands(row):
    """Command lines. FILE is what is missing, or of another kind, for one that reads; else what exists."""
    for command in MISTAKES[row]:
        if "FILE" not in command:
            yield command
        elif row == "a file to read":
            yield from (command.replace("FILE", name) for name in ["missing", "text.txt", "folder"])
        elif "FILE/" in command:
            yield command.replace("FILE", "missing/deep")
        else:
            yield from (command.replace("FILE", name) for name in ["there", "missing/deep/there"])


def row_of(beginning):
    return next(row for row, _ in ROWS if row.startswith(beginning))


def test_every_row_is_tried():
    assert len(ROWS) == 12
    tried = {row_of(beginning) for beginning in [*MISTAKES, *ELSEWHERE]}
    assert tried == {row for row, _ in ROWS}
    assert sum(len(list(commands(row))) for row in MISTAKES) >= 60


@pytest.mark.parametrize("beginning", MISTAKES)
def test_a_mistake_has_its_code_in_every_command(beginning, tmp_path):
    if beginning == "a camera" and (os.path.exists("/dev/video0") or os.path.exists("/dev/snd")):
        pytest.skip("this machine has a camera or a sound card")
    sprocket(*SCENE.split(), "--movie", tmp_path / "in.mov")
    (tmp_path / "text.txt").write_text("hello\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "wrong.yaml").write_text("source: scene\nframs: 3\n")
    for ending in ["mov", "mcap", "txt", "json", "wav", "jpg", "png"]:
        (tmp_path / f"there.{ending}").write_text("mine")
    before = sorted(path.name for path in tmp_path.iterdir())
    code = int(next(code for row, code in ROWS if row.startswith(beginning)))
    wrong = []
    for command in commands(beginning):
        result = sprocket(*command.split(), check=False, cwd=tmp_path)
        if result.returncode != code:
            wrong.append(f"{result.returncode}: {command}: {result.errors}")
            continue
        told = [line for line in result.errors.splitlines() if line.startswith("sprocket: ")]
        assert told and "Fatal" not in result.errors, command
        if code == 2:
            assert one_sentence(result.errors), command
    assert not wrong, "\n".join(wrong)
    if code == 2:
        assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert all(path.read_text() == "mine" for path in tmp_path.glob("there.*"))
