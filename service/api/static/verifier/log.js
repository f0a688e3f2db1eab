/** A parsed log: lines, events, heads, and the events of each move. */

import { headOf, hex } from "./bytes.js";
import { NotCanonical, parseCanonical } from "./canonical.js";
import { LONGEST_LINE, MAX_EVENTS, checkEvent, isMadeBefore, wrongPlace } from "./shapes.js";

/**
 * An event of a log. The shape of `data` depends on the type, and was checked.
 *
 * @typedef {object} Event
 * @property {string} at
 * @property {number | null} by
 * @property {any} data
 * @property {string} game
 * @property {string} prev
 * @property {number} seq the position in the log, from 0
 * @property {number} named the `seq` that it states
 * @property {string} type
 * @property {number} v
 * @property {{intent: any, sig: string}} [auth]
 */

/** @typedef {Record<string, string | number | null>} Values to fill into a text, by name */

/** A failed check: the event, the key of a text in `strings/verify`, and the values in it. */
export class Failure extends Error {
  /** @param {number | null} seq @param {string} code @param {Values} [values] */
  constructor(seq, code, values = {}) {
    super(code);
    this.seq = seq;
    this.code = code;
    this.values = values;
  }
}

/** A check that cannot be made or does not apply; this is no fault of the log. */
export class Unanswered extends Error {
  /** @param {"missing" | "n/a"} result @param {string} code @param {Values} [values] */
  constructor(result, code, values = {}) {
    super(code);
    this.result = result;
    this.code = code;
    this.values = values;
  }
}

/** The actions that players choose, in the exchange and in play. */
export const EXCHANGES = new Set(["cards_swapped", "table_laid", "seat_ready"]);
export const PLAYS = new Set(["cards_played", "pile_picked_up", "blind_failed", "stock_failed", "turn_passed"]);

/** The events with which people end a hand, and the cause of the abort that belongs to their move. @type {Map<string, string>} */
export const LEAVINGS = new Map([["end_agreed", "agreed"], ["absence_claimed", "left"]]);

/** Events that follow from a move, with the types of events that they can follow. @type {Record<string, Set<string>>} */
const AFTER = {
  play_started: new Set(["seat_ready"]),
  cards_drawn: new Set(["cards_played"]),
  pile_burned: new Set(["cards_played", "cards_drawn"]),
  seat_out: new Set(["cards_played", "cards_drawn", "pile_burned"]),
  game_ended: new Set([...PLAYS, "cards_drawn", "pile_burned", "seat_out"]),
  game_sealed: new Set(["game_ended"]),
};

/** @param {Event} event */
export const isForfeit = (event) => event.type === "game_ended" && event.data.reason === "forfeit";

/**
 * Return whether an event belongs to the same move as the event before it (SHX/1, section 2).
 *
 * @param {Event[]} events
 * @param {number} seq
 */
function continues(events, seq) {
  const event = events[seq];
  const before = events[seq - 1]?.type;
  if (event.type in AFTER && !isForfeit(event)) return AFTER[event.type].has(before);
  if (event.type === "game_aborted") return LEAVINGS.get(before) === event.data.cause;
  if (before === "turn_timed_out") {
    const acts = EXCHANGES.has(event.type) || PLAYS.has(event.type);
    return acts && events[seq - 1].data.seat === event.data.seat;
  }
  return event.type === "seat_ready" && before === "table_laid" && events[seq - 2]?.type === "turn_timed_out";
}

/** @param {Uint8Array} line @returns {{event: Event} | {code: string, where: string}} */
function read(line) {
  if (line.length > LONGEST_LINE) return { code: "bytes.long", where: "" };
  let value;
  try {
    value = parseCanonical(line);
  } catch (error) {
    if (error instanceof NotCanonical) return { code: "bytes.canonical", where: error.message };
    throw error;
  }
  const where = wrongPlace("", checkEvent, value);
  if (where === null) return { event: /** @type {Event} */ (/** @type {unknown} */ (value)) };
  if (isMadeBefore(value)) return { code: "bytes.made_before", where };
  return { code: /^\/(type|v)$/.test(where) ? "bytes.unknown" : "bytes.shape", where };
}

/** The lines of a log, and the events up to the first line that is not an event. */
export class Log {
  /** @param {Uint8Array[]} lines @param {Uint8Array[]} heads */
  constructor(lines, heads) {
    this.lines = lines;
    this.heads = heads;
    /** @type {Event[]} */
    this.events = [];
    /** @type {Failure | null} the fault of the first line that is not an event */
    this.broken = null;
    /** @type {number | null} the first event that the check `bytes` or `chain` found changed */
    this.doubt = null;
    /** @type {number | null} the first event at which `order`, `deal`, `custody` or `legality` failed: those after it do not judge it */
    this.fault = null;
    for (const [seq, line] of lines.entries()) {
      const found = seq < MAX_EVENTS ? read(line) : { code: "bytes.many", where: "" };
      if ("code" in found) {
        this.broken = new Failure(seq, found.code, { where: found.where });
        break;
      }
      this.events.push({ ...found.event, seq, named: found.event.seq });
    }
    /** @type {number[]} for each event the seq of the first event of its move */
    this.starts = [];
    for (const seq of this.events.keys()) {
      this.starts.push(seq > 0 && continues(this.events, seq) ? this.starts[seq - 1] : seq);
    }
  }

  /** @param {Uint8Array[]} lines @param {(fraction: number) => void} [progress] @returns {Promise<Log>} */
  static async read(lines, progress = () => {}) {
    const heads = [];
    for (const [seq, line] of lines.entries()) {
      heads.push(await headOf(line));
      if (seq % 100 === 0) progress(seq / lines.length);
    }
    return new Log(lines, heads);
  }

  /** The first event, if it creates a game. */
  get created() {
    return this.events[0]?.type === "game_created" ? this.events[0] : null;
  }

  /** The last event, if it publishes the seed; also before a line that is no event. */
  get seal() {
    const last = this.events.at(-1);
    return last && /^game_(sealed|aborted)$/.test(last.type) ? last : null;
  }

  /** @param {string} type @returns {Event | undefined} the first event of a type */
  first(type) {
    return this.events.find((event) => event.type === type);
  }

  /** @param {number} seq @returns {number} the first event of the unbroken chain that leads to this one */
  linkedFrom(seq) {
    let first = seq;
    while (first > 0 && this.events[first]?.prev === this.headHex(first - 1)) first -= 1;
    return first;
  }

  /** @param {number} seq */
  headHex(seq) {
    return this.heads[seq] && hex(this.heads[seq]);
  }

  /** @returns {(string | null)[]} the revealed entropy of each seat, in hex */
  revealed() {
    const values = (this.created?.data.seats ?? []).map(() => null);
    for (const { type, data } of this.events) {
      if (type === "entropy_revealed" && data.seat < values.length) values[data.seat] = data.value; // a seat too many fails `order`
    }
    return values;
  }
}
