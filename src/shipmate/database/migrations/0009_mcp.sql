-- What the user has accepted of MCP servers: each tool as it was then.
CREATE TABLE mcp_tools (
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  definition BLOB NOT NULL,
  accepted_at INTEGER NOT NULL,
  PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;
