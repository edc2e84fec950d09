#include "page.h"

/* A file is an #embed here and a row below, in the order of their names. */
static const unsigned char index_html[] = {
#embed "Files/index.html"
};
static const unsigned char page_css[] = {
#embed "Files/page.css"
};
static const unsigned char agents_mjs[] = {
#embed "Files/agents.mjs"
};
static const unsigned char alerts_mjs[] = {
#embed "Files/alerts.mjs"
};
static const unsigned char axis_mjs[] = {
#embed "Files/axis.mjs"
};
static const unsigned char bands_mjs[] = {
#embed "Files/bands.mjs"
};
static const unsigned char board_mjs[] = {
#embed "Files/board.mjs"
};
static const unsigned char detail_mjs[] = {
#embed "Files/detail.mjs"
};
static const unsigned char dom_mjs[] = {
#embed "Files/dom.mjs"
};
static const unsigned char export_mjs[] = {
#embed "Files/export.mjs"
};
static const unsigned char feed_mjs[] = {
#embed "Files/feed.mjs"
};
static const unsigned char fields_mjs[] = {
#embed "Files/fields.mjs"
};
static const unsigned char format_mjs[] = {
#embed "Files/format.mjs"
};
static const unsigned char graph_mjs[] = {
#embed "Files/graph.mjs"
};
static const unsigned char header_mjs[] = {
#embed "Files/header.mjs"
};
static const unsigned char help_mjs[] = {
#embed "Files/help.mjs"
};
static const unsigned char icon_svg[] = {
#embed "Files/icon.svg"
};
static const unsigned char line_mjs[] = {
#embed "Files/line.mjs"
};
static const unsigned char list_mjs[] = {
#embed "Files/list.mjs"
};
static const unsigned char main_mjs[] = {
#embed "Files/main.mjs"
};
static const unsigned char metrics_mjs[] = {
#embed "Files/metrics.mjs"
};
static const unsigned char order_mjs[] = {
#embed "Files/order.mjs"
};
static const unsigned char past_mjs[] = {
#embed "Files/past.mjs"
};
static const unsigned char pictures_mjs[] = {
#embed "Files/pictures.mjs"
};
static const unsigned char poll_mjs[] = {
#embed "Files/poll.mjs"
};
static const unsigned char recorded_mjs[] = {
#embed "Files/recorded.mjs"
};
static const unsigned char ring_mjs[] = {
#embed "Files/ring.mjs"
};
static const unsigned char screens_mjs[] = {
#embed "Files/screens.mjs"
};
static const unsigned char sparkline_mjs[] = {
#embed "Files/sparkline.mjs"
};
static const unsigned char standing_mjs[] = {
#embed "Files/standing.mjs"
};
static const unsigned char stream_mjs[] = {
#embed "Files/stream.mjs"
};
static const unsigned char text_mjs[] = {
#embed "Files/text.mjs"
};
static const unsigned char windows_mjs[] = {
#embed "Files/windows.mjs"
};

#define ENTRY(name, bytes) {name, bytes, sizeof bytes}

static const struct cw_page_file files[] = {
    ENTRY("index.html", index_html),
    ENTRY("page.css", page_css),
    ENTRY("agents.mjs", agents_mjs),
    ENTRY("alerts.mjs", alerts_mjs),
    ENTRY("axis.mjs", axis_mjs),
    ENTRY("bands.mjs", bands_mjs),
    ENTRY("board.mjs", board_mjs),
    ENTRY("detail.mjs", detail_mjs),
    ENTRY("dom.mjs", dom_mjs),
    ENTRY("export.mjs", export_mjs),
    ENTRY("feed.mjs", feed_mjs),
    ENTRY("fields.mjs", fields_mjs),
    ENTRY("format.mjs", format_mjs),
    ENTRY("graph.mjs", graph_mjs),
    ENTRY("header.mjs", header_mjs),
    ENTRY("help.mjs", help_mjs),
    ENTRY("icon.svg", icon_svg),
    ENTRY("line.mjs", line_mjs),
    ENTRY("list.mjs", list_mjs),
    ENTRY("main.mjs", main_mjs),
    ENTRY("metrics.mjs", metrics_mjs),
    ENTRY("order.mjs", order_mjs),
    ENTRY("past.mjs", past_mjs),
    ENTRY("pictures.mjs", pictures_mjs),
    ENTRY("poll.mjs", poll_mjs),
    ENTRY("recorded.mjs", recorded_mjs),
    ENTRY("ring.mjs", ring_mjs),
    ENTRY("screens.mjs", screens_mjs),
    ENTRY("sparkline.mjs", sparkline_mjs),
    ENTRY("standing.mjs", standing_mjs),
    ENTRY("stream.mjs", stream_mjs),
    ENTRY("text.mjs", text_mjs),
    ENTRY("windows.mjs", windows_mjs),
};

size_t cw_page_file_count(void) { return sizeof files / sizeof files[0]; }

struct cw_page_file cw_page_file_at(size_t index) { return files[index]; }
