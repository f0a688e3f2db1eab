/** The checks `legality` and `hidden`: did the rules of the game allow every move, with these outcomes? */

import { trueShuffle } from "./deck.js";
import { Judge } from "./judge.js";
import { Failure, Unanswered } from "./log.js";
import { treeOf } from "./rulesets.js";
import { faultOfSettings, isNewer } from "./settings.js";

/** @typedef {import("./log.js").Log} Log @typedef {{seq: number, fault: import("./exchange.js").Fault}} Fault */

/** @typedef {{judge: Judge | null, found: Fault | null, end: number}} Judgement `judge` is null if the settings are at fault, `end` the first event that is not judged */

/** @type {WeakMap<Log, Promise<Judgement>>} */
const judgements = new WeakMap();

/**
 * Judge every move, and name the last event of each seat that was claimed to be away.
 *
 * @param {Log} log @param {unknown} _bundle @param {unknown} _outside @param {import("./outside.js").Remark} remark
 */
export async function checkLegality(log, _bundle, _outside, remark) {
  const { found } = await judgementOf(log);
  if (found) throw new Failure(found.seq, `legality.${found.fault.code}`, { ...found.fault.values, cite: found.fault.cite ?? null });
  const claims = log.events.filter(({ type }) => type === "absence_claimed");
  for (const [seat, at] of new Map(claims.map(({ data, seq }) => [data.absent, seq]))) remark("legality.absent", { at, seat });
}

/** @param {Log} log */
export async function checkHidden(log) {
  const last = log.events.reduce((found, { type, data, seq }) => (type === "blind_failed" && data.opening === null ? seq : found), -1);
  if (last < 0) throw new Unanswered("n/a", "none_hidden");
  const { judge, end } = await judgementOf(log);
  const wrong = judge?.unseen.find(({ fits }) => fits);
  if (wrong) throw new Failure(wrong.seq, "hidden.playable", { seat: log.events[wrong.seq].data.seat });
  if (!judge) throw new Unanswered("missing", "unjudged");
  if (last >= end) throw new Unanswered("missing", "not_followed", { seq: end });
}

/** @param {Log} log */
function judgementOf(log) {
  const found = judgements.get(log) ?? judged(log);
  judgements.set(log, found);
  return found;
}

/** @param {Log} log @returns {Promise<Judgement>} */
async function judged(log) {
  if (!log.created) throw new Unanswered("missing", "not_followed", { seq: 0 });
  const end = log.fault ?? Infinity; // of the checks before this one
  const { data } = log.created;
  if (isNewer(data.ruleset.id)) throw new Unanswered("missing", "ruleset", { id: data.ruleset.id });
  const fault = await faultOfSettings(data);
  if (fault) return { judge: null, found: { seq: 0, fault }, end };
  const tree = treeOf(data.ruleset, data.hand);
  const shuffle = await trueShuffle(log);
  if (!tree || !shuffle) throw new Unanswered("missing", "unsealed");
  const judge = new Judge(data, tree, shuffle.deck);
  /** @type {Fault | null} */
  let found = null;
  for (const move of movesOf(log)) {
    if (move[0].seq >= end) break;
    const one = judge.judge(move);
    if (one && one.seq < end) found ??= one; // the moves after it are followed for the check `hidden`
    for (const event of move) if (event.seq < end) judge.follow(event, move[0].type === "turn_timed_out");
  }
  return { judge, found, end };
}

/** @param {Log} log @returns {import("./log.js").Event[][]} */
function movesOf(log) {
  /** @type {import("./log.js").Event[][]} */
  const moves = [];
  for (const [seq, event] of log.events.entries()) {
    if (log.starts[seq] === seq) moves.push([event]);
    else moves[moves.length - 1].push(event);
  }
  return moves;
}
