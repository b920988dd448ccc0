/** Where a link leads, said beside it when its words may lead the reader to think otherwise. */
import { visible } from "./visible";

const HOST = /(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+\p{L}{2,}/gu;

/** The address as the browser will ask for it; empty when there is nothing to open. */
export function target(href: string): string {
  const url = parsed(href);
  return url ? url.href : "";
}

/**
 * The host (or the address of a mail) to show beside the words of a link: when they name another
 * one, when the address hides its host behind `user@`, and when the host has letters of a script
 * that may look like others'. Empty when the words say nothing of the kind.
 */
export function told(href: string, words: string): string {
  const url = parsed(href);
  if (!url) return "";
  const plain = words.replace(/\p{Cf}/gu, "").toLowerCase();
  if (url.protocol === "mailto:") {
    const address = decoded(url.pathname);
    return plain.includes("@") && !plain.includes(address.toLowerCase()) ? address : "";
  }
  if (url.username || url.password || /(^|\.)xn--/.test(url.hostname)) return url.host;
  const named = plain.match(HOST) ?? [];
  return named.length && !named.some((host) => same(host, url.hostname)) ? url.host : "";
}

export const hostOf = (href: string): string => parsed(href)?.host ?? "";

const same = (a: string, b: string): boolean => a.replace(/^www\./, "") === b.replace(/^www\./, "");

function parsed(href: string): URL | null {
  return URL.canParse(href) ? new URL(href) : null;
}

function decoded(text: string): string {
  try {
    return visible(decodeURIComponent(text));
  } catch {
    return text;
  }
}
