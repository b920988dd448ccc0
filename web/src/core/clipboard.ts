/** Copies text, also on plain http where the browser has no clipboard API. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  area.className = "sr";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy"); // the only way there is without the API
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}
