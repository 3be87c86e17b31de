"""Recording sound beside ffmpeg and GStreamer: what a second of stereo at 48 kHz costs. All into memory."""

import pathlib
import tempfile

# Seconds of sound in a file, and of a live recording.
LENGTH, LIVE = 1800, 20
MEMORY = pathlib.Path("/dev/shm")


def sound(sprocket, tools):
    """`tools`: measured, rounds, said and the number of rounds, from `run`."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = pathlib.Path(name)
        return {"length": LENGTH, "live": LIVE, "copied": from_file(sprocket, folder, tools, []),
                "resampled": from_file(sprocket, folder, tools, ["--audio-rate", 44100]),
                "alone": live(sprocket, folder, tools)}


def clip(folder, tools):
    """Half an hour of noise beside five small pictures a second."""
    path = folder / "clip.mov"
    if not path.exists():
        tools.said("ffmpeg", "-v", "error", "-f", "lavfi", "-i",
                   f"testsrc2=size=64x48:rate=5:duration={LENGTH}", "-f", "lavfi", "-i",
                   f"anoisesrc=r=48000:a=0.2:d={LENGTH}", "-ac", "2", "-c:v", "mjpeg", "-c:a", "pcm_s16le",
                   path)
    return path


def from_file(sprocket, folder, tools, options):
    """A movie into a movie: pictures as they are, and sound copied or at another rate."""
    source, target = clip(folder, tools), folder / "out.mov"
    is_copied = not options
    ours = [sprocket, "run", "--source", f"file:{source}", "--movie", target, "--overwrite", "--quiet",
            *options]
    codec = ["-c:a", "copy"] if is_copied else ["-ar", "44100", "-c:a", "pcm_s16le"]
    ffmpeg = ["ffmpeg", "-v", "error", "-y", "-i", source, "-c:v", "copy", *codec, target]
    convert = ["audioconvert", "!", "audioresample", "!", "audio/x-raw,rate=44100", "!"]
    gstreamer = ["gst-launch-1.0", "-q", "filesrc", f"location={source}", "!", "qtdemux", "name=d",
                 "d.video_0", "!", "queue", "!", "mux.", "d.audio_0", "!", "queue", "!",
                 *([] if is_copied else convert), "qtmux", "name=mux", "!", "filesink", f"location={target}"]
    return tools.rounds(tools.count, {
        "sprocket": lambda: tools.measured(ours, LENGTH),
        "ffmpeg": lambda: tools.measured(ffmpeg, LENGTH),
        "GStreamer": lambda: tools.measured(gstreamer, LENGTH)})


def live(sprocket, folder, tools):
    """A microphone that is made up, at real pace, into a WAV: what waking up for each block costs."""
    target = folder / "out.wav"
    ours = [sprocket, "run", "--source", "none", "--microphone", "scene", "--duration", f"{LIVE}s",
            "--sound", target, "--overwrite", "--quiet"]
    ffmpeg = ["ffmpeg", "-v", "error", "-y", "-re", "-f", "lavfi", "-i",
              "anoisesrc=r=48000:a=0.01:nb_samples=480", "-t", LIVE, "-ac", "2", target]
    gstreamer = ["gst-launch-1.0", "-q", "audiotestsrc", "is-live=true", "wave=white-noise", "volume=0.01",
                 "samplesperbuffer=480", f"num-buffers={100 * LIVE}", "!",
                 "audio/x-raw,format=S16LE,rate=48000,channels=2", "!", "level", "!", "wavenc", "!",
                 "filesink", f"location={target}"]
    return tools.rounds(tools.count, {
        "sprocket, with levels": lambda: tools.measured(ours, LIVE),
        "ffmpeg": lambda: tools.measured(ffmpeg, LIVE),
        "GStreamer, with levels": lambda: tools.measured(gstreamer, LIVE)})


def lines(found, table):
    yield "## Sound"
    yield ""
    yield (f"Stereo of 16 bits at 48 kHz. A movie of {found['length'] // 60} minutes with small pictures is "
           "recorded into a MOV in memory; ours is in fragments until it ends, theirs is not. CPU is user "
           "and system time of the process, its start included, per second of sound.")
    for key, text in [("copied", "Copied; ours measures levels:"),
                      ("resampled", "Resampled to 44.1 kHz, each by its own resampler's usual quality:"),
                      ("alone", f"A source at real pace with blocks of 10 ms, {found['live']} s into a WAV. "
                                "Each has a generator of its own, and ours takes the most:")]:
        yield ""
        yield text
        yield ""
        yield from table(["", "CPU ms/s", "of a core", "times real time", "peak MB", "spread"],
                         [[name, f"{r['cpu_ms_per_frame']:.3f}", f"{r['cpu_ms_per_frame'] / 10:.3f} %",
                           f"{r['frames_per_second']:.0f}", f"{r['peak_mb']:.0f}", f"{r['spread']:.0%}"]
                          for name, r in found[key].items()])
