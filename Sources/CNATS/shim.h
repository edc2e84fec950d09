/* nats.c and its callbacks as functions that Swift can import. */
#pragma once
#include <arpa/inet.h>
#include <nats/nats.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

static inline void cw_nats_say_nothing(
    natsConnection *connection, natsSubscription *subscription, natsStatus status, void *context)
{
    (void)connection, (void)subscription, (void)status, (void)context;
}

/* Without a handler of ours the library prints what servers say to stderr. */
static inline natsStatus cw_nats_keep_quiet(natsOptions *options)
{
    return natsOptions_SetErrorHandler(options, cw_nats_say_nothing, NULL);
}

/* What the server has complained of last; text has 256 bytes. The library writes to it on a thread of its own. */
static inline natsStatus cw_nats_last_complaint(natsConnection *connection, char text[256])
{
    const char *complaint = NULL;
    natsStatus status = natsConnection_GetLastError(connection, &complaint);
    size_t length = 0;
    for (; complaint != NULL && length < 255 && complaint[length] != 0; length++)
        text[length] = complaint[length];
    text[length] = 0;
    return status;
}

/* The port of a socket's address; 0 for none. With an address, only if it is that one. */
static inline int cw_nats_port(const struct sockaddr_storage *name, const char *address)
{
    char text[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)name;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)name;
    if (name->ss_family != AF_INET && name->ss_family != AF_INET6)
        return 0;
    const void *host = name->ss_family == AF_INET ? (const void *)&v4->sin_addr : (const void *)&v6->sin6_addr;
    if (address != NULL
        && (inet_ntop(name->ss_family, host, text, sizeof text) == NULL || strcmp(text, address) != 0))
        return 0;
    return ntohs(name->ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
}

/* Shuts down a connection's socket, so that the library's reading thread finds its end and closes the connection itself.
   The library does not tell the descriptor: it is found by the address on our side and the server's port. Nothing is
   copied or opened for that: to close a copy of a file would release SQLite's locks, and descriptors may have run out. */
static inline void cw_nats_hang_up(natsConnection *connection)
{
    char *address = NULL;
    int port = 0;
    char url[1024] = "";
    if (natsConnection_GetLocalIPAndPort(connection, &address, &port) != NATS_OK)
        return;
    natsConnection_GetConnectedUrl(connection, url, sizeof url);
    const char *colon = strrchr(url, ':');
    const int remote = colon == NULL ? 0 : atoi(colon + 1);
    struct rlimit limit = {1024, 1024};
    getrlimit(RLIMIT_NOFILE, &limit);
    for (int number = 0; number < (1 << 20) && (rlim_t)number < limit.rlim_cur; number++) {
        struct sockaddr_storage own, peer;
        socklen_t size = sizeof own;
        if (getsockname(number, (struct sockaddr *)&own, &size) != 0 || cw_nats_port(&own, address) != port)
            continue;
        size = sizeof peer;
        if (getpeername(number, (struct sockaddr *)&peer, &size) != 0)
            continue;
        if (remote != 0 && cw_nats_port(&peer, NULL) != remote)
            continue;
        shutdown(number, SHUT_RDWR);
        break;
    }
    free(address);
}
