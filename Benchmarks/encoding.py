"""Encoding H.264, exporting, and reading photographs, beside ffmpeg and libturbojpeg."""

import itertools
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PRESETS = ["veryfast", "medium"]
# libx264's own distance of key frames in ffmpeg, in pictures; ours is a time.
KEYS, RATE = 250, 30
PHOTOGRAPHS = 200


def encoding(sprocket, clip, tools):
    """`tools`: measured, rounds, said, frame_count and the number of rounds, from `run`."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # An AVI of Motion JPEG has 60 fields in a second for ffmpeg, which makes 60 pictures of them.
        avi, clip = clip, folder / "clip.mov"
        tools.said("ffmpeg", "-v", "error", "-r", str(RATE), "-i", avi, "-c", "copy", clip)
        frames = tools.frame_count(clip)
        results = {"frames": frames, "presets": {}}
        for preset in PRESETS:
            ours, theirs = folder / f"ours-{preset}.mp4", folder / f"theirs-{preset}.mp4"
            times = tools.rounds(tools.count, {
                "sprocket": lambda: tools.measured(
                    [sprocket, "export", clip, ours, "--codec",
                     f"h264:preset={preset},keyframes={KEYS * 1000 // RATE}ms", "--overwrite",
                     "--quiet"], frames),
                "ffmpeg": lambda: tools.measured(
                    ["ffmpeg", "-v", "error", "-y", "-i", clip, "-c:v", "libx264", "-preset", preset,
                     "-crf", "23", "-pix_fmt", "yuvj420p", "-fps_mode", "passthrough", theirs],
                    frames)})
            for who, path in (("sprocket", ours), ("ffmpeg", theirs)):
                times[who] |= {"ssim": ssim(clip, path), "kilobytes": path.stat().st_size / 1e3}
            results["presets"][preset] = times
        out = folder / "out.mp4"
        results["export"] = tools.rounds(tools.count, {
            "sprocket": lambda: tools.measured(
                [sprocket, "export", clip, out, "--from", "2s", "--to", "8s", "--crop",
                 "420/0/1080/1080", "--scale", "720x720", "--codec", "h264:preset=veryfast",
                 "--overwrite", "--quiet"], 180),
            "ffmpeg": lambda: tools.measured(
                ["ffmpeg", "-v", "error", "-y", "-ss", "2", "-t", "6", "-i", clip, "-vf",
                 "crop=1080:1080:420:0,scale=720:720", "-c:v", "libx264", "-preset", "veryfast", "-crf",
                 "23", "-g", "30", "-pix_fmt", "yuvj420p", "-fps_mode", "passthrough", out], 180)})
        results["photographs"] = photographs(sprocket, clip, folder, tools)
        return results


def ssim(clip, path):
    said = subprocess.run(
        ["ffmpeg", "-i", path, "-i", clip, "-lavfi",
         "[0:v]format=yuvj420p,settb=1/30,setpts=N[a];[1:v]format=yuvj420p,settb=1/30,setpts=N[b];[a][b]ssim",
         "-f", "null", "-"],
        capture_output=True, text=True, check=True).stderr
    return float(re.search(r"SSIM .*All:([0-9.]+)", said)[1])


def photographs(sprocket, clip, folder, tools):
    """A folder of pictures of 3264x2448, metered by one process; libturbojpeg decodes their luma."""
    pictures = folder / "photographs"
    pictures.mkdir()
    tools.said("ffmpeg", "-v", "error", "-i", clip, "-vf", "scale=3264:2448", "-frames:v", "20", "-q:v", "3",
               pictures / "%03d.jpg")
    for number, path in zip(range(20, PHOTOGRAPHS), itertools.cycle(sorted(pictures.iterdir()))):
        shutil.copy(path, pictures / f"{number + 1:03}.jpg")
    program = HERE / ".build/turbojpeg"
    program.parent.mkdir(exist_ok=True)
    tools.said("cc", "-O2", "-Wall", "-o", program, HERE / "Peers/turbojpeg.c", "-lturbojpeg", "-lpthread")

    def metered(stage):
        return tools.measured(
            [sprocket, "run", "--source", f"file:{pictures}", "--stage", stage, "--workers", "2",
             "--reports", folder / "reports.jsonl", "--overwrite", "--quiet"], PHOTOGRAPHS)

    found = tools.rounds(tools.count, {
        "sprocket, a million pixels metered": lambda: metered("meter:samples=1000000"),
        "sprocket, every pixel metered": lambda: metered("meter"),
        "libturbojpeg, decoded": lambda: tools.measured(
            [program, *sorted(pictures.iterdir())], PHOTOGRAPHS)})
    assert len((folder / "reports.jsonl").read_text().splitlines()) == PHOTOGRAPHS
    shutil.rmtree(pictures)
    return found


def lines(found, table):
    def rows(results, *more):
        return [[name, f"{r['frames_per_second']:.1f}", f"{r['cpu_ms_per_frame']:.2f}",
                 f"{r['cores_busy']:.2f}", f"{r['peak_mb']:.1f}", *(text(r) for text in more),
                 f"{r['spread']:.0%}"]
                for name, r in results.items()]

    def ratio(results, which=0):
        rates = [r["frames_per_second"] for r in results.values()]
        return f"{rates[which] / rates[-1]:.3f} times"

    heads = ["", "frames/s", "CPU ms/frame", "cores busy", "peak MB"]
    yield "## H.264"
    yield ""
    yield (f"{found['frames']} frames of the clip into an MP4 by libx264, CRF 23, a key frame each {KEYS} "
           "pictures, decoding included; each contestant is a process on two cores. SSIM against the clip, "
           "by ffmpeg.")
    for preset, results in found["presets"].items():
        yield ""
        yield f"Preset {preset}, {ratio(results)} ffmpeg's speed:"
        yield ""
        yield from table([*heads, "SSIM", "kB", "spread"],
                         rows(results, lambda r: f"{r['ssim']:.4f}", lambda r: f"{r['kilobytes']:.0f}"))
    yield ""
    yield ("Seconds 2 to 8, cropped to a square and scaled to 720x720, preset veryfast, key frames each "
           f"second; {ratio(found['export'])} ffmpeg's speed:")
    yield ""
    yield from table([*heads, "spread"], rows(found["export"]))
    yield ""
    yield "## Photographs"
    yield ""
    yield (f"{PHOTOGRAPHS} JPEGs of 3264x2448 in a folder, analysed by `meter`, beside libturbojpeg "
           "that decodes their luma in two threads and does nothing with it; "
           f"{ratio(found['photographs'])} its speed with a million pixels of each, "
           f"{ratio(found['photographs'], 1)} with all eight million:")
    yield ""
    yield from table([*heads, "spread"], rows(found["photographs"]))
