/** When a time-out is right: the seat had its time and its reserve, or a bot stands in for it (SHX/1, section 8). */

/** @typedef {{turn_seconds: number, swap_seconds: number, reserve_seconds?: number}} Limits */

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
    /** @type {number | null} the seat on turn; null in the exchange and at a first-come opening */
    this.turn = null;
    /** @type {Map<number, number>} the microseconds that each seat has used of its reserve */
    this.used = new Map();
    /** @type {Map<number, number>} the right time-outs in a row of each seat */
    this.rows = new Map();
  }

  /** @param {string} at the time of the event that gives a seat the turn @param {number | null} seat */
  begin(at, seat) {
    if (this.limits && this.turn !== null) {
      const { turn_seconds: own, reserve_seconds: reserve = 0 } = this.limits;
      const over = Math.max(0, micros(at) - micros(this.since) - own * 1_000_000);
      this.used.set(this.turn, Math.min(reserve * 1_000_000, (this.used.get(this.turn) ?? 0) + over));
    }
    this.since = at;
    this.turn = seat;
  }

  /** @param {number} seat that makes a move itself */
  moved(seat) {
    this.rows.delete(seat);
  }

  /** @param {number} seat @param {string} at @param {boolean} exchange @param {boolean} claimed whether a bot stands in after a claim @returns {string | null} why the time-out is wrong */
  timeOut(seat, at, exchange, claimed) {
    if (claimed) return null;
    if (!this.limits) return "no_clock";
    const row = this.rows.get(seat) ?? 0;
    const { turn_seconds: own, swap_seconds, reserve_seconds = 0 } = this.limits;
    const seconds = exchange ? swap_seconds : this.turn === null ? own : own + reserve_seconds;
    const used = this.turn === null ? 0 : (this.used.get(seat) ?? 0);
    if (row < STAND_IN && micros(at) - micros(this.since) + used < seconds * 1_000_000) return "early_time_out";
    this.rows.set(seat, row + 1);
    return null;
  }
}
