"""Recording beside GStreamer, ffmpeg and lz4: encode, pass through, dump. All into memory."""

import pathlib
import tempfile

FRAMES_PASSED = 3000

# A file system in memory, so that no disk is measured and syncing costs nothing.
MEMORY = pathlib.Path("/dev/shm")


def recording(sprocket, clip, tools):
    """`tools`: measured, rounds, said, frame_count and the number of rounds, from `run`."""
    frames = tools.frame_count(clip)
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = pathlib.Path(name)
        return {
            "encode": [
                encode(sprocket, clip, frames, folder, tools),
                encode(sprocket, softened(clip, folder, tools), frames, folder, tools),
            ],
            "pass": pass_through(sprocket, clip, frames, folder, tools),
            "dump": dump(sprocket, clip, frames, folder, tools),
        }


def fresh(*paths):
    for path in paths:
        path.unlink(missing_ok=True)


def softened(clip, folder, tools):
    """The clip with half the detail, as from a camera with a plain lens."""
    soft = folder / "soft.avi"
    tools.said("ffmpeg", "-v", "error", "-i", clip, "-fps_mode", "passthrough", "-vf",
               "scale=960:540,scale=1920:1080", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-q:v", "2",
               "-huffman", "default", soft)
    return soft


def encode(sprocket, clip, frames, folder, tools):
    movie = folder / "encoded.mov"
    # A stage that writes pixels, or else the camera's own JPEG would be recorded as it is.
    ours = [sprocket, "run", "--source", f"file:{clip}", "--stage", "negate", "--movie", movie,
            "--quality", 85, "--overwrite", "--quiet"]
    theirs = ["gst-launch-1.0", "-q", "filesrc", f"location={clip}", "!", "avidemux", "!", "queue",
              "!", "jpegdec", "!", "queue", "!", "jpegenc", "quality=85", "!", "queue", "!", "qtmux",
              "!", "filesink", f"location={movie}"]
    contestants = {"sprocket, 2 workers": lambda: tools.measured(ours, frames),
                   "GStreamer": lambda: tools.measured(theirs, frames)}
    found = tools.rounds(tools.count, contestants)
    fresh(movie)
    kilobytes = clip.stat().st_size / 1e3 / frames
    return {"frames": frames, "kilobytes_per_frame": kilobytes, "contestants": found}


def pass_through(sprocket, clip, frames, folder, tools):
    long_clip = folder / "long.avi"
    tools.said("ffmpeg", "-v", "error", "-stream_loop", str(FRAMES_PASSED // frames - 1), "-i", clip,
               "-c", "copy", long_clip)
    frames = tools.frame_count(long_clip)
    megabytes = long_clip.stat().st_size / 1e6
    fragmented, plain = folder / "fragmented.mov", folder / "plain.mov"
    ours = [sprocket, "run", "--source", f"file:{long_clip}", "--movie", plain, "--overwrite",
            "--quiet"]
    ffmpeg = ["ffmpeg", "-v", "error", "-y", "-i"]
    record = [*ffmpeg, long_clip, "-c", "copy", "-movflags", "frag_keyframe+empty_moov",
              "-frag_duration", "1000000", fragmented]
    finish = [*ffmpeg, fragmented, "-c", "copy", plain]

    def theirs():
        both = [tools.measured(record, frames), tools.measured(finish, frames)]
        cpu = sum(one["cpu_ms_per_frame"] for one in both)
        wall = sum(frames / one["frames_per_second"] for one in both)
        return {
            "frames_per_second": frames / wall,
            "cpu_ms_per_frame": cpu,
            "cores_busy": cpu * frames / 1e3 / wall,
            "peak_mb": max(one["peak_mb"] for one in both),
        }

    found = tools.rounds(tools.count, {
        "sprocket": lambda: tools.measured(ours, frames), "ffmpeg, fragmented then plain": theirs})
    fresh(long_clip, fragmented, plain)
    return {"frames": frames, "megabytes": megabytes, "contestants": found}


def dump(sprocket, clip, frames, folder, tools):
    raw, target, packed = folder / "raw.y4m", folder / "raw.mcap", folder / "raw.lz4"
    tools.said("ffmpeg", "-v", "error", "-i", clip, "-fps_mode", "passthrough", "-pix_fmt", "yuv420p",
               raw)
    megabytes = raw.stat().st_size / 1e6

    def ours(workers):
        return lambda: tools.measured([
            sprocket, "run", "--source", f"file:{raw}", "--workers", workers, "--dump", target,
            "--overwrite", "--quiet"], frames)

    lz4 = ["lz4", "-1", "-q", "-f", raw, packed]
    found = tools.rounds(tools.count, {
        "sprocket, 1 worker": ours(1), "sprocket, 2 workers": ours(2),
        "lz4 -1": lambda: tools.measured(lz4, frames)})
    sizes = {"sprocket": target.stat().st_size / 1e6, "lz4 -1": packed.stat().st_size / 1e6}
    fresh(raw, target, packed)
    return {"frames": frames, "megabytes": megabytes, "sizes": sizes, "contestants": found}


def lines(found, table):
    passed, dumped = found["pass"], found["dump"]
    yield "## Recording"
    yield ""
    yield ("Into files in memory, each contestant a process, its start included. CPU is user and "
           "system time.")
    yield ""
    yield ("Decode, and encode again at quality 85 into MOV. Ours also inverts each picture, since "
           "untouched ones would be passed through; finalising is included.")
    yield ""
    for encoded in found["encode"]:
        yield (f"{encoded['frames']} frames of {encoded['kilobytes_per_frame']:.0f} kB, "
               + ("the scene's:" if encoded is found["encode"][0] else "with half the detail:"))
        yield ""
        yield from contest(encoded, table)
        yield ""
        ours, theirs = encoded["contestants"].values()
        ratio = ours["frames_per_second"] / theirs["frames_per_second"]
        yield f"- {ratio:.2f} times as fast as GStreamer."
        yield ""
    yield (f"Pass-through of {passed['frames']} frames, {passed['megabytes']:.0f} MB, into MOV, "
           "fragmented while it grows and plain in the end. ffmpeg needs two runs for that.")
    yield ""
    yield from contest(passed, table)
    yield ""
    ours, theirs = passed["contestants"].values()
    yield f"- {ours['cpu_ms_per_frame'] / theirs['cpu_ms_per_frame']:.2f} of ffmpeg's CPU time."
    yield ""
    sizes = ", ".join(f"{name} {size:.0f} MB" for name, size in dumped["sizes"].items())
    yield (f"Dump of {dumped['frames']} raw frames, {dumped['megabytes']:.0f} MB of Y4M; results: "
           f"{sizes}.")
    yield ""
    yield from contest(dumped, table)
    yield ""
    peer = dumped["contestants"]["lz4 -1"]
    for name in ("sprocket, 1 worker", "sprocket, 2 workers"):
        ours = dumped["contestants"][name]
        wall = ours["frames_per_second"] / peer["frames_per_second"]
        core = peer["cpu_ms_per_frame"] / ours["cpu_ms_per_frame"]
        yield f"- {name}: {wall:.2f} times as fast as lz4 -1, {core:.2f} times per second of CPU."


def contest(found, table):
    return table(
        ["", "frames/s", "CPU ms/frame", "cores busy", "peak MB", "spread"],
        [[name, f"{r['frames_per_second']:.0f}", f"{r['cpu_ms_per_frame']:.3f}",
          f"{r['cores_busy']:.2f}", f"{r['peak_mb']:.0f}", f"{r['spread']:.0%}"]
         for name, r in found["contestants"].items()])
