/* nats.c and its callbacks as functions that Swift can import. */
#pragma once
#include <nats/nats.h>

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
