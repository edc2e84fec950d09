/* libcurl's variadic setters and getters, and its callback options, as typed functions.
 *
 * curl_easy_setopt(3), curl_easy_getinfo(3) and curl_multi_setopt(3) are variadic, which Swift does not import; in C the
 * header's type checks apply to each call here. Functions that set something return the library's code. */
#pragma once
#include <curl/curl.h>
#include <string.h>

static inline CURLcode cw_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode cw_set_number(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode cw_set_headers(CURL *easy, struct curl_slist *headers) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

/* The buffer must have CURL_ERROR_SIZE bytes and outlive the transfer. */
static inline CURLcode cw_set_error_buffer(CURL *easy, char *buffer) {
  return curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, buffer);
}

typedef size_t (*cw_data_callback)(char *bytes, size_t size, size_t count, void *context);

/* One of the functions for bytes that arrive, and the option for its context. */
static inline CURLcode cw_set_data_callback(CURL *easy, CURLoption function, cw_data_callback callback,
                                            CURLoption data, void *context) {
  CURLcode code = curl_easy_setopt(easy, function, callback);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, data, context);
}

/* The answers below are 0 or NULL when the library does not know. */
static inline long cw_get_number(CURL *easy, CURLINFO info) {
  long value = 0;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

static inline curl_off_t cw_get_size(CURL *easy, CURLINFO info) {
  curl_off_t value = 0;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

static inline const char *cw_get_text(CURL *easy, CURLINFO info) {
  char *value = NULL;
  curl_easy_getinfo(easy, info, &value);
  return value;
}

/* The socket of a connection that was made with CURLOPT_CONNECT_ONLY; CURL_SOCKET_BAD (-1) when there is none. */
static inline curl_socket_t cw_get_socket(CURL *easy) {
  curl_socket_t value = CURL_SOCKET_BAD;
  curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &value);
  return value;
}

static inline CURLMcode cw_set_socket_callback(CURLM *multi, curl_socket_callback callback, void *context) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline CURLMcode cw_set_timer_callback(CURLM *multi, curl_multi_timer_callback callback, void *context) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

static inline CURLMcode cw_set_multi_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

/* The next transfer that has ended, with its result; NULL when there is none. CURLMsg has a union. */
static inline CURL *cw_next_finished(CURLM *multi, CURLcode *result) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg == CURLMSG_DONE) {
      *result = message->data.result;
      return message->easy_handle;
    }
  }
  return NULL;
}
