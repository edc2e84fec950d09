/* zlib, with its macros as functions that Swift can import. */
#pragma once
#include <zlib.h>

/* deflateInit2 is a macro. For a gzip member of the best compression. */
static inline int cw_gzip_begin(z_stream *stream)
{
    return deflateInit2(stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
}
