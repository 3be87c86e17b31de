#pragma once
#include <libyuv.h>

// Swift imports constants as values, and the library wants their addresses. The matrix of JPEG: full range,
// BT.601; `yvu` is for U and V exchanged.
static inline const struct YuvConstants *sprocket_jpeg_constants(int yvu) {
  return yvu ? &kYvuJPEGConstants : &kYuvJPEGConstants;
}
