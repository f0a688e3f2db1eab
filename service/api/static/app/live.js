/** The events of a game as they happen: from its stream, or polled where no connection is left for one. */

import { Problem, call } from "./api.js";
import { watch } from "./notices.js";
import { isSandboxed } from "./storage.js";
import { followed } from "./stream.js";

/** The types of the last event of a game. */
const SEALS = new Set(["game_sealed", "game_aborted"]);

/** @typedef {import("./stream.js").Live} Live */

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
  const ask = () => {
    watch(null);
    if (isSandboxed) return { path: `/v1/games/${game}/stream?after=${next}` };
    return { path: `/v1/games/${game}/stream`, more: next > 0 ? { "Last-Event-ID": String(next - 1) } : undefined };
  };
  const poll = () => {
    watch(document.hidden ? null : game);
    return missed(game, next);
  };
  try {
    for await (const event of followed({ ask, signal, onstate, poll, about: game })) {
      if (event.type === "end") return;
      next = event.seq + 1;
      yield event;
      if (SEALS.has(event.type)) return;
    }
  } finally {
    watch(null);
  }
}

/**
 * Yield as `live` the events after the frames that a page has. The page is loaded again if they are no longer those of the
 * log: after a restore of the database the server has fewer events, or others.
 *
 * @param {string} game
 * @param {() => Api["Frame"][]} frames
 * @param {{signal: AbortSignal, onstate?: (live: boolean) => void}} how
 * @returns {AsyncGenerator<Live>}
 */
export async function* continued(game, frames, how) {
  const again = () => {
    location.reload();
    return new Promise(() => {});
  };
  try {
    for await (const event of live(game, frames().length, how)) {
      const known = frames();
      if (event.seq < known.length) continue;
      if (event.seq === known.length && JSON.parse(event.line).prev !== known[event.seq - 1].view.head) await again();
      yield event;
    }
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status !== 409) throw problem;
    await again();
  }
}

/** Fetch the events from seq `after` on. @param {string} game @param {number} after @returns {Promise<Live[]>} */
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
