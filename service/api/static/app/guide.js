/** Five hints for a first hand, each shown until the first action after it. */

import { listedMoves, ownSeat } from "./moves.js";
import { readJson, write } from "./storage.js";

const SETTING = "shithead.guide";
const seen = new Set(readJson(SETTING) ?? []);

/** @param {Api["GameView"]} view @returns {string[]} the hints that apply to a view */
function fitting(view) {
  const own = ownSeat(view);
  if (!own) return [];
  if (view.status === "swapping") return own.ready ? [] : ["exchange"];
  if (view.status !== "playing" || view.turn !== view.as) return [];
  if (listedMoves(view, "play_blind").length) return ["blind"];
  const plays = listedMoves(view, "play");
  if (!plays.length) return ["pick_up"];
  return own.hand.count ? ["play", "many"] : ["table"];
}

/** @param {Api["GameView"]} view @returns {string | null} the hint that applies to a view and was not shown before */
export const guide = (view) => fitting(view).find((key) => !seen.has(key)) ?? null;

/** Note that the reader acted, and so has seen the hint. @param {Api["GameView"]} view */
export function guided(view) {
  const key = guide(view);
  if (!key) return;
  seen.add(key);
  write(SETTING, JSON.stringify([...seen]));
}
