/** When a time-out is right: the seat had its time, or a bot stands in for it (SHX/1, section 8). */

/** @typedef {{turn_seconds: number, swap_seconds: number}} Limits */

/** The right time-outs in a row after which a bot stands in for a seat. */
const STAND_IN = 2;

/** @param {string} at @returns {number} whole microseconds since the first of its year, and those of the years before */
function micros(at) {
  return Date.parse(`${at.slice(0, 19)}Z`) * 1000 + Number(at.slice(20, 26)); // exact: below 2^53 up to the year 2255
}

export class Clock {
  /** @param {Limits | null} limits */
  constructor(limits) {
    this.limits = limits;
    this.since = "";
    /** @type {Map<number, number>} the right time-outs in a row of each seat */
    this.rows = new Map();
  }

  /** @param {string} at the time of the event that gives a seat the turn */
  begin(at) {
    this.since = at;
  }

  /** @param {number} seat that makes a move itself */
  moved(seat) {
    this.rows.delete(seat);
  }

  /** @param {number} seat @param {string} at @param {boolean} exchange @returns {string | null} why the time-out is wrong */
  timeOut(seat, at, exchange) {
    if (!this.limits) return "no_clock";
    const row = this.rows.get(seat) ?? 0;
    const limit = (exchange ? this.limits.swap_seconds : this.limits.turn_seconds) * 1_000_000;
    if (row < STAND_IN && micros(at) - micros(this.since) < limit) return "early_time_out";
    this.rows.set(seat, row + 1);
    return null;
  }
}
