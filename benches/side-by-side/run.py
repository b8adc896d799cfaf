#!/usr/bin/env python3
"""Builds of the server in turn, each under the same load: throughput, and CPU time of the server process.

    benches/side-by-side/run.py old=PATH new=PATH [more=PATH …] [--rounds 5] [--seconds 4] [--concurrency 300]
                                [--wires http1,http2,grpc] [--load PATH] [--config NAME=FILE …]
                                [--tokens NAME=SECONDS …] [--header NAME=SECONDS …] [-- further arguments of skep load]

PATH is a binary; the first one is what the others are compared with. --load: the binary whose `skep load` makes the load (the
last one unless given). --config: the settings of one of them, so that one binary can be compared with itself; its load logs in as
`bench` with the password `bench-secret`. --tokens: one of them takes tokens of an identity provider (issuer.py) instead, which live so
many seconds; its load renews them after two thirds, so a slice should last longer. --header: the load of one of them sends the same tokens
to a server that does not look at them, which tells what the bytes of the header cost from what the check costs. Each round starts each server in a fresh directory, lets every wire have its slice and ends it; builds
and wires take turns forwards and backwards, so that a drift of the machine meets all alike. Figures are medians over the
rounds; CPU is what /proc says of the server process.

BENCH_DIR is where the directories go. With /dev/shm a flush costs nothing: on a machine whose disk is busy with other work
that is the only way to see what the server itself costs.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

from issuer import Issuer

WIRES = {
    "http1": ["--transport", "rest", "--http", "1"],
    "http2": ["--transport", "rest", "--http", "2"],
    "grpc": ["--transport", "grpc"],
}
PORTS = {"server.port": 18080, "camunda.api.grpc.port": 16500, "management.server.port": 19600}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+", metavar="NAME=PATH")
    parser.add_argument("--load")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--concurrency", type=int, default=300)
    parser.add_argument("--wires", default="http1,grpc")
    parser.add_argument("--config", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--tokens", action="append", default=[], metavar="NAME=SECONDS")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=SECONDS")
    parser.add_argument("--ports", type=int, default=0, help="added to the ports 18080, 16500 and 19600")
    own = sys.argv[1:]
    end = own.index("--") if "--" in own else len(own)
    options = parser.parse_args(own[:end])
    options.rest = own[end + 1 :]
    return options


def start(binary, directory, ports, config, more):
    """A server with its process, once it answers."""
    settings = [item for name, value in (ports | more).items() for item in ("--set", f"{name}={value}")]
    log = open(os.path.join(directory, "log"), "w", encoding="utf-8")
    server = subprocess.Popen(
        [binary, "serve", "--data", os.path.join(directory, "data"), *(["--config", config] if config else []), *settings],
        stdout=log, stderr=log,
    )  # fmt: skip
    url = f"http://127.0.0.1:{ports['server.port']}/v2/status"
    time.sleep(0.3)  # until a server whose ports are taken has ended: another one would answer for it
    for _ in range(200):
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(url, timeout=1).read()
            return server
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{binary} does not start: {open(log.name, encoding='utf-8').read()}")


def load(binary, server, wire, ports, options, report, login):
    """One slice; the report of skep load."""
    command = [
        binary, "load", *WIRES[wire],
        "--rest-address", f"127.0.0.1:{ports['server.port']}",
        "--grpc-address", f"127.0.0.1:{ports['camunda.api.grpc.port']}",
        "--management-address", f"127.0.0.1:{ports['management.server.port']}",
        "--duration", f"{options.seconds}s", "--warmup", "1s",
        "--pid", str(server.pid), "--json", report, *options.rest,
    ]  # fmt: skip
    if "--rate" not in options.rest:
        command += ["--concurrency", str(options.concurrency)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | login)
    with open(report, encoding="utf-8") as file:
        return json.load(file)["results"][0]


def logins(options, configs):
    """By build: the settings of its server and the variables of its load."""
    user = {"CAMUNDA_BASIC_AUTH_USERNAME": "bench", "CAMUNDA_BASIC_AUTH_PASSWORD": "bench-secret"}
    found = {build: ({}, user) for build in configs}
    issuer = Issuer() if options.tokens or options.header else None
    for tokens in options.tokens:
        build, seconds = tokens.split("=", 1)
        found[build] = (issuer.settings(), issuer.variables(int(seconds)))
    for tokens in options.header:
        build, seconds = tokens.split("=", 1)
        found[build] = ({}, issuer.variables(int(seconds)))
    return found


def main():
    options = arguments()
    ports = {name: port + options.ports for name, port in PORTS.items()}
    builds = dict(build.split("=", 1) for build in options.builds)
    configs = dict(config.split("=", 1) for config in options.config)
    login = logins(options, configs)
    if unknown := set(login) - set(builds):
        sys.exit(f"no build has this name: {', '.join(sorted(unknown))}")
    generator = options.load or list(builds.values())[-1]
    wires = options.wires.split(",")
    found = {(build, wire): [] for build in builds for wire in wires}
    for number in range(options.rounds):
        turn = list(builds) if number % 2 == 0 else list(builds)[::-1]
        for build in turn:
            settings, variables = login.get(build, ({}, {}))
            with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as directory:
                server = start(builds[build], directory, ports, configs.get(build), settings)
                try:
                    for wire in wires if number % 2 == 0 else wires[::-1]:
                        result = load(generator, server, wire, ports, options, os.path.join(directory, "report"), variables)
                        found[build, wire].append(figures(result))
                finally:
                    server.send_signal(signal.SIGTERM)
                    server.wait()
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    table(found, builds, wires)


def figures(result):
    """Instances per second, server CPU and generator CPU in microseconds per instance, p50 and p99 of create in ms."""
    return (
        result["completed_per_second"],
        result["server"]["cpu_ms_per_1000_instances"],
        result["tool_cpu_us_per_instance"],
        result["create"]["p50_ms"],
        result["create"]["p99_ms"],
    )


def ratio(found, number, one, other):
    """Of one figure, pair by pair: median, least and most."""
    pairs = [a[number] / b[number] for a, b in zip(found[one], found[other])]
    return f"{statistics.median(pairs):.2f} ({min(pairs):.2f} to {max(pairs):.2f})"


def table(found, builds, wires):
    print(f"{'':16}{'instances/s':>12}{'server µs':>11}{'generator µs':>14}{'p50 ms':>8}{'p99 ms':>8}")
    for (build, wire), rows in found.items():
        rate, server, generator, p50, p99 = (statistics.median(column) for column in zip(*rows))
        print(f"{build + ' ' + wire:16}{rate:12.0f}{server:11.1f}{generator:14.1f}{p50:8.2f}{p99:8.2f}")
    reference = list(builds)[0]
    for build in list(builds)[1:]:
        for wire in wires:
            pair = (build, wire), (reference, wire)
            print(f"{build} ÷ {reference}, {wire}: server CPU {ratio(found, 1, *pair)}, throughput {ratio(found, 0, *pair)}")
    for build in builds:
        for wire in wires:
            if wire != "grpc" and "grpc" in wires:
                pair = (build, wire), (build, "grpc")
                print(f"{build}, {wire} ÷ grpc: server CPU {ratio(found, 1, *pair)}, throughput {ratio(found, 0, *pair)}")


if __name__ == "__main__":
    main()
