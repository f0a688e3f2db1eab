/** Whether a game can be played by the settings that its first event pins (ops/spec/rules.md, section 4). */

import { hex, sha256 } from "./bytes.js";
import { canonicalBytes } from "./canonical.js";
import { RANKS } from "./cards.js";
import { CATALOGUE } from "./catalogue.js";
import { treeOf } from "./rulesets.js";

/** @typedef {import("./exchange.js").Fault} Fault @typedef {(value: any) => boolean} Test */

const MOST_ACTIONS = 19_000;
const MARK = "custom-";

/** @param {string[]} values @returns {Test} */
const oneOf = (...values) => (value) => values.includes(value);
/** @param {number} low @param {number} high @returns {Test} */
const within = (low, high) => (value) => Number.isInteger(value) && value >= low && value <= high;
const integer = within(0, 1000);
/** @type {Test} */
const truth = (value) => typeof value === "boolean";
const isObject = (/** @type {any} */ value) => value !== null && typeof value === "object" && !Array.isArray(value);
/** @type {Test} */
const isRank = (value) => typeof value === "string" && value.length === 1 && `${RANKS}X`.includes(value);
/** @type {Test} */
const ranks = (value) => Array.isArray(value) && value.every(isRank) && new Set(value).size === value.length;
const plainRanks = (/** @type {any} */ value) => ranks(value) && !value.includes("X");

/** @type {Record<string, Record<string, Test>>} */
const SECTIONS = {
  players: { min: within(2, 64), max: within(2, 64) },
  order: { low_to_high: (value) => plainRanks(value) && value.length === RANKS.length },
  deck: {
    count: oneOf("fixed", "to_fit", "half_in_stock", "by_seats"), decks: integer, seats_per_deck: integer, jokers: integer,
    jokers_from_seats: integer, jokers_then: integer, partial: ranks,
  },
  deal: {
    down: integer, up: integer, hand: integer, layout: oneOf("none", "plain", "stacks"), starter: oneOf("none", "any", "plain"),
    exchange: truth, throws: ranks,
  },
  opening: {
    opener: oneOf("left_of_dealer", "first_dealt", "worst_card", "first_come_hand", "first_come_table", "next_to_thrower"),
    ranks, suits: (value) => value === "" || (typeof value === "string" && [...value].sort().join("") === "cdhs"), play: oneOf("any", "that_card", "that_rank"),
  },
  refill: { to: oneOf("size", "as_many_as_played"), size: integer },
  turn: { obligation: oneOf("may_pick_up", "must_play"), try_stock: oneOf("never", "when_unable", "always"), follow_up: truth, runs: truth },
  pick_up: {
    taker: oneOf("self", "previous"), after: oneOf("next", "previous", "previous_above_two", "same"),
    along: oneOf("nothing", "one_slot", "one_rank"), show_blind: truth,
  },
  burn: { set_size: integer, flusher: truth },
  end: { played_for: oneOf("loser", "winner"), next_dealer: oneOf("loser", "rotate"), paper_bag: truth },
};

/** @type {Record<string, Test>} */
const RANK = {
  plays: oneOf("normal", "anything", "with_companion"), not_on: ranks, asks: oneOf("at_least", "at_most", "below", "anything", "transparent"),
  asks_as: (value) => value === null || isRank(value), besides: ranks, alone: oneOf("anything", "at_least", "at_most", "below", "transparent"),
  burns: truth, covers: truth, covers_with_two: truth, reverses: truth, skips: truth,
};

/** @param {any} values @param {Record<string, Test>} tests @returns {boolean} */
const isSection = (values, tests) =>
  isObject(values) && Object.entries(values).every(([name, value]) => Object.hasOwn(tests, name) && tests[name](value));

/** @param {any} settings @returns {boolean} whether each part has the form of settings */
function areSettings(settings) {
  return Object.entries(settings).every(([name, values]) => {
    if (name === "ranks") return isObject(values) && Object.entries(values).every(([rank, rule]) => isRank(rank) && isSection(rule, RANK));
    if (name === "second_hand") return isObject(values) && !("second_hand" in values) && areSettings(values);
    return Object.hasOwn(SECTIONS, name) && isSection(values, SECTIONS[name]);
  });
}

/** @param {string} id @returns {boolean} whether it may be one of a newer catalogue */
export const isNewer = (id) => /^(?!custom-)[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(id) && !Object.hasOwn(CATALOGUE, id);

/** @param {any} option of the catalogue @param {any} value @returns {boolean} whether the table may choose the value, in this form */
function isChoice(option, value) {
  if (JSON.stringify(value) === JSON.stringify(option.default)) return false;
  if (option.kind === "choice") return option.effects.some((/** @type {any} */ [one]) => one === value);
  if (!Array.isArray(value)) return false;
  const all = option.kind === "set" ? option.effects.map((/** @type {any} */ [one]) => one) : [...RANKS];
  const places = value.map((one) => all.indexOf(one));
  return places.every((place, i) => place >= 0 && (i === 0 || place > places[i - 1]));
}

/** @type {any} the option of a custom ruleset */
const DEALER = { kind: "choice", effects: [["loser"], ["rotate"]] };

/** @param {any} ruleset @returns {Promise<boolean>} whether it is a custom one, by its own settings */
async function isCustom({ id, options, settings }) {
  if (!isObject(settings) || !areSettings(settings) || ![settings.players?.min, settings.players?.max, settings.order?.low_to_high].every(Boolean)) return false;
  if (id !== MARK + hex(await sha256(canonicalBytes(settings))).slice(0, 16)) return false;
  const known = { next_dealer: { ...DEALER, default: settings.end?.next_dealer ?? "loser" } };
  return Object.entries(options).every(([name, value]) => name === "next_dealer" && isChoice(known.next_dealer, value));
}

/** @param {any} ruleset @returns {boolean} whether the table's options are right, and the settings those of the catalogue */
function isFromCatalogue({ id, options, settings }) {
  const known = CATALOGUE[id].options;
  if (!Object.entries(options).every(([name, value]) => Object.hasOwn(known, name) && isChoice(known[name], value))) return false;
  const tree = treeOf({ id, options, settings: null });
  return settings === null || (tree !== null && hasAll(settings, tree) && hasAll(tree, settings));
}

/** @param {any} one @param {any} other @returns {boolean} whether the other one has all values of this one */
const hasAll = (one, other) =>
  isObject(one) ? isObject(other) && Object.keys(one).every((name) => Object.hasOwn(other, name) && hasAll(one[name], other[name])) : JSON.stringify(one) === JSON.stringify(other);

/** @param {any} created the data of `game_created` @returns {Promise<Fault | null>} */
export async function faultOfSettings({ ruleset, seats, turn_limit: limit, hand }) {
  const right = Object.hasOwn(CATALOGUE, ruleset.id) ? isFromCatalogue(ruleset) : await isCustom(ruleset);
  if (!right) return { code: "settings", values: { id: ruleset.id } };
  const tree = treeOf(ruleset, hand);
  if (!tree || seats.length < tree.players.min || seats.length > tree.players.max) return { code: "seats", values: { n: seats.length } };
  return limit > MOST_ACTIONS ? { code: "limit", values: { n: limit } } : null;
}
