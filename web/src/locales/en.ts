/** All words in English, a chunk of their own: one language is loaded, and it names the keys. */
import changes from "./changes.en.json";
import github from "./github.en.json";
import mcp from "./mcp.en.json";
import people from "./people.en.json";
import places from "./places.en.json";
import safety from "./safety.en.json";
import shell from "./shell.en.json";
import thread from "./thread.en.json";

export default { ...thread, ...shell, ...safety, ...people, ...mcp, ...changes, ...places, ...github };
