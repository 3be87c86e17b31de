#pragma once
// Linux's video devices and libv4l2, and what of them Swift cannot import, each with its reason.

#include <libv4l2.h>
#include <linux/videodev2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// v4l2_ioctl is variadic.
static inline int sprocket_v4l2_ioctl(int fd, unsigned long request, void *argument) {
  return v4l2_ioctl(fd, request, argument);
}

// v4l2_log_file is a variable that any thread may change, which Swift 6 does not let through. libv4l2
// writes on standard error where it has no file, and that is ours; who sets LIBV4L2_LOG_FILENAME wants
// to read it. Called before anything else of the library.
static inline void sprocket_v4l2_be_quiet(void) {
  if (!v4l2_log_file && !getenv("LIBV4L2_LOG_FILENAME")) v4l2_log_file = fopen("/dev/null", "we");
}

// Requests are macros around sizeof.
static const unsigned long SPROCKET_VIDIOC_QUERYCAP = VIDIOC_QUERYCAP;
static const unsigned long SPROCKET_VIDIOC_ENUM_FMT = VIDIOC_ENUM_FMT;
static const unsigned long SPROCKET_VIDIOC_ENUM_FRAMESIZES = VIDIOC_ENUM_FRAMESIZES;
static const unsigned long SPROCKET_VIDIOC_ENUM_FRAMEINTERVALS = VIDIOC_ENUM_FRAMEINTERVALS;
static const unsigned long SPROCKET_VIDIOC_G_FMT = VIDIOC_G_FMT;
static const unsigned long SPROCKET_VIDIOC_S_FMT = VIDIOC_S_FMT;
static const unsigned long SPROCKET_VIDIOC_ENUMINPUT = VIDIOC_ENUMINPUT;
static const unsigned long SPROCKET_VIDIOC_G_INPUT = VIDIOC_G_INPUT;
static const unsigned long SPROCKET_VIDIOC_CROPCAP = VIDIOC_CROPCAP;
static const unsigned long SPROCKET_VIDIOC_G_PARM = VIDIOC_G_PARM;
static const unsigned long SPROCKET_VIDIOC_S_PARM = VIDIOC_S_PARM;
static const unsigned long SPROCKET_VIDIOC_QUERY_EXT_CTRL = VIDIOC_QUERY_EXT_CTRL;
static const unsigned long SPROCKET_VIDIOC_QUERYMENU = VIDIOC_QUERYMENU;
static const unsigned long SPROCKET_VIDIOC_G_EXT_CTRLS = VIDIOC_G_EXT_CTRLS;
static const unsigned long SPROCKET_VIDIOC_S_EXT_CTRLS = VIDIOC_S_EXT_CTRLS;
static const unsigned long SPROCKET_VIDIOC_TRY_EXT_CTRLS = VIDIOC_TRY_EXT_CTRLS;
static const unsigned long SPROCKET_VIDIOC_G_PRIORITY = VIDIOC_G_PRIORITY;
static const unsigned long SPROCKET_VIDIOC_S_PRIORITY = VIDIOC_S_PRIORITY;
static const unsigned long SPROCKET_VIDIOC_G_SELECTION = VIDIOC_G_SELECTION;
static const unsigned long SPROCKET_VIDIOC_S_SELECTION = VIDIOC_S_SELECTION;
static const unsigned long SPROCKET_VIDIOC_SUBSCRIBE_EVENT = VIDIOC_SUBSCRIBE_EVENT;
static const unsigned long SPROCKET_VIDIOC_DQEVENT = VIDIOC_DQEVENT;
static const unsigned long SPROCKET_VIDIOC_REQBUFS = VIDIOC_REQBUFS;
static const unsigned long SPROCKET_VIDIOC_QUERYBUF = VIDIOC_QUERYBUF;
static const unsigned long SPROCKET_VIDIOC_QBUF = VIDIOC_QBUF;
static const unsigned long SPROCKET_VIDIOC_EXPBUF = VIDIOC_EXPBUF;
static const unsigned long SPROCKET_VIDIOC_DQBUF = VIDIOC_DQBUF;
static const unsigned long SPROCKET_VIDIOC_STREAMON = VIDIOC_STREAMON;
static const unsigned long SPROCKET_VIDIOC_STREAMOFF = VIDIOC_STREAMOFF;

// Whether an input receives other DV timings than those that are set; with `adopts` they are set. In C, for
// these structures are packed.
static inline int sprocket_v4l2_other_timings(int fd, int adopts) {
  struct v4l2_dv_timings received, current;
  memset(&received, 0, sizeof received);
  memset(&current, 0, sizeof current);
  if (v4l2_ioctl(fd, VIDIOC_QUERY_DV_TIMINGS, &received) != 0) return 0;
  if (v4l2_ioctl(fd, VIDIOC_G_DV_TIMINGS, &current) != 0) return 0;
  if (received.bt.width == current.bt.width && received.bt.height == current.bt.height
      && received.bt.interlaced == current.bt.interlaced
      && received.bt.pixelclock == current.bt.pixelclock)
    return 0;
  if (adopts && v4l2_ioctl(fd, VIDIOC_S_DV_TIMINGS, &received) != 0) return 0;
  return 1;
}
