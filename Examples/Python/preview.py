"""Shows a live share in a window: python preview.py NAME [frames]; q ends it.

Start one with: sprocket run --stage focus --share cam:bgr,size=960x540

Without a display, as in a test, frames are drawn and not shown.
"""
import os
import sys
import time

import cv2

import sprocket


def draw(frame):
    picture = frame.image
    words = [f"frame {frame.number}, {frame.missed} missed"]
    for stage, report in frame.reports.items():
        words += [f"{stage}.{name} {value:.3g}" for name, value in report.items() if isinstance(value, float)]
    for row, text in enumerate(words[:8]):
        cv2.putText(picture, text, (10, 24 + 22 * row), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 255, 0))
    return picture


def main(name, count):
    has_display = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    with sprocket.connect(name, wait=10) as frames:
        for frame in frames:
            picture = draw(frame)
            if has_display:
                cv2.imshow(name, picture)
                if cv2.waitKey(1) == ord("q"):
                    break
            else:
                time.sleep(0.01)
            if frames.seen == count:
                break
    print(f"{frames.seen} frames shown, {frames.missed} missed")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
