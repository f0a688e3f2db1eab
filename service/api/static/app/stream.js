/**
 * The transport of every stream of the server: connection, heartbeat, reconnection, and sharing among the windows of a browser.
 *
 * A browser opens only six connections to a server over HTTP/1.1. So one window reads the player's own stream for all of
 * them (`shared`), and a few hold another stream or a long poll (`connectionShare`); the others poll, as hidden ones do, and
 * as those without a slot of the server (429, 503) or behind a proxy that holds streams back.
 */

import { Problem, headers, idle, problemOf, spread } from "./api.js";
import { isSandboxed } from "./storage.js";

/** Milliseconds without data after which the page says so, because two heartbeats of 5 s are missing, and tries again. */
const QUIET = 11_000;
const SILENCE = 20_000;
/** Milliseconds in which a stream has to begin; the server sends its first line at once. */
const OPENING = 10_000;
/** Openings without a byte after which the page only polls. */
const MUTE_OPENINGS = 2;
/** Milliseconds between polls, while the page is seen and while it is hidden, and the most before a lost stream is opened again. */
const POLL = 2000;
const HIDDEN_POLL = 10_000;
const LONGEST = 8000;
/** Milliseconds after which a hidden page ends a stream that it can poll: a glance at another tab does not. */
const HIDDEN_STREAM = 5000;
/** Connections that the windows of a browser hold beside the player's own stream: two are left for calls. */
const SHARES = 3;
/** Statuses that another attempt would not change, and those of a server without a free slot. */
const FINAL = [401, 403, 404, 409];
const FULL = [429, 503];

/** @typedef {{seq: number, type: string, line: string}} Live an event with its exact text */
/**
 * @typedef {object} Source
 * @property {() => {path: string, more?: Record<string, string>}} ask what to open, asked anew at each opening
 * @property {AbortSignal} signal
 * @property {(isUp: boolean) => void} onstate
 * @property {() => Promise<Live[]>} [poll] fetches what a stream would have sent
 * @property {string} [about] the id whose notices end the rest between two polls
 */

/** A stream of which no byte arrived in time. */
class Mute extends Error {}

/**
 * Yield the events of a stream, opened again after each loss, until its end. Throws Problem.
 *
 * @param {Source} source
 * @returns {AsyncGenerator<Live>}
 */
export async function* followed(source) {
  const { signal, onstate, poll, about } = source;
  let mutes = 0;
  for (let failures = 1; !signal.aborted; failures += 1) {
    let least = 0;
    const release = !poll ? () => {} : document.hidden || mutes >= MUTE_OPENINGS ? null : await connectionShare();
    let polls = !release;
    try {
      if (release) {
        for await (const event of connection(source)) {
          failures = 1;
          mutes = 0;
          yield event;
          if (event.type === "end") return;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof Problem ? error : null;
      if (problem && FINAL.includes(problem.status)) throw problem;
      const isFull = problem !== null && FULL.includes(problem.status);
      if (isFull) least = 1000 * problem.retryAfter;
      if (error instanceof Mute) mutes += 1;
      polls = Boolean(poll) && (isFull || error instanceof Mute);
      if (!isFull && !polls) onstate(false); // a refusal is an answer
    } finally {
      release?.();
    }
    if (poll && polls) {
      const rest = idle(spread(document.hidden ? HIDDEN_POLL : POLL), signal, about); // a notice may come before the answer
      const events = await poll().catch(() => null);
      onstate(Boolean(events));
      if (events) {
        yield* events;
        failures = 0;
        await rest;
        continue;
      }
    }
    await idle(spread(Math.max(poll && document.hidden ? HIDDEN_POLL : least, Math.min(LONGEST, 300 * 2 ** failures))), signal);
  }
}

/** Yield the events of one connection, until it ends or the page has been hidden for a while; throws Mute. @param {Source} source */
async function* connection({ ask, signal, onstate, poll }) {
  const own = new AbortController();
  let isMute = false;
  let hides = 0;
  const stop = () => own.abort();
  const hide = () => {
    clearTimeout(hides);
    if (document.hidden && poll) hides = setTimeout(stop, HIDDEN_STREAM);
  };
  signal.addEventListener("abort", stop, { once: true });
  addEventListener("offline", stop); // else the loss would be noticed only after SILENCE
  document.addEventListener("visibilitychange", hide);
  let quiet = 0;
  let watch = setTimeout(() => {
    isMute = true;
    stop();
  }, OPENING);
  try {
    const { path, more } = ask();
    const accepted = headers({ Accept: "text/event-stream", ...more });
    const answer = await fetch(path, { headers: accepted, signal: own.signal, credentials: "omit", cache: "no-store" });
    if (answer.status === 204) yield { seq: -1, type: "end", line: "" }; // the last event received was the last of all
    if (answer.status === 204) return;
    if (!answer.ok || !answer.body) throw await problemOf(answer);
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      clearTimeout(quiet);
      watch = setTimeout(stop, SILENCE);
      quiet = setTimeout(() => onstate(false), QUIET);
      onstate(true);
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = parts.pop() ?? "";
      yield* parts.map(parsed).filter((event) => event.type !== "");
    }
  } catch (error) {
    if (isMute) throw new Mute();
    if (document.hidden && poll && own.signal.aborted) return;
    throw error;
  } finally {
    for (const timer of [watch, quiet, hides]) clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    removeEventListener("offline", stop);
    document.removeEventListener("visibilitychange", hide);
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

/** Whether the windows of this browser can share a stream. */
export const canShare = !isSandboxed && Boolean(navigator.locks) && typeof BroadcastChannel !== "undefined";

/**
 * Read a stream in one window for all of this browser: the one that holds the Web Lock; if it is closed, another gets it.
 *
 * @param {string} name
 * @param {(data: any) => void} hear called in every window with the messages of the leading one, and with the requests of others
 * @returns {{tell: (data: any) => void, ask: (data: any) => void, lead: (read: () => Promise<void>) => Promise<void>}}
 */
export function shared(name, hear) {
  const channel = new BroadcastChannel(name);
  channel.onmessage = ({ data }) => hear(data);
  const ask = (/** @type {any} */ data) => channel.postMessage(data);
  const tell = (/** @type {any} */ data) => {
    hear(data);
    ask(data);
  };
  return { tell, ask, lead: (read) => navigator.locks.request(name, read) };
}

/** Hold a Web Lock; return what releases it, null if it is not available. @param {string} name @param {LockOptions} options @returns {Promise<(() => void) | null>} */
export const locked = (name, options) =>
  new Promise((got) => {
    const hold = (/** @type {Lock | null} */ lock) => (lock ? new Promise((/** @type {(value?: undefined) => void} */ done) => got(() => done())) : got(null));
    navigator.locks.request(name, options, hold).catch(() => got(() => {}));
  });

/** Return what gives back one of the few connections that last, null if other windows have them all. */
export async function connectionShare() {
  if (!canShare) return () => {};
  for (let n = 0; n < SHARES; n += 1) {
    const release = await locked(`shithead.connection.${n}`, { ifAvailable: true });
    if (release) return release;
  }
  return null;
}
