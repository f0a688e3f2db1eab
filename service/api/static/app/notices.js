/**
 * What concerns the player of this browser, as it happens: one tab reads the player's own stream for all tabs.
 *
 * The tab that holds the Web Lock reads it and passes each notice on by a BroadcastChannel; if that tab is closed, another
 * one gets the lock. Every tab dispatches `notice` at its window, which ends a wait (`idle` in api.js): browsers slow down
 * the timers of hidden tabs, but not a stream. The leading tab also knows which turns wait for the player, and passes them
 * on as `turns`: `elsewhere.js` shows those at other tables than the one of the page.
 */

import { Problem, headers, identity, onceIdentified, pause, problemOf, spread } from "./api.js";
import { connected } from "./connection.js";
import { isSandboxed } from "./storage.js";

const LEADER = "shithead.notices";
const VISIBLE = "shithead.visible";
/** What a new tab asks on the channel: the leading tab sends the turns. */
const ASK = "turns?";
/** Milliseconds without data after which the page says so, because two empty lines are missing, and tries again. */
const QUIET = 11_000;
const SILENCE = 20_000;
const LONGEST_PAUSE = 30_000;

const shows = (/** @type {string} */ game) => `shithead.game.${game}`;

/** @typedef {{type: string, id: string, version: number, table: string | null, ends_at: string | null}} Notice */

/** Release what `hold` holds under a key. @type {Map<string, () => void>} */
const held = new Map();
/** The turns that wait for the player, by their games; only the leading tab has them. @type {Map<string, Notice>} */
const turns = new Map();
let isLeading = false;
let isFollowing = false;

/** Follow the notices in this tab, once there is a player; without Web Locks pages poll as before. */
export function followNotices() {
  if (isSandboxed || !navigator.locks || typeof BroadcastChannel === "undefined") return;
  if (!identity()) return onceIdentified(followNotices);
  if (isFollowing) return;
  isFollowing = true;
  const channel = new BroadcastChannel(LEADER);
  channel.onmessage = ({ data }) => {
    if (data === ASK) return isLeading && channel.postMessage({ turns: [...turns.values()] });
    if (data.turns) tellTurns(data.turns);
    else if ("isUp" in data) connected("notices", data.isUp);
    else tell(data);
  };
  document.addEventListener("visibilitychange", seen);
  seen();
  channel.postMessage(ASK);
  followAs(channel);
}

/** Wait to lead; after the end of the token follow the next player of this browser. @param {BroadcastChannel} channel */
function followAs(channel) {
  const again = () => onceIdentified(() => followAs(channel));
  navigator.locks.request(LEADER, () => lead(channel)).then(again, () => {});
}

/** State which game and table this tab shows: it announces their turns itself. @param {string} game @param {string | null} [table] */
export function showing(game, table = null) {
  hold("game", shows(game));
  dispatchEvent(new CustomEvent("showing", { detail: { game, table } }));
}

const seen = () => (document.hidden ? release(VISIBLE) : hold(VISIBLE, VISIBLE));

/** Return whether a tab shows a game, and whether any tab of this browser is visible. @param {string} game */
export async function watched(game) {
  const { held: locks = [] } = await navigator.locks.query();
  const has = (/** @type {string} */ wanted) => locks.some(({ name }) => name === wanted);
  return { isShown: has(shows(game)), isAnyVisible: has(VISIBLE), isLeading };
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

/** @param {Notice[]} waiting */
const tellTurns = (waiting) => dispatchEvent(new CustomEvent("turns", { detail: waiting }));

let wasUp = true;

/** State in all tabs whether the stream has data; if the server ends it and it is opened again, nothing is shown. @param {BroadcastChannel} channel @param {boolean} isUp */
function tellState(channel, isUp) {
  if (isUp === wasUp) return;
  wasUp = isUp;
  connected("notices", isUp);
  channel.postMessage({ isUp });
}

/** Note a turn, or its end. @param {Notice} notice */
function noteTurn(notice) {
  if (notice.type === "your_turn") turns.set(notice.id, notice);
  if (notice.type === "turn_over" || notice.type === "hand_sealed") turns.delete(notice.id);
}

/** Read the stream for all tabs, until this one is closed or the token has ended. @param {BroadcastChannel} channel */
async function lead(channel) {
  isLeading = true;
  try {
    await readFor(channel);
  } finally {
    isLeading = false;
    tellState(channel, true); // nothing is followed, so nothing is missing
    turns.clear();
    tellAll(channel);
  }
}

/** @param {BroadcastChannel} channel */
function tellAll(channel) {
  const waiting = [...turns.values()];
  tellTurns(waiting);
  channel.postMessage({ turns: waiting });
}

/** @param {BroadcastChannel} channel */
async function readFor(channel) {
  for (let failures = 0; identity(); failures += 1) {
    try {
      for await (const found of notices(channel)) {
        failures = 0;
        if (found.type === "snapshot") turns.clear();
        for (const notice of found.items ?? [found]) {
          noteTurn(notice);
          tell(notice);
          channel.postMessage(notice);
        }
        tellAll(channel);
      }
    } catch (error) {
      if (error instanceof Problem && [401, 403].includes(error.status)) return;
      if (!(error instanceof Problem)) tellState(channel, false); // a refusal is an answer
    }
    await pause(spread(Math.min(LONGEST_PAUSE, 1000 * 2 ** failures)));
  }
}

/** Yield the snapshot of all that is open, then each notice, until the connection is lost. @param {BroadcastChannel} channel @returns {AsyncGenerator<any>} */
async function* notices(channel) {
  const own = new AbortController();
  const stop = () => own.abort();
  let quiet = 0;
  let watch = setTimeout(stop, QUIET);
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
      clearTimeout(quiet);
      watch = setTimeout(stop, SILENCE);
      quiet = setTimeout(() => tellState(channel, false), QUIET);
      tellState(channel, true);
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.filter(Boolean)) yield JSON.parse(line);
    }
  } finally {
    clearTimeout(watch);
    clearTimeout(quiet);
    stop();
  }
}
