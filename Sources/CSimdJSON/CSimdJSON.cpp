// No exception leaves this file because simdjson throws none without them, and nothing else here throws.
#define SIMDJSON_EXCEPTIONS 0
#include <simdjson.h>

#include <charconv>
#include <cstring>
#include <limits>
#include <new>

#include "CSimdJSON.h"

namespace ondemand = simdjson::ondemand;

struct csj_parser {
    ondemand::parser parser;
    ondemand::document document;
    const uint8_t *base = nullptr;
    size_t length = 0;
    // What csj_next goes through, and where it is.
    enum { none, elements, members } walk = none;
    ondemand::array array;
    ondemand::object object;
    simdjson::simdjson_result<ondemand::array_iterator> element;
    simdjson::simdjson_result<ondemand::object_iterator> member;
};

namespace {

// What stage 1 is asked to leave room for; small documents of different sizes share it.
constexpr size_t smallest_capacity = 4096;
// JSONMinifier allows 512 levels.
constexpr size_t max_depth = 1024;

csj_status status(simdjson::error_code error) {
    switch (error) {
    case simdjson::SUCCESS: return CSJ_OK;
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY: return CSJ_NO_MEMORY;
    default: return CSJ_INVALID;
    }
}

bool is_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

// From `begin` up to `end` without the white space before it.
csj_span span(const csj_parser *parser, const uint8_t *begin, const uint8_t *end) {
    while (end > begin && is_space(end[-1])) end--;
    return {uint32_t(begin - parser->base), uint32_t(end - begin)};
}

csj_span span(const csj_parser *parser, std::string_view text) {
    auto begin = reinterpret_cast<const uint8_t *>(text.data());
    return span(parser, begin, begin + text.size());
}

csj_type type_of(uint8_t first) {
    switch (first) {
    case '{': return CSJ_OBJECT;
    case '[': return CSJ_ARRAY;
    case '"': return CSJ_STRING;
    case 't': return CSJ_TRUE;
    case 'f': return CSJ_FALSE;
    case 'n': return CSJ_NULL;
    default: return CSJ_NUMBER;
    }
}

int hex(uint8_t byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

// The code unit of the four digits at `digits`, or -1. Stops at the first byte that is none, so it does not pass a quote.
int32_t code_unit(const uint8_t *digits) {
    int32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex(digits[i]);
        if (digit < 0) return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

// Reads one escape behind its backslash and writes the UTF-8 that it means; returns how many bytes that is, 0 if broken.
size_t unescape(const uint8_t *&raw, uint8_t *utf8) {
    uint8_t letter = *raw++;
    switch (letter) {
    case 'b': utf8[0] = '\b'; return 1;
    case 'f': utf8[0] = '\f'; return 1;
    case 'n': utf8[0] = '\n'; return 1;
    case 'r': utf8[0] = '\r'; return 1;
    case 't': utf8[0] = '\t'; return 1;
    case 'u': break;
    default: utf8[0] = letter; return 1;
    }
    int32_t scalar = code_unit(raw);
    if (scalar < 0) return 0;
    raw += 4;
    if (scalar >= 0xD800 && scalar < 0xE000) {
        int32_t low = scalar < 0xDC00 && raw[0] == '\\' && raw[1] == 'u' ? code_unit(raw + 2) : -1;
        if (low >= 0xDC00 && low < 0xE000) {
            scalar = 0x10000 + ((scalar - 0xD800) << 10) + (low - 0xDC00);
            raw += 6;
        } else {
            scalar = 0xFFFD;  // As JSONText does.
        }
    }
    if (scalar < 0x80) {
        utf8[0] = uint8_t(scalar);
        return 1;
    }
    if (scalar < 0x800) {
        utf8[0] = uint8_t(0xC0 | scalar >> 6);
        utf8[1] = uint8_t(0x80 | (scalar & 0x3F));
        return 2;
    }
    if (scalar < 0x10000) {
        utf8[0] = uint8_t(0xE0 | scalar >> 12);
        utf8[1] = uint8_t(0x80 | (scalar >> 6 & 0x3F));
        utf8[2] = uint8_t(0x80 | (scalar & 0x3F));
        return 3;
    }
    utf8[0] = uint8_t(0xF0 | scalar >> 18);
    utf8[1] = uint8_t(0x80 | (scalar >> 12 & 0x3F));
    utf8[2] = uint8_t(0x80 | (scalar >> 6 & 0x3F));
    utf8[3] = uint8_t(0x80 | (scalar & 0x3F));
    return 4;
}

// Whether the key at `raw`, behind its quote, means these bytes. Stage 1 has seen to it that a quote ends it.
bool equals(const uint8_t *raw, const uint8_t *key, size_t length) {
    const uint8_t *end = key + length;
    while (*raw != '"') {
        if (*raw != '\\') {
            if (key == end || *key != *raw) return false;
            key++;
            raw++;
            continue;
        }
        raw++;
        uint8_t utf8[4];
        size_t count = unescape(raw, utf8);
        if (count == 0 || size_t(end - key) < count || memcmp(key, utf8, count) != 0) return false;
        key += count;
    }
    return key == end;
}

const uint8_t *raw_key(ondemand::field &field) { return reinterpret_cast<const uint8_t *>(field.key().raw()); }

csj_span key_span(const csj_parser *parser, const uint8_t *raw) {
    const uint8_t *end = raw;
    while (*end != '"') end += *end == '\\' ? 2 : 1;
    return {uint32_t(raw - parser->base), uint32_t(end - raw)};
}

// The span of a value; reads past it.
simdjson::error_code read_span(const csj_parser *parser, ondemand::value value, csj_type type, csj_span &result) {
    std::string_view text;
    simdjson::error_code error = simdjson::SUCCESS;
    if (type == CSJ_OBJECT) {
        ondemand::object object;
        if (!(error = value.get_object().get(object))) error = object.raw_json().get(text);
    } else if (type == CSJ_ARRAY) {
        ondemand::array array;
        if (!(error = value.get_array().get(array))) error = array.raw_json().get(text);
    } else {
        text = value.raw_json_token();
    }
    if (!error) result = span(parser, text);
    return error;
}

csj_type type_of(ondemand::value &value) { return type_of(uint8_t(value.raw_json_token()[0])); }

// One step down from an object.
simdjson::error_code member(ondemand::value &value, const uint8_t *key, size_t length, bool &found) {
    ondemand::object object;
    auto error = value.get_object().get(object);
    if (error) return error;
    for (auto result : object) {
        ondemand::field field;
        if ((error = std::move(result).get(field))) return error;
        if (!equals(raw_key(field), key, length)) continue;
        value = field.value();
        found = true;
        break;
    }
    return simdjson::SUCCESS;
}

// One step down from an array.
simdjson::error_code element(ondemand::value &value, int64_t index, bool &found, uint32_t &elements) {
    ondemand::array array;
    auto error = value.get_array().get(array);
    if (error) return error;
    for (auto result : array) {
        ondemand::value candidate;
        if ((error = std::move(result).get(candidate))) return error;
        if (elements++ != index) continue;
        value = candidate;
        found = true;
        break;
    }
    return simdjson::SUCCESS;
}

// Follows the steps from the top, which is an object or an array.
csj_status follow(
    csj_parser *parser, const uint8_t *bytes, const csj_step *steps, size_t count, ondemand::value &value,
    csj_value *result
) {
    parser->document.rewind();
    auto error = parser->document.get_value().get(value);
    if (error) return status(error);
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        result->resolved = uint32_t(i);
        result->elements = 0;
        result->type = type_of(value);
        if (result->type == CSJ_OBJECT) {
            error = member(value, bytes + steps[i].offset, steps[i].length, found);
        } else if (result->type == CSJ_ARRAY) {
            error = element(value, steps[i].index, found, result->elements);
        }
        if (error) return status(error);
        if (!found) return CSJ_MISSING;
    }
    result->resolved = uint32_t(count);
    result->type = type_of(value);
    return CSJ_OK;
}

// The document's own span and type; On-Demand treats a scalar on its own differently, so we ask its first byte.
csj_status root(csj_parser *parser, csj_value *result) {
    parser->walk = csj_parser::none;
    if (!parser->base) return CSJ_INVALID;
    const uint8_t *begin = parser->base, *end = begin + parser->length;
    while (begin < end && is_space(*begin)) begin++;
    if (begin == end) return CSJ_INVALID;
    *result = {span(parser, begin, end), type_of(*begin), 0, 0};
    return CSJ_OK;
}

}  // namespace

csj_parser *csj_create(void) { return new (std::nothrow) csj_parser(); }

void csj_destroy(csj_parser *parser) { delete parser; }

csj_status csj_open(csj_parser *parser, const uint8_t *document, size_t length) {
    csj_close(parser, SIZE_MAX);
    if (length >= std::numeric_limits<uint32_t>::max() - CSJ_PADDING) return CSJ_NO_MEMORY;
    if (parser->parser.capacity() < length || parser->parser.capacity() == 0) {
        size_t capacity = smallest_capacity;
        while (capacity < length) capacity *= 2;
        auto error = parser->parser.allocate(capacity, max_depth);
        if (error) return status(error);
    }
    static_assert(CSJ_PADDING >= simdjson::SIMDJSON_PADDING, "simdjson reads further than we promise");
    auto error = parser->parser.iterate(document, length, length + CSJ_PADDING).get(parser->document);
    if (error) return status(error);
    parser->base = document;
    parser->length = length;
    return CSJ_OK;
}

void csj_close(csj_parser *parser, size_t keep) {
    parser->walk = csj_parser::none;
    parser->base = nullptr;
    parser->length = 0;
    if (parser->parser.capacity() <= keep) return;
    parser->document = ondemand::document();
    parser->parser = ondemand::parser();
}

size_t csj_capacity(const csj_parser *parser) { return parser->parser.capacity(); }

csj_status csj_find(
    csj_parser *parser, const uint8_t *bytes, const csj_step *steps, size_t count, csj_value *result
) {
    csj_status found = root(parser, result);
    if (found != CSJ_OK || count == 0) return found;
    if (result->type != CSJ_OBJECT && result->type != CSJ_ARRAY) return CSJ_MISSING;
    ondemand::value value;
    found = follow(parser, bytes, steps, count, value, result);
    if (found != CSJ_OK) return found;
    return status(read_span(parser, value, result->type, result->span));
}

csj_status csj_begin(
    csj_parser *parser, const uint8_t *bytes, const csj_step *steps, size_t count, csj_value *result
) {
    csj_status found = root(parser, result);
    if (found != CSJ_OK) return found;
    if (result->type != CSJ_OBJECT && result->type != CSJ_ARRAY) return count == 0 ? CSJ_OK : CSJ_MISSING;
    ondemand::value value;
    found = follow(parser, bytes, steps, count, value, result);
    if (found != CSJ_OK) return found;
    if (result->type == CSJ_OBJECT) {
        auto error = value.get_object().get(parser->object);
        if (error) return status(error);
        parser->member = parser->object.begin();
        parser->walk = csj_parser::members;
    } else if (result->type == CSJ_ARRAY) {
        auto error = value.get_array().get(parser->array);
        if (error) return status(error);
        parser->element = parser->array.begin();
        parser->walk = csj_parser::elements;
    }
    return CSJ_OK;
}

csj_status csj_next(csj_parser *parser, csj_member *members, size_t capacity, size_t *count) {
    *count = 0;
    simdjson::error_code error = simdjson::SUCCESS;
    if (parser->walk == csj_parser::members) {
        auto end = parser->object.end();
        while (*count < capacity && parser->member != end) {
            ondemand::field field;
            if ((error = (*parser->member).get(field))) break;
            csj_member &next = members[*count];
            next.key = key_span(parser, raw_key(field));
            if ((error = read_span(parser, field.value(), type_of(field.value()), next.value))) break;
            ++parser->member;
            ++*count;
        }
    } else if (parser->walk == csj_parser::elements) {
        auto end = parser->array.end();
        while (*count < capacity && parser->element != end) {
            ondemand::value value;
            if ((error = (*parser->element).get(value))) break;
            csj_member &next = members[*count];
            next.key = {0, 0};
            if ((error = read_span(parser, value, type_of(value), next.value))) break;
            ++parser->element;
            ++*count;
        }
    }
    if (error) parser->walk = csj_parser::none;
    return status(error);
}

csj_status csj_number(const uint8_t *token, size_t length, double *result) {
    auto begin = reinterpret_cast<const char *>(token), end = begin + length;
    if (length == 0 || !(*begin == '-' || (*begin >= '0' && *begin <= '9'))) return CSJ_INVALID;
    auto [stop, error] = std::from_chars(begin, end, *result);
    if (stop != end) return CSJ_INVALID;
    return error == std::errc() ? CSJ_OK : CSJ_MISSING;
}
