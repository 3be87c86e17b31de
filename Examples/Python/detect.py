"""Finds text in a video by a neural network on the processor: python detect.py clip.mov [frames]

The network is the text detector of PP-OCRv4, 4.7 MB, which the package rapidocr_onnxruntime ships. It takes
normalized tensors of 1x3xHxW; Sprocket makes them while it decodes. Boxes are told in pixels of the video's
own picture.
"""
import sys
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import onnxruntime

import sprocket

SIZE = (640, 640)  # Multiples of 32.
THRESHOLD = 0.3  # Of the network's output, a probability of text by pixel.
SMALLEST = 5  # Pixels of the tensor.


def network():
    folder = Path(find_spec("rapidocr_onnxruntime").submodule_search_locations[0])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # The other processors decode.
    return onnxruntime.InferenceSession(
        str(next(folder.glob("models/*det*.onnx"))), options, providers=["CPUExecutionProvider"])


def boxes(probability):
    """Corners of upright boxes around what is text: n x 2 corners x 2."""
    outlines, _ = cv2.findContours((probability > THRESHOLD).astype(np.uint8), cv2.RETR_LIST,
                                   cv2.CHAIN_APPROX_SIMPLE)
    found = [cv2.boundingRect(outline) for outline in outlines]
    return np.array([[(x, y), (x + w - 1, y + h - 1)] for x, y, w, h in found if min(w, h) >= SMALLEST])


def main(path, count):
    session = network()
    name = session.get_inputs()[0].name
    # As the network was trained: BGR in the range -1 to 1.
    tensor = {"size": SIZE, "channels": "bgr", "mean": 0.5, "std": 0.5}
    with sprocket.run(Path(path), tensor=tensor, frames=count) as frames:
        for frame in frames:
            # onnxruntime reads the shared memory where it is.
            probability = session.run(None, {name: frame.tensor})[0][0, 0]
            found = boxes(probability)
            print(f"frame {frame.number} at {frame.captured_ns / 1e9:.3f} s: {len(found)} texts")
            for (left, top), (right, bottom) in frame.to_sensor(found) if len(found) else []:
                print(f"  {left:.0f},{top:.0f} to {right:.0f},{bottom:.0f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
