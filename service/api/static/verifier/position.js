/** The cards of a hand in their zones, with the deck known, and which seat is next (ops/spec/rules.md, section 1). */

import { Rules } from "./rules.js";

/** @typedef {"hand" | "up" | "down"} Zone */

/** A hand at one moment. It follows the events as they stand: custody was checked before. */
export class Position {
  /** @param {import("./rulesets.js").Tree} tree @param {number} seats @param {string[]} deck */
  constructor(tree, seats, deck) {
    this.rules = new Rules(tree);
    this.tree = tree;
    this.seats = seats;
    this.stock = [...deck];
    /** @type {string[]} */
    this.pile = [];
    /** @type {string[][]} */
    this.hands = Array.from({ length: seats }, () => []);
    /** @type {string[][][]} the face-up cards by seat and slot */
    this.up = Array.from({ length: seats }, () => []);
    /** @type {(string | null)[][]} the face-down cards by seat and slot */
    this.down = Array.from({ length: seats }, () => []);
    /** @type {string[][]} for each seat the cards dealt open or to the hand, in this order, then those drawn for thrown ones */
    this.dealt = Array.from({ length: seats }, () => []);
    this.dealer = 0;
    this.direction = 1;
    /** @type {number[]} the seats that are out, in this order */
    this.out = [];
    /** @type {number | null} the seat of the last play on this pile */
    this.owner = null;
    /** @type {number | null} the seat that burned first */
    this.flusher = null;
  }

  /** @param {any} data of `cards_dealt` */
  deal({ dealer, down, up, hand, returned, starter }) {
    this.dealer = dealer;
    const order = this.fromLeft(dealer);
    for (let i = 0; i < down; i++) for (const seat of order) this.down[seat].push(...this.stock.splice(0, 1));
    for (let i = 0; i < up; i++) for (const seat of order) this.up[seat].push(this.stock.splice(0, 1));
    for (let i = 0; i < hand; i++) for (const seat of order) this.draw(seat, 1);
    for (const seat of order) while (this.up[seat].length < down) this.up[seat].push([]);
    this.stock.push(...this.stock.splice(0, returned.length));
    if (starter) this.pile.push(...this.stock.splice(0, 1));
    this.dealt = this.hands.map((cards, seat) => [...this.up[seat].flat(), ...cards]);
  }

  /** @param {number} seat @returns {number[]} all seats, from the one left of this seat on */
  fromLeft(seat) {
    return this.hands.map((_, i) => (seat + 1 + i) % this.seats);
  }

  /** @param {number} seat @param {number} count @returns {string[]} the cards drawn, fewer if the stock ends */
  draw(seat, count) {
    const cards = this.stock.splice(0, count);
    this.hands[seat].push(...cards);
    return cards;
  }

  /** @param {number} seat @returns {Zone} the zone that it plays from; the hand also for a seat without cards */
  source(seat) {
    if (this.hands[seat].length) return "hand";
    if (this.up[seat].some((stack) => stack.length)) return "up";
    return this.down[seat].some((card) => card !== null) ? "down" : "hand";
  }

  /** @param {number} seat */
  hasCards(seat) {
    return this.hands[seat].length > 0 || this.source(seat) !== "hand";
  }

  /** @param {number} seat @returns {string[]} the cards that it can choose from */
  choice(seat) {
    return this.source(seat) === "up" ? this.up[seat].flat() : this.hands[seat];
  }

  /** @param {number} seat */
  isPlaying(seat) {
    return !this.out.includes(seat);
  }

  get playing() {
    return this.seats - this.out.length;
  }

  /** @param {number} seat @param {number} steps @returns {number} the seat so many steps on among those in play */
  ahead(seat, steps) {
    let at = seat;
    for (let left = steps; left > 0; ) {
      at = (at + this.direction + this.seats) % this.seats;
      if (this.isPlaying(at)) left -= 1;
    }
    return at;
  }

  /** @param {number} seat @param {string[]} cards @returns {boolean} whether the hand has them all, each once */
  holds(seat, cards) {
    return new Set(cards).size === cards.length && cards.every((card) => this.hands[seat].includes(card));
  }

  /** @param {number} seat @param {string[]} cards @returns {boolean} whether these are all face-up cards of their slots */
  areStacks(seat, cards) {
    const touched = this.up[seat].filter((stack) => stack.some((card) => cards.includes(card))).flat();
    return new Set(cards).size === cards.length && touched.length === cards.length && touched.every((card) => cards.includes(card));
  }

  /** @param {number} seat @param {string[]} cards taken from hand and face-up cards */
  remove(seat, cards) {
    const left = (/** @type {string[]} */ from) => from.filter((card) => !cards.includes(card));
    this.hands[seat] = left(this.hands[seat]);
    this.up[seat] = this.up[seat].map(left);
  }

  /** @param {number} taker @param {string[]} [more] */
  takePile(taker, more = []) {
    this.hands[taker].push(...this.pile.splice(0), ...more);
    this.owner = null;
  }
}
