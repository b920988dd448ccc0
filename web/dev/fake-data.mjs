/** Blocks and streams for `fake-server.mjs`, the same on every run. */

const numbered = (blocks) =>
  blocks.map((b, i) => ({ id: `b${i}`, at: 1_760_000_000_000 + i * 4000, ...b, pos: i + 1, seq: i + 1 }));
const diff = {
  kind: "diff",
  files: [{
    path: "src/auth/retry.py", added: 2, removed: 1,
    hunks: [{ old_start: 11, new_start: 11, lines: [
      " def retry(call):", '     """Call again until it works."""', "-    for attempt in count():",
      "+    for attempt in range(MAX_RETRIES):", "+        wait = min(2 ** attempt, 30)",
      "         try:" ] }],
  }],
};
const tool = (id, name, provider, args, text, more = {}, call = {}) => [
  { type: "tool", id, name, provider, arguments: args, message: "m", started: true, ...call },
  { type: "tool_result", id: `${id}-r`, call: id, text, seconds: 0.21, ...more },
];
const ANSWER = `## What was wrong

The retry helper loops **for ever** when the server answers \`429\`:

1. \`count()\` never ends
2. the wait is not bounded

\`\`\`python
def retry(call, limit=MAX_RETRIES):
    """Call at most \`limit\` times."""
    for attempt in range(limit):
        try:
            return call()
        except TooManyRequests as error:
            sleep(min(error.retry_after or 2 ** attempt, 30))
    raise GaveUp(f"after {limit} tries")
\`\`\`

| case | before | after |
|---|---|--:|
| 429 | loops | 5 tries |
| 500 | loops | 5 tries |

> A [note](https://example.com) on the back-off. 中文也可以。
`;

export const demo = () =>
  numbered([
    { type: "user", text: "The login retry loops for ever when the server answers 429. Please fix it." },
    { type: "message", text: "I will look at the retry helper first.", reasoning: "The user wants a bounded retry.\nLook for the helper.", model: "deepseek/deepseek-chat", agent: "assistant", tokens: 2100 },
    ...tool("t1", "grep_search", "read_only", { query: "retry", isRegexp: false }, "src/auth/retry.py:11: def retry(call):", { details: { kind: "matches", count: 4, what: "hits" } }),
    ...tool("t2", "read_file", "read_only", { path: "src/auth/retry.py", startLine: 1, endLine: 60 }, "def retry(call): ..."),
    ...tool("t3", "read_files", "read_only", { files: [{ path: "a.py" }, { path: "b.py" }] }, "--- FILE: a.py ---"),
    ...tool("t4", "list_files", "read_only", { path: "src" }, "auth/\nweb/"),
    ...tool("t5", "shell_exec", "shell", { command: "pytest tests/test_retry.py -q" }, "FAILED tests/test_retry.py::test_429\n1 failed, 3 passed in 0.41s", { is_error: true, seconds: 1.3, details: { kind: "exit", status: 1, seconds: 1.3 } }),
    { type: "message", text: ANSWER, model: "deepseek/deepseek-chat", agent: "assistant", tokens: 3900 },
    ...tool("t6", "replace_string_in_file", "read_write", { path: "src/auth/retry.py", oldString: "a", newString: "b" }, "Replaced.", { details: diff }),
    { type: "approval_request", id: "t6-approval", call: "t6", title: "Edit src/auth/retry.py", details: diff, digest: "d", result: true, decided_by: "user" },
    ...tool("t7", "shell_exec", "shell", { command: "dd if=/dev/zero of=/dev/sda" }, "Blocked: raw disk copy.", { is_error: true, details: { kind: "blocked", reason: "Writes raw data to a disk.", rule: "dd" } }),
    { type: "system", text: "Switched to deepseek/deepseek-reasoner.", level: "info" },
    { type: "summary", text: "The user asked to bound the retries.", replaces: [1, 4], tokens_before: 98000, tokens_after: 12400 },
    { type: "hologram", beam: 3 },
    { type: "attachment", kind: "text", name: "pasted.txt", text: "Traceback (most recent call last): ..." },
    { type: "user", text: "Also run it in the sub-module, and clean the build." },
    { type: "message", text: "A second pair of eyes first.", model: "deepseek/deepseek-chat", agent: "assistant", tokens: 5200 },
    { type: "tool", id: "g1", name: "call_agent", provider: "agents", arguments: { agent: "reviewer", task: "Review src/auth/retry.py" }, message: "m", started: true },
    { type: "message", id: "g1m", parent: "g1", text: "The bound is **right**.", tokens: 500 },
    ...tool("g1t", "read_file", "read_only", { path: "src/auth/retry.py" }, "ok", { parent: "g1" }, { parent: "g1" }),
    { type: "tool_result", id: "g1r", call: "g1", text: "The bound is right.", seconds: 8.2 },
    { type: "todo", id: "todo", items: [{ id: 1, title: "Read the retry helper", status: "completed" }, { id: 2, title: "Bound the retries", status: "in-progress" }, { id: 3, title: "Add a test" }] },
    { type: "tool", id: "w1", name: "write_file", provider: "read_write", arguments: { path: "src/auth/retry.py" }, message: "m" },
    { type: "approval_request", id: "w1-approval", call: "w1", title: "Write src/auth/retry.py", details: diff, digest: "d" },
    { type: "tool", id: "w2", name: "shell_exec", provider: "shell", arguments: { command: "rm -rf build/ && make" }, message: "m" },
    { type: "approval_request", id: "w2-approval", call: "w2", level: "dangerous", title: "Run a command", reason: "Deletes files recursively. Check the path before you approve.", details: { kind: "command", command: "rm -rf build/ && make \u202e# ekam", cwd: "/home/me/webapp" }, digest: "d" },
    { type: "tool", id: "q1", name: "ask_user", provider: "ask", arguments: { question: "?" }, message: "m" },
    { type: "ask_user", id: "q1-question", call: "q1", question: "Keep the old exponential back-off for **5xx** answers?", options: ["Yes, keep it", "No, drop it"] },
  ]);

export const long = (n) =>
  numbered(
    Array.from({ length: n }, (_, i) =>
      i % 4 === 0 ? { type: "user", text: `Question ${i / 4}: what does module ${i} do?` }
      : i % 4 === 1 ? { type: "tool", id: `c${i}`, name: "read_file", provider: "read_only", message: "m", arguments: { path: `src/module_${i}.py` } }
      : i % 4 === 2 ? { type: "tool_result", call: `c${i - 1}`, text: "def f(): ...", seconds: 0.1 }
      : { type: "message", text: ANSWER, agent: "assistant", model: "deepseek/deepseek-chat", tokens: 900 },
    ),
  );

/** Pieces of about four characters, as models send them. */
export function tokens(n) {
  let text = "";
  for (let i = 1; text.length < n * 4; i++) text += ANSWER.replace("What was wrong", `Step ${i}`) + "\n";
  return Array.from({ length: n }, (_, i) => text.slice(i * 4, i * 4 + 4));
}
