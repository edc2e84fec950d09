/* The files of the page, as the compiler put them in: see page.c. */
#pragma once
#include <stddef.h>

struct cw_page_file {
    const char *name; /* its path below the page's address, without a slash in front */
    const unsigned char *bytes;
    size_t count;
};

/* How many files there are, and each of them; the page itself (index.html) is the first. */
size_t cw_page_file_count(void);
struct cw_page_file cw_page_file_at(size_t index);
