// api.js - requests to the HTTP API: the token, a bounded wait, answers that are shared for a moment, refusals as errors.

const TOKEN = "weir-token";
const PATIENCE_MS = 20000;
const FRESH_MS = 900;       // the server's own answers are as old

const shared = new Map();   // path -> {since, answer}

/** `faults` as the API has them; `status` of HTTP, 0: no answer came. */
export class Refusal extends Error {
  constructor(status, faults) {
    super(faults.map(faultText).join("; "));
    this.status = status;
    this.faults = faults;
  }
}

export function faultText(fault) {
  const found = fault.found ? `found ${fault.found}` : "";
  const allowed = fault.allowed ? `allowed: ${fault.allowed}` : "";
  const parts = [found, allowed, fault.message].filter(Boolean).join(", ");
  return fault.path ? `${fault.path}: ${parts}` : parts;
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN) ?? "",
  set: (text) => sessionStorage.setItem(TOKEN, text),
  forget() {
    sessionStorage.removeItem(TOKEN);
    shared.clear();
  },
};

export function authorization() {
  return { Authorization: `Bearer ${token.get()}` };
}

async function request(path, options) {
  let response;
  let text;
  try {
    response = await fetch(path, { cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(PATIENCE_MS),
      ...options, headers: { ...authorization(), ...options.headers } });
    text = await response.text();
  } catch (error) {
    throw new Refusal(0, [{ message: error.name === "TimeoutError" ? "no answer in time" : "the server does not answer" }]);
  }
  let reply;
  try {
    reply = JSON.parse(text);
  } catch {
    throw new Refusal(response.status, [{ message: `HTTP status ${response.status} without JSON` }]);
  }
  if (!response.ok || reply?.ok !== true) {
    const faults = Array.isArray(reply?.faults) ? reply.faults : [];
    throw new Refusal(response.status, faults.length ? faults : [{ message: `HTTP status ${response.status}` }]);
  }
  return reply.data;
}

/** The data of an answer; one that is as fresh as the server's own is used again. */
export function get(path) {
  const known = shared.get(path);
  if (known && Date.now() - known.since < FRESH_MS) return known.answer;
  const answer = request(path, {});
  shared.set(path, { since: Date.now(), answer });
  answer.catch(() => shared.delete(path));
  if (shared.size > 50) shared.delete(shared.keys().next().value);
  return answer;
}

/** A change: its key is its own, so that the server makes it once. */
export function post(path, body) {
  shared.clear();
  const key = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return request(path, { method: "POST", body: JSON.stringify(body),
    headers: { "Content-Type": "application/json", "Idempotency-Key": key } });
}
