/**
 * Calls of the public API: token, errors, retries with an idempotency key, live events.
 *
 * The token is in this browser's storage and in the Authorization header, never in a URL.
 */

import { has, t } from "./i18n.js";
import { readJson, remove, write } from "./storage.js";

const IDENTITY = "shithead.player";
const ATTEMPTS = 5;
const TIMEOUT = 20_000; // milliseconds
/** Milliseconds without data after which a connection counts as lost; the server sends a comment every 15 s. */
const SILENCE = 40_000;
/** Milliseconds between the attempts of a call while the browser reports that it has no network. */
const OFFLINE = 10_000;
/** The types of the last event of a game. */
const SEALS = new Set(["game_sealed", "game_aborted"]);

/** An error response of the server (RFC 9457); the status 0 means no response. */
export class Problem extends Error {
  /** @param {Partial<Api["Problem"]>} body @param {number} status */
  constructor(body, status) {
    super(body.detail ?? body.title ?? `status ${status}`);
    this.status = status;
    /** The code, such as `rule-refused`. @type {string} */
    this.code = String(body.type ?? "").split("/").pop() ?? "";
    this.body = body;
    /** Seconds to wait before another try, 0 if the answer names none. */
    this.retryAfter = 0;
  }
}

/** @typedef {{id: string, name: string, token: string, recovery: string | null}} Identity */

/** @returns {Identity | null} the player of this browser */
export const identity = () => readJson(IDENTITY);

/** @param {Identity | null} player */
export function setIdentity(player) {
  if (player) write(IDENTITY, JSON.stringify(player));
  else remove(IDENTITY);
}

/** The invite of a private table, from the fragment of the page's address, which browsers do not send. */
const invite = () => new URLSearchParams(location.hash.slice(1)).get("invite");

/** @param {Record<string, string>} [more] */
function headers(more) {
  const found = { ...more };
  const player = identity();
  if (player) found["Authorization"] = `Bearer ${player.token}`;
  const secret = invite();
  if (secret) found["Shithead-Invite"] = secret;
  return found;
}

const pause = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms));

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: object, signal?: AbortSignal, more?: Record<string, string>, timeout?: number}} how
 */
async function call(method, path, { body, signal, more, timeout = TIMEOUT }) {
  const limits = [AbortSignal.timeout(timeout), ...(signal ? [signal] : [])];
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers: headers(body === undefined ? more : { "Content-Type": "application/json", ...more }),
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.any(limits),
      keepalive: method === "DELETE", // completes even if the page is closed
      credentials: "omit",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem({ type: "no-answer", detail: has("no.answer") ? t("no.answer") : String(error) }, 0);
  }
  if (answer.ok) return answer;
  throw await problemOf(answer);
}

/** @param {Response} answer */
async function problemOf(answer) {
  const body = await answer.json().catch(() => ({}));
  const problem = new Problem(body, answer.status);
  problem.retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  return problem;
}

const isTemporary = (/** @type {Problem} */ { status }) => status === 0 || status === 429 || status >= 500;

/**
 * Make a call at most ATTEMPTS times: again after a temporary problem (no answer, 429 or 5xx).
 *
 * @param {() => Promise<Response>} attempt
 * @param {AbortSignal} [signal]
 */
async function repeated(attempt, signal) {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (problem) {
      if (attempts >= ATTEMPTS || !(problem instanceof Problem) || !isTemporary(problem) || signal?.aborted) throw problem;
      if (navigator.onLine) await pause(Math.max(problem.retryAfter * 1000, 250 * 2 ** attempts));
      else await Promise.race([pause(OFFLINE), woken(signal)]);
    }
  }
}

/**
 * Return the body of a GET. Its type is that of the call in the OpenAPI document (`tests/web/pages.d.ts`).
 *
 * @template {string} const Path
 * @template {"json" | "text" | "blob"} [As="json"]
 * @param {Path & Call<"GET", Path>} path
 * @param {{signal?: AbortSignal, timeout?: number, as?: As}} [how]
 * @returns {Promise<As extends "text" ? string : As extends "blob" ? Blob : Answer<"GET", Path>>}
 */
export async function get(path, how = {}) {
  const answer = await repeated(() => call("GET", path, how), how.signal);
  return answer[/** @type {"json"} */ (how.as ?? "json")]();
}

/**
 * Return the answer to a POST. After no answer, 429 or 5xx it is repeated with the same Idempotency-Key, unless
 * `once` is set. Types as for `get`.
 *
 * @template {string} const Path
 * @template {"POST" | "PUT" | "PATCH" | "DELETE"} [Method="POST"]
 * @param {Path & Call<Method, Path>} path
 * @param {Posted<Method, Path>} [body]
 * @param {{seen?: number, once?: boolean, method?: Method}} [how] seen: the version that the
 *   caller has seen (If-Match); once: no key and no repetition, for an operation that answers with a token
 * @returns {Promise<Answer<Method, Path>>}
 */
export async function post(path, body, how = {}) {
  /** @type {Record<string, string>} */
  const more = {};
  if (!how.once) more["Idempotency-Key"] = randomHex(16);
  if (how.seen !== undefined) more["If-Match"] = `"v${how.seen}"`;
  const method = how.method ?? "POST";
  const attempt = () => call(method, path, { body: method === "DELETE" ? undefined : (body ?? {}), more });
  const answer = await (how.once ? attempt() : repeated(attempt));
  return answer.status === 204 ? /** @type {any} */ (null) : answer.json();
}

/** @param {number} bytes @returns {string} random bytes as hex */
export function randomHex(bytes) {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (one) => one.toString(16).padStart(2, "0")).join("");
}

/**
 * @typedef {{seq: number, type: string, line: string}} Live an event with its exact text
 */

/**
 * Yield the events of a game as they happen, from seq `after` until the seal.
 *
 * A lost connection is opened again from the next event (`Last-Event-ID`). If the server has no
 * slot for another stream (503), the log is fetched every few seconds instead.
 *
 * @param {string} game
 * @param {number} after
 * @param {{signal: AbortSignal, onstate?: (live: boolean) => void}} how
 * @returns {AsyncGenerator<Live>}
 */
export async function* live(game, after, { signal, onstate = () => {} }) {
  let next = after;
  let failures = 0;
  while (!signal.aborted) {
    try {
      for await (const event of connection(game, next, signal, () => onstate(true))) {
        failures = 0;
        if (event.type === "end") return;
        next = event.seq + 1;
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && [401, 403, 404].includes(error.status)) throw error;
      const isBusy = error instanceof Problem && error.status === 503;
      const events = isBusy ? await missed(game, next).catch(() => null) : null;
      onstate(Boolean(events));
      for (const event of events ?? []) {
        next = event.seq + 1;
        yield event;
        if (SEALS.has(event.type)) return;
      }
    }
    failures += 1;
    await Promise.race([pause(Math.min(8000, 300 * 2 ** failures)), woken(signal)]);
  }
}

/** Resolve when the browser is online again, or the page is shown or hidden. */
const woken = (/** @type {AbortSignal | undefined} */ signal) =>
  new Promise((done) => {
    const options = { once: true, signal };
    addEventListener("online", done, options);
    document.addEventListener("visibilitychange", done, options);
  });

/** Fetch the events from seq `after` on. @param {string} game @param {number} after */
async function missed(game, after) {
  const text = await (
    await call("GET", `/v1/games/${game}/events?after=${after}`, {
      more: { Accept: "application/x-ndjson" },
    })
  ).text();
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const { seq, type } = JSON.parse(line);
      return { seq, type, line };
    });
}

/** @param {string} game @param {number} after @param {AbortSignal} signal @param {() => void} onopen */
async function* connection(game, after, signal, onopen) {
  const own = new AbortController();
  const stop = () => own.abort();
  signal.addEventListener("abort", stop, { once: true });
  addEventListener("offline", stop); // else the loss would be noticed only after SILENCE
  let watch = setTimeout(stop, SILENCE);
  try {
    /** @type {Record<string, string>} */
    const more = { Accept: "text/event-stream" };
    if (after > 0) more["Last-Event-ID"] = String(after - 1);
    const answer = await fetch(`/v1/games/${game}/stream`, {
      headers: headers(more),
      signal: own.signal,
      credentials: "omit",
      cache: "no-store",
    });
    if (!answer.ok || !answer.body) throw await problemOf(answer);
    onopen();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(stop, SILENCE);
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      yield* parts.map(parsed).filter((event) => event.type !== "");
    }
  } finally {
    clearTimeout(watch);
    signal.removeEventListener("abort", stop);
    removeEventListener("offline", stop);
    stop();
  }
}

/** @param {string} part @returns {Live} one event of a stream; comments and `retry` have no type */
function parsed(part) {
  const event = { seq: -1, type: "", line: "" };
  for (const line of part.split("\n")) {
    if (line.startsWith("id: ")) event.seq = Number(line.slice(4));
    else if (line.startsWith("event: ")) event.type = line.slice(7);
    else if (line.startsWith("data:")) event.line = line.slice(5).trimStart();
  }
  return event;
}
