/** Pill over the bar that says at once that the page has lost its connection, and goes when it is back. */

import { call, idle, isUnsure, spread } from "./api.js";
import { find, h } from "./dom.js";
import { t } from "./i18n.js";

/** @type {Set<string>} */
const lost = new Set();

/**
 * Note whether a part of the page reaches the server; the pill is shown while any part does not.
 *
 * @param {string} part for example "browser" or "stream"
 * @param {boolean} isUp
 */
export function connected(part, isUp) {
  if (isUp) lost.delete(part);
  else lost.add(part);
  const pill = document.getElementById("connection") ?? find("body").appendChild(h("p", { id: "connection", role: "status" }));
  pill.textContent = lost.size ? t("lost") : "";
}

const RETRY = 3000; // milliseconds between attempts to reach the server

/**
 * After a request without an answer: wait until the server answers, while the pill is shown.
 *
 * @template Found
 * @param {() => Promise<Found>} ask what to fetch then; throws Problem
 * @param {AbortSignal} [signal]
 * @returns {Promise<Found>}
 */
export async function answered(ask, signal) {
  for (;;) {
    connected("server", false);
    await idle(spread(RETRY), signal);
    try {
      const found = await ask();
      connected("server", true);
      return found;
    } catch (problem) {
      if (isUnsure(problem) && !signal?.aborted) continue;
      connected("server", true);
      throw problem;
    }
  }
}

/** Wait until the server answers again. */
export const reachable = () => answered(() => call("GET", "/v1/games?limit=1", {}));

addEventListener("offline", () => connected("browser", false));
addEventListener("online", () => connected("browser", true));
