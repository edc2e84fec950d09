#!/usr/bin/env python3
"""What who runs servers of NATS needs of `nats` and `nk`, which Debian 12 does not have: with Python and openssl alone.

usage: natsadmin.py nkey FILE
       natsadmin.py ask SERVERS SUBJECT [--ca FILE] [--nkey FILE] [--wait SECONDS]
       natsadmin.py ports COUNT

nkey   Prints a user's public key, which goes into the servers' configuration. FILE has the seed, which is the user's secret: it is made
       when it is not there.
ask    Sends standard input to JetStream's interface and prints the answer. SERVERS are HOST:PORT with commas between them, one of
       which will do. --ca means TLS. It tries for --wait seconds (20) while nobody leads.
ports  Prints ports of loopback that nobody listens on.

    catwatch nats stream | natsadmin.py ask n1:4222 '$JS.API.STREAM.CREATE.CATWATCH' --ca ca.pem --nkey operator.nk
"""

import argparse
import base64
import binascii
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import time

# A user's key begins with U, its seed with SU: five bits each, S is 18 and U is 20.
USER, SEED = 20 << 3, (18 << 11 | 20 << 6).to_bytes(2, "big")
# What stands before the 32 bytes of an Ed25519 key in DER (RFC 8410).
PRIVATE = bytes.fromhex("302e020100300506032b657004220420")


class Failed(Exception):
    """Says in words why there is no answer."""


def sealed(data):
    """As nkeys are written: with CRC-16 behind it, in base32."""
    return base64.b32encode(data + binascii.crc_hqx(data, 0).to_bytes(2, "little")).rstrip(b"=").decode()


def new_seed(path):
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(sealed(SEED + os.urandom(32)) + "\n")


class Key:
    """A user's key, of the seed in a file."""

    def __init__(self, path):
        text = pathlib.Path(path).read_text().strip()
        data = base64.b32decode(text + "=" * (-len(text) % 8))
        if data[:2] != SEED or sealed(data[:-2]) != text:
            raise Failed(f"{path} holds no seed of a user's nkey")
        self._private = PRIVATE + data[2:34]

    @property
    def public(self):
        return sealed(bytes([USER]) + self._openssl("pkey", "-inform", "DER", "-pubout", "-outform", "DER")[-32:])

    def sign(self, data):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            signed = self._openssl("pkeyutl", "-sign", "-rawin", "-in", file.name, "-keyform", "DER", "-inkey", "/dev/stdin")
        return base64.urlsafe_b64encode(signed).rstrip(b"=").decode()

    def _openssl(self, *arguments):
        return subprocess.run(["openssl", *arguments], input=self._private, check=True, capture_output=True).stdout


def user_key(path):
    """The public key of the seed in a file, which is made when it is not there."""
    if not os.path.exists(path):
        new_seed(path)
    return Key(path).public


def ask_one(server, subject, payload, ca=None, nkey=None):
    """One server's answer. Throws OSError and Failed."""
    host, _, port = server.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=3) as plain:
        # Byte by byte: what follows the first line is TLS already.
        information = b""
        while not information.endswith(b"\n"):
            byte = plain.recv(1)
            if not byte:
                raise Failed("it says nothing")
            information += byte
        information = json.loads(information.removeprefix(b"INFO "))
        hello = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "lang": "python", "version": "1"}
        if nkey:
            key = Key(nkey)
            hello |= {"nkey": key.public, "sig": key.sign(information.get("nonce", "").encode())}
        context = ssl.create_default_context(cafile=ca) if ca or information.get("tls_required") else None
        with context.wrap_socket(plain, server_hostname=host) if context else plain as connection:
            inbox = "_INBOX." + os.urandom(12).hex()
            connection.sendall(
                f"CONNECT {json.dumps(hello)}\r\nSUB {inbox} 1\r\nPUB {subject} {inbox} {len(payload)}\r\n".encode()
                + payload + b"\r\n")
            stream = connection.makefile("rb")
            for line in stream:
                word, *words = line.decode().split()
                if word == "MSG":
                    return json.loads(stream.read(int(words[-1])))
                if word == "HMSG":
                    raise Failed("nobody leads, or JetStream is off")
                if word == "PING":
                    connection.sendall(b"PONG\r\n")
                if word == "-ERR":
                    raise Failed(line.decode()[5:].strip())
            raise Failed("it has closed the connection")


def ask(servers, subject, payload=b"", wait=20, **options):
    """The answer of whichever server gives one, as long as none is chosen to lead."""
    limit = time.monotonic() + wait
    while True:
        for server in servers.split(","):
            try:
                answer = ask_one(server, subject, payload, **options)
                error = answer.get("error", {})
                # Unavailable for the moment; not enough servers, as they have yet to hear of each other.
                if error.get("code") != 503 and error.get("err_code") != 10005:
                    return answer
                why = error["description"]
            except (OSError, Failed) as fault:
                why = str(fault)
            if time.monotonic() > limit:
                raise Failed(f"{server}: {why}")
        time.sleep(0.2)


def ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    return [one.getsockname()[1] for one in sockets]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("nkey").add_argument("file")
    commands.add_parser("ports").add_argument("count", type=int)
    asking = commands.add_parser("ask")
    asking.add_argument("servers")
    asking.add_argument("subject")
    asking.add_argument("--ca")
    asking.add_argument("--nkey")
    asking.add_argument("--wait", type=float, default=20)
    given = parser.parse_args()
    try:
        if given.command == "nkey":
            print(user_key(given.file))
        elif given.command == "ports":
            print(*ports(given.count))
        else:
            answer = ask(given.servers, given.subject, sys.stdin.buffer.read(), given.wait, ca=given.ca, nkey=given.nkey)
            print(json.dumps(answer))
            return 1 if "error" in answer else 0
    except (OSError, Failed, ValueError, subprocess.CalledProcessError) as fault:
        print(f"natsadmin.py: {fault}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
