import { describe, expect, test } from "vitest";
import { renderAll, StreamMarkdown, type MdBlock } from "../src/core/markdown";

const TEXT = `# Title

Some **bold** text with \`code\` and a [link](https://example.com).
Second line.

- one
- two
  - nested

  still two

1. first
   \`\`\`sh
   ls -la
   \`\`\`
2. second

| a | b |
|---|--:|
| 1 | 2 |

\`\`\`python
def f():
    return "\`\`"

# after a blank
\`\`\`

~~~
tilde \`\`\` inside
~~~
> quote

Sums: $a^2 + b_1$ for $5 and $10, and \\(x_1 * y_2\\).
$$
\\frac{a}{b}
+ c_1 * d

- not of it
$$

\\[
a
- b = \\{1\\}
\\]
after $$ e $$ it
$$ f $$ and more

\`\`\`\`md
\`\`\`js
inner
\`\`\`
\`\`\`\`

最后一行 🚢`;

const all = (blocks: MdBlock[]): string =>
  blocks.map((b) => (b.kind === "code" ? `<${b.lang}>${b.code}` : b.html)).join("");

function random(seed: number): () => number {
  let s = seed;
  return () => (s = (s * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
}

describe("Markdown", () => {
  test("streamed in any pieces it ends as when it came whole", () => {
    const whole = all(renderAll(`${TEXT}\n`));
    for (let seed = 1; seed <= 100; seed++) {
      const next = random(seed);
      const stream = new StreamMarkdown();
      for (let at = 0; at < TEXT.length; ) {
        const size = 1 + Math.floor(next() * (seed % 2 ? 3 : 40));
        stream.push(TEXT.slice(at, at + size));
        at += size;
      }
      stream.push("\n");
      expect(all(stream.blocks), `seed ${seed}`).toBe(whole);
    }
  }, 120_000);

  test("half a mark looks closed, and half a fence is code already", () => {
    const stream = new StreamMarkdown();
    stream.push("some **bo");
    expect(all(stream.blocks)).toContain("<strong>bo</strong>");
    stream.push("ld**\n\n```py\nx = 1\ny");
    expect(stream.blocks.at(-1)).toEqual({ kind: "code", lang: "py", code: "x = 1" });
  });

  test("sealed blocks are the same objects after more text", () => {
    const stream = new StreamMarkdown();
    stream.push("one\n\ntwo\n\nthree");
    const first = stream.blocks[0];
    stream.push(" and more\n\nfour");
    expect(stream.blocks[0]).toBe(first);
  });

  test("headings stand below those of the page", () => {
    expect(all(renderAll("# a\n\n###### b"))).toBe('<h3 class="d1">a</h3><h6 class="d6">b</h6>');
  });

  test("raw HTML stays text and a picture becomes a link", () => {
    const html = all(renderAll('<img src="http://evil/x"> ![alt](http://evil/y)\n\n<script>a()</script>'));
    expect(html).not.toMatch(/<img|<script/);
    expect(html).toContain('href="http://evil/y"');
  });

  test("a picture that is laid into the text is its words, however long it is", () => {
    const html = all(renderAll(`a ![chart](data:image/png;base64,${"A".repeat(9_000)}) b`));
    expect(html).toContain("chart</a> b");
  });

  test("a link within a link, and a picture within one, are words of it", () => {
    const html = all(renderAll("[![badge](http://a.example/b.png)](http://c.example/)"));
    expect(html.match(/<a /g)).toHaveLength(1);
    expect(html).toContain('href="http://c.example/"');
  });

  test.each([
    ["quotes", `${"> ".repeat(5000)}x`],
    ["lists on a line", `${"- ".repeat(5000)}x`],
    ["lists set in", Array.from({ length: 600 }, (_, i) => `${" ".repeat(i * 2)}- x`).join("\n")],
    ["brackets", "[".repeat(20_000)],
    ["pictures", "![a](".repeat(1000)],
    ["pictures of which one ends", `${"![a](".repeat(4000)} b)`],
    ["stars", `${"*".repeat(20_000)}a`],
    ["dollars", "$a".repeat(10_000)],
    ["formulas on lines", "$$ a $$ b\n".repeat(1_000)],
    ["formulas", "$$\n".repeat(5_000)],
    ["comments", "<!--".repeat(20_000)],
  ])("%s without end are shown, whole and as it streams", (_, text) => {
    const stream = new StreamMarkdown();
    for (let at = 0; at < text.length; at += 4000) stream.push(text.slice(at, at + 4000));
    expect(all(stream.blocks).length).toBeGreaterThan(text.trim().length / 2);
    expect(all(renderAll(text)).length).toBeGreaterThan(text.trim().length / 2);
  }, 60_000);

  test("formulas are marked, with their source as it was written; sums of money are not", () => {
    const kinds = (text: string) =>
      [...all(renderAll(text)).matchAll(/<code data-math="(\w*)">(.*?)<\/code>/gs)].map((m) => [m[1], m[2]]);
    expect(kinds("a $x_1*y_2$ b \\(c\\) $$d$$")).toEqual([["inline", "x_1*y_2"], ["inline", "c"], ["block", "d"]]);
    expect(kinds("$$\na\n+ b_1\n- c\n$$")).toEqual([["block", "a\n+ b_1\n- c"]]);
    expect(kinds("words\n\\[\na\n\\]\nwords")).toEqual([["block", "a"]]);
    expect(kinds("- of a list\n\n  $$\n  a\n  $$")).toEqual([["block", "a"]]);
    for (const text of ["$5 and $10", "$ a $", "a $b", "`$a$`", "```\n$a$\n```", "\\$a\\$", "$HOME/$USER1"])
      expect(kinds(text), text).toEqual([]);
    expect(kinds("$$\nstill open\n\nnext")).toEqual([["", "$$\nstill open"]]);
  });

  test("twenty quotes are quotes", () => {
    expect(all(renderAll(`${"> ".repeat(20)}x`)).match(/<blockquote>/g)).toHaveLength(20);
  });

  test("a fence that never closes costs no more for each piece", () => {
    const stream = new StreamMarkdown();
    stream.push("```\n");
    const began = performance.now();
    for (let i = 0; i < 20_000; i++) stream.push("line of code\n");
    expect(stream.blocks.at(-1)).toMatchObject({ kind: "code" });
    expect(performance.now() - began).toBeLessThan(2_000);
  });
});
