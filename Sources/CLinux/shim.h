/* What the Glibc module leaves out of Linux: epoll, eventfd, signalfd, and the calls that are variadic or macros in C. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* open(2) is variadic. */
static inline int cw_open(const char *path, int flags, mode_t mode) { return open(path, flags, mode); }

/* What one step of getopt_long(3) tells. */
struct cw_option_step {
    int code;             /* what getopt_long returned */
    int option;           /* optopt */
    int next;             /* optind */
    const char *argument; /* optarg */
};

/* getopt_long(3) speaks through global variables. Callers see to it that there is one at a time. `restart` begins a new
   scan; nothing is printed. */
static inline struct cw_option_step cw_next_option(
    int count, char *const *arguments, const char *shorts, const struct option *longs, int restart)
{
    if (restart) optind = 0; /* 0 and not 1: Glibc starts over then, after a scan that was left in the middle, too */
    opterr = 0;
    optarg = NULL;
    int code = getopt_long(count, arguments, shorts, longs, NULL);
    struct cw_option_step step = {code, optopt, optind, optarg};
    return step;
}

/* fcntl(2) is variadic. */
static inline int cw_get_status_flags(int fd) { return fcntl(fd, F_GETFL); }
static inline int cw_set_status_flags(int fd, int flags) { return fcntl(fd, F_SETFL, flags); }
static inline int cw_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }

/* prctl(2) is variadic. */
static inline int cw_set_thread_name(const char *name) { return prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }

/* errno is a macro over a thread-local. */
static inline int cw_errno(void) { return errno; }

/* pipe2(2) and accept4(2) are hidden without _GNU_SOURCE, which would change the types that the Glibc module declares. */
extern int pipe2(int pipedes[2], int flags);
extern int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags);

/* accept4(2) with close-on-exec and without blocking, the peer's address left out. */
static inline int cw_accept(int fd) { return accept4(fd, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC); }
