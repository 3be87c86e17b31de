"""What the judges share beside the program: other programs' view of a clip."""
import collections
import json
import os
import subprocess
import sys

import numpy as np

from program import DATA, LIMIT, ROOT, SPROCKET, clip, read_lines, sprocket  # For the judges.

# Python's package, and the program that it starts.
sys.path.insert(0, str(ROOT / "Python"))
os.environ["SPROCKET"] = SPROCKET


# `make test` leaves these out, because a quicker test looks at the same code. `make judge` runs all.
LONG = {
    "test_a_disk_that_cannot_keep_up_refuses_and_keeps_what_was_before",
    "test_exposure_and_noise_move_the_peak_by_a_step_at_most", "test_instructions_of_a_camera_of_jpegs",
    "test_sources_together_take_what_they_take_apart"}
# Of these tests `make test` runs each nth case only, from the first on, and each third of others with 12
# cases or more: all cases would take too long.
EACH = {
    "test_a_scene_that_does_not_fit_is_told_in_a_sentence": 3,
    "test_a_step_of_four_stops_is_over_soon_and_not_overshot": 3,
    "test_every_clip_is_measured_as_numpy_does": 6, "test_every_format_and_range_is_metered": 4,
    "test_every_picture_is_metered_as_numpy_does": 4, "test_no_chain_allocates_per_frame": 3,
    "test_noise_that_was_compressed_does_not_outweigh_the_sharp": 5,
    "test_ten_thousand_noisy_frames_move_nothing": 4,
    "test_too_little_address_space_is_told_in_a_sentence": 2, "test_what_is_seen_lies_where_the_map_says": 4,
    "test_a_broken_file_gets_the_name_that_it_was_to_have": 4, "test_a_dump_is_read_to_its_last_chunk": 2,
    "test_a_movie_is_decoded_to_its_last_fragment": 3, "test_a_movie_is_what_others_read": 3,
    "test_a_movie_loses_a_second_at_most": 3, "test_a_part_is_exact": 2,
    "test_a_rate_is_made_constant": 6, "test_channels_stay_where_they_are": 3,
    "test_decodes_what_ffmpeg_does": 3, "test_encoded_pixels_are_the_pictures": 3,
    "test_no_clip_gets_worse": 6,
    "test_pictures_and_sound_play_to_the_last_fragment_in_step": 2,
    "test_real_frames_lie_on_each_other_as_well_as_by_opencv": 3,
    "test_recording_takes_few_instructions": 2, "test_sound_and_pictures_are_what_was_written": 3,
    "test_what_a_crash_left_is_recovered": 4, "test_what_a_kill_leaves_is_in_step": 6,
    "test_whichever_call_fails_that_output_fails_alone_and_its_ledger_is_true": 5}


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long, beside others of its kind")
    config.addinivalue_line("markers", "alone: runs live, and says little on a machine with other work")


def pytest_collection_modifyitems(items):
    """Tests of one clip follow each other in modules that say `TOGETHER`, the parameter that names it."""
    places = {}

    def place(item):
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        together = parameters.get(getattr(item.module, "TOGETHER", None), item.nodeid)
        return places.setdefault((item.module, together), len(places))

    totals, cases = collections.Counter(item.originalname for item in items), collections.Counter()
    for item in items:
        name = item.originalname
        if name in LONG or cases[name] % EACH.get(name, 3 if totals[name] >= 12 else 1):
            item.add_marker("long")
        cases[name] += 1
    modules = {item.module: number for number, item in reversed(list(enumerate(items)))}
    items.sort(key=lambda item: (modules[item.module], place(item)))


def gray_frames(arguments, width, height):
    """The luma that stages are handed, by `--pipe gray`: frames x height x width."""
    data = sprocket(*arguments, "--pipe", "gray", "--quiet").stdout
    return np.frombuffer(data, np.uint8).reshape(-1, height, width)


def probe(path):
    """Width, height, pixel format and range of a clip's largest video, as ffprobe sees it."""
    text = subprocess.run(
        ["ffprobe", "-v", "error", "-select_streams", "v", "-of", "json", "-show_entries",
         "stream=width,height,pix_fmt,color_range,codec_name", str(path)],
        capture_output=True, check=True, timeout=LIMIT).stdout
    return max(json.loads(text)["streams"], key=lambda stream: stream["width"] * stream["height"])


def clips():
    """Every clip and photograph of the data that is meant to be read."""
    if not DATA.is_dir():
        return []
    kinds = {".avi", ".mp4", ".mkv", ".mjpeg", ".jpg", ".png"}
    found = [path for path in sorted(DATA.rglob("*")) if path.suffix.lower() in kinds]
    return [path for path in found if "corrupt_dev" not in path.parts]
