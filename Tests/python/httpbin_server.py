#!/usr/bin/env python3
"""Runs httpbin on a loopback port that the system chooses, prints the port, and ends when standard input does.

Ending with standard input means that it never outlives the test that started it, however that test ends.
"""

import logging
import os
import sys
import threading

logging.disable(logging.WARNING)  # it misses an optional package for its front page, which nobody looks at

from httpbin import app
from werkzeug.serving import WSGIRequestHandler, make_server


class Handler(WSGIRequestHandler):
    """HTTP/1.1, so that bodies without a length are chunked; and no log. It closes every connection all the same."""

    protocol_version = "HTTP/1.1"

    def log_request(self, *args):
        pass


def main():
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler)
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.buffer.read()
    # Requests that are still being dripped do not keep it: os._exit waits for no thread.
    os._exit(0)


if __name__ == "__main__":
    main()
