// Preloaded: gives every camera the button V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME, which v4l2loopback has not,
// and adds a byte to the file that KEYS names whenever it is pressed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const unsigned force = V4L2_CID_MPEG_VIDEO_FORCE_KEY_FRAME;

int v4l2_ioctl(int descriptor, unsigned long request, ...) {
  static int (*real)(int, unsigned long, ...);
  if (!real) real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "v4l2_ioctl");
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  if (request == VIDIOC_QUERY_EXT_CTRL) {
    struct v4l2_query_ext_ctrl *control = argument;
    unsigned asked = control->id & V4L2_CTRL_ID_MASK, walks = control->id & V4L2_CTRL_FLAG_NEXT_CTRL;
    int result = real(descriptor, request, argument);
    int isPassed = result < 0 || control->id > force;
    if (asked == force && !walks ? result < 0 : walks && asked < force && isPassed) {
      memset(control, 0, sizeof *control);
      control->id = force;
      control->type = V4L2_CTRL_TYPE_BUTTON;
      strcpy(control->name, "Force Key Frame");
      return 0;
    }
    return result;
  }
  if (request == VIDIOC_S_EXT_CTRLS) {
    struct v4l2_ext_controls *all = argument;
    if (all->count == 1 && all->controls[0].id == force) {
      int file = open(getenv("KEYS"), O_WRONLY | O_CREAT | O_APPEND, 0644);
      ssize_t count = write(file, "k", 1);
      close(file);
      return count == 1 ? 0 : -1;
    }
  }
  return real(descriptor, request, argument);
}
