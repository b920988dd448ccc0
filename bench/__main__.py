"""usage: ./dev bench [--json] [--web] [GROUP ...]
       ./dev bench --offline-model [KEY]     what the packaged model can do, task by task

Groups: start, rest, request, latency, tools, flat, single, crowd, record, stored, search,
verdicts, commands, mcp, github; and web, the page in Chromium (also `--web`), which only runs
when it is named. All the others take about four minutes. Figures depend on the machine and on
what else runs on it; those of the relay were measured beside them.
"""

import json
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import uvloop

from bench.commands import commands
from bench.figures import Figure, table
from bench.github import github
from bench.product import Place, provider, relay, shipmate, signed_in
from bench.record import record
from bench.rows import GROUPS, Bench
from bench.search import search
from bench.servers import mcp
from bench.stored import stored
from bench.verdicts import verdicts
from bench.web import web

ALL = {
    **GROUPS,
    "record": record,
    "stored": stored,
    "search": search,
    "verdicts": verdicts,
    "commands": commands,
    "mcp": mcp,
    "github": github,
}
NAMED = {**ALL, "web": web}
"""Those that need more than the product, too."""


async def measure(names: list[str], bench: Bench) -> list[Figure]:
    figures: list[Figure] = []
    for name in names:
        print(f"· {name}", file=sys.stderr, flush=True)
        figures += await NAMED[name](bench)
    return figures


def run(names: list[str]) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="shipmate-bench-") as folder:
        place = Path(folder)
        with provider(place) as answering:
            here = Place(place, answering.said["url"])
            data = here.prepare("data")
            with shipmate(here, data) as server, relay(here) as bare:
                return uvloop.run(measure(names, Bench(here, signed_in(server, data), bare)))


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--offline-model"]:
        from bench import offline  # the tests' stage, which no other group needs

        return uvloop.run(offline.offline(*(arguments[1:] or [offline.KEY])))
    names = [word for word in arguments if not word.startswith("-")]
    names += ["web"] * ("--web" in arguments)
    unknown = [name for name in names if name not in NAMED]
    if unknown or {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 2 if unknown else 0
    figures = run(names or list(ALL))
    if "--json" in arguments:
        print(json.dumps([asdict(figure) for figure in figures]))
        return 0
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}")
    print(table(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
