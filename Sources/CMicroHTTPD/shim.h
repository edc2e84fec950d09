/* libmicrohttpd, with its variadic calls as functions that Swift can import. */
#pragma once
#include <fcntl.h>
#include <microhttpd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

struct cw_mhd_limits {
    unsigned int connections; /* at once */
    unsigned int seconds;     /* that a connection may be idle */
    size_t memory;            /* for a connection, in bytes */
};

/* MHD_start_daemon(3) is variadic. Starts a server on a socket that listens already, which has no thread and waits for
   MHD_run. It closes the socket when it stops, and when it cannot start. */
static inline struct MHD_Daemon *cw_mhd_start(
    int listening, struct cw_mhd_limits limits, MHD_AcceptPolicyCallback admit, MHD_AccessHandlerCallback handler,
    void *(*target)(void *context, const char *uri, struct MHD_Connection *connection),
    MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connection, void *context)
{
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0, admit, context, handler, context,
        MHD_OPTION_LISTEN_SOCKET, listening,
        MHD_OPTION_CONNECTION_LIMIT, limits.connections,
        MHD_OPTION_CONNECTION_TIMEOUT, limits.seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.memory,
        MHD_OPTION_URI_LOG_CALLBACK, target, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, connection, context,
        MHD_OPTION_END);
}

/* MHD_get_daemon_info(3) is variadic. The epoll descriptor, or -1. */
static inline int cw_mhd_epoll(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

/* The port that the daemon listens on; 0 when it has none. */
static inline uint16_t cw_mhd_port(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

/* MHD_set_response_options(3) is variadic. Has the connection end with the response, which is not in chunks. */
static inline void cw_mhd_end_with(struct MHD_Response *response)
{
    (void)MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

/* MHD_get_connection_info(3) is variadic. The connection's socket, or -1. */
static inline int cw_mhd_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* The bytes of a request's head, from its method to the empty line; 0 when it has not come. */
static inline size_t cw_mhd_head_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

/* What MHD_OPTION_NOTIFY_CONNECTION was told to keep with the connection, or NULL. */
static inline void *cw_mhd_kept(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* Has the kernel send a TCP reset: connecting a stream socket to AF_UNSPEC disconnects it at once, whereas under
   SO_LINGER libmicrohttpd's own shutdown(2) would let the peer see an end of file first. */
static inline void cw_mhd_reset(int socket)
{
    struct sockaddr address;
    memset(&address, 0, sizeof address);
    address.sa_family = AF_UNSPEC;
    (void)connect(socket, &address, sizeof address);
}

/* shutdown(2) takes an enum beside macros. libmicrohttpd finds an end of file, and closes the connection. */
static inline void cw_mhd_shut_down(int socket) { (void)shutdown(socket, SHUT_RDWR); }

/* ioctl(2) is variadic. The bytes of a stream socket that were not read yet. */
static inline int cw_mhd_unread(int socket)
{
    int count = 0;
    return ioctl(socket, FIONREAD, &count) == 0 ? count : 0;
}

/* fcntl(2) is variadic. A second descriptor of a socket, closed on exec; -1 when there are none left. */
static inline int cw_mhd_duplicate(int socket) { return fcntl(socket, F_DUPFD_CLOEXEC, 3); }

/* MHD_upgrade_action(3) is variadic. Gives an upgraded connection back, which closes it in the next MHD_run. */
static inline void cw_mhd_close_upgraded(struct MHD_UpgradeResponseHandle *handle)
{
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}
