#!/usr/bin/env python3
"""Runs a WebSocket server of the websockets package on a loopback port that the system chooses, and prints the port.

It ends when standard input does, so that it never outlives the test that started it, however that test ends. The path
says what a client gets. Every client is pinged often, and dropped when it does not answer soon.
"""

import asyncio
import json
import logging
import os
import sys
import threading
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import serve

logging.disable(logging.CRITICAL)

CITIES = [{"city": "Delhi", "aqi": 412}, {"city": "Pune", "aqi": 80}]


async def keep_sending(connection, message, pause=0.02):
    while True:
        await connection.send(message)
        await asyncio.sleep(pause)


async def handle(connection):
    url = urlsplit(connection.request.path)
    query = {name: values[-1] for name, values in parse_qs(url.query).items()}
    match url.path:
        case "/aqi":
            await keep_sending(connection, json.dumps(CITIES))
        case "/binary":
            await keep_sending(connection, json.dumps(CITIES).encode())
        case "/fragments":
            await keep_sending(connection, [json.dumps(CITIES)[:5], json.dumps(CITIES)[5:9], "", json.dumps(CITIES)[9:]])
        case "/echo":
            async for message in connection:
                await connection.send(message)
        case "/subprotocol":
            await keep_sending(connection, json.dumps([{"city": connection.subprotocol, "aqi": 1}]))
        case "/large":
            await keep_sending(connection, json.dumps([{"city": "x" * int(query["bytes"]), "aqi": 1}]), 1)
        case "/close":
            await connection.send(json.dumps(CITIES))
            await connection.close(int(query["code"]), query.get("reason", ""))
        case "/drop":
            await connection.send(json.dumps(CITIES))
            connection.transport.abort()
        case _:
            await keep_sending(connection, json.dumps(CITIES))


def check(connection, request):
    path = urlsplit(request.path).path
    if path == "/secret" and request.headers.get("Authorization") != "Basic dXNlcjpwYTU1":
        return connection.respond(HTTPStatus.UNAUTHORIZED, "no\n")
    if path == "/unavailable":
        response = connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "later\n")
        response.headers["Retry-After"] = "30"
        return response
    if path == "/redirect":
        response = connection.respond(HTTPStatus.FOUND, "elsewhere\n")
        response.headers["Location"] = "/aqi"
        return response
    return None


def choose(connection, offered):
    """Unlike the default, takes clients that offer none."""
    return "aqi.v1" if "aqi.v1" in offered else None


async def main():
    async with serve(
        handle, "127.0.0.1", 0, process_request=check, select_subprotocol=choose, ping_interval=0.1, ping_timeout=5
    ) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().create_future()


def end_with_input():
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    asyncio.run(main())
