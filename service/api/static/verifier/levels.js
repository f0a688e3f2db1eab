/** The level that the evidence for a log reaches, and the exit status for a level asked for (SHX/1, section 8). The page names no level. */

import { confirmedUpTo } from "./verify.js";

/** @typedef {import("./log.js").Log} Log @typedef {import("./outside.js").Outside} Outside @typedef {import("./verify.js").Finding} Finding */

export const LEVELS = ["L0", "L1", "L2", "L3"];

/** The level of a log, null if it cannot be read; from L2 on `upTo` is the last event that a receipt confirms. @typedef {{level: string | null, upTo: number | null}} Reached */

/** @param {Log} log @param {Finding[]} findings @param {Outside} outside @returns {Reached} */
export function levelOf(log, findings, outside) {
  const results = new Map(findings.map(({ check, result }) => [check, result]));
  const upTo = confirmedUpTo(findings);
  if (results.get("bytes") !== "pass") return { level: null, upTo };
  if ([...results.values()].includes("fail") || !isJudged(log, findings)) return { level: "L0", upTo };
  if (upTo === null) return { level: "L1", upTo };
  return { level: isSigned(log, outside) ? "L3" : "L2", upTo };
}

/** Return whether the moves were judged, or have to wait for the deck: before the seal the level is only one so far. @param {Log} log @param {Finding[]} findings */
function isJudged(log, findings) {
  const legality = findings.find(({ check }) => check === "legality");
  return legality?.result !== "missing" || (!log.seal && legality.reason?.code === "open.unsealed");
}

/** Return whether each person has a key from outside, and signed a move with which it had seen the deal. @param {Log} log @param {Outside} outside */
function isSigned(log, { seatKeys = new Map() }) {
  /** @type {{kind: string, key: string | null}[]} */
  const seats = log.created?.data.seats ?? [];
  const people = [...seats.keys()].filter((seat) => seats[seat].kind === "human");
  const dealt = log.first("cards_dealt")?.named ?? Infinity;
  const signers = new Set();
  for (const { type, data, auth } of log.events) {
    if (auth && auth.intent.seen.seq >= dealt) signers.add(type === "game_ended" ? data.shithead : data.seat);
  }
  return people.length > 0 && people.every((seat) => seats[seat].key !== null && seatKeys.has(seat) && signers.has(seat));
}

/**
 * Return the exit status.
 *
 * @param {0 | 1 | 2} result of all checks, from `resultOf`
 * @param {Reached} reached
 * @param {Log} log
 * @param {string} [asked] the level asked for
 * @returns {0 | 1 | 2}
 */
export function statusFor(result, { level, upTo }, log, asked = "L1") {
  if (result) return result;
  const partly = asked !== "L1" && upTo !== null && upTo < log.lines.length - 1;
  return partly || level === null || LEVELS.indexOf(level) < LEVELS.indexOf(asked) ? 2 : 0;
}
