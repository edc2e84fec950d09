/* libmicrohttpd, with its variadic calls as functions that Swift can import. */
#pragma once
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* MHD_start_daemon(3) is variadic. Starts a server on 127.0.0.1 that has no thread and waits for MHD_run.
   `seconds` is how long a connection may be idle. */
static inline struct MHD_Daemon *cw_mhd_start(
    uint16_t port, unsigned int connections, unsigned int seconds, MHD_AccessHandlerCallback handler,
    void *(*target)(void *context, const char *uri, struct MHD_Connection *connection),
    MHD_RequestCompletedCallback completed, void *context)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, port, NULL, NULL, handler, context,
        MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_TIMEOUT, seconds,
        MHD_OPTION_URI_LOG_CALLBACK, target, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_END);
}

/* MHD_get_daemon_info(3) is variadic. The epoll descriptor, or -1. */
static inline int cw_mhd_epoll(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    return info ? info->epoll_fd : -1;
}

/* The port that the daemon listens on; 0 when it is not known. */
static inline uint16_t cw_mhd_port(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info ? info->port : 0;
}

/* MHD_get_connection_info(3) is variadic. Has the kernel send a TCP reset: connecting a stream socket to AF_UNSPEC
   disconnects it at once, whereas under SO_LINGER libmicrohttpd's own shutdown(2) would let the peer see an end of
   file first. 0 when it worked. */
static inline int cw_mhd_reset(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct sockaddr address;
    memset(&address, 0, sizeof address);
    address.sa_family = AF_UNSPEC;
    return info ? connect(info->connect_fd, &address, sizeof address) : -1;
}

/* MHD_upgrade_action(3) is variadic. Gives an upgraded connection back, which closes it in the next MHD_run. */
static inline void cw_mhd_close_upgraded(struct MHD_UpgradeResponseHandle *handle)
{
    MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}
