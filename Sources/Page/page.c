#include "page.h"

/* A file is an #embed here and a row below. */
static const unsigned char index_html[] = {
#embed "Files/index.html"
};
static const unsigned char page_css[] = {
#embed "Files/page.css"
};
static const unsigned char dom_mjs[] = {
#embed "Files/dom.mjs"
};
static const unsigned char main_mjs[] = {
#embed "Files/main.mjs"
};

#define ENTRY(name, bytes) {name, bytes, sizeof bytes}

static const struct cw_page_file files[] = {
    ENTRY("index.html", index_html),
    ENTRY("page.css", page_css),
    ENTRY("dom.mjs", dom_mjs),
    ENTRY("main.mjs", main_mjs),
};

size_t cw_page_file_count(void) { return sizeof files / sizeof files[0]; }

struct cw_page_file cw_page_file_at(size_t index) { return files[index]; }
