/** The judgement of how people end a hand without a result, or go on without one of them (ops/spec/shx-1.md, section 8). */

/** @typedef {import("./exchange.js").Fault} Fault @typedef {import("./position.js").Position} Position */

export class Leaving {
  /** @param {any} created the data of `game_created` */
  constructor({ seats, clock }) {
    this.people = [...seats.keys()].filter((seat) => seats[seat].kind === "human");
    this.hasClock = clock !== null;
    /** The seats that have agreed to the end and have not moved since. @type {Set<number>} */
    this.agreed = new Set();
    /** The absent seats for which a bot stands in after a claim. @type {Set<number>} */
    this.replaced = new Set();
    /** For each absent seat those that ask for the end. @type {Map<number, Set<number>>} */
    this.asked = new Map();
  }

  /** @param {any} data @returns {Fault | null} why a seat cannot agree to the end */
  faultOfAgreement({ seat }) {
    const may = this.people.includes(seat) && this.people.length > 1 && !this.agreed.has(seat);
    return may ? null : { code: "agreement", values: { seat }, cite: "model.agreed_end" };
  }

  /** @param {any} data @param {Position} position @param {boolean} isAwaited @returns {Fault | null} why a seat cannot claim the absence of another */
  faultOfClaim({ seat, absent, then }, position, isAwaited) {
    const people = seat !== absent && [seat, absent].every((one) => this.people.includes(one));
    const may = people && !this.hasClock && isAwaited && (then === "stand_in" || this.mayEnd(seat, absent, position));
    return may ? null : { code: then === "end" ? "claim_of_end" : "claim", values: { seat, taker: absent }, cite: "model.absence" };
  }

  /** @param {number} seat @param {number} absent @param {Position} position @returns {boolean} whether the seat may ask for the end: it avoids no loss by it */
  mayEnd(seat, absent, { out, hands, up, down }) {
    if (out.length || this.replaced.has(absent) || this.asked.get(absent)?.has(seat)) return false;
    const left = (/** @type {number} */ one) => hands[one].length + up[one].flat().length + down[one].filter((card) => card !== null).length;
    return left(seat) <= left(absent);
  }

  /** @param {string} type @param {any} data @returns {import("./judge.js").Due[]} the end of the hand, if it was the last word that was lacking */
  due(type, { seat, absent, then }) {
    if (type === "end_agreed") {
      if (!this.people.every((one) => one === seat || this.agreed.has(one))) return [];
      return [{ type: "game_aborted", data: { cause: "agreed", seat: null }, cite: "model.agreed_end" }];
    }
    const others = this.people.filter((one) => one !== absent && one !== seat && !this.replaced.has(one));
    if (then !== "end" || !others.every((one) => this.asked.get(absent)?.has(one))) return [];
    return [{ type: "game_aborted", data: { cause: "left", seat: absent }, cite: "model.absence" }];
  }

  /** @param {string} type @param {any} data */
  follow(type, { seat, absent, then }) {
    if (type === "end_agreed") this.agreed.add(seat);
    else if (then === "end") this.asked.set(absent, new Set([...(this.asked.get(absent) ?? []), seat]));
    else {
      this.replaced.add(absent);
      this.asked.delete(absent);
    }
  }

  /** @param {number} seat that makes a move itself, which takes back what it said and what is said of it */
  moved(seat) {
    this.agreed.delete(seat);
    this.replaced.delete(seat);
    this.asked.delete(seat);
    for (const asking of this.asked.values()) asking.delete(seat);
  }
}
