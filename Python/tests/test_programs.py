"""Command lines, the program's place, the package for PyTorch, and old versions of Python."""
import ast
import importlib
import pathlib
import pickle
import socket
import sys
import threading
import types

import numpy as np
import pytest

import sprocket
import sprocket._program as place
from sprocket._program import option_arguments, pixel_settings
from sprocket._run import run_arguments
from writer import Writer

PACKAGE = pathlib.Path(sprocket.__file__).parent


def test_keywords_become_options():
    assert option_arguments({"frames": 30, "from_": "1s", "source_set": ["a=1", "b=2"], "overwrite": True,
                             "verify": False, "movie": None}) == [
        "--frames", "30", "--from", "1s", "--source-set", "a=1", "--source-set", "b=2", "--overwrite"]
    assert option_arguments({"duration": 2, "from_": 0.5, "keep": False}) == [
        "--duration", "2s", "--from", "0.5s"]


@pytest.mark.parametrize("tensor, image, text", [
    (None, None, ":rgb"), (None, "bgr", ":bgr"), ((640, 480), None, ":tensor,size=640x480"),
    ("640x480", None, ":tensor,size=640x480"), (640, None, ":tensor,size=640x640"),
    ({"size": np.int64(64), "mean": np.array([0.5, 0.25, 1]), "std": 2}, None,
     ":tensor,size=64x64,mean=0.5/0.25/1.0,std=2"),
    *(({"type": kind}, None, ":tensor,type=f16") for kind in (
        "f16", "float16", np.float16, np.dtype("float16"), types.SimpleNamespace(__name__="torch.float16"))),
    (None, {"layout": "gray", "size": (32, 16)}, ":gray,size=32x16"),
    ({"size": (32, 16), "mean": (0.5, 0.25, 1), "exact": True, "regions": [(0, 0, 0.5, 1), (0.5, 0, 0.5, 1)]},
     None,
     ":tensor,size=32x16,mean=0.5/0.25/1,exact=true,regions=0/0/0.5/1+0.5/0/0.5/1")])
def test_pixels_are_written_as_the_sink_has_them(tensor, image, text):
    assert pixel_settings(tensor, image) == text


def test_tensor_and_image_exclude_each_other():
    with pytest.raises(sprocket.Error, match="not both"):
        sprocket.run("scene", tensor="8x8", image="rgb")


def test_paths_name_their_source():
    assert run_arguments(pathlib.Path("a.mov"), ["focus"], {})[:2] == ["--source", "file:a.mov"]
    assert run_arguments(pathlib.Path("a.mcap"), [], {}) == ["--source", "replay:a.mcap"]
    assert run_arguments("camera:cam", [], {}) == ["--source", "camera:cam"]
    with pytest.raises(sprocket.Error, match="one source.*sprocket.batch"):
        sprocket.run(["a.mov"])


def test_one_stage_is_a_list_of_one():
    assert run_arguments("scene", "focus", {}) == ["--source", "scene", "--stage", "focus"]


@pytest.mark.parametrize("given, meant", [("imagee", "image"), ("tensr", "tensor"), ("stags", "stages")])
def test_a_misspelled_parameter_is_named(given, meant):
    with pytest.raises(sprocket.Error, match=f"no parameter `{given}`; did you mean `{meant}`"):
        run_arguments("scene", [], {given: 1})


def test_options_of_the_program_are_no_misspelled_parameters():
    options = {"stage": "focus", "size": "64x48", "movie": "a.mov", "source_set": "x=1", "rate": 30}
    assert len(run_arguments("scene", [], options)) == 2 + 2 * len(options)


def test_a_function_that_other_processes_cannot_find_is_told():
    with pytest.raises(sprocket.Error, match="`def` it at the top of a module"):
        sprocket.batch(["a.mov"], lambda frames: 0)


def test_the_program_is_the_wheels_unless_one_is_named(monkeypatch, tmp_path):
    module = tmp_path / "lib/python3/site-packages/sprocket/_program.py"
    monkeypatch.setattr(place, "__file__", str(module))
    monkeypatch.delenv("SPROCKET", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(sprocket.ProgramNotFound, match="make wheel"):
        sprocket.program()
    for name in ("bin/sprocket", "libexec/sprocket/sprocket"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    assert sprocket.program() == str(tmp_path / "bin/sprocket")
    monkeypatch.setenv("SPROCKET", "/other")
    assert sprocket.program() == "/other"
    monkeypatch.undo()
    monkeypatch.setenv("SPROCKET", "/other")
    with pytest.raises(sprocket.ProgramNotFound, match="cannot be started"):
        sprocket.run("scene")


def test_a_run_that_fails_is_an_error_with_the_programs_sentence(monkeypatch, tmp_path):
    program = tmp_path / "sprocket"
    program.write_text("#!/bin/sh\necho 'sprocket: there is no camera; plug one in' >&2; exit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("SPROCKET", str(program))
    with pytest.raises(sprocket.RunError) as error:
        next(sprocket.run("camera"))
    assert (str(error.value), error.value.exit_code) == ("there is no camera; plug one in", 3)
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.exit_code) == (str(error.value), 3)
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(sprocket.RunError, match="ended by SIGSEGV"):
        next(sprocket.run("camera"))


def test_without_a_share_one_sentence_says_how_to_start_one(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(sprocket.NoSuchShare,
                       match="no share is called nobody.*; start one with: sprocket run --share nobody"):
        sprocket.connect("nobody")
    (tmp_path / "sprocket").mkdir(mode=0o700)
    with pytest.raises(sprocket.NoSuchShare, match="nobody .*No such file.* sprocket run --share nobody"):
        sprocket.connect("nobody")


@pytest.mark.parametrize("kind, says", [(socket.SOCK_SEQPACKET, "Connection refused"),
                                        (socket.SOCK_STREAM, "Protocol wrong type")])
def test_why_a_share_cannot_be_reached_is_told(tmp_path, kind, says):
    with socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(str(tmp_path / "s"))
        if kind == socket.SOCK_STREAM:
            other.listen()
        with pytest.raises(sprocket.NoSuchShare, match=says):
            sprocket.connect(str(tmp_path / "s"), wait=0.1)


def test_what_can_be_no_share_is_not_waited_for(tmp_path):
    (tmp_path / "file").touch()
    for name, says in (("file", "it is a file"), ("x" * 200, "107 bytes at most"), ("\u00fc" * 60, "107")):
        # Only what is not waited for is told so.
        with pytest.raises(sprocket.NoSuchShare, match=says):
            sprocket.connect(f"{tmp_path}/{name}", wait=5)


def test_a_control_socket_is_waited_for(tmp_path):
    path = tmp_path / "control"
    with pytest.raises(sprocket.Error, match="no run answers at .*sprocket run --control-socket"):
        sprocket.Control(path, wait=0)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    timer = threading.Timer(0.1, listener.listen)
    timer.start()
    sprocket.Control(path).close()
    timer.join()
    listener.close()


def test_folders_of_others_are_not_looked_into(monkeypatch, tmp_path):
    from sprocket._connect import _paths
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "sprocket").mkdir(mode=0o700)
    assert _paths("cam")[0] == f"{tmp_path}/sprocket/cam"
    (tmp_path / "sprocket").chmod(0o777)
    assert f"{tmp_path}/sprocket/cam" not in _paths("cam")


class Worker:
    def __init__(self, number, count):
        self.id, self.num_workers = number, count


def torch_like(worker):
    """As much of torch as the data set uses, from NumPy."""
    torch, utils, data = (types.ModuleType(name) for name in ("torch", "torch.utils", "torch.utils.data"))
    data.IterableDataset, data.get_worker_info = type("IterableDataset", (), {}), lambda: worker
    torch.from_dlpack, torch.utils, utils.data = np.from_dlpack, utils, data
    return {"torch": torch, "torch.utils": utils, "torch.utils.data": data}


def data_set(monkeypatch, worker, kind="f32"):
    for name, module in torch_like(worker).items():
        monkeypatch.setitem(sys.modules, name, module)
    module = importlib.reload(importlib.import_module("sprocket.torch"))

    def run(source, **options):
        writer = Writer(every=True).send_layout(kind=kind)
        writer.shared = int(source) * 10
        writer.share(2).end()
        run.options = options
        return writer.stream

    monkeypatch.setattr(module, "run", run)
    return module, run


def test_workers_of_a_loader_divide_the_files(monkeypatch):
    module, run = data_set(monkeypatch, Worker(1, 2))
    items = list(module.FrameDataset(["0", "1", "2", "3"], tensor=(6, 4)))
    assert isinstance(module.FrameDataset([]), sys.modules["torch.utils.data"].IterableDataset)
    assert [item[0, 0, 0] for item in items] == [10, 11, 30, 31] and items[0].shape == (3, 4, 6)
    assert run.options["tensor"] == (6, 4)
    module, _ = data_set(monkeypatch, None)
    numbers = module.FrameDataset(["0", "1"], transform=lambda frame: frame.number)
    assert list(numbers) == [0, 1, 10, 11]


def test_without_torch_the_module_is_imported_and_says_what_to_install(monkeypatch):
    for name in ("torch", "torch.utils", "torch.utils.data"):
        monkeypatch.setitem(sys.modules, name, None)
    module = importlib.reload(importlib.import_module("sprocket.torch"))
    with pytest.raises(sprocket.Error, match="pip install torch"):
        next(iter(module.FrameDataset(["scene"])))


def test_frames_go_to_other_libraries_by_dlpack():
    frame = next(Writer().send_layout().share().stream)
    other = np.from_dlpack(frame.tensor)
    assert np.shares_memory(other, frame.tensor)


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_python_3_9_reads_it(path):
    ast.parse(path.read_text(), feature_version=(3, 9))


def test_the_readmes_lines_are_python():
    blocks = (PACKAGE.parent / "README.md").read_text().split("```python\n")[1:]
    assert len(blocks) > 4
    for block in blocks:
        ast.parse(block.split("```")[0])


def test_the_version_is_that_of_the_wheel():
    text = (PACKAGE.parent / "pyproject.toml").read_text()
    assert f'version = "{sprocket.__version__}"' in text
