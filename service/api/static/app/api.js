/**
 * Calls of the public API: token, errors, retries with an idempotency key.
 *
 * The token is in this browser's storage and in the Authorization header, never in a URL.
 */

import { heard, ticks } from "./clock.js";
import { has, need, t } from "./i18n.js";
import { isSandboxed, readJson, remove, write } from "./storage.js";
import { worded } from "./worded.js";

const IDENTITY = "shithead.player";
const ATTEMPTS = 5;
const TIMEOUT = 20_000; // milliseconds
/** Milliseconds between the attempts of a call while the browser reports that it has no network. */
const OFFLINE = 10_000;

/** An error response of the server (RFC 9457); the status 0 means no response. */
export class Problem extends Error {
  /** @param {Partial<Api["Problem"]>} body @param {number} status */
  constructor(body, status) {
    super(body.detail ?? body.title ?? `status ${status}`);
    this.status = status;
    /** The code, such as `rule-refused`. @type {string} */
    this.code = String(body.type ?? "").split("/").pop() ?? "";
    this.body = body;
    /** The language of the message, if it is not the reader's. @type {string | null} */
    this.lang = status ? "en" : null;
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
  dispatchEvent(new Event("identity"));
}

/** Call `act` once the player of this browser changes, in this tab or in another. @param {() => void} act */
export function onceIdentified(act) {
  const over = new AbortController();
  const changed = (/** @type {Event} */ event) => {
    if (event instanceof StorageEvent && event.key !== IDENTITY) return;
    over.abort();
    act();
  };
  for (const name of ["identity", "storage"]) addEventListener(name, changed, { signal: over.signal });
}

/**
 * Return a function that begins a load into one place of the page, and returns whether it is still the newest there.
 *
 * Loads end in any order: the answer to an earlier one, after a later one has begun, is not drawn.
 *
 * @returns {() => () => boolean}
 */
export function newest() {
  let begun = 0;
  return () => {
    const own = ++begun;
    return () => own === begun;
  };
}

/** The invite of a private table, from the fragment of the page's address, which browsers do not send. */
const invite = () => new URLSearchParams(location.hash.slice(1)).get("invite");

/** @param {Record<string, string>} [more] @returns {Record<string, string>} with the token and the invite of this page */
export function headers(more) {
  const found = { ...more };
  if (isSandboxed) return found; // it shows public hands only, and the server lets it send nothing else
  const player = identity();
  if (player) found["Authorization"] ??= `Bearer ${player.token}`;
  const secret = invite();
  if (secret) found["Shithead-Invite"] = secret;
  return found;
}

export const pause = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms));

/**
 * Wait some milliseconds, or until the browser is online again, the page is shown or hidden, or a notice arrives.
 *
 * @param {number} ms
 * @param {AbortSignal} [signal]
 * @param {string} [about] the id whose notices end the wait; without it, all
 */
export async function idle(ms, signal, about) {
  const over = new AbortController();
  const woken = new Promise((done) => {
    const options = { once: true, signal: over.signal };
    addEventListener("online", done, options);
    const heard = (/** @type {any} */ { detail }) => (!about || about === detail.id) && done(null);
    addEventListener("notice", heard, { signal: over.signal });
    document.addEventListener("visibilitychange", done, options);
    signal?.addEventListener("abort", done, options);
  });
  await Promise.race([pause(ms), woken]);
  over.abort(); // removes the listeners
}

/**
 * Return the body of the answer to a call, which is made once; null without a body. Throws Problem.
 *
 * @param {string} method
 * @param {string} path
 * @param {{body?: object, signal?: AbortSignal, more?: Record<string, string>, timeout?: number,
 *   as?: "json" | "text" | "blob"}} how
 * @returns {Promise<any>}
 */
export async function call(method, path, { body, signal, more, timeout = TIMEOUT, as = "json" }) {
  const own = new AbortController(); // the static functions of AbortSignal are missing in browsers of 2023
  const stop = () => own.abort();
  const timer = setTimeout(stop, timeout);
  signal?.addEventListener("abort", stop);
  if (signal?.aborted) stop();
  const sent = ticks();
  try {
    const answer = await fetch(path, {
      method,
      headers: headers(body === undefined ? more : { "Content-Type": "application/json", ...more }),
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: own.signal,
      keepalive: method === "DELETE", // completes even if the page is closed
      credentials: "omit",
    });
    if (answer.headers.get("Cache-Control")?.includes("no-store")) heard(answer.headers.get("Date"), sent);
    if (!answer.ok) throw await problemOf(answer);
    return answer.status === 204 ? null : await answer[as]();
  } catch (error) {
    if (signal?.aborted || error instanceof Problem) throw error;
    throw new Problem({ type: "no-answer", detail: has("no.answer") ? t("no.answer") : String(error) }, 0);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

/** @param {Partial<Api["Problem"]>} body @param {number} status @returns {Promise<Problem>} in the reader's language if it has a code */
export async function problemWith(body, status) {
  const problem = new Problem(body, status);
  if (!body.code) return problem;
  await need("refusals");
  const text = worded(body);
  if (text) Object.assign(problem, { message: text, lang: null });
  return problem;
}

/** @param {Response} answer @returns {Promise<Problem>} the problem that it reports */
export async function problemOf(answer) {
  const body = await answer.json().catch(() => ({}));
  const problem = await problemWith(body, answer.status);
  problem.retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  return problem;
}

const isTemporary = (/** @type {Problem} */ { status }) => status === 0 || status === 429 || status >= 500;

/** @param {unknown} problem @returns {boolean} whether the request may have had its effect all the same */
export const isUnsure = (problem) => problem instanceof Problem && (problem.status === 0 || problem.status >= 500);

/** @param {number} ms @returns {number} between half and one and a half of it: pages do not come back in the same second */
export const spread = (ms) => ms * (0.5 + Math.random());

/**
 * Make a call at most ATTEMPTS times: again after a temporary problem (no answer, 429 or 5xx).
 *
 * @param {() => Promise<any>} attempt
 * @param {AbortSignal} [signal]
 */
async function repeated(attempt, signal) {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (problem) {
      if (attempts >= ATTEMPTS || !(problem instanceof Problem) || !isTemporary(problem) || signal?.aborted) throw problem;
      if (navigator.onLine) await pause(problem.retryAfter * 1000 + spread(250 * 2 ** attempts));
      else await idle(OFFLINE, signal);
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
  return repeated(() => call("GET", path, how), how.signal);
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
  return how.once ? attempt() : repeated(attempt);
}

/** @param {number} bytes @returns {string} random bytes as hex */
export function randomHex(bytes) {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(random, (one) => one.toString(16).padStart(2, "0")).join("");
}
