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
static const unsigned char graph_mjs[] = {
#embed "Files/graph.mjs"
};
static const unsigned char ink_mjs[] = {
#embed "Files/ink.mjs"
};
static const unsigned char sparkline_mjs[] = {
#embed "Files/sparkline.mjs"
};
static const unsigned char standing_mjs[] = {
#embed "Files/standing.mjs"
};

#define ENTRY(name, bytes) {name, bytes, sizeof bytes}

static const struct cw_page_file files[] = {
    ENTRY("index.html", index_html),
    ENTRY("page.css", page_css),
    ENTRY("dom.mjs", dom_mjs),
    ENTRY("main.mjs", main_mjs),
    ENTRY("graph.mjs", graph_mjs),
    ENTRY("ink.mjs", ink_mjs),
    ENTRY("sparkline.mjs", sparkline_mjs),
    ENTRY("standing.mjs", standing_mjs),
};

size_t cw_page_file_count(void) { return sizeof files / sizeof files[0]; }

struct cw_page_file cw_page_file_at(size_t index) { return files[index]; }
