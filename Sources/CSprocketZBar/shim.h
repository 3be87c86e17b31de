#pragma once
// libzbar, and what of it Swift cannot import, each with its reason.

#include <zbar.h>

#include "../CSprocketLibraries/table.h"

// The library is not linked: SprocketZBar loads it when something first needs it (ZBar.swift). These are the
// functions that it calls. Tests/Tidy finds those that nobody calls.
#define SPROCKET_ZBAR(FUNCTION) \
  FUNCTION(0, zbar_image_create) \
  FUNCTION(0, zbar_image_destroy) \
  FUNCTION(0, zbar_image_first_symbol) \
  FUNCTION(0, zbar_image_scanner_create) \
  FUNCTION(0, zbar_image_scanner_destroy) \
  FUNCTION(0, zbar_image_scanner_set_config) \
  FUNCTION(0, zbar_image_set_data) \
  FUNCTION(0, zbar_image_set_format) \
  FUNCTION(0, zbar_image_set_size) \
  FUNCTION(0, zbar_scan_image) \
  FUNCTION(0, zbar_symbol_get_data) \
  FUNCTION(0, zbar_symbol_get_data_length) \
  FUNCTION(0, zbar_symbol_get_loc_size) \
  FUNCTION(0, zbar_symbol_get_loc_x) \
  FUNCTION(0, zbar_symbol_get_loc_y) \
  FUNCTION(0, zbar_symbol_get_orientation) \
  FUNCTION(0, zbar_symbol_get_quality) \
  FUNCTION(0, zbar_symbol_get_type) \
  FUNCTION(0, zbar_symbol_next)

SPROCKET_TABLE(sprocket_zbar, SPROCKET_ZBAR)

// A macro of the header, which Swift does not import.
static const unsigned long sprocket_zbar_grey = zbar_fourcc('Y', '8', '0', '0');
