#pragma once
// libavformat, libavcodec, libavutil, libswscale and libswresample, and what of them Swift cannot import,
// each with its reason.

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/channel_layout.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

// Macros made of other macros with arguments or casts are not imported.
static const int SPROCKET_AVERROR_EAGAIN = AVERROR(EAGAIN);
static const int SPROCKET_AVERROR_EIO = AVERROR(EIO);
static const int SPROCKET_AVERROR_EOF = AVERROR_EOF;
static const int SPROCKET_AVERROR_EXIT = AVERROR_EXIT;
static const int SPROCKET_AVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int64_t SPROCKET_AV_NOPTS_VALUE = AV_NOPTS_VALUE;
static const int SPROCKET_SWS_EXACT = SWS_BICUBIC | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND;

// sws_scale takes arrays of pointers to const, which Swift cannot make of a frame's array without a copy.
static inline int sprocket_sws_scale(struct SwsContext *context, const AVFrame *source, AVFrame *target) {
  return sws_scale(context, (const uint8_t *const *)source->data, source->linesize, 0, source->height,
                   target->data, target->linesize);
}
