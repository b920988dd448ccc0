"""Prints the OpenAPI document of the server, from which the browser's types are made."""

import json

from shipmate.handlers.openapi import describe
from shipmate.handlers.table import ENDPOINTS

if __name__ == "__main__":
    print(json.dumps(describe(ENDPOINTS), indent=1, sort_keys=True))
