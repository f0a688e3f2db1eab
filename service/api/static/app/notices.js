/**
 * What concerns the player of this browser, as it happens: one window reads the player's own stream for all windows.
 *
 * Every window dispatches `notice` at itself, which ends a wait (`idle` in api.js): browsers slow down the timers of hidden
 * tabs, but not a stream. The leading window also knows which turns wait for the player, and passes them on as `turns`:
 * `elsewhere.js` shows those at other tables than the one of the page. It watches the hands of the windows that have no
 * stream of their own.
 */

import { Problem, identity, onceIdentified } from "./api.js";
import { connected } from "./connection.js";
import { canShare, followed, locked, shared } from "./stream.js";

const LEADER = "shithead.notices";
const VISIBLE = "shithead.visible";
const WATCH = "shithead.watch.";
/** What windows ask the leading one: to send the turns; to look which hands are watched. */
const TURNS = "turns?";
const WATCHED = "watched?";
const MOST_WATCHED = 50; // by one stream, of the API

const shows = (/** @type {string} */ game) => `shithead.game.${game}`;

/** @typedef {{type: string, id: string, version: number, table: string | null, ends_at: string | null}} Notice */

/** What releases the lock that is held under a key. @type {Map<string, Promise<(() => void) | null>>} */
const held = new Map();
/** The turns that wait for the player, by their games; only the leading window has them. @type {Map<string, Notice>} */
const turns = new Map();
/** The end of the reading with the present hands; null in a window that does not lead. @type {AbortController | null} */
let reading = null;
/** The hands that are watched, and the one of this window. */
let watched = "";
let own = "";
/** @type {ReturnType<typeof shared> | null} */
let group = null;

/** Follow the notices in this window, once there is a player; without Web Locks pages poll as before. */
export function followNotices() {
  if (!canShare) return;
  if (!identity()) return onceIdentified(followNotices);
  if (group) return;
  group = shared(LEADER, hear);
  document.addEventListener("visibilitychange", seen);
  seen();
  group.ask(TURNS);
  follow();
}

/** Wait to lead; after the end of the token follow the next player of this browser. */
const follow = () => group?.lead(lead).then(() => onceIdentified(follow), () => {});

/** @param {any} data a message of the leading window, or a request of another one */
function hear(data) {
  if (data === TURNS) tellTurns();
  else if (data === WATCHED) watchAll();
  else if (data.turns) dispatchEvent(new CustomEvent("turns", { detail: data.turns }));
  else if ("isUp" in data) connected("notices", data.isUp);
  else dispatchEvent(new CustomEvent("notice", { detail: data }));
}

/** State which game and table this window shows: it announces their turns itself. @param {string} game @param {string | null} [table] */
export function showing(game, table = null) {
  hold("game", shows(game));
  dispatchEvent(new CustomEvent("showing", { detail: { game, table } }));
}

const seen = () => hold("visible", document.hidden ? "" : VISIBLE);

/** Have each version of a game announced to this window, which has no stream of it; null: of none. @param {string | null} game */
export async function watch(game) {
  if (!group || location.hash.includes("invite=") || own === (game ?? "")) return; // only this window has the invite
  own = game ?? "";
  await hold("watch", own && WATCH + own);
  group.ask(WATCHED);
  watchAll();
}

/** @returns {Promise<string[]>} the names of the locks that windows of this browser hold */
const locks = async () => ((await navigator.locks.query()).held ?? []).map(({ name }) => name ?? "");

/** Return whether a window shows a game, and whether any window of this browser is visible. @param {string} game */
export async function shownAnywhere(game) {
  const names = await locks();
  return { isShown: names.includes(shows(game)), isAnyVisible: names.includes(VISIBLE), isLeading: reading !== null };
}

/** Hold a shared lock, in place of the one that was held under this key; none without a name. @param {string} key @param {string} name */
function hold(key, name) {
  held.get(key)?.then((release) => release?.());
  if (!canShare || !name) return held.delete(key);
  const lock = locked(name, { mode: "shared" });
  held.set(key, lock);
  return lock;
}

const tellTurns = () => reading && group?.tell({ turns: [...turns.values()] });

/** In the leading window: read on with the hands that windows watch now. */
async function watchAll() {
  if (!reading) return;
  const names = (await locks()).filter((name) => name.startsWith(WATCH)).map((name) => name.slice(WATCH.length));
  const wanted = [...new Set(names)].sort().slice(0, MOST_WATCHED).join();
  if (wanted === watched) return;
  watched = wanted;
  reading?.abort();
}

/** Read the stream for all windows, until this one is closed or the token has ended. */
async function lead() {
  reading = new AbortController();
  await watchAll();
  try {
    for (; identity(); reading = new AbortController()) await read(reading.signal);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status === 401) dispatchEvent(new Event("token-ended"));
  } finally {
    turns.clear();
    tellTurns();
    tellState(true); // nothing is followed, so nothing is missing
    reading = null;
  }
}

/** Pass on to all windows what the stream sends, until other hands are watched. @param {AbortSignal} signal */
async function read(signal) {
  const ask = () => ({ path: `/v1/players/me/stream${watched && `?watch=${watched}`}` });
  try {
    for await (const { type, line } of followed({ ask, signal, onstate: tellState })) {
      const found = JSON.parse(line);
      if (type === "snapshot") turns.clear();
      for (const notice of found.items ?? [found]) {
        if (notice.type === "your_turn") turns.set(notice.id, notice);
        if (notice.type === "turn_over" || notice.type === "hand_sealed") turns.delete(notice.id);
        group?.tell(notice);
      }
      tellTurns();
    }
  } catch (problem) {
    if (!watched || !(problem instanceof Problem) || problem.status !== 404) throw problem;
    watched = ""; // one of the hands is not the player's to see; its window polls
  }
}

let wasUp = true;

/** State in all windows whether the stream has data; if the server ends it and it is opened again, nothing is shown. @param {boolean} isUp */
function tellState(isUp) {
  if (isUp !== wasUp) group?.tell({ isUp });
  wasUp = isUp;
}
