/** Arguments of a call as fields of a form: text as it is, everything else as JSON. */

export interface Field {
  name: string;
  text: string;
  json: boolean;
}

export const toFields = (given: Record<string, unknown>): Field[] =>
  Object.entries(given).map(([name, value]) =>
    typeof value === "string"
      ? { name, text: value, json: false }
      : { name, text: JSON.stringify(value, null, 2), json: true },
  );

/** The arguments that the fields hold, or the name of the first that is no JSON. */
export function fromFields(
  fields: readonly Field[],
): { given: Record<string, unknown> } | { wrong: string } {
  const given: [string, unknown][] = [];
  for (const { name, text, json } of fields) {
    try {
      given.push([name, json ? JSON.parse(text) : text]);
    } catch {
      return { wrong: name };
    }
  }
  return { given: Object.fromEntries(given) };
}

export const differs = (fields: readonly Field[], given: Record<string, unknown>): boolean =>
  JSON.stringify(toFields(given)) !== JSON.stringify(fields);
