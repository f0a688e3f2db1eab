/** Several logs together: each is verified, and the games of a table must follow one another. The page reads one file and does not load this. */

import { Failure, Log, Unanswered } from "./log.js";
import { parseNote, parseReceipt } from "./notes.js";
import { logBefore, ownFaults } from "./outside.js";
import { treeOf } from "./rulesets.js";
import { keyFollows } from "./signatures.js";
import { findingsOn } from "./verify.js";

/** @typedef {import("./log.js").Values} Values @typedef {import("./bundle.js").Bundle} Bundle @typedef {import("./verify.js").Finding} Finding @typedef {import("./outside.js").Sentence} Sentence */
/** @typedef {import("./outside.js").Outside} Outside @typedef {import("./outside.js").Remark} Remark */

/** A fault, and the games that it concerns; `unplaced` if no event of theirs shows it. @typedef {{games: Log[], code: string, values?: Values, unplaced?: boolean}} Fault */

/** @param {Log} log @returns {any} the data of the first event */
const start = (log) => log.events[0].data;

/** @param {Log} log */
const gameOf = (log) => log.events[0].game;

/** @param {Log[]} logs */
const ids = (logs) => logs.map(gameOf).join(", ");

/**
 * Verify several logs and bundles; the check `sequence` compares all of them.
 *
 * A receipt is judged with the log of its game, one that belongs to none of them with the first log.
 *
 * @param {Bundle[]} bundles
 * @param {Outside} outside
 * @returns {Promise<{log: Log, findings: Finding[], outside: Outside}[]>} with the evidence for each log
 */
export async function verifyAll(bundles, outside) {
  const logs = await Promise.all(bundles.map(({ lines }) => Log.read(lines)));
  const games = logs.map((log) => log.events[0]?.game);
  const places = outside.receipts.map((note) => {
    const { body } = parseNote(note) ?? {};
    return Math.max(0, games.indexOf((body && parseReceipt(body)?.game) || ""));
  });
  const reports = [];
  for (const [i, log] of logs.entries()) {
    const own = { ...outside, receipts: outside.receipts.filter((_, n) => places[n] === i) };
    const others = logs.filter((other) => other !== log && other.created);
    /** @type {import("./verify.js").Check} */
    const sequence = (one, _, given, remark) => checkTable(one, others, given, remark);
    reports.push({ log, findings: await findingsOn(log, bundles[i], own, { sequence }), outside: own });
  }
  return reports;
}

/**
 * @param {Log} log
 * @param {Log[]} others
 * @param {Outside} outside
 * @param {Remark} remark
 */
async function checkTable(log, others, outside, remark) {
  if (!log.created) throw new Unanswered("missing", "not_created"); // `order` fails
  const known = distinct(log, others);
  const { table } = start(log);
  const games = known.filter((game) => start(game).table === table).sort((one, other) => start(one).hand - start(other).hand || compare(one.events[0].at, other.events[0].at));
  /** @type {Sentence[]} */
  const open = [];
  const own = (/** @type {Log} */ game) => gameOf(game) === gameOf(log);
  /** @type {Fault[]} */
  const ownOnes = games.flatMap((game) => ownFaults(game).map((fault) => ({ games: [game], ...fault })));
  const faults = [...shared(known), ...foreign(known), ...ownOnes, ...conditions(games)].filter((fault) => fault.games.some((game) => games.includes(game)));
  let order = games;
  if (!faults.length) {
    order = inOrder(games);
    faults.push(...successions(order, open));
  }
  const placed = faults.find((fault) => !fault.unplaced && fault.games.some(own));
  const [first] = placed ? [placed] : faults;
  if (first) throw new Failure(placed ? 0 : null, first.code, first.values);
  open.unshift(...logBefore(order[0]));
  if (open.length) throw new Unanswered("missing", open[0].code, open[0].values);
  const { prev_game: previous } = start(order[0]);
  if (previous) remark("sequence.previous", { game: previous });
  if (games.length < 2) throw new Unanswered("n/a", "one_log");
  await remarkOn(order, outside, remark);
}

const compare = (/** @type {string} */ one, /** @type {string} */ other) => (one < other ? -1 : Number(one > other));

/** Return one log of each game, the longest of those that agree. @param {Log} log @param {Log[]} others @returns {Log[]} throws Failure if two logs of a game differ */
function distinct(log, others) {
  const logs = [log, ...others];
  /** @type {{one: Log, other: Log, at: number}[]} */
  const contradictions = [];
  for (const [i, one] of logs.entries()) {
    for (const other of logs.slice(i + 1)) {
      if (gameOf(one) !== gameOf(other)) continue;
      const length = Math.min(one.heads.length, other.heads.length);
      const at = Array.from({ length }, (_, seq) => seq).find((seq) => one.headHex(seq) !== other.headHex(seq));
      if (at !== undefined) contradictions.push({ one, other, at });
    }
  }
  contradictions.sort((a, b) => Number(a.one !== log) - Number(b.one !== log) || a.at - b.at);
  if (contradictions.length) {
    const { one, other, at } = contradictions[0];
    throw new Failure(one === log ? at : null, "sequence.two_histories", { one: gameOf(one), other: gameOf(other), at });
  }
  return [...new Map(logs.sort((a, b) => a.heads.length - b.heads.length).map((one) => [gameOf(one), one])).values()];
}

/** Return a fault for each group of games that have one value, which only one of them may have. @param {Log[]} games @param {(game: Log) => string | null} value @param {(value: string, games: Log[]) => Omit<Fault, "games">} fault @returns {Fault[]} */
function repeated(games, value, fault) {
  /** @type {Map<string, Log[]>} */
  const holders = new Map();
  for (const game of games) {
    const held = value(game);
    if (held !== null) holders.set(held, [...(holders.get(held) ?? []), game]);
  }
  return [...holders].filter(([, group]) => group.length > 1).map(([held, group]) => ({ games: group, ...fault(held, group) }));
}

/** @param {Log[]} games @returns {Fault[]} */
const shared = (games) => [
  ...repeated(games, (game) => endOf(game)?.data.seed ?? null, (_, group) => ({ code: "sequence.one_seed", values: { games: ids(group) }, unplaced: true })),
  ...repeated(games, (game) => start(game).commit, (commit, group) => ({ code: "sequence.one_commitment", values: { commit, games: ids(group) } })),
  ...repeated(games, (game) => start(game).prev_game, (game, group) => ({ code: "sequence.two_next", values: { game, games: ids(group) } })),
  ...repeated(games, (game) => (start(game).prev_game ? null : start(game).table), (_, group) => ({ code: "sequence.two_first", values: { games: ids(group) } })),
];

/** @param {Log[]} games @returns {Fault[]} */
function foreign(games) {
  const byId = new Map(games.map((game) => [gameOf(game), game]));
  return games.flatMap((game) => {
    const before = byId.get(start(game).prev_game);
    if (!before || start(before).table === start(game).table) return [];
    return [{ games: [game, before], code: "sequence.other_table", values: { game: gameOf(game), previous: gameOf(before) } }];
  });
}

/** @param {Log[]} games @returns {[Log, Log][]} each game with the next */
const pairs = (games) => games.slice(1).map((after, i) => [games[i], after]);

/** @param {Log[]} games @returns {Fault[]} */
const conditions = (games) =>
  pairs(games).flatMap(([before, after]) =>
    ["turn_limit", "clock"].filter((name) => JSON.stringify(start(before)[name]) !== JSON.stringify(start(after)[name])).map((name) => {
      const [expected, found] = [before, after].map((game) => shown(start(game)[name]));
      const hands = { hand: start(before).hand, next: start(after).hand, game: gameOf(before), other: gameOf(after) };
      return { games: [before, after], code: `sequence.${name}`, values: { ...hands, expected, found } };
    }),
  );

/** @param {any} value a turn limit or a clock @returns {string} */
const shown = (value) => (value === null || typeof value === "number" ? String(value ?? "-") : `${value.turn_seconds}/${value.swap_seconds}/${value.reserve_seconds ?? 0}`);

/** @param {Log[]} games @returns {Log[]} in the order of their links; throws Failure if a game between them is missing */
function inOrder(games) {
  const known = new Set(games.map(gameOf));
  const next = new Map(games.map((game) => [start(game).prev_game, game]));
  const firsts = games.filter((game) => !known.has(start(game).prev_game));
  if (firsts.length > 1) throw new Failure(0, "sequence.missing", { hands: firsts.map((game) => start(game).hand).join(", ") });
  const ordered = [];
  for (let game = firsts.at(0); game; game = next.get(gameOf(game))) ordered.push(game);
  if (ordered.length < games.length) throw new Failure(0, "sequence.circle");
  return ordered;
}

/** The event that ends a game, also before a line that cannot be read. @param {Log} game */
function endOf(game) {
  const last = game.events.at(-1);
  return last && /^game_(sealed|aborted)$/.test(last.type) ? last : null;
}

/** @param {Log[]} ordered @param {Sentence[]} open receives what could not be compared @returns {Fault[]} */
function successions(ordered, open) {
  /** @type {Fault[]} */
  const faults = [];
  /** @type {Log | null} */
  let played = null;
  for (const [before, after] of pairs(ordered)) {
    const end = endOf(before);
    if (!end) {
      open.push({ code: "no_seal", values: { game: gameOf(before) } });
      continue;
    }
    const aborted = end.type === "game_aborted";
    if (!aborted) played = before;
    const [{ hand, dealer, seats }, following] = [start(before), start(after)];
    const expected = aborted ? hand : hand + 1;
    const both = { games: [before, after] };
    if (following.hand !== expected) faults.push({ ...both, code: "sequence.number", values: { found: following.hand, hand, expected } });
    if (after.events[0].at < before.events[before.events.length - 1].at) faults.push({ ...both, code: "sequence.overlap", values: { hand: following.hand } });
    const due = aborted && !played ? dealer : nextDealer(/** @type {Log} */ (played));
    if (due === undefined) {
      open.push({ code: "unjudged", values: {} });
      continue;
    }
    if (following.dealer === due || (following.seats.length !== seats.length && due !== null && following.dealer !== null)) continue;
    const how = due === null ? "dealer_not_drawn" : following.dealer === null ? "dealer_drawn" : "next_dealer";
    faults.push({ ...both, code: `sequence.${how}`, values: { game: gameOf(after), dealer: following.dealer, due } });
  }
  return faults;
}

/** @param {Log} game @returns {number | null | undefined} the seat that deals after a game, null if it did not end, undefined if its rules are not known */
function nextDealer(game) {
  const dealt = game.events.filter(({ type }) => type === "cards_dealt").at(-1);
  const ended = game.events.filter(({ type }) => type === "game_ended").at(-1);
  if (!dealt || !ended) return null;
  const { dealer } = dealt.data;
  const { reason, shithead } = ended.data;
  if (reason === "stalemate") return dealer;
  if (reason === "forfeit" && shithead !== null) return shithead;
  const { ruleset, hand, seats } = start(game);
  const tree = treeOf(ruleset, hand);
  if (!tree) return undefined;
  return tree.end.next_dealer === "loser" && shithead !== null ? shithead : (dealer + 1) % seats.length;
}

/** Remark on aborted attempts, and on what changed between hands. @param {Log[]} games @param {Outside} outside @param {Remark} remark */
async function remarkOn(games, { keyChanges = [] }, remark) {
  for (const game of games) {
    const end = endOf(game);
    if (end?.type === "game_aborted") remark(end.data.seat === null ? "sequence.aborted" : "sequence.aborted_seat", { game: gameOf(game), cause: end.data.cause, seat: end.data.seat });
  }
  for (const [one, other] of pairs(games).map((pair) => pair.map(start))) {
    const { hand, table } = other;
    if (one.ruleset_hash !== other.ruleset_hash) remark("sequence.ruleset", { hand, ruleset: one.ruleset.id, other: other.ruleset.id });
    if (one.seats.length !== other.seats.length) remark("sequence.seats", { hand, found: other.seats.length, expected: one.seats.length });
    for (let seat = 0; seat < Math.min(one.seats.length, other.seats.length); seat++) {
      const [old, key] = [one.seats[seat].key, other.seats[seat].key];
      if (old === key) continue;
      const signed = old && key && (await keyFollows(old, key, keyChanges, { table, seat }));
      remark(`sequence.key_${key ? (signed ? "signed" : "new") : "removed"}`, { seat, hand });
    }
  }
}
