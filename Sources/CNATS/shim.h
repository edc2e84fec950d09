/* nats.c and its callbacks as functions that Swift can import. */
#pragma once
#include <arpa/inet.h>
#include <nats/nats.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

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

/* Whether a socket is connected to one of these ports. */
static inline bool cw_nats_leads_to(int number, const int *ports, int count)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    if (getpeername(number, (struct sockaddr *)&peer, &size) != 0)
        return false;
    const int port = cw_nats_port(&peer, NULL);
    for (int place = 0; place < count; place++)
        if (port != 0 && ports[place] == port)
            return true;
    return false;
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
        struct sockaddr_storage own;
        socklen_t size = sizeof own;
        if (getsockname(number, (struct sockaddr *)&own, &size) != 0 || cw_nats_port(&own, address) != port
            || (remote != 0 && !cw_nats_leads_to(number, &remote, 1)))
            continue;
        shutdown(number, SHUT_RDWR);
        break;
    }
    free(address);
}

/* The sockets that are looked at while the library connects. */
enum { cw_nats_most_watched = 4096, cw_nats_is_old = 255 };

struct cw_nats_watch {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool is_over;
    const int *ports;
    int count;
    /* How often a socket was looked at before it is shut down: every 100 ms. */
    int most;
    /* How often each descriptor was seen to lead to one of the ports; those that did so before are old. */
    unsigned char seen[cw_nats_most_watched];
};

static inline void *cw_nats_watch(void *argument)
{
    struct cw_nats_watch *watch = argument;
    pthread_mutex_lock(&watch->lock);
    while (!watch->is_over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&watch->ended, &watch->lock, &until);
        for (int number = 0; !watch->is_over && number < cw_nats_most_watched; number++) {
            if (!cw_nats_leads_to(number, watch->ports, watch->count))
                watch->seen[number] = 0;
            else if (watch->seen[number] != cw_nats_is_old && ++watch->seen[number] >= watch->most) {
                shutdown(number, SHUT_RDWR);
                watch->seen[number] = 0;
            }
        }
    }
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

/* Connects, and shuts down a new socket to one of the servers' ports whose handshake takes longer than milliseconds, at
   most 25 s: nats.c 3.4.1 would wait for ever for a server that sends INFO and does not answer, by an endless loop that
   takes memory (_readProto), and never try the others. */
static inline natsStatus cw_nats_connect(
    natsConnection **connection, natsOptions *options, const int *ports, int count, int milliseconds)
{
    struct cw_nats_watch watch = {.ports = ports, .count = count, .most = milliseconds / 100 + 1};
    pthread_mutex_init(&watch.lock, NULL);
    pthread_cond_init(&watch.ended, NULL);
    for (int number = 0; number < cw_nats_most_watched; number++)
        watch.seen[number] = cw_nats_leads_to(number, ports, count) ? cw_nats_is_old : 0;
    pthread_t thread;
    const bool is_watched = pthread_create(&thread, NULL, cw_nats_watch, &watch) == 0;
    const natsStatus status = natsConnection_Connect(connection, options);
    if (is_watched) {
        pthread_mutex_lock(&watch.lock);
        watch.is_over = true;
        pthread_cond_signal(&watch.ended);
        pthread_mutex_unlock(&watch.lock);
        pthread_join(thread, NULL);
    }
    pthread_cond_destroy(&watch.ended);
    pthread_mutex_destroy(&watch.lock);
    return status;
}
