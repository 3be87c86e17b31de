#pragma once

#include <zbar.h>

// A macro of the header, which Swift does not import.
static const unsigned long sprocket_zbar_grey = zbar_fourcc('Y', '8', '0', '0');
