#!/usr/bin/env python3
"""How much a fleet takes that reads many agents by NATS (docs/performance.md).

usage: fleet_load.py CATWATCH [--agents 1000] [--rate 10] [--seconds 60] [--hostile LINES]

One generator publishes for all agents, by one server with one stream: each agent `rate` lines a second, in a message every 200 ms.
With --hostile one more agent publishes so many lines a second, each of a series of its own, in messages of 256 KiB.

Prints CPU and memory of the fleet, and how old the newest line of an honest agent was when the fleet had written it; exits 1 when
lines are missing.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
import time

import nats

from nats_fleet_trials import Fleet, Script, text_of
from nats_servers import PREFIX, configuration, make_stream, servers

EVERY = 0.2
WARM_UP = 5


def write(script, count):
    return b"".join(
        f'{{"seq":{script.number + n + 1},"time":"{text_of(time.time())}","type":"load","source":"load","series":"load/{n}",'
        f'"value":{n},"text":"some words of an ordinary length, as feeds have them"}}\n'.encode()
        for n in range(count))


def generate(url, agents, rate, end):
    async def run():
        client = await nats.connect(url)
        scripts = [Script(None, f"agent{number}") for number in range(agents)]
        count = round(rate * EVERY)
        for script in scripts:
            await client.publish(PREFIX + script.name, json.dumps(script.hello()).encode() + b"\n",
                                 headers={"Catwatch-Run": script.run})
        begin, sent = time.time(), 0
        while time.time() < end:
            # Spread over time, as those of a thousand machines are.
            due = int((time.time() - begin) / EVERY * agents)
            for number in range(sent, due):
                script = scripts[number % agents]
                data = write(script, count)
                headers = {"Catwatch-Run": script.run, "Catwatch-First": str(script.number + 1),
                           "Catwatch-Last": str(script.number + count)}
                script.number += count
                await client.publish(PREFIX + script.name, data, headers=headers)
            sent = max(sent, due)
            await client.flush()
            await asyncio.sleep(0.01)
        await client.close()
        print(f"load: {sum(script.number for script in scripts) / (time.time() - begin):.0f} lines/s of {agents} agents published")
    asyncio.run(run())


def attack(url, rate, end):
    async def run():
        client = await nats.connect(url)
        script = Script(None, "hostile")
        begin, moment = time.time(), text_of(time.time())
        while time.time() < end:
            lines = b"".join(
                f'{{"seq":{script.number + n + 1},"time":"{moment}","type":"x","source":"x",'
                f'"series":"x/{os.urandom(8).hex()}","value":1}}\n'.encode() for n in range(2_000))
            script.number += 2_000
            await client.publish(PREFIX + script.name, lines, headers={"Catwatch-Run": script.run})
            await client.flush()
            await asyncio.sleep(max(0, script.number / rate - (time.time() - begin)))
        print(f"load: {script.number / (time.time() - begin):.0f} lines/s of a hostile agent published")
        await client.close()
    asyncio.run(run())


def cpu(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process):
    text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) / 1024


def age(fleet):
    """How old the newest line of an honest agent is that is written."""
    size = os.fstat(fleet.output.fileno()).st_size
    tail = os.pread(fleet.output.fileno(), 4 << 20, max(0, size - (4 << 20)))
    for line in reversed(tail.split(b"\n")[1:-1]):
        if b'"type":"load"' in line:
            stamp = line.split(b'"time":"')[1][:26].decode()
            seconds = time.mktime(time.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(stamp[19:])
            return time.time() - seconds
    return float("inf")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("catwatch")
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--rate", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hostile", type=int, default=0)
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="catwatch-load-")
    with servers(folder) as (server,):
        make_stream(server.url, configuration(given.catwatch))
        fleet = Fleet(given.catwatch, folder, [server.url])
        end = time.time() + WARM_UP + given.seconds
        loads = [multiprocessing.Process(target=generate, args=(server.url, given.agents, given.rate, end))]
        if given.hostile:
            loads.append(multiprocessing.Process(target=attack, args=(server.url, given.hostile, end)))
        for load in loads:
            load.start()
        time.sleep(WARM_UP)
        began, used, ages = time.time(), cpu(fleet.process), []
        while time.time() < end - 1:
            time.sleep(0.5)
            ages.append(age(fleet))
        used = (cpu(fleet.process) - used) / (time.time() - began)
        for load in loads:
            load.join()
        time.sleep(2)
        memory = resident(fleet.process)
        ages.sort()
        print(f"load: {used:.2f} cores, {memory:.0f} MiB at most; the newest line was {ages[len(ages) // 2]:.2f} s old (median), "
              f"{ages[-1]:.2f} s at worst")
        lost = sum(line["to"] - line["from"] + 1 for line in fleet.end() if line["type"] == "lost" and line["agent"] != "hostile")
        print(f"load: {lost} lines of honest agents lost")
    shutil.rmtree(folder)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
