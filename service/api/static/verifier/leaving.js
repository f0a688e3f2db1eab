/** The judgement of how people end a hand without a result (ops/spec/shx-1.md, section 8). */

/** @typedef {import("./exchange.js").Fault} Fault */

export class Leaving {
  /** @param {{kind: string}[]} entries */
  constructor(entries) {
    this.people = [...entries.keys()].filter((seat) => entries[seat].kind === "human");
    /** The seats that have agreed to the end and have not moved since. @type {Set<number>} */
    this.agreed = new Set();
  }

  /** @param {any} data @returns {Fault | null} why a seat cannot agree to the end */
  judge({ seat }) {
    const may = this.people.includes(seat) && this.people.length > 1 && !this.agreed.has(seat);
    return may ? null : { code: "agreement", values: { seat }, cite: "model.agreed_end" };
  }

  /** @param {any} data of an agreement @returns {import("./judge.js").Due[]} the end of the hand, if it is the last that was lacking */
  due({ seat }) {
    if (!this.people.every((one) => one === seat || this.agreed.has(one))) return [];
    return [{ type: "game_aborted", data: { cause: "agreed", seat: null }, cite: "model.agreed_end" }];
  }

  /** @param {any} data */
  follow({ seat }) {
    this.agreed.add(seat);
  }

  /** @param {number} seat that makes a move itself */
  moved(seat) {
    this.agreed.delete(seat);
  }
}
