"""Joins a dump with its reports, cell by cell, as in a notebook: python join_dump.py take.mcap

What became of each frame, which are the sharpest, and how they look.
"""
# %% The dump: a row for each frame that the camera produced.
import sys

import cv2
import numpy as np

import sprocket

dump = sprocket.Dump(sys.argv[1])
table = dump.table
print(table)

# %% What became of them.
fates, counts = np.unique(table["fate"], return_counts=True)
print(dict(zip(fates.tolist(), counts.tolist())))

# %% The sharpest three, with what the meter says of them. Frames without a report have NaN.
score = np.nan_to_num(table["focus.score"])
sharpest = [dump[place] for place in np.argsort(score)[::-1][:3]]
for frame in sharpest:
    print(frame.number, frame.captured_ns, frame.reports["focus"]["score"], frame.reports["meter"]["mean"])

# %% Their pictures, side by side; bytes are read and decoded now.
pictures = [cv2.resize(frame.image, (320, 180), interpolation=cv2.INTER_AREA) for frame in sharpest]
cv2.imwrite("sharpest.jpg", np.hstack(pictures)[..., ::-1])

# %% A moment: the frame that was the newest at half of the time.
times = np.ma.compressed(table["captured_ns"])  # Without the frames that never came.
middle = dump.at(int(times[0] + (times[-1] - times[0]) // 2))
print(f"in the middle: frame {middle.number}, {len(middle.data)} bytes of {middle.session['format']}")

# %% All pictures, with another chain than in the recording.
for recorded, played in dump.play(stages=["motion"], image={"layout": "gray", "size": (160, 90)}):
    moved = played.reports.get("motion", {}).get("score")
    print(recorded.number, recorded.fate, moved, round(float(played.image.mean()), 1))
