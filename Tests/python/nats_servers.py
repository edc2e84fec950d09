"""Servers of NATS for tests: one, or three that hold each other's copies; and a consumer that uses nothing of catwatch's."""

import argparse
import asyncio
import base64
import contextlib
import ctypes
import json
import logging
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import nats
import nkeys

logging.disable()
STREAM = "CATWATCH"
PREFIX = "catwatch.v1."
PATIENCE = 60


class Wrong(Exception):
    """What was promised does not hold."""


def need(condition, what):
    if not condition:
        raise Wrong(what)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run_trial(document, *trials):
    """Runs one of these by the command line; what it made is kept when it comes to nothing."""
    parser = argparse.ArgumentParser(description=document, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catwatch")
    known = {one.__name__: one for one in trials}
    parser.add_argument("trial", choices=known)
    parser.add_argument("--long", action="store_true")
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="catwatch-nats-")
    try:
        known[given.trial](given.catwatch, folder, given.long)
    except (Wrong, AssertionError) as wrong:
        print(f"{given.trial}: {wrong}\nthe files are in {folder}", file=sys.stderr)
        return 1
    finally:
        Agent.kill_all()
    shutil.rmtree(folder)
    return 0


def wait_for(what, condition, patience=PATIENCE):
    limit = time.monotonic() + patience
    while not (value := condition()):
        need(time.monotonic() < limit, f"waited in vain for {what}")
        time.sleep(0.02)
    return value


class Server:
    """A nats-server with JetStream; `more` goes into its configuration."""

    def __init__(self, folder, name="n1", more="", jetstream=True, max_payload="2MB", routes=None):
        self.folder = pathlib.Path(folder) / name
        self.folder.mkdir()
        self.name = name
        self.port = free_port()
        self.process = None
        self.route = free_port() if routes is None else routes[name]
        self.text = f"server_name: {name}\nlisten: 127.0.0.1:{self.port}\nmax_payload: {max_payload}\n"
        if jetstream:
            self.text += f'jetstream {{ store_dir: "{self.folder}/store", max_mem: 64M, max_file: 1G }}\n'
        if routes:
            others = ", ".join(f"nats-route://127.0.0.1:{port}" for port in routes.values())
            self.text += f"cluster {{ name: fleet, listen: 127.0.0.1:{self.route}, routes: [{others}] }}\n"
        self.configuration = self.folder / "server.conf"
        self.configuration.write_text(self.text + more)

    def reload(self, more):
        self.configuration.write_text(self.text + more)
        self.signal(signal.SIGHUP)

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen(
            ["nats-server", "-c", self.configuration], stdout=subprocess.DEVNULL,
            stderr=open(self.folder / "log", "ab"))
        wait_for(f"server {self.name}", self.answers)
        return self

    def answers(self):
        need(self.process.poll() is None, f"server {self.name} has ended: {self.log()}")
        with contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as one:
                return one.recv(4) == b"INFO"
        return False

    def log(self):
        return (self.folder / "log").read_text()[-2000:]

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def servers(folder, count=1, **settings):
    names = [f"n{number + 1}" for number in range(count)]
    routes = {name: free_port() for name in names} if count > 1 else None
    all_of_them = [Server(folder, name, routes=routes, **settings) for name in names]
    try:
        for one in all_of_them:
            one.start()
        yield all_of_them
    finally:
        for one in all_of_them:
            one.stop()


def configuration(catwatch, replicas=1, **changes):
    """The stream as `catwatch nats stream` defines it."""
    text = subprocess.run([catwatch, "nats", "stream"], check=True, capture_output=True, text=True).stdout
    stream = json.loads(text)
    need(stream["num_replicas"] == 3 and stream["storage"] == "file", "not the definition")
    stream |= {"num_replicas": replicas, "max_bytes": 512 << 20} | changes
    return stream


async def request(url, subject, payload=b"", **options):
    """An answer of JetStream's interface, as soon as somebody gives one."""
    limit = time.monotonic() + PATIENCE
    client = await nats.connect(url, connect_timeout=5, **options)
    try:
        while True:
            with contextlib.suppress(nats.errors.TimeoutError, nats.errors.NoRespondersError):
                answer = json.loads((await client.request(subject, payload, timeout=2)).data)
                if answer.get("error", {}).get("code") != 503:
                    return answer
            need(time.monotonic() < limit, f"waited in vain for an answer to {subject}")
            await asyncio.sleep(0.2)
    finally:
        await client.close()


def make_stream(url, stream, **options):
    name = stream["name"]
    def create():
        return asyncio.run(request(url, f"$JS.API.STREAM.CREATE.{name}", json.dumps(stream).encode(), **options))

    # Servers that have yet to hear of each other have no place for copies.
    answer = wait_for("enough servers", lambda: (given := create()).get("error", {}).get("err_code") != 10005 and given)
    need("error" not in answer, f"the stream was refused: {answer}")
    return answer


def stream_information(url, **options):
    return asyncio.run(request(url, f"$JS.API.STREAM.INFO.{STREAM}", **options))


class Reader:
    """What a consumer gets of the stream: for each agent its messages, in order, and what they come to."""

    def __init__(self, url, **options):
        self.url, self.options = url, options
        self.messages, self.times = [], []

    def read(self):
        """All that there is, asked for again while servers choose a leader."""
        limit = time.monotonic() + PATIENCE
        while True:
            self.messages, self.times = [], []
            try:
                asyncio.run(self._read())
                return self
            except (nats.errors.Error, OSError) as error:
                need(time.monotonic() < limit, f"cannot read the stream: {error!r}")
                time.sleep(0.2)

    async def _read(self):
        client = await nats.connect(self.url, connect_timeout=5, **self.options)
        try:
            information = await client.jetstream().stream_info(STREAM)
            last = information.state.last_seq
            if information.state.messages == 0:
                return
            subscription = await client.jetstream().pull_subscribe("", stream=STREAM, config=nats.js.api.ConsumerConfig(
                ack_policy="none", mem_storage=True, num_replicas=1))
            while True:
                for message in await subscription.fetch(64, timeout=10):
                    self.messages.append((message.subject, message.headers, message.data))
                    self.times.append(message.metadata.timestamp.timestamp())
                    if message.metadata.sequence.stream >= last:
                        return
        finally:
            await client.close()

    def agents(self):
        return sorted({subject.removeprefix(PREFIX) for subject, _, _ in self.messages})

    def of(self, agent):
        return [(headers, data) for subject, headers, data in self.messages if subject == PREFIX + agent]

    def pause(self, agent, since, until):
        """The longest time, in seconds, in which the stream got nothing of an agent, of those that end in between."""
        of = PREFIX + agent
        times = [time for (subject, _, _), time in zip(self.messages, self.times) if subject == of]
        return max(after - before for before, after in zip(times, times[1:]) if since < after <= until)

    def lines(self, agent):
        for headers, data in self.of(agent):
            need(data.endswith(b"\n"), "a message that does not end with a line")
            for line in data.split(b"\n")[:-1]:
                yield headers, json.loads(line)

    def check(self, agent, gaps_allowed=False, run=None):
        """Each line once and in order, and those that are missing named; returns the numbers of both."""
        next_number, kept, missed, known = {}, 0, [], {}
        for headers, line in self.lines(agent):
            of = headers["Catwatch-Run"]
            if run and of != run:
                continue
            if line["type"] == "hello":
                need(line["run"] == of, "a hello of another run")
            number = next_number.get(of, 1)
            if line["type"] == "gap":
                need(line["from"] == number, f"{agent}: a gap from {line['from']} where {number} comes next")
                missed += range(line["from"], line["to"] + 1)
                next_number[of] = line["to"] + 1
            elif "seq" in line:
                need(line["seq"] == number, f"{agent}: line {line['seq']} where {number} comes next")
                next_number[of] = number + 1
                kept += 1
        ids = [headers["Nats-Msg-Id"] for headers, _ in self.of(agent) if "Nats-Msg-Id" in headers]
        need(len(set(ids)) == len(ids), f"{agent}: a message is there twice")
        need(gaps_allowed or not missed, f"{agent}: lines {missed[:3]}… are missing")
        return kept, missed


def telling(errors):
    """Without that nobody answered for a while, which a loaded machine is enough for."""
    return [text for text in errors if "no answer has come within" not in text]


class Agent:
    """A catwatch that publishes, unless there are no urls; and its own lines."""

    started = []

    def __init__(self, catwatch, folder, name, urls, *options, stdin=False, nats=None, environment=None):
        self.name = name
        path = pathlib.Path(folder) / f"{name}-{time.monotonic_ns()}.jsonc"
        path.write_text(json.dumps({"nats": {"urls": urls, **(nats or {})}, "agent_name": name} if urls else {}))
        # Files that are read here by descriptors of their own: an offset is not shared with who writes.
        output, errors = open(f"{path}.ndjson", "ab"), open(f"{path}.stderr", "ab")
        self.output, self.errors = open(output.name, "rb"), open(errors.name, "rb")
        self.lines = []
        with output, errors:
            self.process = subprocess.Popen(
                [catwatch, "-c", path, "-o", "ndjson", *(() if "-i" in options else ("-i", "1")), *options],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=output, stderr=errors,
                env={"PATH": os.environ["PATH"], "HOME": str(folder)} | (environment or {}))
        self.started.append(self)

    def own_lines(self):
        """All that are whole, those of before included."""
        start = self.output.tell()
        data = self.output.read()
        end = data.rfind(b"\n") + 1
        self.output.seek(start + end)
        self.lines += [json.loads(line) for line in data[:end].split(b"\n")[:-1]]
        return self.lines

    def error_lines(self):
        return telling([
            line["message"] for line in self.own_lines() if line["type"] == "error" and line["source"] == "catwatch"])

    def need_one_error(self):
        need(len(self.error_lines()) == 1, f"not one error: {self.error_lines()}")

    def publishing(self):
        """What its newest `agent` line says of that."""
        line = next((line for line in reversed(self.own_lines()) if line["type"] == "agent"), {"outputs": []})
        return next((one for one in line["outputs"] if one["output"].startswith("nats:")), {"state": None})

    def state(self):
        return self.publishing()["state"]

    def wait_for_error(self, *words, patience=PATIENCE):
        def told():
            need(self.process.poll() is None, f"the agent has ended: {self.said()}")
            return [text for text in self.error_lines() if all(word in text for word in words)]
        return wait_for(f"an error about {words}; there are {self.error_lines()}", told, patience)

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode()

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
            self.process.wait(timeout=PATIENCE)
        return self.own_lines()

    def kill(self):
        self.process.kill()
        self.process.wait()

    @classmethod
    def kill_all(cls):
        """Those that a trial has left behind which came to nothing."""
        for one in cls.started:
            if one.process.poll() is None:
                one.kill()


def padded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def key_pair(prefix):
    seed = nkeys.encode_seed(os.urandom(32), prefix)
    return nkeys.from_seed(bytearray(seed)), seed.decode()


def token(claims, signer):
    """A JWT as NATS has them (decentralised authentication): signed with an nkey."""
    claims = claims | {"iss": signer.public_key.decode(), "iat": int(time.time())}
    head = padded(json.dumps({"typ": "JWT", "alg": "ed25519-nkey"}).encode())
    body = head + b"." + padded(json.dumps(claims).encode())
    return (body + b"." + padded(signer.sign(body))).decode()


class Operator:
    """Who lets users in by JWT: an operator, an account with JetStream, and the system's."""

    limits = {"subs": -1, "conn": -1, "leaf": -1, "imports": -1, "exports": -1, "data": -1, "payload": -1,
              "wildcards": True}
    storage = {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}

    def __init__(self):
        self.operator, _ = key_pair(nkeys.PREFIX_BYTE_OPERATOR)
        self.account, _ = key_pair(nkeys.PREFIX_BYTE_ACCOUNT)
        self.system, _ = key_pair(nkeys.PREFIX_BYTE_ACCOUNT)
        self.users, self.revocations = {}, {}
        sub, system = self.operator.public_key.decode(), self.system.public_key.decode()
        # The same at every reload, or the server takes none.
        self.own = token({"sub": sub, "name": "O", "nats": {
            "type": "operator", "version": 2, "system_account": system}}, self.operator)
        self.own_system = self._account(self.system, "SYS", {}, {})

    def _account(self, pair, name, limits, revocations):
        return token({"sub": pair.public_key.decode(), "name": name, "nats": {
            "type": "account", "version": 2, "limits": self.limits | limits, "revocations": revocations}}, self.operator)

    @property
    def configuration(self):
        return f"""operator: {self.own}
resolver: MEMORY
system_account: {self.system.public_key.decode()}
resolver_preload: {{
  {self.account.public_key.decode()}: {self._account(self.account, "A", self.storage, self.revocations)}
  {self.system.public_key.decode()}: {self.own_system}
}}"""

    def revoke(self, path):
        """Lets the user of a file in no more, once servers know."""
        self.revocations[self.users[path]] = int(time.time())

    def creds(self, path, seconds=None):
        """A file that lets a user in, for so long."""
        user, seed = key_pair(nkeys.PREFIX_BYTE_USER)
        self.users[path] = user.public_key.decode()
        claims = {"sub": self.users[path], "name": "u", "nats": {
            "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1}}
        if seconds is not None:
            claims["exp"] = int(time.time()) + seconds
        pathlib.Path(path).write_text(
            f"-----BEGIN NATS USER JWT-----\n{token(claims, self.account)}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n")
        os.chmod(path, 0o600)
        return str(path)


class Proxy:
    """A network in front of a server that can be cut: then nothing comes through, and nobody is told. The stream's answers
    take some seconds more."""

    def __init__(self, port, delay=0):
        self.upstream, self.delay = port, delay
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._start(), self.loop).result()

    @property
    def url(self):
        return f"nats://127.0.0.1:{self.port}"

    async def _start(self):
        self.whole = asyncio.Event()
        self.whole.set()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        await self.whole.wait()
        with contextlib.suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", self.upstream)
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer, self.delay))
        writer.close()

    async def _pass(self, reader, writer, delay=0):
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if b'"seq":' in data:
                    await asyncio.sleep(delay)
                await self.whole.wait()
                writer.write(data)
                await writer.drain()
        writer.close()

    def cut(self):
        self.loop.call_soon_threadsafe(self.whole.clear)

    def mend(self):
        self.loop.call_soon_threadsafe(self.whole.set)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


class Bare:
    """nats.c and nothing else: one message on its way, sent again until it is acknowledged."""

    def __init__(self, urls, name, every=0.2):
        self.nats = ctypes.CDLL("libnats.so.3.4")
        self.urls, self.subject, self.every = urls, (PREFIX + name).encode(), every
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        options, connection, context, receipt = (ctypes.c_void_p() for _ in range(4))
        servers = (ctypes.c_char_p * len(self.urls))(*(url.encode() for url in self.urls))
        # jsOptions, with its `Wait` behind two pointers.
        limits = ctypes.create_string_buffer(1_024)
        self.nats.jsOptions_Init(limits)
        ctypes.c_int64.from_buffer(limits, 16).value = 2_000
        for status in (
                self.nats.natsOptions_Create(ctypes.byref(options)),
                self.nats.natsOptions_SetServers(options, servers, len(self.urls)),
                self.nats.natsOptions_SetMaxReconnect(options, -1),
                self.nats.natsOptions_SetReconnectWait(options, ctypes.c_int64(100)),
                self.nats.natsOptions_SetFailRequestsOnDisconnect(options, True),
                self.nats.natsConnection_Connect(ctypes.byref(connection), options),
                self.nats.natsConnection_JetStream(ctypes.byref(context), connection, limits)):
            need(status == 0, f"the bare client: status {status}")
        number = 0
        while not self.is_over.wait(self.every):
            number += 1
            text = b'{"n":%d}\n' % number
            while self.nats.js_Publish(ctypes.byref(receipt), context, self.subject, text, len(text), None, None):
                if self.is_over.wait(0.02):
                    return
            self.nats.jsPubAck_Destroy(receipt)

    def stop(self):
        self.is_over.set()
        self.thread.join()
