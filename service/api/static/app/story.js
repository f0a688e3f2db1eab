/**
 * The queue through which a page shows events: each in its order, at the reader's pace, and never late.
 *
 * While it is behind, the reader can skip to the newest view, and chooses nothing.
 */

import { read, write } from "./storage.js";

const BEHIND = 2000; // milliseconds after its arrival in which an event is shown at the latest
const UNHURRIED = 8000; // the same without a clock, if the events take that long at the reader's pace
const LEAST = 0.2; // an event for which less than this part of its time is left is not animated
const SETTING = "shithead.pace";

/** The part of its normal time that an event takes at each pace. @type {Record<string, number>} */
export const PACES = { slow: 1.6, normal: 1, fast: 0.5, off: 0 };

const patience = (/** @type {number} */ whole, /** @type {boolean} */ isTimed) =>
  isTimed ? BEHIND : Math.min(UNHURRIED, Math.max(BEHIND, whole));

/** @returns {string} the reader's pace, a key of PACES */
export function pace() {
  const chosen = read(SETTING) ?? "";
  return chosen in PACES ? chosen : "normal";
}

/** @param {string} chosen */
export const setPace = (chosen) => write(SETTING, chosen);

/** @typedef {{event: Api["Event"], view: Api["GameView"]}} Entry an event, and the view after it */
/**
 * @typedef {Object} Showing how one event is shown
 * @property {number} tempo the part of its normal time that it may take
 * @property {AbortSignal} signal aborted when the page shows the newest state instead
 * @property {() => void} show draws the view after the event
 */

/** Wait some milliseconds; rejects when the signal is aborted. @param {number} ms @param {AbortSignal} signal */
export const rest = (ms, signal) =>
  new Promise((done, fail) => {
    const stop = () => {
      clearTimeout(timer);
      fail(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      done(undefined);
    }, ms);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });

/**
 * Return a queue.
 *
 * @param {Object} page
 * @param {(entry: Entry) => void} page.show draws the view after an event
 * @param {(entry: Entry) => number} page.time the normal time of an event in milliseconds
 * @param {(entry: Entry, how: Showing) => Promise<void>} page.stage shows an event
 * @param {() => number} [page.tempo] the part of its normal time that an event takes
 * @param {(whole: number, isTimed: boolean) => number} [page.limit] milliseconds after its arrival in which an event is shown
 *     at the latest, by the time that all waiting events take at the reader's pace, and whether a clock runs
 */
export function story({ show, time, stage, tempo = () => PACES[pace()], limit = patience }) {
  /** @type {(Entry & {due: number})[]} */
  let waiting = [];
  /** @type {AbortController | null} */
  let current = null;

  /** The part of its normal time that the next event may take, so that no waiting one is late. */
  function allowed() {
    let total = 0;
    let part = tempo();
    for (const entry of waiting) {
      total += time(entry);
      if (total > 0) part = Math.min(part, (entry.due - performance.now()) / total);
    }
    return part < LEAST ? 0 : part;
  }

  async function run() {
    if (current) return;
    while (waiting.length) {
      const part = allowed();
      const entry = /** @type {Entry} */ (waiting.shift());
      if (part === 0) {
        show(entry);
        continue;
      }
      const own = (current = new AbortController());
      let isShown = false;
      const draw = () => {
        if (!isShown && !own.signal.aborted) show(entry);
        isShown = true;
      };
      try {
        await stage(entry, { tempo: part, signal: own.signal, show: draw });
        draw();
      } catch (error) {
        if (own.signal.aborted) return; // `flush` drew the newest view
        flush();
        throw error;
      }
    }
    current = null;
  }

  /** Show at once what is waiting. */
  function flush() {
    const newest = waiting.at(-1) ?? null;
    waiting = [];
    current?.abort();
    current = null;
    if (newest) show(newest);
    return newest;
  }

  return {
    /** Add events in their order. @param {Entry[]} entries @param {number} [since] the time at which they were known */
    push(entries, since = performance.now()) {
      const whole = [...waiting, ...entries].reduce((sum, entry) => sum + time(entry), 0) * tempo();
      const isTimed = entries.some(({ view }) => view.clock);
      const due = since + limit(whole, isTimed);
      waiting.push(...entries.map((entry) => ({ ...entry, due })));
      return run();
    },
    flush,
    /** Whether an event is being shown or waits. */
    isBehind: () => Boolean(current || waiting.length),
  };
}
