"""What handlers reach down to. Made once, by the composition root."""

import asyncio
from dataclasses import dataclass, field

from shipmate.database.keys import Keys
from shipmate.handlers.place import Place


@dataclass(slots=True)
class House:
    keys: Keys
    place: Place
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the server ends: streams end, new requests get 503."""
