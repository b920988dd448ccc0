"""The process that serves one packaged model on loopback: `python -m shipmate.llm.offline.server`.

The parent writes one JSON line to its input (`Order`), and reads one JSON line from its output
(`Ready`). It ends when its input is closed, so it never outlives its parent, however that ends.
The key stands in the order and not in the arguments, where every process could read it.
"""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec


class Order(msgspec.Struct, frozen=True, kw_only=True):
    file: str
    alias: str
    api_key: str
    context: int
    template: str = ""
    """A chat template for models whose own has no tools; empty: the model's."""
    threads: int = 0
    """0: one for each processor this process may use."""


class Ready(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    base_url: str = ""
    error: str = ""


def main() -> None:
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    try:
        server = _started(order)
    except Exception as error:  # noqa: BLE001 - the outermost door: the parent tells the user
        _say(Ready(error=str(error).strip() or type(error).__name__))
        sys.exit(1)
    _say(Ready(base_url=f"{server.listening_address}/v1"))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads on: a full pipe would stop it
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # at once: taking the server down in order can hang on a running request


def _say(ready: Ready) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(ready) + b"\n")
    sys.stdout.buffer.flush()


def _started(order: Order) -> Any:
    xllamacpp: Any = import_module("xllamacpp")  # optional, and 34 MB of native code
    settings = xllamacpp.CommonParams()
    settings.model.path = order.file
    settings.model_alias = {order.alias}
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0  # a free one
    settings.api_keys = [order.api_key]
    settings.n_ctx = order.context
    settings.n_parallel = 1  # the whole context for one conversation
    settings.n_batch, settings.n_ubatch = 512, 256
    settings.use_jinja = True
    if order.template:
        settings.chat_template = Path(order.template).read_text(encoding="utf-8")
    settings.sampling.temp, settings.sampling.seed = 0.0, 42
    settings.verbosity = 0
    settings.ui = False
    settings.warmup = False
    threads = order.threads or _processors()
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(settings)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


if __name__ == "__main__":
    main()
