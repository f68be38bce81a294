// events.js - new entries of the audit trail as they come: server-sent events, read with the token in a header.

import { authorization, token } from "./api.js";
import { routes } from "./routes.js";

const PAUSE_MS = 3000;
const BUFFER_MAX = 1 << 20;

/** The id and name of one event's text; data are not needed. */
function parse(text) {
  const event = { name: "message" };
  for (const line of text.split("\n")) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field === "id") event.id = value;
    if (field === "event") event.name = value;
  }
  return event;
}

async function read(stream, onEvent) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done || text.length > BUFFER_MAX) return;
    text += value.replaceAll("\r\n", "\n");
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) onEvent(parse(part));
  }
}

let running = new AbortController();

/** Ends the stream: its token is to be forgotten. */
export function cut() {
  running.abort();
}

/** Calls `onNews` after each event, and goes on after a pause when the stream ends. Without a stream the console polls all the same. */
export async function follow(onNews) {
  let last = "";
  for (;;) {
    const pause = new Promise((resume) => setTimeout(resume, PAUSE_MS));
    running = new AbortController();
    try {
      const headers = { ...authorization(), Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) };
      const options = { cache: "no-store", credentials: "omit", headers, signal: running.signal };
      const response = token.get() ? await fetch(routes.events(), options) : null;
      if (response?.ok)
        await read(response.body, (event) => {
          last = event.id ?? last;
          if (event.name !== "message") onNews();
        });
    } catch {
      // The server is away, as the state line says, or the token is forgotten.
    }
    await pause;
  }
}
