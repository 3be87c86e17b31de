"""Judges descriptions of runs: files of YAML and JSON, their schema, and names of files with any letters."""
import concurrent.futures
import json
import os
import random
import re
import subprocess

import jsonschema
import pytest
import yaml

from program import LIMIT, SPROCKET, sprocket

SCENE = ["--source", "scene", "--size", "64x48", "--frames", "6", "--quiet"]
# Names as users and programs give them; braces stand for themselves.
NAMES = ["a,b.mov", "a=b,crf=3.mov", "take,from=me.mov", "a{source}.mov", "{n}.mov", "a{.mov", "}{{.mov",
         "a:b.mov", "a\nb.mov", "-a.mov", "--quiet.mov", " a .mov", "#3.mov", "*.mov", "&a.mov", "!a.mov",
         "'a'.mov", '"a".mov', "a\\b.mov", "no.mov", "é😀.mov", "a?b[c].mov", "%d.mov", "x" * 251 + ".mov"]


def doubled(name):
    return name.replace("{", "{{").replace("}", "}}")


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    path = tmp_path_factory.mktemp("clip") / "clip.mov"
    sprocket("run", *SCENE, "--microphone", "scene", "--movie", path)
    return path


def frames(path, **options):
    return json.loads(sprocket("inspect", path, "--json", **options).stdout)[0]["tracks"][0]["count"]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:20].encode("unicode_escape").decode())
def test_a_name_comes_through_every_door(name, clip, tmp_path):
    """The longest name leaves no room for `.partial`, and is used as an input alone."""
    taken = f"./{name}"
    (tmp_path / name).write_bytes(clip.read_bytes())
    assert frames(taken, cwd=tmp_path) == 6
    sprocket("run", "--source", f"file:{taken}", "--checksums", "sums", "--quiet", cwd=tmp_path)
    assert len((tmp_path / "sums").read_text().splitlines()) == 6
    sprocket("run", "--source", "none", "--microphone", f"file:{taken}", "--sound", "a.wav", "--quiet",
             cwd=tmp_path)
    sprocket("export", "--quiet", "--", taken, "out.mp4", cwd=tmp_path)
    sprocket("export", "--quiet", "--", taken, "out.wav", cwd=tmp_path)
    assert frames("out.mp4", cwd=tmp_path) == 6 and (tmp_path / "out.wav").stat().st_size > 1000
    described = {"source": {"file": taken}, "outputs": {"checksum": "again"}}
    (tmp_path / "p.json").write_text(json.dumps(described))
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(described, allow_unicode=True))
    for file in ("p.json", "p.yaml"):
        sprocket("run", "--pipeline", file, "--overwrite", "--quiet", cwd=tmp_path)
        assert (tmp_path / "again").read_text() == (tmp_path / "sums").read_text()
    if len(name) > 200:
        return
    (tmp_path / "o").mkdir()
    for arguments in (["run", *SCENE, f"--movie={doubled('o/' + name)}"],
                      ["export", "--quiet", "--overwrite", "--", taken, f"o/{name}"],
                      ["export", "--quiet", "--overwrite", "--copy", "--", taken, f"o/{name}"],
                      ["recover", "--quiet", "--overwrite", "--", taken, f"o/{name}"]):
        sprocket(*arguments, cwd=tmp_path)
        assert os.listdir(tmp_path / "o") == [name], arguments
        os.remove(tmp_path / "o" / name)
    sprocket("export", "--quiet", "--", taken, str(clip), "o/", cwd=tmp_path)
    assert sorted(os.listdir(tmp_path / "o")) == sorted([name[:-4] + ".mp4", "clip.mp4"])
    printed = sprocket("run", *SCENE, f"--movie={doubled(name)}", "--print-pipeline", cwd=tmp_path)
    assert yaml.safe_load(printed.stdout)["outputs"]["movie"]["path"] == f"{tmp_path}/{doubled(name)}"
    sprocket("run", "--pipeline", "-", "--overwrite", "--quiet", cwd=tmp_path, input=printed.stdout)
    assert frames(taken, cwd=tmp_path) == 6


@pytest.mark.parametrize("arguments", [
    ["run", "--source", b"file:\xff.mov"], ["export", b"\xff.mov", "a.mp4"],
    ["recover", b"\xff.mov", "a.mov"],
    ["inspect", b"\xff.mov"], ["run", "--pipeline", b"\xff.yaml"], ["check", b"\xff.yaml"]])
def test_a_name_that_is_no_text_is_refused_alike(arguments):
    result = subprocess.run([SPROCKET, *arguments], capture_output=True, timeout=LIMIT)
    assert result.returncode == 2 and b"is not UTF-8 text, as names must be; rename the file" in result.stderr


@pytest.mark.parametrize("text, exit, says", [
    ("source: {kind: scene, genlock: no}\nframes: 007\noutputs: {checksum: }\n", 0, ""),
    ("source: scene\nduration: 1:30\n", 2, "line 2: duration: a run: duration=1:30 is not allowed"),
    ("outputs:\n  movie: take #3.mov\n", 2, "line 2: outputs.movie.path: a comment begins behind `take`"),
    ("outputs:\n  movie: {source}.mov\n", 2, "line 2: did not find expected key"),
    ("outputs:\n  movie: *.mov\n", 2, "put a name or text that has such characters into quotes"),
    ("outputs:\n  - movie\n", 2, "line 2: outputs is a map of names and values"),
    ("frames: 1\nframes: 2\n", 2, "line 2: `frames` is given twice, first in line 1"),
    ("a: &a [1]\nb: *a\n", 2, "line 1: found the anchor &a, and anchors are not taken"),
    ("frames: 3\nstages:\n- " + "[" * 10_000, 2, "values lie more than 32 deep"),
    ("# " + "x" * (10 << 20), 2, "the file has more than 1 MiB"),
    ("source: scene\noutputs: {movie: a.mov, second: {kind: movie, path: ./a.mov}}\n", 2,
     "two parts of the run name the same file"),
    ("source: scene\nstages: [motion]\noutputs: {movie: {path: a.mov, record-when: motion.scor > 0.2}}\n", 2,
     "line 3: outputs.movie.record-when: motion reports no `scor`; did you mean `score`?"),
    ("source: scene\nstages:\n- motoin: {memory: 1s}\n", 2,
     "line 3: stages: there is no stage `motoin`; did you mean `motion`?"),
    ("source: scene\nsound: {microphones: [hw:1]}\n", 2,
     'line 2: sound: `hw:1` is as options spell it; here write {device: "hw:1"}'),
    ("source: scene\nsound:\n  microphones:\n  - device: hw:1 #0\n", 2, "a comment begins behind `hw:1`"),
    ("source: scene\nmovie: a.mov\n", 2, "line 2: movie: a run has no `movie`; write it below outputs"),
    ("source: {scene: {size: 64x48}}\n", 2, "`size` stands beside scene, not below it"),
    ("source: scene\noutputs:\n  movie: {path: a.avi, codec: h264}\n", 2,
     "line 3: outputs.movie.path: cannot write"),
    ("source: scene\noutputs:\n  movie:\n    path: a.mov\n    codec: x264\n", 2,
     "line 5: outputs.movie.codec: movie: libavcodec of this machine has no encoder x264; did you mean h264"),
    ("sources:\n  a: {camera: c}\n  b: {camera: c}\n", 2, "line 1: source: a and b are the same camera, c"),
    ("sources: {a: scene, b: scene}\nsound:\n  microphones: [{device: 'hw:1'}]\n", 2,
     "a and b hear the same microphone, hw:1"),
    ("source: scene\nstages: [motion]\noutputs:\n  movie: {path: a.mov, on-demand: true}\n"
     "  b: {kind: movie, path: b.mov, split: 1s}\n", 2,
     "line 5: outputs.b: movie and b are both recorded on request"),
    ("a: \"b\nc: 1\n", 2, "line 1: found unexpected end of stream"),
    ("a:\n\tb: 1\n", 2, "indent with spaces, not tabs"),
], ids=lambda value: str(value)[:40])
def test_what_yaml_takes_for_something_else_is_read_right_or_refused(text, exit, says, tmp_path):
    (tmp_path / "p.yaml").write_text(text)
    result = sprocket("check", "p.yaml", check=False, cwd=tmp_path)
    assert result.returncode == exit, result.errors
    assert says in result.errors
    assert os.listdir(tmp_path) == ["p.yaml"], "to check makes no file"


def test_check_tells_all_at_once(tmp_path):
    (tmp_path / "p.yaml").write_text("""source: scene
outputs:
  movie:
    path: a.avi
    codec: x264
    keep: 3s
    quality: 90
  one: {kind: reports, path: r}
  two: {kind: reports, path: r}
  three: {kind: checksum, path: s}
  four: {kind: checksum, path: s}
  five: {kind: stills, path: s, every: 1s, sharpest: 1s}
histograms: true
""")
    told = sprocket("check", "p.yaml", check=False, cwd=tmp_path).errors
    for place, says in [(4, "outputs.movie.path: cannot write"), (5, "no encoder x264"),
                        (6, "keep is the time after a condition"), (7, "quality is for mjpeg"),
                        (8, "name the same file"), (10, "name the same file"),
                        (12, "sharpest are not taken together with every"), (13, "histograms are part")]:
        assert re.search(f"line {place}: .*{re.escape(says)}", told), (place, says, told)


def test_a_summary_keeps_the_order_of_its_description(tmp_path):
    (tmp_path / "p.yaml").write_text("sources: {b: scene, a: scene}\nframes: 2\nsummary: s.json\noutputs: "
                                     "{z: {kind: checksum}, y: {kind: checksum}, x: {kind: checksum}}\n")
    sprocket("run", "--pipeline", "p.yaml", "--quiet", cwd=tmp_path)
    found = json.loads((tmp_path / "s.json").read_text())["pipeline"]
    assert list(found["outputs"]) == ["z", "y", "x"] and list(found["sources"]) == ["b", "a"]
    printed = sprocket("run", "--like", "s.json", "--print-pipeline", cwd=tmp_path).stdout
    assert list(yaml.safe_load(printed)["outputs"]) == ["z", "y", "x"]


def test_options_win_over_the_file(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "source: {kind: scene, size: 64x48, seed: 3}\nstages: [focus]\nframes: 9\n"
        "outputs: {movie: {path: a.mov, codec: h264, crf: 30}, reports: r.jsonl}\n")
    sprocket("run", "--pipeline", "p.yaml", "--frames", 4, "--movie", "b.mkv", "--stage", "meter", "--quiet",
             "--summary", "s.json", cwd=tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["b.mkv", "p.yaml", "r.jsonl", "s.json"]
    summary = json.loads((tmp_path / "s.json").read_text())
    assert summary["produced"] == 4 and "meter" in summary["stages"] and "focus" not in summary["stages"]
    found = json.loads(sprocket("inspect", tmp_path / "b.mkv", "--json").stdout)
    assert found[0]["tracks"][0]["codec"] == "h264"


@pytest.mark.parametrize("file, options, is_same", [
    ("outputs: {pipe: {layout: gray}}", "--pipe rgb", {"outputs": {"pipe": {}}}),
    ("outputs: {pipe: {layout: gray}}", "--pipe-header",
     {"outputs": {"pipe": {"layout": "gray", "header": True}}}),
    ("outputs: {movie: {path: a.mov, codec: h264, crf: 26}}", "--codec mjpeg:quality=50",
     {"outputs": {"movie": {"path": "D/a.mov", "codec": "mjpeg", "quality": 50}}}),
    ("outputs: {main: {kind: movie, path: a.mov, codec: h264}}", "--movie b.mov",
     {"outputs": {"main": {"kind": "movie", "path": "D/b.mov", "codec": "h264"}}}),
    ("outputs: {movie: {kind: reports, path: r.jsonl}}", "--reports q.jsonl",
     {"outputs": {"movie": {"kind": "reports", "path": "D/q.jsonl"}}}),
    ("outputs: {reports: r.jsonl}", "--sink reports:q.jsonl",
     {"outputs": {"reports": {"path": "D/q.jsonl"}}}),
    ("stages: [meter, {autoexposure: {mode: locked}}]", "--auto-exposure continuous",
     {"stages": ["meter", "autoexposure"]}),
    ("sources: {door: scene}", "--seed", {"sources": {"door": {"kind": "scene", "seed": 4}}}),
    ("sources: {door: scene}", "--source none --microphone scene", {"sources": {"door": {"kind": "none"}}}),
    ("stages: [meter, {bracket: {steps: '0,1EV'}}]", "--bracket lens=0,1",
     {"stages": ["meter", "focus", {"kind": "bracket", "steps": "lens=0/1"}]}),
], ids=lambda value: str(value)[:40])
def test_an_option_wins_also_where_its_value_is_the_default(file, options, is_same, tmp_path):
    (tmp_path / "p.yaml").write_text(file if "source" in file else f"source: scene\n{file}\n")
    given = ["--source-set", "seed=4"] if options == "--seed" else options.split()
    result = sprocket("run", "--pipeline", "p.yaml", *given, "--print-pipeline", cwd=tmp_path)
    printed = yaml.safe_load(result.stdout)
    found = json.loads(json.dumps({key: printed[key] for key in is_same}).replace(str(tmp_path), "D"))
    assert found == is_same


# Two movies of which one waits, two shares and two outputs of stills.
TWICE = """source: {kind: scene, size: 64x48}
stages: [motion]
outputs:
  full: {kind: movie, path: full.mov}
  event: {kind: movie, path: "e-{n}.mov", record-when: motion.score > 0.2}
  near: {kind: share, name: a, layout: gray}
  far: {kind: share, name: b}
  left: {kind: stills, path: left}
  right: {kind: stills, path: right}
"""


def described(text, options, folder):
    """The run that a file and options mean, with D for the folder."""
    (folder / "p.yaml").write_text(text)
    printed = sprocket("run", "--pipeline", "p.yaml", *options, "--print-pipeline", cwd=folder)
    return yaml.safe_load(printed.stdout.decode().replace(str(folder), "D"))


@pytest.mark.parametrize("options, changed", [
    ("--codec h264", {"full": {"codec": "h264"}, "event": {"codec": "h264"}}),
    ("--movie x.mov --codec h264", {"full": {"path": "D/x.mov", "codec": "h264"}}),
    ("--movie x.mov --movie-reports --quality 50",
     {"full": {"path": "D/x.mov", "reports": True, "quality": 50}}),
    ("--movie x.mov --sink movie:y.mov --codec h264",
     {"full": {"path": "D/x.mov", "codec": "h264"}, "event": {"path": "D/y.mov"}}),
    ("--sink movie:x.mov --codec h264", {"full": {"path": "D/x.mov", "codec": "h264"}, "event": None}),
    ("--split 10s --longest 1m --keep-free 1G",
     {"event": {"split": "10s", "longest": "60s", "keep-free": "1G"}}),
    ("--split 1M --longest 1.5h", {"event": {"split": "1M", "longest": "5400s"}}),
    ("--keep 3s --pre-roll 1s --pre-roll-memory 256M",
     {"event": {"keep": "3s", "pre-roll": "1s", "pre-roll-memory": "256M"}}),
    ("--sync 1s", {"full": {"sync": "1s"}, "event": {"sync": "1s"}}),
    ("--movie x.mov --sync 1s", {"full": {"path": "D/x.mov", "sync": "1s"}, "event": {"sync": "1s"}}),
    ("--every 1s", {"left": {"every": "1s"}, "right": {"every": "1s"}}),
    ("--stills x --every 1s --quality 50", {"left": {"path": "D/x", "every": "1s", "quality": 50}}),
    ("--stills x --on-demand", {"left": {"path": "D/x", "on-demand": True}}),
    ("--codec h264 --quality 50",
     {"full": {"codec": "h264"}, "event": {"codec": "h264"}, "left": {"quality": 50},
      "right": {"quality": 50}}),
    ("--share c", {"near": {"name": "c"}, "far": None}),
    ("--share c --share d --share e",
     {"near": {"name": "c"}, "far": {"name": "d"}, "share": {"name": "e"}}),
    # The socket of another program is beside what the file has.
    ("--share fd:9", {"share": {"name": "fd:9"}}),
])
def test_an_option_is_for_the_outputs_that_the_command_line_names(options, changed, tmp_path):
    before = described(TWICE, [], tmp_path)["outputs"]
    wanted = {name: before.get(name, {}) | change for name, change in changed.items() if change is not None}
    expected = {name: part for name, part in (before | wanted).items() if changed.get(name, {}) is not None}
    assert described(TWICE, options.split(), tmp_path)["outputs"] == expected


def test_options_number_the_outputs_of_a_kind(tmp_path):
    options = "--movie a.mov --sink movie:b.mov --sink movie:c.mov --share x --share y --checksum " \
        "--sink checksum"
    found = described("source: scene", options.split(), tmp_path)["outputs"]
    assert {name: part.get("path", part.get("name")) for name, part in found.items()} == {
        "movie": "D/a.mov", "checksum": None, "share": "x", "share2": "y", "movie2": "D/b.mov",
        "movie3": "D/c.mov", "checksum2": None}
    sprocket("run", *SCENE, "--movie", "a.mov", "--sink", "movie:b.mov", "--codec", "h264",
             "--summary", "s.json", cwd=tmp_path)
    assert set(json.loads((tmp_path / "s.json").read_text())["sinks"]) == {"movie", "movie2"}
    codecs = [json.loads(sprocket("inspect", tmp_path / name, "--json").stdout)[0]["tracks"][0]["codec"]
              for name in ("a.mov", "b.mov")]
    assert codecs == ["h264", "mjpeg"]


SEVERAL = """sources:
  a: {kind: scene, outputs: {movie: a.mov}, stages: [meter]}
  b: {kind: scene, outputs: {stills: b}, stages: [meter]}
"""


@pytest.mark.parametrize("outputs, names", [
    ("{copy: {kind: dump, path: d.mcap}}", ["d.mcap"]),
    ("{dump: d.mcap, copy: {kind: dump, path: e.mcap}}", ["d.mcap", "e.mcap"]),
    ("{dump: {kind: movie, path: '{source}.mov'}, copy: {kind: dump, path: d.mcap}}", ["d.mcap"]),
])
def test_sources_share_a_dump_whatever_it_is_called(outputs, names, tmp_path):
    (tmp_path / "p.yaml").write_text(f"sources: {{a: scene, b: scene}}\nframes: 4\noutputs: {outputs}\n")
    sprocket("check", "p.yaml", cwd=tmp_path)
    sprocket("run", "--pipeline", "p.yaml", "--quiet", "--summary", "s.json", cwd=tmp_path)
    sinks = json.loads((tmp_path / "s.json").read_text())["sources"]["a"]["sinks"]
    assert {name.removesuffix("-fates") for name in sinks} == set(yaml.safe_load(outputs))
    for name in names:
        for source in "ab":
            sprocket("run", "--source", f"replay:{name}", "--source-set", f"stream={source}", "--checksums",
                     f"{source}.sums", "--quiet", "--overwrite", cwd=tmp_path)
            assert len((tmp_path / f"{source}.sums").read_text().splitlines()) == 4
    for text, says in [("{dump: d.mcap, copy: {kind: dump, path: d.mcap}}", "d.mcap"),
                       ("{movie: d.mcap, copy: {kind: dump, path: d.mcap}}", "d.mcap")]:
        (tmp_path / "q.yaml").write_text(f"sources: {{a: scene, b: scene}}\noutputs: {text}\n")
        result = sprocket("check", "q.yaml", check=False, cwd=tmp_path)
        assert result.returncode == 2 and "name the same file" in result.errors, result.errors


def test_of_several_sources_an_option_is_for_those_that_have_such_an_output(tmp_path):
    found = described(SEVERAL, ["--codec", "h264", "--stills-sharpest", "1s"], tmp_path)["sources"]
    assert found["a"]["outputs"] == {"movie": {"path": "D/a.mov", "codec": "h264"}}
    assert found["b"]["outputs"] == {"stills": {"path": "D/b", "sharpest": "1s"}}
    assert found["a"]["stages"] == ["meter"] and found["b"]["stages"] == ["meter", "focus"]
    result = sprocket("run", "--pipeline", "p.yaml", "--movie-reports", "--every", "1s", "--sync", "1s",
                      "--print-pipeline", cwd=tmp_path)
    assert result.stdout
    found = described(SEVERAL.replace("[meter]}\n  b", "[]}\n  b"),
                      "--microphone a=scene --microphone b=scene --audio-rate 22050 --point 0.5/0.5".split(),
                      tmp_path)["sources"]
    assert found["a"]["sound"]["rate"] == 22050 and "rate" not in found["b"]["sound"]
    assert "stages" not in found["a"]
    assert found["b"]["stages"] == [{"kind": "meter", "mode": "spot"}]
    (tmp_path / "p.yaml").write_text(SEVERAL.replace("movie: a.mov", "reports: r"))
    result = sprocket("run", "--pipeline", "p.yaml", "--codec", "h264", check=False, cwd=tmp_path)
    assert result.errors.endswith(": --codec is for --movie; add --movie PATH\n")


@pytest.mark.parametrize("options, says", [
    ("--movie a.mov --keep 3s", "keep is the time after a condition; give the condition"),
    ("--movie a.mov --pre-roll-memory 256M", "there is no pre-roll that could take memory"),
    ("--movie a.mov --codec h264 --quality 90", "quality is for mjpeg; h264 has crf"),
    ("--movie a.mov --codec h264:quality=90", "quality is for mjpeg; h264 has crf"),
])
def test_an_option_that_is_given_its_default_is_checked_like_any_other(options, says, tmp_path):
    result = sprocket("run", *SCENE, *options.split(), check=False, cwd=tmp_path)
    assert result.returncode == 2 and says in result.errors and not os.listdir(tmp_path)


def test_a_bracket_that_is_replaced_takes_its_conditions_along(tmp_path):
    bracketed = "source: scene\nstages: [meter, {bracket: {steps: '0,1EV'}}]\nuntil: bracket.over\n" \
        "outputs: {stills: {path: s, when: bracket.step > 0}}\n"
    found = described(bracketed, ["--stage", "meter"], tmp_path)
    assert "until" not in found and found["outputs"] == {"stills": {"path": "D/s"}}
    found = described(bracketed, ["--stage", "focus", "--bracket", "lens=0,1"], tmp_path)
    assert found["until"] == "bracket.over" and found["outputs"]["stills"]["when"] == "bracket.step > 0"
    # A condition of the user's own is not forgotten silently.
    other = "source: scene\nstages: [motion]\nuntil: motion.score > 0.5\n"
    (tmp_path / "p.yaml").write_text(other)
    result = sprocket("run", "--pipeline", "p.yaml", "--stage", "meter", check=False, cwd=tmp_path)
    assert result.returncode == 2 and "motion" in result.errors


def test_a_bracket_counts_its_own_stills(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "source: {kind: scene, size: 64x48, pace: fast}\nstages: [meter, {bracket: {steps: '0,1EV'}}]\n"
        "until: bracket.over\noutputs:\n  rare: {kind: stills, path: rare, every: 1h}\n"
        "  steps: {kind: stills, path: steps, when: bracket.step > 0}\n")
    sprocket("run", "--pipeline", "p.yaml", "--quiet", cwd=tmp_path)
    assert [len(os.listdir(tmp_path / folder)) for folder in ("rare", "steps")] == [1, 2]


@pytest.mark.parametrize("name, arguments", [
    ("p.yaml", ["--pipeline", "p.yaml", "--reports", "./p.yaml"]),
    ("p.partial.jsonl", ["--pipeline", "p.partial.jsonl", "--reports", "p.jsonl"]),
    ("p.yaml", ["--pipeline", "-", "--reports", "p.yaml"]),
    ("p.yaml", ["--pipeline", "/dev/stdin", "--reports", "p.yaml"]),
])
def test_a_file_is_not_replaced_by_the_run_that_it_describes(name, arguments, tmp_path):
    text = "source: scene\nframes: 3\n"
    (tmp_path / name).write_text(text)
    with open(tmp_path / name) as described:
        result = subprocess.run([SPROCKET, "run", *arguments, "--overwrite"], stdin=described,
                                capture_output=True, cwd=tmp_path, timeout=LIMIT)
    assert result.returncode == 2, result.stderr
    assert b"is read and cannot be replaced" in result.stderr \
        or b"is the name of the partial file" in result.stderr
    assert (tmp_path / name).read_text() == text


def test_relative_names_in_a_pipe_begin_at_the_working_folder(tmp_path):
    for name in ["-", "/dev/stdin"]:
        sprocket("run", "--pipeline", name, "--quiet", "--overwrite", cwd=tmp_path,
                 input=b"source: scene\nframes: 3\noutputs: {reports: r.jsonl}\n")
        assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 3


def test_two_outputs_of_a_kind_have_names_of_their_own(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "source: {kind: scene, size: 64x48}\nframes: 3\noutputs: {reports: a.jsonl, "
        "more: {kind: reports, path: b.jsonl}, left: {kind: stills, path: left}, "
        "right: {kind: stills, path: right}, one: {kind: checksum}, two: {kind: checksum, path: c}}\n")
    sprocket("run", "--pipeline", "p.yaml", "--quiet", "--summary", "s.json", cwd=tmp_path)
    sinks = json.loads((tmp_path / "s.json").read_text())["sinks"]
    assert {"reports", "more", "left", "right"} <= set(sinks)
    assert sinks["one"]["digest"] == sinks["two"]["digest"]
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
    assert len(os.listdir(tmp_path / "left")) == len(os.listdir(tmp_path / "right")) == 3


def test_like_repeats_a_run_without_what_it_wrote(tmp_path):
    sprocket("run", "--source", "b=scene", "--source", "a=scene", "--frames", 3, "--pair", "5s",
             "--histograms", "--quiet", "--reports", "{source}.jsonl", "--summary", "s.json",
             "--control", "gain=+2", "--dump", "d.mcap", cwd=tmp_path)
    for like in ["s.json", "d.mcap"]:
        result = sprocket("run", "--like", like, "--dump", "e.mcap", "--print-pipeline", cwd=tmp_path)
        assert "not repeated without a name: reports" in result.errors
        assert list(yaml.safe_load(result.stdout)["sources"]) == ["b", "a"]
    sprocket("run", "--like", "d.mcap", "--dump", "e.mcap", "--quiet", cwd=tmp_path)
    assert sprocket("inspect", "e.mcap", cwd=tmp_path).stdout


def test_like_tells_all_that_it_does_not_repeat(tmp_path):
    options = "--microphone scene --movie a.mov --sink movie:b.mov --sound a.wav --levels l --trace t " \
        "--control-socket c.sock --checksums c --null --summary s.json"
    sprocket("run", *SCENE, *options.split(), cwd=tmp_path)
    result = sprocket("run", "--like", "s.json", "--sink", "movie:c.mov", "--levels", "m", "--print-pipeline",
                      cwd=tmp_path)
    assert result.errors.count("\n") == 1
    assert result.errors.endswith("--like s.json: not repeated without a name: checksum, movie2, sound, "
                                  "control-socket, summary, trace\n")
    assert list(yaml.safe_load(result.stdout)["outputs"]) == ["movie", "checksum", "null"]


@pytest.mark.parametrize("file, options, option", [
    ("{main: {kind: movie, path: a.mov}}", "--movie b.avi", "movie"),
    ("{main: {kind: movie, path: a.mov}}", "--codec x264", "codec"),
    ("{main: {kind: movie, path: a.mov}, more: {kind: reports, path: r}}", "--movie ./r", "movie, --reports"),
    ("{movie: a.mov}", "--sink movie:b.mov --sink movie:c.avi", "sink"),
])
def test_an_error_names_the_option_whatever_its_output_is_called(file, options, option, tmp_path):
    (tmp_path / "p.yaml").write_text(f"source: scene\nframes: 2\noutputs: {file}\n")
    result = sprocket("run", "--pipeline", "p.yaml", *options.split(), check=False, cwd=tmp_path)
    assert result.returncode == 2 and result.errors.endswith(f" (--{option})\n"), result.errors


# MARK: The schema

@pytest.fixture(scope="module")
def schema():
    found = json.loads(sprocket("schema").stdout)
    jsonschema.Draft202012Validator.check_schema(found)
    return found


# Texts that fit one pattern of the schema or another, each within its range.
TEXTS = ["0.25/0.25/0.5/0.5", "0/0/64/48", "640x480", "640x", "x480", "16:9", "0.5/0.5", "500ms", "2s",
         "30000/1001", "30fps", "8M", "64k", "512M", "60s", "all", "any", "none", "0/3", "a.mov",
         "{source}.mov", "a{{b}}.mov", "0.485/0.456/0.406", "a # b, c: d"]
# Settings whose texts have a form that no pattern says.
OWN = {"steps": "-1,0,1EV", "types": "qr/ean13", "regions": "0/0/0.5/0.5", "sync": "1s", "timeout": "2s",
       "replug": "1s", "deadline": "1s", "budget": "10ms", "memory": "1s", "interval": "1s", "pair": "5ms",
       "duration": "1s", "point": "0.25/0.5", "region": "0.25/0.25/0.5/0.5", "pixels": "0/0/64/48",
       "sensorcrop": "0/0/64/48"}
WRONG = [{"zz": 1}, [1], "zzz-not", True, None]


def sample(node, schema, chance, key=""):
    """A value that a schema takes."""
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in node:
        return sample(chance.choice(node["anyOf"]), schema, chance, key)
    if "const" in node:
        return node["const"]
    if "enum" in node:
        return chance.choice(node["enum"])
    if key in OWN and "string" in node["type"]:
        return OWN[key]
    kind = node["type"] if isinstance(node["type"], str) else chance.choice(node["type"])
    if kind == "null":
        return None
    if kind == "boolean":
        return chance.random() < 0.5
    if kind == "integer":
        low = int(node.get("minimum", 1))
        return chance.randint(low, min(int(node.get("maximum", 30)), low + 1000))
    if kind == "number":
        low, high = node.get("minimum", 1), node.get("maximum", 30)
        return chance.choice([low, high, round(chance.uniform(low, min(high, low + 1000)), 3)])
    if kind == "string":
        fitting = [text for text in TEXTS if re.search(node.get("pattern", ""), text)]
        return chance.choice(fitting or ["x"])
    if kind == "array":
        return [sample(node["items"], schema, chance, key) for _ in range(chance.randint(0, 2))]
    known = node.get("properties", {})
    names = [name for name in known if chance.random() < 3 / (len(known) + 1)]
    more = node.get("additionalProperties", False)
    made = {name: sample(node["properties"][name], schema, chance, name)
            for name in {*names, *node.get("required", [])}}
    for _ in range(chance.randint(1, 2) if more else 0):
        name = f"a{chance.randint(0, 99)}"
        made[name] = sample(more, schema, chance, name)
    return made


def mutate(value, chance):
    """The value with something wrong, or odd, in one place."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        odd = chance.random()
        if odd < 0.1:
            return {name: value[name] for name in value if name != key}
        if odd < 0.2:
            return value | {"zz": 1}
        return value | {key: mutate(value[key], chance)}
    if isinstance(value, list) and value:
        return [mutate(value[0], chance), *value[1:]]
    return chance.choice(WRONG)


def test_reader_and_schema_take_the_same_files(schema, tmp_path):
    chance = random.Random(34)
    validator = jsonschema.Draft202012Validator(schema)
    files = []
    for number in range(int(os.environ.get("SPROCKET_SCHEMA", 300))):
        made = sample(schema, schema, chance)
        if "source" in made and "sources" in made:
            del made[chance.choice(["source", "sources"])]
        if chance.random() < 0.4:
            made = mutate(made, chance)
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(made))
        files.append((path, made))

    def differs(file):
        path, made = file
        errors = list(validator.iter_errors(made))
        # What can be read is printed, also where its values do not go together, which a schema does not say.
        result = sprocket("check", "--json", path, check=False)
        refused = "" if result.stdout else result.errors
        assert result.returncode in (0, 2), result.errors
        if bool(errors) == bool(refused):
            return None
        return f"{json.dumps(made)}: schema: {[error.message[:200] for error in errors]}, reader: {refused}"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(differs, files) if text]
    taken = sum(validator.is_valid(made) for _, made in files)
    assert len(files) / 5 < taken < len(files) * 4 / 5
    assert not found, "\n\n".join(found[:5])
