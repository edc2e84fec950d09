/// simdjson On-Demand behind a C face: JSON Pointers (RFC 6901) looked up in one document.
///
/// On-Demand does not look at what it skips, so the bytes must be valid JSON already; bytes that are not give an error or
/// some answer, never a crash. The walk along a pointer is ours: simdjson compares keys with their escapes still in them.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How many readable bytes must follow a document.
#define CSJ_PADDING 64

/// A reusable parser: the index of one document at a time. One thread at a time.
typedef struct csj_parser csj_parser;

typedef enum csj_status {
    CSJ_OK,
    /// The pointer leads nowhere.
    CSJ_MISSING,
    /// simdjson refuses the bytes.
    CSJ_INVALID,
    /// Not enough memory, or a document of 4 GiB and more.
    CSJ_NO_MEMORY,
} csj_status;

typedef enum csj_type { CSJ_OBJECT, CSJ_ARRAY, CSJ_STRING, CSJ_NUMBER, CSJ_TRUE, CSJ_FALSE, CSJ_NULL } csj_type;

/// One reference token of a pointer, unescaped.
typedef struct csj_step {
    /// Where the token lies in the pointer's bytes.
    uint32_t offset;
    uint32_t length;
    /// The array index that the token is, or -1.
    int64_t index;
} csj_step;

/// A part of the document that was opened.
typedef struct csj_span {
    uint32_t offset;
    uint32_t length;
} csj_span;

typedef struct csj_value {
    /// The value as it is written: strings with their quotes.
    csj_span span;
    csj_type type;
    /// How many steps led somewhere. When missing, `type` is what they led to.
    uint32_t resolved;
    /// When missing in an array: how many elements it has.
    uint32_t elements;
} csj_value;

/// One element of an array, or one member of an object.
typedef struct csj_member {
    /// The key as it is written, without its quotes; empty in arrays.
    csj_span key;
    csj_span value;
} csj_member;

/// NULL when there is no memory. The parser allocates nothing before its first document.
csj_parser *csj_create(void);
void csj_destroy(csj_parser *parser);

/// Indexes `length` bytes, which stay in place until the last `csj_find` or `csj_next` and have CSJ_PADDING readable bytes behind.
csj_status csj_open(csj_parser *parser, const uint8_t *document, size_t length);
/// Forgets the document; gives the index's memory back when it is for more than `keep` bytes of document.
void csj_close(csj_parser *parser, size_t keep);
/// For how many bytes of document the parser holds memory, which is about six times that.
size_t csj_capacity(const csj_parser *parser);

/// Follows `count` steps from the document's top. Of duplicate keys the first one counts.
csj_status csj_find(
    csj_parser *parser, const uint8_t *bytes, const csj_step *steps, size_t count, csj_value *result);

/// Starts on the members of the array or object where the steps lead; `result->type` says what is there.
/// Ended by the next `csj_find`, `csj_begin`, `csj_open` or `csj_close`.
csj_status csj_begin(
    csj_parser *parser, const uint8_t *bytes, const csj_step *steps, size_t count, csj_value *result);
/// The next members, up to `capacity`; fewer only at the end, and then 0. A scalar has none.
csj_status csj_next(csj_parser *parser, csj_member *members, size_t capacity, size_t *count);

/// The double nearest to a JSON number; CSJ_MISSING when it is too large or too small for one, CSJ_INVALID when it is no number.
csj_status csj_number(const uint8_t *token, size_t length, double *result);

#ifdef __cplusplus
}
#endif
