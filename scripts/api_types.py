"""Checks that the browser's types are those of the server; `--write` makes them anew."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPES = ROOT / "web" / "src" / "core" / "api.gen.d.ts"
GENERATOR = ROOT / "web" / "node_modules" / "openapi-typescript" / "bin" / "cli.js"


def generated() -> bytes:
    """The types as the server's document gives them now."""
    document = subprocess.run(
        [sys.executable, ROOT / "scripts" / "openapi.py"], stdout=subprocess.PIPE, check=True
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder, "openapi.json"), Path(folder, "api.d.ts")
        source.write_bytes(document)
        subprocess.run(
            ["node", GENERATOR, source, "--output", made, "--default-non-nullable", "false"],
            stdout=subprocess.PIPE,
            check=True,
        )
        return made.read_bytes()


def main(arguments: list[str]) -> int:
    types = generated()
    if arguments == ["--write"]:
        TYPES.write_bytes(types)
    elif not TYPES.is_file() or TYPES.read_bytes() != types:
        print(f"{TYPES.relative_to(ROOT)} is not what the server's OpenAPI document gives")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
