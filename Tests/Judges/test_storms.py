"""The storms see what is bad: programs that die, hang, keep silent or miscount. `make storms` runs storms of
the program itself."""
import stat

import pytest

import storms
import weather

GOOD = """echo '{"produced": 1, "sinks": {"null": {"delivered": 1}}}' > summary.json"""
MISCOUNTS = """echo '{"produced": 2, "sinks": {"null": {"delivered": 1}}}' > summary.json"""


def judged(monkeypatch, folder, script, **changes):
    """What is found of a program that is a line of a shell, in a calm storm but for `changes`."""
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    calm = {"arguments": ["run"], "is_scene": False, "is_finite": True, "end": 0.2, "patience": 0.1}
    monkeypatch.setattr(storms, "SPROCKET", str(program))
    monkeypatch.setattr(storms, "storm", lambda seed, _: weather.Storm(seed, **{**calm, **changes}))
    monkeypatch.setattr(storms, "LAST_WORDS", 1)
    return storms.judge(1, folder)


@pytest.mark.parametrize("script, found", [
    ("kill -ILL $$", "killed by SIGILL"),
    (f"{GOOD}; kill -ABRT $$", "killed by SIGABRT"),
    ("exit 1", "exit 1 without a sentence"),
    ("echo 'Fatal error: what is this' >&2; exit 1", "exit 1 without a sentence"),
    ("true", "exit 0 without a summary"),
    (MISCOUNTS, "null accounts for 1 of 2 frames"),
    (f"{GOOD}; touch movie.partial.mov", "are left"),
    ("echo 'data race' > sanitizer.7; exit 66", "a sanitizer reports: data race"),
    ("echo {> summary.json", "cannot be read"),
], ids=str)
def test_what_is_bad_is_found(script, found, monkeypatch, tmp_path):
    text = judged(monkeypatch, tmp_path, script)
    assert found in text and "storms.py 1 --show" in text


@pytest.mark.parametrize("script", [GOOD, "echo 'program: the disk is full' >&2; exit 1"])
def test_what_is_good_is_not_blamed(script, monkeypatch, tmp_path):
    assert judged(monkeypatch, tmp_path, script) is None


def test_what_two_interrupts_do_not_end_is_found(monkeypatch, tmp_path):
    text = judged(monkeypatch, tmp_path, "trap '' INT; while :; do sleep 0.1; done", ends={1: "stuck"})
    assert "alive 1 s after a second SIGINT" in text


def test_a_signal_that_could_have_been_taken_over_may_not_kill(monkeypatch, tmp_path):
    for loading, is_bad in [(0, True), (1e9, False)]:
        monkeypatch.setattr(storms, "LOADING", loading)
        text = judged(monkeypatch, tmp_path, "sleep 60", signals=[(0.05, "SIGHUP")])
        assert bool(text and "killed by SIGHUP" in text) == is_bad


def test_a_seed_is_a_storm():
    one, other = (weather.storm(7) for _ in range(2))
    assert one == other != weather.storm(8)
    assert len({str(weather.storm(seed)) for seed in range(1000)}) == 1000


def test_what_was_good_is_not_run_again(monkeypatch, tmp_path):
    state, ran = tmp_path / "state.jsonl", []
    monkeypatch.setattr(storms, "make_inputs", lambda _: None)
    monkeypatch.setattr(storms, "programs", lambda: "these")
    monkeypatch.setattr(storms, "judge", lambda seed, *_: ran.append(seed) or ("bad" if seed == 2 else None))
    assert list(storms.bad_storms(range(1, 4), state=state)) == ["bad"]
    assert list(storms.bad_storms(range(1, 5), state=state)) == ["bad"]
    assert sorted(ran) == [1, 2, 2, 3, 4]
    monkeypatch.setattr(storms, "programs", lambda: "others")
    assert list(storms.bad_storms(range(1, 2), state=state)) == [] and ran[-1] == 1
