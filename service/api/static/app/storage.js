/**
 * What this browser stores for the pages, or for as long as the tab if it stores nothing.
 *
 * A user can block the storage of a site, and it can be full. Values that it did not take are in the name of the
 * tab, which later pages of this site read; browsers empty it if the tab leads to another site.
 */

const PREFIX = "shithead:"; // of the name of the tab
const PROBE = "shithead.probe";

/** Whether this page is in a sandbox, as in a frame of another site: it has no storage, and its name is not ours. */
export const isSandboxed = globalThis.origin === "null";

/** The values that the storage did not take, by key. @type {Record<string, string>} */
const kept = isSandboxed ? {} : held();

function held() {
  try {
    return window.name.startsWith(PREFIX) ? JSON.parse(window.name.slice(PREFIX.length)) : {};
  } catch {
    return {};
  }
}

const hold = () => isSandboxed || (window.name = Object.keys(kept).length ? PREFIX + JSON.stringify(kept) : "");

/** @param {string} key @returns {string | null} */
export function read(key) {
  if (key in kept) return kept[key];
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} value */
export function write(key, value) {
  try {
    localStorage.setItem(key, value);
    if (!(key in kept)) return;
    delete kept[key];
  } catch {
    kept[key] = value;
  }
  hold();
}

/** @param {string} key */
export function remove(key) {
  delete kept[key];
  hold();
  try {
    localStorage.removeItem(key);
  } catch {
    // Nothing is stored.
  }
}

/** @param {string} key @returns {any} the value as JSON; null if there is none or it is malformed */
export function readJson(key) {
  try {
    return JSON.parse(read(key) ?? "null");
  } catch {
    return null;
  }
}

/** @returns {boolean} whether this browser stores values beyond the tab, with room for a player */
export function isLasting() {
  try {
    localStorage.setItem(PROBE, "0".repeat(500));
    localStorage.removeItem(PROBE);
    return true;
  } catch {
    return false;
  }
}
