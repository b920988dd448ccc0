import { expect, test } from "vitest";
import { confinement } from "../src/core/confinement";

const command = { kind: "command" as const, command: "ls", cwd: "/p" };

test("a command says whether it has a sandbox and a network", () => {
  const told = (sandbox: "" | "bubblewrap" | "landlock" | "none", network: string[] = []) =>
    confinement({ ...command, sandbox, network });
  expect(told("bubblewrap")).toEqual({ text: "confined.offline", hosts: [], weak: false });
  expect(told("bubblewrap", ["a.org"])?.hosts).toEqual(["a.org"]);
  expect(told("bubblewrap", ["*"])?.text).toBe("confined.public");
  expect(told("landlock", ["a.org"])).toEqual({ text: "confined.landlock-open", hosts: [], weak: true });
  expect(told("none")).toEqual({ text: "confined.none", hosts: [], weak: true });
});

test("a record of a version without sandboxes says nothing", () => {
  expect(confinement(command)).toBeNull();
});
