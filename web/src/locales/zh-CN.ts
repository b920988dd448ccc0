/** All words in Chinese, a chunk of their own. */
import changes from "./changes.zh-CN.json";
import github from "./github.zh-CN.json";
import mcp from "./mcp.zh-CN.json";
import people from "./people.zh-CN.json";
import places from "./places.zh-CN.json";
import safety from "./safety.zh-CN.json";
import shell from "./shell.zh-CN.json";
import thread from "./thread.zh-CN.json";

export default { ...thread, ...shell, ...safety, ...people, ...mcp, ...changes, ...places, ...github } as Record<string, string>;
