/* What the Glibc module leaves out of Linux: epoll, eventfd, signalfd, and the calls that are variadic or macros in C. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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
#include <termios.h>
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

/* sockaddr_un's path as bytes: Swift imports the array as a tuple. Paths of 107 bytes at the most; -1 when longer. */
static inline int cw_bind_unix(int fd, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
  memcpy(address.sun_path, path, length + 1);
  return bind(fd, (struct sockaddr *)&address, sizeof address);
}

static inline int cw_connect_unix(int fd, const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
  memcpy(address.sun_path, path, length + 1);
  return connect(fd, (struct sockaddr *)&address, sizeof address);
}

/* sd_notify(3) sends to a path, or to an abstract name when it begins with '@'. */
static inline ssize_t cw_send_unix(int fd, const char *path, const void *bytes, size_t count) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length >= sizeof address.sun_path) { errno = ENAMETOOLONG; return -1; }
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = 0;
  return sendto(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

/* The process at the other end of a connected Unix socket (SO_PEERCRED); 0 when the kernel does not say. */
static inline pid_t cw_peer_pid(int fd) {
  struct { pid_t pid; uid_t uid; gid_t gid; } credentials = {0, 0, 0};
  socklen_t length = sizeof credentials;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.pid : 0;
}

/* socket(2) and socketpair(2) with their type flags, which C declares as an enum beside macros. */
static inline int cw_stream_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }
static inline int cw_socket_pair(int *ends) {
  return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends);
}
static inline int cw_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

/* ioctl(2) is variadic. */
static inline int cw_window_size(int fd, int *columns, int *rows) {
  struct winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) return -1;
  *columns = size.ws_col;
  *rows = size.ws_row;
  return 0;
}

/* What puts a terminal back when the program crashes: read by a signal handler, so it is laid out beforehand. Only one
   module may use these, as every module that imports this header has variables of its own. */
static volatile sig_atomic_t cw_guarded_terminal = -1;
static struct termios cw_guarded_mode;
static char cw_guarded_bytes[256];
static size_t cw_guarded_count;

/* write(2), tcsetattr(3) and raise(3) are async-signal-safe (signal-safety(7)). */
__attribute__((unused)) static void cw_crashed(int number) {
  int fd = cw_guarded_terminal;
  if (fd >= 0) {
    cw_guarded_terminal = -1;
    if (write(fd, cw_guarded_bytes, cw_guarded_count) < 0) { /* nothing more can be done for it */ }
    tcsetattr(fd, TCSANOW, &cw_guarded_mode);
  }
  raise(number); /* SA_RESETHAND: the default, which ends the process and leaves its core */
}

/* Has a crash write `bytes` (256 at the most) to the terminal and give it back its mode. */
static inline void cw_guard_terminal(int fd, const struct termios *mode, const char *bytes, size_t count) {
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  cw_guarded_mode = *mode;
  cw_guarded_count = count < sizeof cw_guarded_bytes ? count : sizeof cw_guarded_bytes;
  memcpy(cw_guarded_bytes, bytes, cw_guarded_count);
  cw_guarded_terminal = fd;
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = cw_crashed;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    sigaction(crashes[i], &action, NULL);
  }
}

static inline void cw_unguard_terminal(void) { cw_guarded_terminal = -1; }
