/* OpenSSL's digests, Base64 and Ed25519 as functions that Swift can import. */
#pragma once
#include <openssl/evp.h>
#include <openssl/sha.h>

/* The public key that belongs to a private one, 32 bytes each (RFC 8032); 0 when there is none. */
static inline int cw_ed25519_public_key(const unsigned char *seed, unsigned char *key)
{
    size_t length = 32;
    EVP_PKEY *pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, 32);
    int done = pair != NULL && EVP_PKEY_get_raw_public_key(pair, key, &length) == 1 && length == 32;
    EVP_PKEY_free(pair);
    return done;
}
