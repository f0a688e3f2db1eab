/**
 * What concerns the player of this browser, as it happens: one tab reads the player's own stream for all tabs.
 *
 * The tab that holds the Web Lock reads it and passes each notice on by a BroadcastChannel; if that tab is closed, another
 * one gets the lock. Every tab dispatches `notice` at its window, which ends a wait (`idle` in api.js): browsers slow down
 * the timers of hidden tabs, but not a stream. A turn at a table that no tab shows is announced by the leading tab if all
 * tabs are hidden.
 */

import { Problem, headers, identity, onceIdentified, pause, problemOf } from "./api.js";
import { chime } from "./sound.js";
import { isSandboxed } from "./storage.js";

const LEADER = "shithead.notices";
const VISIBLE = "shithead.visible";
const MARK = "● ";
/** Milliseconds without data after which the connection counts as lost; the server sends an empty line every 15 s. */
const SILENCE = 40_000;
const LONGEST_PAUSE = 30_000;

const shows = (/** @type {string} */ game) => `shithead.game.${game}`;

/** @typedef {{type: string, id: string, version: number, table: string | null}} Notice */

/** Release what `hold` holds under a key. @type {Map<string, () => void>} */
const held = new Map();
let announced = ""; // the last turn that this tab announced
let isMarked = false;

/** Follow the notices in this tab, once there is a player; without Web Locks pages poll as before. */
export function followNotices() {
  if (isSandboxed || !navigator.locks || typeof BroadcastChannel === "undefined") return;
  if (!identity()) return onceIdentified(followNotices);
  const channel = new BroadcastChannel(LEADER);
  channel.onmessage = ({ data }) => tell(data);
  document.addEventListener("visibilitychange", seen);
  seen();
  navigator.locks.request(LEADER, () => lead(channel)).catch(() => {});
}

/** State which game this tab shows: the tab announces its turns itself. @param {string} game */
export const showing = (game) => hold("game", shows(game));

function seen() {
  if (document.hidden) return release(VISIBLE);
  hold(VISIBLE, VISIBLE);
  if (isMarked && document.title.startsWith(MARK)) document.title = document.title.slice(MARK.length);
  isMarked = false;
}

/** Hold a shared lock, in place of the one that was held under this key. @param {string} key @param {string} name */
function hold(key, name) {
  release(key);
  if (!navigator.locks || isSandboxed) return;
  const kept = new Promise((/** @type {(value?: undefined) => void} */ done) => held.set(key, done));
  navigator.locks.request(name, { mode: "shared" }, () => kept).catch(() => {});
}

/** @param {string} key */
function release(key) {
  held.get(key)?.();
  held.delete(key);
}

/** @param {Notice} notice */
const tell = (notice) => dispatchEvent(new CustomEvent("notice", { detail: notice }));

/** Read the stream for all tabs, until this one is closed or the token has ended. @param {BroadcastChannel} channel */
async function lead(channel) {
  for (let failures = 0; identity(); failures += 1) {
    try {
      for await (const notice of notices()) {
        failures = 0;
        tell(notice);
        channel.postMessage(notice);
        await announce(notice);
      }
    } catch (error) {
      if (error instanceof Problem && [401, 403].includes(error.status)) return;
    }
    await pause(Math.min(LONGEST_PAUSE, 1000 * 2 ** failures));
  }
}

/** Yield all that is open, then each notice, until the connection is lost. @returns {AsyncGenerator<Notice>} */
async function* notices() {
  const own = new AbortController();
  const stop = () => own.abort();
  let watch = setTimeout(stop, SILENCE);
  try {
    const answer = await fetch("/v1/players/me/stream", {
      headers: headers({ Accept: "application/x-ndjson" }),
      signal: own.signal,
      credentials: "omit",
      cache: "no-store",
    });
    if (!answer.ok || !answer.body) throw await problemOf(answer);
    const reader = answer.body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(watch);
      watch = setTimeout(stop, SILENCE);
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.filter(Boolean)) {
        const found = JSON.parse(line);
        yield* found.type === "snapshot" ? found.items : [found];
      }
    }
  } finally {
    clearTimeout(watch);
    stop();
  }
}

/** Announce a turn with title and sound if all tabs are hidden and none of them shows its game. @param {Notice} notice */
async function announce({ type, id, version }) {
  const turn = `${id} ${version}`;
  if (type !== "your_turn" || turn === announced) return;
  const { held: locks = [] } = await navigator.locks.query();
  if (locks.some(({ name }) => name === VISIBLE || name === shows(id))) return;
  announced = turn;
  isMarked = true;
  if (!document.title.startsWith(MARK)) document.title = MARK + document.title;
  chime();
}
