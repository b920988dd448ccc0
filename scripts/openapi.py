"""Prints the OpenAPI document that the page's types are generated from."""

import sys

import msgspec

from shipmate.handlers.openapi import describe
from shipmate.handlers.table import ENDPOINTS

sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(describe(ENDPOINTS))) + b"\n")
