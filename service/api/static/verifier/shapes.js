/** The closed set of fields of every event (SHX/1, section 2), and their types. */

import { unbase64 } from "./bytes.js";
import { CARD, RANKS } from "./cards.js";

/** @typedef {import("./canonical.js").Json} Json */
/** @typedef {(value: any, path: string) => void} Shape throws Misshapen */

export const MAX_EVENTS = 100_000;
export const MAX_SEATS = 64;
export const LONGEST_LINE = 2 ** 20;
const MAX_CARDS = 2 ** 16;
const MAX_INTEGER = Number.MAX_SAFE_INTEGER;
export const MAX_REFUSALS_PER_SEAT = 200;
const MAX_REFUSALS = MAX_REFUSALS_PER_SEAT * MAX_SEATS;

/** A value has the wrong shape; the message is its path. */
export class Misshapen extends Error {}

/** @param {(value: any) => boolean} test @returns {Shape} */
const satisfying = (test) => (value, path) => {
  if (!test(value)) throw new Misshapen(path);
};

/** @param {number} low @param {number} high */
export const integer = (low, high) => satisfying((value) => Number.isInteger(value) && value >= low && value <= high);

/** @param {RegExp} pattern */
export const matching = (pattern) => satisfying((value) => typeof value === "string" && pattern.test(value));

/** @param {Json[]} values */
const oneOf = (...values) => satisfying((value) => values.includes(value));

/** @param {Shape} shape @returns {Shape} */
const orNull = (shape) => (value, path) => value === null || shape(value, path);

/** @param {Shape} shape @param {number} [least] @param {number} [most] @returns {Shape} */
export const listOf = (shape, least = 0, most = MAX_CARDS) => (value, path) => {
  if (!Array.isArray(value) || value.length < least || value.length > most) throw new Misshapen(path);
  value.forEach((item, i) => shape(item, `${path}/${i}`));
};

/** @param {any} value */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @param {Record<string, Shape>} fields @param {Record<string, Shape>} [optional] @returns {Shape} */
export const record = (fields, optional = {}) => (value, path) => {
  if (!isObject(value)) throw new Misshapen(path);
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(fields, name) && !Object.hasOwn(optional, name)) throw new Misshapen(`${path}/${name}`);
  }
  for (const [name, shape] of Object.entries(fields)) {
    if (!Object.hasOwn(value, name)) throw new Misshapen(`${path}/${name}`);
    shape(value[name], `${path}/${name}`);
  }
  for (const [name, shape] of Object.entries(optional)) {
    if (Object.hasOwn(value, name)) shape(value[name], `${path}/${name}`);
  }
};

export const HASH = matching(/^[0-9a-f]{64}$/);
export const UUID = matching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const FREE_TEXT = matching(/^[ -~]{0,300}$/); // printable ASCII: the normal form of other characters depends on the version of Unicode
export const TEXT = matching(/^[ -~]{1,300}$/);
const CODE = matching(CARD);
const CARDS = listOf(CODE);
export const SEAT = integer(0, MAX_SEATS - 1);
const COUNT = integer(0, MAX_CARDS);
const SOME = integer(1, MAX_CARDS);
const DIRECTION = oneOf(1, -1);
const POSITION = integer(0, MAX_CARDS - 1); // also of a slot
const SEQ = integer(0, MAX_EVENTS - 1);
const NONCE = matching(/^[0-9a-f]{32}$/);

export const TIME = satisfying((value) => {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value)) return false;
  if (value.startsWith("0000")) return false; // years begin with 0001
  const date = new Date(`${value.slice(0, 19)}Z`); // 30 February becomes 1 or 2 March
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 19) === value.slice(0, 19);
});

/** @param {number} size */
const bytes = (size) => satisfying((value) => typeof value === "string" && unbase64(value)?.length === size);

export const OPENING = record({ p: POSITION, card: CODE, salt: HASH });

/** Settings and options: any JSON value in which no text is too long. @type {Shape} */
const anything = (value, path) => {
  if (typeof value === "string") FREE_TEXT(value, path);
  else if (value !== null && typeof value === "object") {
    for (const [name, item] of Object.entries(value)) {
      FREE_TEXT(name, path);
      anything(item, `${path}/${name}`);
    }
  }
};

/** @type {Shape} */
const object = (value, path) => {
  if (!isObject(value)) throw new Misshapen(path);
  anything(value, path);
};

/** @type {Shape} */
const seatEntry = (value, path) => {
  record({ kind: oneOf("human", "bot"), bot: orNull(TEXT), key: orNull(bytes(32)), entropy: oneOf("commit", "value", "none") })(value, path);
  if ((value.kind === "bot") !== (value.bot !== null)) throw new Misshapen(`${path}/bot`);
};

/** @type {Shape} */
const partial = (value, path) => {
  listOf(matching(new RegExp(`^[${RANKS}]$`)), 0, 13)(value, path);
  if (value.some((/** @type {string} */ rank, /** @type {number} */ i) => i > 0 && RANKS.indexOf(rank) <= RANKS.indexOf(value[i - 1]))) {
    throw new Misshapen(path);
  }
};

/** @param {Record<string, Shape>} fields @param {(data: any) => string | null} contradiction returns the field that contradicts others @returns {Shape} */
const consistent = (fields, contradiction) => (value, path) => {
  record(fields)(value, path);
  const field = contradiction(value);
  if (field) throw new Misshapen(`${path}/${field}`);
};

const REFUSALS = record({ count: integer(0, MAX_REFUSALS), sha256: HASH });

const CREATED = consistent({
  table: UUID,
  hand: integer(1, MAX_INTEGER),
  ruleset: record({ id: TEXT, options: object, settings: orNull(object) }),
  ruleset_hash: HASH,
  deck: record({ decks: COUNT, jokers: COUNT, partial }),
  engine: record({ name: TEXT, version: TEXT }),
  seats: listOf(seatEntry, 1, MAX_SEATS),
  dealer: orNull(SEAT),
  prev_game: orNull(UUID),
  commit: HASH,
  clock: orNull(record({ turn_seconds: integer(1, MAX_INTEGER), swap_seconds: integer(1, MAX_INTEGER) }, { reserve_seconds: integer(1, MAX_INTEGER) })),
  turn_limit: integer(1, MAX_INTEGER),
}, ({ dealer, seats, ruleset, deck }) => {
  if (dealer !== null && dealer >= seats.length) return "dealer";
  if (ruleset.settings === null && ruleset.id.startsWith("custom-")) return "ruleset/settings";
  const cards = 52 * deck.decks + 4 * deck.partial.length + deck.jokers;
  return cards > 0 && cards <= MAX_CARDS ? null : "deck";
});

const NEXT = { turn: orNull(SEAT), direction: DIRECTION };

/** @type {Record<string, Shape>} */
const DATA = {
  game_created: CREATED,
  entropy_committed: record({ seat: SEAT, commit: HASH }),
  entropy_revealed: record({ seat: SEAT, value: HASH }),
  deck_committed: record({ cards: listOf(HASH, 1) }),
  cards_dealt: record({
    dealer: SEAT, down: COUNT, up: COUNT, hand: COUNT, stock: COUNT,
    face_up: listOf(listOf(OPENING), 1, MAX_SEATS), starter: orNull(OPENING), returned: listOf(OPENING),
  }),
  cards_thrown: record({ seat: SEAT, cards: CARDS, count: COUNT }),
  cards_swapped: consistent(
    { seat: SEAT, up: listOf(CODE, 1), hand: listOf(CODE, 1) },
    ({ up, hand }) => (up.length === hand.length ? null : "hand"),
  ),
  table_laid: record({ seat: SEAT, stacks: listOf(CARDS), count: COUNT }),
  seat_ready: record({ seat: SEAT }),
  play_started: record({ turn: orNull(SEAT) }),
  cards_played: consistent(
    { seat: SEAT, zone: oneOf("hand", "up", "down", "stock"), cards: listOf(CODE, 1), slot: orNull(POSITION), opening: orNull(OPENING), ...NEXT },
    ({ zone, slot, opening }) => {
      if ((zone === "down") !== (slot !== null)) return "slot";
      return ["down", "stock"].includes(zone) === (opening !== null) ? null : "opening";
    },
  ),
  cards_drawn: record({ seat: SEAT, count: SOME }),
  pile_burned: record({ seat: SEAT, cause: oneOf("rank", "set"), count: SOME, cleared_by: SEAT }),
  pile_picked_up: record({ seat: SEAT, taker: SEAT, count: COUNT, with: CARDS, ...NEXT }),
  blind_failed: record({ seat: SEAT, taker: SEAT, slot: POSITION, opening: orNull(OPENING), count: COUNT, ...NEXT }),
  stock_failed: record({ seat: SEAT, taker: SEAT, opening: OPENING, count: COUNT, ...NEXT }),
  turn_passed: record({ seat: SEAT, reason: oneOf("no_play"), turn: orNull(SEAT) }),
  turn_timed_out: record({ seat: SEAT }),
  seat_out: record({ seat: SEAT, place: integer(1, MAX_SEATS) }),
  end_agreed: record({ seat: SEAT }),
  absence_claimed: record({ seat: SEAT, absent: SEAT, then: oneOf("stand_in", "end") }),
  game_ended: record({
    reason: oneOf("shithead", "winner", "stalemate", "forfeit"), shithead: orNull(SEAT), places: listOf(SEAT, 0, MAX_SEATS),
  }),
  game_sealed: record({ seed: HASH, deck: listOf(CODE, 1), refusals: REFUSALS }),
  game_aborted: record({
    cause: oneOf("no_entropy", "left", "idle", "operator", "agreed"), seat: orNull(SEAT), seed: HASH, deck: orNull(listOf(CODE, 1)),
    refusals: REFUSALS,
  }),
};

/** @type {Record<string, Shape>} */
const MOVES = {
  play: record({ type: oneOf("play"), cards: listOf(CODE, 1) }),
  play_blind: record({ type: oneOf("play_blind"), slot: POSITION }),
  pick_up: record({ type: oneOf("pick_up"), with: CARDS }),
  try_stock: record({ type: oneOf("try_stock") }),
  pass: record({ type: oneOf("pass") }),
  swap: consistent(
    { type: oneOf("swap"), up: listOf(CODE, 1), hand: listOf(CODE, 1) },
    ({ up, hand }) => (up.length === hand.length ? null : "hand"),
  ),
  lay: record({ type: oneOf("lay"), stacks: listOf(CARDS) }),
  ready: record({ type: oneOf("ready") }),
  forfeit: record({ type: oneOf("forfeit") }),
  agree_end: record({ type: oneOf("agree_end") }),
  claim_absence: record({ type: oneOf("claim_absence"), absent: SEAT, then: oneOf("stand_in", "end") }),
};

/** @type {Shape} */
const move = (value, path) => {
  if (!isObject(value) || !Object.hasOwn(MOVES, value.type)) throw new Misshapen(`${path}/type`);
  MOVES[value.type](value, path);
};

/** A line of `refusals.jsonl`; `move` is the move as it was posted. */
export const ATTEMPT = record({ at: TIME, move: object, rule: TEXT, seat: SEAT });

const AUTH = record({
  intent: record({
    v: oneOf(1), game: UUID, seat: SEAT, move, nonce: NONCE,
    seen: record({ seq: SEQ, head: HASH }),
  }),
  sig: bytes(64),
});

const ENVELOPE = record(
  { at: TIME, by: orNull(SEAT), data: object, game: UUID, prev: HASH, seq: SEQ, type: TEXT, v: integer(1, 2 ** 31) },
  { auth: AUTH },
);

/** The types of the events of the server, and of those that can follow a move of any seat. */
const BY_SERVER = /^(?:game_|deck_|cards_dealt|cards_thrown|play_started|turn_timed_out)/;
const FOLLOWING = /^(?:cards_drawn|pile_burned|seat_out)$/;

/** @param {any} event @returns {boolean} whether `by` is possible for this event, judged without the events before it */
function isPossibleBy({ type, by, data }) {
  if (by === null) return !/^(?:entropy_|end_agreed|absence_claimed)/.test(type);
  return FOLLOWING.test(type) || (by === data.seat && !BY_SERVER.test(type));
}

/** @param {any} event @returns {boolean} whether a player can have signed the event: its own act, or its forfeit */
function isSignable({ type, by, data }) {
  if (type === "game_ended") return data.reason === "forfeit";
  return by !== null && !FOLLOWING.test(type) && !type.startsWith("entropy_");
}

/**
 * Check that a value has the shape of an event of a known type, in the one version.
 *
 * @type {Shape}
 */
export const checkEvent = (value, path) => {
  if (!isObject(value) || typeof value.type !== "string" || !Object.hasOwn(DATA, value.type)) {
    throw new Misshapen(`${path}/type`);
  }
  if (value.v !== 1) throw new Misshapen(`${path}/v`);
  ENVELOPE(value, path);
  DATA[value.type](value.data, `${path}/data`);
  if (!isPossibleBy(value)) throw new Misshapen(`${path}/by`);
  if ("auth" in value && !isSignable(value)) throw new Misshapen(`${path}/auth`);
};

/** @param {any} value of a line with a wrong shape @returns {boolean} whether it has the form of an event that was made before 0.1.0 */
export function isMadeBefore(value) {
  if (!isObject(value) || !/^game_(?:created|sealed|aborted)$/.test(value.type)) return false;
  return value.v === 2 || (value.type !== "game_created" && isObject(value.data) && !Object.hasOwn(value.data, "refusals"));
}

/** @param {string} path @param {Shape} shape @param {any} value @returns {string | null} the path of the first value with a wrong shape */
export function wrongPlace(path, shape, value) {
  try {
    shape(value, path);
    return null;
  } catch (error) {
    if (error instanceof Misshapen) return error.message;
    throw error;
  }
}
