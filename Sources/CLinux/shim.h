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

/* memmem(3), hidden for the same reason. */
extern void *memmem(const void *bytes, size_t count, const void *part, size_t length);

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

/* Who is at the other end of a connected Unix socket (SO_PEERCRED); process -1 when the kernel does not say, 0 for one of
   another PID namespace. */
struct cw_credentials { pid_t process; uid_t user; gid_t group; };
static inline struct cw_credentials cw_peer(int fd) {
  struct cw_credentials credentials = {-1, 0, 0};
  socklen_t length = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) credentials.process = -1;
  return credentials;
}

/* O_PATH, hidden without _GNU_SOURCE. (open(2).) */
static const int cw_o_path = 010000000;

/* socket(2) and socketpair(2) with their type flags, which C declares as an enum beside macros. */
static inline int cw_stream_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }
static inline int cw_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

/* ioctl(2) is variadic. */
static inline int cw_window_size(int fd, int *columns, int *rows) {
  struct winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) != 0) return -1;
  *columns = size.ws_col;
  *rows = size.ws_row;
  return 0;
}

/* Gives the terminal back when the process dies of a fault. A handler may use nothing but what was laid out before and
   calls that are safe there (signal-safety(7)): write, tcsetattr, sigaction and raise are. One terminal a process. */
enum { CW_RESCUED_SIGNALS = 6 };
struct cw_terminal_rescue {
  volatile sig_atomic_t is_armed;
  int fd;
  struct termios modes;
  size_t length;
  char bytes[128];
  struct sigaction before[CW_RESCUED_SIGNALS];
};

/* Within a function: what a header has outside of them is not there for Swift's linker. */
static inline struct cw_terminal_rescue *cw_rescue(void) {
  static struct cw_terminal_rescue rescue;
  return &rescue;
}

static inline int cw_rescued_signal(int index) {
  static const int signals[CW_RESCUED_SIGNALS] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};
  return signals[index];
}

static inline void cw_rescue_terminal(int number, siginfo_t *info, void *context) {
  (void)context;
  if (cw_rescue()->is_armed) {
    cw_rescue()->is_armed = 0;
    ssize_t written = write(cw_rescue()->fd, cw_rescue()->bytes, cw_rescue()->length);
    (void)written;
    tcsetattr(cw_rescue()->fd, TCSANOW, &cw_rescue()->modes);
  }
  /* Then as if there had been no handler: whoever was there before (a backtrace), or the end. */
  for (int i = 0; i < CW_RESCUED_SIGNALS; i++)
    if (cw_rescued_signal(i) == number) sigaction(number, &cw_rescue()->before[i], NULL);
  /* A fault comes again by itself, and says where it is; what somebody sent does not, nor a trap, which is behind us. */
  if (info->si_code <= 0 || number == SIGTRAP) raise(number);
}

static inline int cw_arm_terminal_rescue(int fd, const struct termios *modes, const void *bytes, size_t length) {
  if (cw_rescue()->is_armed || length > sizeof cw_rescue()->bytes) return -1;
  cw_rescue()->fd = fd;
  cw_rescue()->modes = *modes;
  cw_rescue()->length = length;
  memcpy(cw_rescue()->bytes, bytes, length);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = cw_rescue_terminal;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < CW_RESCUED_SIGNALS; i++)
    sigaction(cw_rescued_signal(i), &action, &cw_rescue()->before[i]);
  cw_rescue()->is_armed = 1;
  return 0;
}

static inline void cw_disarm_terminal_rescue(void) {
  if (!cw_rescue()->is_armed) return;
  cw_rescue()->is_armed = 0;
  for (int i = 0; i < CW_RESCUED_SIGNALS; i++)
    sigaction(cw_rescued_signal(i), &cw_rescue()->before[i], NULL);
}
