"""The daily backup of a server that runs."""

import asyncio
import logging
from pathlib import Path

from shipmate.database.backups import back_up, daily_is_due
from shipmate.errors import ShipmateError

log = logging.getLogger(__name__)

LOOK_S = 60.0
"""How often it is looked whether one is due; nor is one made earlier than this after a start."""


async def keep_daily(database: Path | None, look: float = LOOK_S) -> None:
    """Make a copy whenever the last one is a day old, until cancelled. One that fails is told
    and tried again."""
    failed = ""
    while database is not None:
        await asyncio.sleep(look)
        try:
            if await asyncio.to_thread(daily_is_due, database):
                made = await asyncio.to_thread(back_up, database, "daily")
                log.info("the daily backup was made: %s", made)
            failed = ""
        except ShipmateError as error:
            if str(error) != failed:  # told once, not each time
                log.warning("the daily backup failed: %s", error)
            failed = str(error)
