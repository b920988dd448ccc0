"""What the conformance suite starts for a scenario: `conformance_client.py PORT URL`.

It passes the address on to the test that runs the suite, where our pool is at hand already
(`tests.mcp.conformance`), and ends as that says.
"""

import json
import os
import socket
import sys

with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    known = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    connection.sendall(json.dumps({"url": sys.argv[2], "context": known}).encode() + b"\n")
    with connection.makefile() as answer:
        said = json.loads(answer.readline())
print(said["said"], file=sys.stderr)
sys.exit(0 if said["ready"] else 1)
