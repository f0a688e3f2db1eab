/**
 * The events of a game as they happen: from a stream, or polled where a stream cannot be used.
 *
 * The log is polled if there is no slot for another stream (429, 503), while the page is hidden, because a browser
 * opens only six connections to a server over HTTP/1.1, and if a proxy holds the stream back.
 */

import { Problem, call, headers, idle, problemOf, spread } from "./api.js";
import { isSandboxed } from "./storage.js";

/** Milliseconds without data after which the page says so, because two heartbeats of 5 s are missing, and tries again. */
const QUIET = 11_000;
const SILENCE = 20_000;
/** Milliseconds in which a stream has to begin; the server sends its first line at once. */
const OPENING = 10_000;
/** Openings without a byte after which the page only polls. */
const MUTE_OPENINGS = 2;
/** Milliseconds between polls, while the page is seen and while it is hidden. */
const POLL = 2000;
const HIDDEN_POLL = 10_000;
/** Milliseconds after which a hidden page ends its stream: a glance at another tab does not. */
const HIDDEN_STREAM = 5000;
/** The types of the last event of a game. */
const SEALS = new Set(["game_sealed", "game_aborted"]);

/** @typedef {{seq: number, type: string, line: string}} Live an event with its exact text */

/** A stream of which no byte arrived in time. */
class Mute extends Error {}

/**
 * Yield the events of a game as they happen, from seq `after` until the seal.
 *
 * A lost connection is opened again from the next event: `Last-Event-ID`, or `after` in a frame of another site, from
 * which a browser sends no further headers without a preflight request.
 *
 * @param {string} game
 * @param {number} after
 * @param {{signal: AbortSignal, onstate?: (live: boolean) => void}} how
 * @returns {AsyncGenerator<Live>}
 */
export async function* live(game, after, { signal, onstate = () => {} }) {
  let next = after;
  let failures = 0;
  let mutes = 0;
  while (!signal.aborted) {
    let polls = document.hidden || mutes >= MUTE_OPENINGS;
    try {
      if (!polls) {
        for await (const event of connection(game, next, signal, onstate)) {
          failures = 0;
          mutes = 0;
          if (event.type === "end") return;
          next = event.seq + 1;
          yield event;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && [401, 403, 404, 409].includes(error.status)) throw error;
      if (error instanceof Mute) mutes += 1;
      polls = error instanceof Mute || (error instanceof Problem && [429, 503].includes(error.status));
      if (!polls) onstate(false);
    }
    if (polls) {
      const events = await missed(game, next).catch(() => null);
      onstate(Boolean(events));
      if (events) failures = 0;
      for (const event of events ?? []) {
        next = event.seq + 1;
        yield event;
        if (SEALS.has(event.type)) return;
      }
    }
    failures += 1;
    const rest = polls && failures === 1 ? POLL : Math.min(8000, 300 * 2 ** failures);
    await idle(spread(document.hidden ? HIDDEN_POLL : rest), signal);
  }
}

/** Fetch the events from seq `after` on. @param {string} game @param {number} after */
async function missed(game, after) {
  const more = { Accept: "application/x-ndjson" };
  /** @type {string} */
  const text = await call("GET", `/v1/games/${game}/events?after=${after}`, { more, as: "text" });
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => {
      const { seq, type } = JSON.parse(line);
      return { seq, type, line };
    });
}

/**
 * Yield the events of one stream, until it ends or the page has been hidden for a while; throws Mute.
 *
 * @param {string} game @param {number} after @param {AbortSignal} signal @param {(live: boolean) => void} onstate
 */
async function* connection(game, after, signal, onstate) {
  const own = new AbortController();
  let isMute = false;
  let hides = 0;
  const stop = () => own.abort();
  const hide = () => {
    clearTimeout(hides);
    if (document.hidden) hides = setTimeout(stop, HIDDEN_STREAM);
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
    /** @type {Record<string, string>} */
    const more = { Accept: "text/event-stream" };
    if (after > 0 && !isSandboxed) more["Last-Event-ID"] = String(after - 1);
    const answer = await fetch(`/v1/games/${game}/stream${isSandboxed ? `?after=${after}` : ""}`, {
      headers: headers(more),
      signal: own.signal,
      credentials: "omit",
      cache: "no-store",
    });
    if (answer.status === 204) {
      yield { seq: -1, type: "end", line: "" }; // the last event received was the seal
      return;
    }
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
    if (document.hidden && own.signal.aborted) return;
    throw error;
  } finally {
    clearTimeout(watch);
    clearTimeout(quiet);
    clearTimeout(hides);
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
