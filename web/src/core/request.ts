/** An address as the parts a person looks at: where it goes, and what it carries there. */
export interface Address {
  /** Scheme, and the slashes behind it. */
  before: string;
  host: string;
  path: string;
  /** Names and values of the query, decoded, in their order. */
  carries: readonly (readonly [string, string])[];
}

export function address(url: string): Address {
  const parts = /^([a-z]+:\/\/)([^/?#]*)([^?]*)\??(.*)$/s.exec(url);
  if (!parts) return { before: "", host: url, path: "", carries: [] };
  const [, before = "", host = "", path = "", query = ""] = parts;
  const carries = query
    .split("&")
    .filter(Boolean)
    .map((pair): [string, string] => {
      const [name = "", ...value] = pair.split("=");
      return [plain(name), plain(value.join("="))];
    });
  return { before, host, path: plain(path), carries };
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}
