"""The very first start: what is found on this machine is set up, so that one can begin."""

import os
from collections.abc import Mapping

from shipmate.config import Config
from shipmate.llm.detect import Found, detect


async def set_up_found(config: Config, environ: Mapping[str, str] | None = None) -> list[Found]:
    """Where there is no configuration yet: write down the providers whose key is in the
    environment (as references) and the model servers of this machine that have a model. Once
    there is a file, it is the user's, and nothing is added to it unasked."""
    if config.file.exists():
        return []
    found = [one for one in await detect(os.environ if environ is None else environ) if _ready(one)]
    for one in found:
        config.add_provider(one.id, one.settings)
    return found


def _ready(found: Found) -> bool:
    return found.settings.api_key is not None or bool(found.models)
