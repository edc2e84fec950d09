/* nats.c and its callbacks as functions that Swift can import. */
#pragma once
#include <arpa/inet.h>
#include <dirent.h>
#include <nats/nats.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* Whether a socket has this address on our side. */
static inline bool cw_nats_is_bound(int descriptor, const char *address, int port)
{
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    if (getsockname(descriptor, (struct sockaddr *)&own, &size) != 0)
        return false;
    char text[INET6_ADDRSTRLEN] = "";
    if (own.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&own;
        return ntohs(v4->sin_port) == port && inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text) != NULL
            && strcmp(text, address) == 0;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&own;
    return own.ss_family == AF_INET6 && ntohs(v6->sin6_port) == port
        && inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text) != NULL && strcmp(text, address) == 0;
}

/* Shuts down a connection's socket, so that the library's reading thread finds its end and closes the connection itself.
   The library does not tell the descriptor: it is found by the address. */
static inline void cw_nats_hang_up(natsConnection *connection)
{
    char *address = NULL;
    int port = 0;
    DIR *folder = NULL;
    if (natsConnection_GetLocalIPAndPort(connection, &address, &port) == NATS_OK)
        folder = opendir("/proc/self/fd");
    for (struct dirent *entry = NULL; folder != NULL && (entry = readdir(folder)) != NULL;) {
        /* A copy stays the same socket, whatever other threads close and open. */
        int copy = entry->d_name[0] == '.' ? -1 : dup(atoi(entry->d_name));
        if (copy < 0)
            continue;
        struct sockaddr_storage peer;
        socklen_t size = sizeof peer;
        if (cw_nats_is_bound(copy, address, port) && getpeername(copy, (struct sockaddr *)&peer, &size) == 0)
            shutdown(copy, SHUT_RDWR);
        close(copy);
    }
    if (folder != NULL)
        closedir(folder);
    free(address);
}
