/* nats.c, its callbacks and OpenSSL's Ed25519 as functions that Swift can import. */
#pragma once
#include <nats/nats.h>
#include <openssl/evp.h>

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

/* The public key that belongs to a private one, 32 bytes each (RFC 8032); 0 when there is none. */
static inline int cw_ed25519_public_key(const unsigned char *seed, unsigned char *key)
{
    size_t length = 32;
    EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
    int done = pair != NULL && EVP_PKEY_get_raw_public_key(pair, key, &length) == 1 && length == 32;
    EVP_PKEY_free(pair);
    return done;
}
