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
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

#include "../CSprocketLibraries/table.h"

// The libraries are not linked: SprocketLibAV loads them when something first needs them (LibAV.swift). These
// are the functions that it calls, each behind its library. Tests/Tidy finds those that nobody calls.
enum { sprocket_avutil, sprocket_swresample, sprocket_avcodec, sprocket_avformat, sprocket_swscale };
#define SPROCKET_LIBAV(FUNCTION) \
  FUNCTION(sprocket_avutil, av_buffer_create) \
  FUNCTION(sprocket_avutil, av_buffer_ref) \
  FUNCTION(sprocket_avutil, av_buffer_unref) \
  FUNCTION(sprocket_avutil, av_channel_layout_copy) \
  FUNCTION(sprocket_avutil, av_channel_layout_default) \
  FUNCTION(sprocket_avutil, av_dict_copy) \
  FUNCTION(sprocket_avutil, av_dict_count) \
  FUNCTION(sprocket_avutil, av_dict_free) \
  FUNCTION(sprocket_avutil, av_dict_get) \
  FUNCTION(sprocket_avutil, av_dict_set) \
  FUNCTION(sprocket_avutil, av_dict_set_int) \
  FUNCTION(sprocket_avutil, av_frame_alloc) \
  FUNCTION(sprocket_avutil, av_frame_copy) \
  FUNCTION(sprocket_avutil, av_frame_copy_props) \
  FUNCTION(sprocket_avutil, av_frame_free) \
  FUNCTION(sprocket_avutil, av_frame_get_buffer) \
  FUNCTION(sprocket_avutil, av_frame_get_side_data) \
  FUNCTION(sprocket_avutil, av_frame_make_writable) \
  FUNCTION(sprocket_avutil, av_frame_move_ref) \
  FUNCTION(sprocket_avutil, av_frame_unref) \
  FUNCTION(sprocket_avutil, av_free) \
  FUNCTION(sprocket_avutil, av_freep) \
  FUNCTION(sprocket_avutil, av_get_bytes_per_sample) \
  FUNCTION(sprocket_avutil, av_get_packed_sample_fmt) \
  FUNCTION(sprocket_avutil, av_get_pix_fmt_name) \
  FUNCTION(sprocket_avutil, av_hwdevice_ctx_create) \
  FUNCTION(sprocket_avutil, av_hwdevice_get_type_name) \
  FUNCTION(sprocket_avutil, av_hwframe_ctx_alloc) \
  FUNCTION(sprocket_avutil, av_hwframe_ctx_init) \
  FUNCTION(sprocket_avutil, av_hwframe_get_buffer) \
  FUNCTION(sprocket_avutil, av_hwframe_transfer_data) \
  FUNCTION(sprocket_avutil, av_log_set_callback) \
  FUNCTION(sprocket_avutil, av_malloc) \
  FUNCTION(sprocket_avutil, av_max_alloc) \
  FUNCTION(sprocket_avutil, av_opt_set) \
  FUNCTION(sprocket_avutil, av_opt_set_int) \
  FUNCTION(sprocket_avutil, av_opt_set_sample_fmt) \
  FUNCTION(sprocket_avutil, av_pix_fmt_desc_get) \
  FUNCTION(sprocket_avutil, av_sample_fmt_is_planar) \
  FUNCTION(sprocket_avutil, av_samples_set_silence) \
  FUNCTION(sprocket_avutil, av_strdup) \
  FUNCTION(sprocket_avutil, av_strerror) \
  FUNCTION(sprocket_swresample, swr_alloc_set_opts2) \
  FUNCTION(sprocket_swresample, swr_convert) \
  FUNCTION(sprocket_swresample, swr_free) \
  FUNCTION(sprocket_swresample, swr_get_delay) \
  FUNCTION(sprocket_swresample, swr_init) \
  FUNCTION(sprocket_swresample, swr_set_compensation) \
  FUNCTION(sprocket_swresample, swr_set_matrix) \
  FUNCTION(sprocket_avcodec, av_get_exact_bits_per_sample) \
  FUNCTION(sprocket_avcodec, av_grow_packet) \
  FUNCTION(sprocket_avcodec, av_packet_alloc) \
  FUNCTION(sprocket_avcodec, av_packet_free) \
  FUNCTION(sprocket_avcodec, av_packet_move_ref) \
  FUNCTION(sprocket_avcodec, av_packet_rescale_ts) \
  FUNCTION(sprocket_avcodec, av_packet_unref) \
  FUNCTION(sprocket_avcodec, av_shrink_packet) \
  FUNCTION(sprocket_avcodec, avcodec_alloc_context3) \
  FUNCTION(sprocket_avcodec, avcodec_find_best_pix_fmt_of_list) \
  FUNCTION(sprocket_avcodec, avcodec_find_decoder) \
  FUNCTION(sprocket_avcodec, avcodec_find_encoder_by_name) \
  FUNCTION(sprocket_avcodec, avcodec_flush_buffers) \
  FUNCTION(sprocket_avcodec, avcodec_free_context) \
  FUNCTION(sprocket_avcodec, avcodec_get_class) \
  FUNCTION(sprocket_avcodec, avcodec_get_hw_config) \
  FUNCTION(sprocket_avcodec, avcodec_get_name) \
  FUNCTION(sprocket_avcodec, avcodec_open2) \
  FUNCTION(sprocket_avcodec, avcodec_parameters_copy) \
  FUNCTION(sprocket_avcodec, avcodec_parameters_from_context) \
  FUNCTION(sprocket_avcodec, avcodec_parameters_to_context) \
  FUNCTION(sprocket_avcodec, avcodec_receive_frame) \
  FUNCTION(sprocket_avcodec, avcodec_receive_packet) \
  FUNCTION(sprocket_avcodec, avcodec_send_frame) \
  FUNCTION(sprocket_avcodec, avcodec_send_packet) \
  FUNCTION(sprocket_avformat, av_get_packet) \
  FUNCTION(sprocket_avformat, av_guess_format) \
  FUNCTION(sprocket_avformat, av_guess_sample_aspect_ratio) \
  FUNCTION(sprocket_avformat, av_interleaved_write_frame) \
  FUNCTION(sprocket_avformat, av_probe_input_buffer2) \
  FUNCTION(sprocket_avformat, av_read_frame) \
  FUNCTION(sprocket_avformat, av_seek_frame) \
  FUNCTION(sprocket_avformat, av_stream_get_side_data) \
  FUNCTION(sprocket_avformat, av_stream_new_side_data) \
  FUNCTION(sprocket_avformat, av_write_frame) \
  FUNCTION(sprocket_avformat, av_write_trailer) \
  FUNCTION(sprocket_avformat, avformat_alloc_context) \
  FUNCTION(sprocket_avformat, avformat_alloc_output_context2) \
  FUNCTION(sprocket_avformat, avformat_close_input) \
  FUNCTION(sprocket_avformat, avformat_find_stream_info) \
  FUNCTION(sprocket_avformat, avformat_free_context) \
  FUNCTION(sprocket_avformat, avformat_new_stream) \
  FUNCTION(sprocket_avformat, avformat_open_input) \
  FUNCTION(sprocket_avformat, avformat_query_codec) \
  FUNCTION(sprocket_avformat, avformat_write_header) \
  FUNCTION(sprocket_avformat, avio_alloc_context) \
  FUNCTION(sprocket_avformat, avio_context_free) \
  FUNCTION(sprocket_avformat, avio_flush) \
  FUNCTION(sprocket_avformat, avio_rl32) \
  FUNCTION(sprocket_avformat, avio_seek) \
  FUNCTION(sprocket_avformat, avio_skip) \
  FUNCTION(sprocket_swscale, sws_freeContext) \
  FUNCTION(sprocket_swscale, sws_getCachedContext) \
  FUNCTION(sprocket_swscale, sws_getCoefficients) \
  FUNCTION(sprocket_swscale, sws_getContext) \
  FUNCTION(sprocket_swscale, sws_scale) \
  FUNCTION(sprocket_swscale, sws_setColorspaceDetails)

SPROCKET_TABLE(sprocket_libav, SPROCKET_LIBAV)

// Macros made of other macros with arguments or casts are not imported.
static const int SPROCKET_AVERROR_EAGAIN = AVERROR(EAGAIN);
static const int SPROCKET_AVERROR_EIO = AVERROR(EIO);
static const int SPROCKET_AVERROR_EOF = AVERROR_EOF;
static const int SPROCKET_AVERROR_EXIT = AVERROR_EXIT;
static const int SPROCKET_AVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int64_t SPROCKET_AV_NOPTS_VALUE = AV_NOPTS_VALUE;
static const int SPROCKET_SWS_EXACT = SWS_BICUBIC | SWS_FULL_CHR_H_INT | SWS_ACCURATE_RND;

// sws_scale takes arrays of pointers to const, which Swift cannot make of a frame's array without a copy.
static inline int sprocket_sws_scale(__typeof__(sws_scale) *_Nonnull scale, struct SwsContext *context,
                                     const AVFrame *source, AVFrame *target) {
  return scale(context, (const uint8_t *const *)source->data, source->linesize, 0, source->height,
               target->data, target->linesize);
}
