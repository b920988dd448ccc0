/** The open session, for the components of its thread. */
import { getContext, setContext } from "svelte";
import type { OpenSession } from "../core/session.svelte";

const KEY = Symbol("session");

export const provide = (session: () => OpenSession): void => void setContext(KEY, session);
export const open = (): OpenSession => getContext<() => OpenSession>(KEY)();
