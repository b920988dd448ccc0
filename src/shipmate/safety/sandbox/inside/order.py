"""What the server asks of a guard for one command, passed through a file."""

import json
import os


class Order:
    def __init__(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb") as file:
            given = json.loads(file.read())
        self.plan: list[list[str]] = given["plan"]
        """What is given up (`confine`): pairs of a key and a value. None: nothing is."""
        self.maker: list[str] = given["maker"]
        """Bubblewrap, its arguments, and what is to hold the room. None: there is no bubblewrap."""
        self.namespaces: int = given["namespaces"]
        """Flags of those that it makes."""
        self.root: str = given["root"]
        self.shell: str = given["shell"]
        self.env: dict[str, str] = given["env"]
