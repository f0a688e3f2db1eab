/** The settings of the ruleset of a game, and the deck that it requires (ops/spec/rules.md, sections 2 and 3). */

import { CATALOGUE, DEFAULTS } from "./catalogue.js";

/**
 * The settings of one rank.
 *
 * @typedef {object} RankRule
 * @property {"normal" | "anything" | "with_companion"} plays
 * @property {string[]} not_on
 * @property {"at_least" | "at_most" | "below" | "anything" | "transparent"} asks
 * @property {string | null} asks_as
 * @property {string[]} besides
 * @property {"anything" | "at_least" | "at_most" | "below" | "transparent"} alone
 * @property {boolean} burns
 * @property {boolean} covers
 * @property {boolean} covers_with_two
 * @property {boolean} reverses
 * @property {boolean} skips
 */

/**
 * The tree of settings of a ruleset.
 *
 * @typedef {object} Tree
 * @property {{min: number, max: number}} players
 * @property {{low_to_high: string[]}} order
 * @property {{count: "fixed" | "to_fit" | "half_in_stock" | "by_seats", decks: number, seats_per_deck: number, jokers: number, jokers_from_seats: number, jokers_then: number, partial: string[]}} deck
 * @property {{down: number, up: number, hand: number, layout: "none" | "plain" | "stacks", starter: "none" | "any" | "plain", exchange: boolean, throws: string[]}} deal
 * @property {{opener: string, ranks: string[], suits: string, play: "any" | "that_card" | "that_rank"}} opening
 * @property {{to: "size" | "as_many_as_played", size: number}} refill
 * @property {{obligation: "may_pick_up" | "must_play", try_stock: "never" | "when_unable" | "always", follow_up: boolean, runs: boolean}} turn
 * @property {{taker: "self" | "previous", after: "next" | "previous" | "previous_above_two" | "same", along: "nothing" | "one_slot" | "one_rank", show_blind: boolean}} pick_up
 * @property {{set_size: number, flusher: boolean}} burn
 * @property {{played_for: "loser" | "winner", next_dealer: "loser" | "rotate", paper_bag: boolean}} end
 * @property {Record<string, RankRule>} ranks
 * @property {any} [second_hand] the settings of even hands that differ
 */

const isObject = (/** @type {any} */ value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @param {any} tree @param {any} changes @returns {any} the tree with the changes; a new rank begins with the defaults */
function merged(tree, changes) {
  const result = { ...tree };
  for (const [name, value] of Object.entries(changes)) {
    result[name] = isObject(value) ? merged(tree[name] ?? {}, value) : value;
  }
  return result;
}

/** @param {any} settings @returns {any} with a value for each setting */
function completed(settings) {
  const tree = merged({ ...DEFAULTS, ranks: {} }, settings);
  delete tree.rank; // the defaults of a rank
  for (const [rank, rule] of Object.entries(tree.ranks)) tree.ranks[rank] = merged(DEFAULTS.rank, rule);
  return tree;
}

/** @param {any} option @param {any} value @returns {any[] | null} the changes for the value of an option, null if it has no such value */
function changesOf(option, value) {
  const one = (/** @type {any} */ chosen) => option.effects?.find((/** @type {any} */ [named]) => named === chosen)?.[1];
  if (option.kind === "set") return Array.isArray(value) && value.every(one) ? value.map(one) : null;
  if (option.effects) return one(value) ? [one(value)] : null;
  const [section, name] = option.sets.split(".");
  return Array.isArray(value) ? [{ [section]: { [name]: value } }] : null;
}

/** @param {string} id @param {any} options @returns {any} the settings of a catalogue's ruleset, null for unknown options */
function settingsOf(id, options) {
  const { settings, options: known } = CATALOGUE[id];
  if (!isObject(options) || Object.keys(options).some((name) => !Object.hasOwn(known, name))) return null;
  let tree = completed(settings);
  for (const name of Object.keys(known).sort()) {
    const changes = changesOf(known[name], Object.hasOwn(options, name) ? options[name] : known[name].default);
    if (!changes) return null;
    tree = changes.reduce(merged, tree);
  }
  return completed(tree);
}

/** @param {Tree} tree @param {string} rank @returns {boolean} whether the settings of a rank differ from the defaults */
export const isSpecial = ({ ranks }, rank) =>
  Object.entries(ranks[rank] ?? {}).some(([name, value]) => JSON.stringify(value) !== JSON.stringify(DEFAULTS.rank[name]));

/** @type {Map<string, Tree | null>} by ruleset and kind of hand */
const trees = new Map();
const KEPT = 64;

/**
 * Return the settings of a hand: by the catalogue, or for a custom ruleset those in the log.
 *
 * @param {{id: string, options: any, settings: any}} ruleset
 * @param {number} [hand] its number: even hands can have settings of their own
 * @returns {Tree | null} null for an unknown ruleset without settings, or invalid options
 */
export function treeOf(ruleset, hand = 1) {
  const key = JSON.stringify([ruleset, hand % 2]);
  const found = trees.get(key) ?? made(ruleset, hand);
  if (trees.size >= KEPT) trees.clear();
  trees.set(key, found);
  return found;
}

/** @param {{id: string, options: any, settings: any}} ruleset @param {number} hand @returns {Tree | null} */
function made({ id, options, settings }, hand) {
  if (!Object.hasOwn(CATALOGUE, id) && !isObject(settings)) return null;
  const tree = Object.hasOwn(CATALOGUE, id) ? settingsOf(id, options) : completed(settings);
  return tree && hand % 2 === 0 && tree.second_hand ? completed(merged(tree, tree.second_hand)) : tree;
}

/**
 * Return the deck that a ruleset requires, in the form of `game_created`.
 *
 * @param {Tree} tree
 * @param {number} seats
 */
export function deckFor({ deck: rule, deal: dealt }, seats) {
  const cards = seats * (dealt.down + dealt.up + dealt.hand) + (dealt.starter === "none" ? 0 : 1);
  const needed = { fixed: 0, to_fit: cards / 52, half_in_stock: cards / 26, by_seats: seats / (rule.seats_per_deck || 1) };
  const decks = rule.count === "fixed" ? rule.decks : Math.max(rule.decks, Math.ceil(needed[rule.count] ?? 0));
  const jokers = rule.jokers_from_seats && seats >= rule.jokers_from_seats ? rule.jokers_then : rule.jokers;
  const partial = rule.partial.length && decks > 1 ? [...rule.partial] : [];
  return { decks: partial.length ? decks - 1 : decks, jokers, partial };
}
