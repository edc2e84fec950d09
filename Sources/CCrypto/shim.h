/* The digests of OpenSSL's libcrypto. */
#pragma once
#include <openssl/sha.h>
