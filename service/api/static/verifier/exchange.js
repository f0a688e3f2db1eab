/** The judgement of what happens before play: throws, exchange, layout and aborted set-ups (ops/spec/rules.md, section 4). */

import { nextThrow, thrownRank } from "./opening.js";
import { rankOf } from "./rules.js";

/** @typedef {import("./position.js").Position} Position */
/** @typedef {{code: string, values?: import("./log.js").Values, cite?: string}} Fault a code, and the setting whose statement decides */

/** The seats' part in the shuffle: which of them an aborted set-up may name. */
export class SetUp {
  /** @param {{kind: string, entropy: string}[]} entries */
  constructor(entries) {
    this.entries = entries;
    this.committed = new Set();
    this.revealed = new Set();
  }

  /** @param {string} type @param {number} seat */
  follow(type, seat) {
    if (type === "entropy_committed") this.committed.add(seat);
    if (type === "entropy_revealed") this.revealed.add(seat);
  }

  /** @param {number} seat @returns {boolean} whether the set-up waits for this seat */
  owes(seat) {
    const { entropy } = this.entries[seat];
    if (entropy === "none" || this.revealed.has(seat)) return false;
    const open = this.entries.some((entry, one) => entry.entropy === "commit" && !this.committed.has(one));
    return !open || !this.committed.has(seat);
  }
}

/** The exchange phase: from the deal until every seat is ready. */
export class Exchange {
  /** @param {Position} position right after the deal */
  constructor(position) {
    this.position = position;
    this.tree = position.tree;
    this.rank = thrownRank(position);
    /** @type {number | null} the last seat that threw */
    this.thrower = null;
    this.hasBegun = false; // no seat throws after the first exchange
    this.ready = new Set();
    /** @type {Map<number, string[]>} for each seat that has laid cards those drawn after it */
    this.drawn = new Map();
  }

  /** @param {string} type @param {any} data @returns {Fault | null} */
  judgeThrow(type, data) {
    const due = this.hasBegun ? null : nextThrow(this.position, this.rank);
    const cite = "deal.throws";
    if (type !== "cards_thrown") return due && { code: "no_cards_thrown", values: { seat: due.seat }, cite };
    if (!due) return { code: "extra_cards_thrown", values: { seat: data.seat }, cite };
    const isDue = data.seat === due.seat && data.count === due.count && data.cards.join() === due.cards.join();
    return isDue ? null : { code: "cards_thrown", values: { seat: due.seat, count: due.count }, cite };
  }

  /** @param {string} type @param {any} data @param {boolean} timedOut @returns {Fault | null} */
  judge(type, data, timedOut) {
    if (this.ready.has(data.seat)) return { code: "already_ready", values: { seat: data.seat }, cite: "deal.exchange" };
    if (type === "cards_swapped") return this.judgeSwap(data);
    return type === "table_laid" ? this.judgeLay(data, timedOut) : this.judgeReady(data);
  }

  /** @param {any} data @returns {Fault | null} */
  judgeReady({ seat }) {
    if (this.tree.deal.layout === "none" || this.drawn.has(seat)) return null;
    return { code: "not_laid", values: { seat }, cite: "deal.layout" };
  }

  /** @param {any} data @returns {Fault | null} */
  judgeSwap({ seat, up, hand }) {
    const { position } = this;
    if (!this.tree.deal.exchange || this.tree.deal.layout !== "none") return { code: "no_exchange", values: { seat }, cite: "deal.exchange" };
    const open = position.up[seat].flat();
    const isSwap = position.holds(seat, up) && new Set(hand).size === hand.length && hand.every((/** @type {string} */ card) => open.includes(card));
    return isSwap ? null : { code: "exchange", values: { seat }, cite: "deal.exchange" };
  }

  /** @param {any} data @param {boolean} timedOut @returns {Fault | null} */
  judgeLay({ seat, stacks, count }, timedOut) {
    const { position } = this;
    if (this.tree.deal.layout === "none" || !this.isLay(seat, stacks, timedOut)) return { code: "layout", values: { seat }, cite: "deal.layout" };
    const kept = position.hands[seat].length - stacks.flat().length;
    const expected = Math.min(Math.max(0, this.tree.refill.size - kept), position.stock.length);
    return count === expected ? null : { code: "cards_drawn", values: { seat, count: expected }, cite: "refill.size" };
  }

  /** @param {number} seat @param {string[][]} stacks @param {boolean} timedOut @returns {boolean} */
  isLay(seat, stacks, timedOut) {
    const { position } = this;
    const cards = stacks.flat();
    if (!cards.length || stacks.length !== position.up[seat].length || !position.holds(seat, cards)) return false;
    const earlier = this.drawn.get(seat);
    const full = position.up[seat].map((stack, slot) => [...stack, ...stacks[slot]]);
    if (!full.every((stack) => stack.every((card) => rankOf(card) === rankOf(stack[0])))) return false;
    const first = position.hands[seat].slice(0, stacks.length);
    if (timedOut) return !earlier && cards.join() === first.join() && stacks.every((stack) => stack.length === 1);
    if (earlier) return this.tree.deal.layout === "stacks" && cards.every((card) => earlier.includes(card));
    return stacks.every((stack) => (this.tree.deal.layout === "plain" ? stack.length === 1 : stack.length > 0));
  }

  /** Follow an event as it stands. @param {string} type @param {any} data */
  follow(type, data) {
    const { position } = this;
    const { seat } = data;
    this.hasBegun ||= type !== "cards_thrown";
    if (type === "cards_thrown") {
      position.remove(seat, data.cards);
      position.pile.push(...data.cards);
      position.draw(seat, data.count);
      this.thrower = seat;
    } else if (type === "cards_swapped") {
      const taken = (/** @type {string} */ card) => (data.hand.includes(card) ? data.up[data.hand.indexOf(card)] : card);
      const table = position.up[seat].map((stack) => stack.map(taken));
      position.remove(seat, data.up);
      position.up[seat] = table;
      position.hands[seat].push(...data.hand);
    } else if (type === "table_laid") {
      position.remove(seat, data.stacks.flat());
      position.up[seat] = position.up[seat].map((stack, slot) => [...stack, ...data.stacks[slot]]);
      this.drawn.set(seat, [...(this.drawn.get(seat) ?? []), ...position.draw(seat, data.count)]);
    } else if (type === "seat_ready") this.ready.add(seat);
  }
}
