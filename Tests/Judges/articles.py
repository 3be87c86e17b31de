"""The programs of Examples/Articles, for the judges and for the lab: where they are, what they say, and what
other programs find in their files.

The standard library alone, and pytest: the lab has this too.
"""
import json
import subprocess

from program import LIMIT, example

NAMES = ("manual-camera", "photo-capture", "quick-camera", "session-camera", "three-ways")


def ask(name, *arguments):
    return subprocess.run([example(name), *map(str, arguments)], capture_output=True, text=True,
                          timeout=LIMIT)


class Taken:
    """What a program said and left in a folder."""

    def __init__(self, name, folder, *arguments):
        result = ask(name, folder, *arguments)
        assert result.returncode == 0, (result.stdout, result.stderr)
        assert result.stderr == ""
        self.folder = folder
        self.lines = result.stdout.splitlines()

    def said(self, step):
        """What stands behind `step: `, of the first such line."""
        found = self.all_said(step)
        assert found, (step, self.lines)
        return found[0]

    def all_said(self, step):
        return [line.removeprefix(f"{step}: ") for line in self.lines if line.startswith(f"{step}: ")]

    def tags(self, name):
        """A picture's tags, as exiftool reads them."""
        text = subprocess.run(["exiftool", "-json", "-n", str(self.folder / name)], capture_output=True,
                              check=True, timeout=LIMIT).stdout
        return json.loads(text)[0]

    def size(self, name):
        tags = self.tags(name)
        return tags["ImageWidth"], tags["ImageHeight"]

    def comment(self, name):
        return json.loads(self.tags(name)["UserComment"])

    def movie(self, name):
        return Movie(self.folder / name)


class Movie:
    """A movie, as ffprobe reads it."""

    def __init__(self, path):
        result = subprocess.run(
            ["ffprobe", "-v", "error", "-of", "json", "-show_format", "-show_streams", str(path)],
            capture_output=True, check=True, timeout=LIMIT)
        assert result.stderr == b"", result.stderr
        document = json.loads(result.stdout)
        kinds = {stream["codec_type"]: stream for stream in document["streams"]}
        self.path = path
        self.video, self.audio = kinds["video"], kinds.get("audio")
        self.seconds = float(document["format"]["duration"])
        self.size = self.video["width"], self.video["height"]
        turns = [data["rotation"] for data in self.video.get("side_data_list", []) if "rotation" in data]
        self.rotation = turns[0] if turns else 0

    def times(self, kind="v:0"):
        """When each packet is shown, in seconds, and whether it is a key frame."""
        text = subprocess.run(
            ["ffprobe", "-v", "error", "-select_streams", kind, "-of", "json", "-show_entries",
             "packet=pts_time,flags,size", str(self.path)], capture_output=True, check=True,
            timeout=LIMIT).stdout
        packets = json.loads(text)["packets"]
        return [(float(packet["pts_time"]), packet["flags"].startswith("K")) for packet in packets]


def callbacks(taken):
    """The callbacks of each capture by its number, in the order in which they came."""
    found = {}
    for line in taken.lines:
        if line.startswith("capture "):
            number, callback = line.removeprefix("capture ").split(": ", 1)
            found.setdefault(int(number), []).append(callback)
    return found


def assert_callbacks_come_in_order(taken):
    """`willBegin` and `willCapture` first, `didFinish` last, one photograph for each that is expected."""
    captures = callbacks(taken)
    assert captures
    for number, calls in captures.items():
        words = [call.split(",")[0].split(" ")[0] for call in calls]
        assert words[:2] == ["willBegin", "willCapture"] and words[-1] == "didFinish", (number, calls)
        for once in ("willBegin", "willCapture", "didCapture", "didFinish"):
            assert words.count(once) == 1, (number, calls)
        expected = int(calls[0].split(", ")[1].split(" ")[0])
        assert words.count("photo") == expected, (number, calls)
    return captures
