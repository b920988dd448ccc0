/**
 * Compiles only while `core/protocol.ts` can read whatever the server may send, as its OpenAPI
 * document says (`core/api.gen.d.ts`, made by `scripts/api_types.py --write`).
 */
import type { components } from "../src/core/api.gen";
import type * as page from "../src/core/protocol";

type Server = components["schemas"];
/** Fails to compile unless all that is sent fits what is read. */
type Fits<Sent extends Read, Read> = Sent;

export type Agreed = [
  Fits<Server["User"], page.User>,
  Fits<Server["Attachment"], page.Attachment>,
  Fits<Server["System"], page.System>,
  Fits<Server["Message"], page.Message>,
  Fits<Server["ToolCall"], page.ToolCall>,
  Fits<Server["ToolResult"], page.ToolResult>,
  Fits<Server["ApprovalRequest"], page.ApprovalRequest>,
  Fits<Server["AskUser"], page.AskUser>,
  Fits<Server["Todo"], page.Todo>,
  Fits<Server["Summary"], page.Summary>,
  Fits<Server["StreamStart"], page.StreamStart>,
  Fits<Server["Delta"], page.Delta>,
  Fits<Server["StreamEnd"], page.StreamEnd>,
  Fits<Server["Retry"], page.Retry>,
  Fits<Server["SessionChanged"], page.SessionChanged>,
  Fits<Server["SessionDeleted"], page.SessionDeleted>,
  Fits<Server["Done"], page.Done>,
  Fits<Server["KeepAlive"], page.KeepAlive>,
  // No type is known to one side only.
  Fits<Server["AnyEvent"]["type"], Exclude<page.Event["type"], "unknown">>,
  Fits<Exclude<page.Event["type"], "unknown">, Server["AnyEvent"]["type"]>,
];
