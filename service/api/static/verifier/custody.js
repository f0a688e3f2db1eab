/** The checks `deal` and `custody`: the place of every card after every event. */

import { deckCodes } from "./cards.js";
import { trueShuffle } from "./deck.js";
import { Failure, Unanswered } from "./log.js";
import { deckFor, isSpecial, treeOf } from "./rulesets.js";

/** @typedef {import("./log.js").Log} Log @typedef {import("./log.js").Event} Event */
/** @typedef {{p: number | null, code: string | null}} Card a card, of which position or face may be unknown */

/** Types of the events that move cards after the deal; their seats must exist. */
const MOVING = new Set([
  "cards_thrown", "cards_swapped", "table_laid", "cards_played", "cards_drawn", "pile_burned", "pile_picked_up", "blind_failed",
  "stock_failed", "seat_out",
]);

/** @param {Log} log */
export async function checkDeal(log) {
  const otherDeal = againstRuleset(log);
  if (otherDeal?.seq === 0) throw otherDeal; // also if nothing was dealt
  const failure = await walk(log);
  if (otherDeal && (failure?.seq ?? Infinity) >= (otherDeal.seq ?? 0)) throw otherDeal;
  if (failure?.code.startsWith("deal.")) throw failure;
}

/** @param {Log} log */
export async function checkCustody(log) {
  const failure = await walk(log);
  if (failure) throw failure;
}

/** @param {Log} log @returns {Promise<Failure | null>} the first event that contradicts the places of the cards */
async function walk(log) {
  if (!log.first("cards_dealt")) {
    if (log.seal || log.broken) throw new Unanswered("n/a", "not_dealt");
    throw new Unanswered("missing", "not_yet_dealt");
  }
  return (await followed(log)).failure;
}

/** Return the places of the cards after the last event that follows from those before it, and the failure of the next one. @param {Log} log @returns {Promise<{table: Table, failure: Failure | null}>} */
async function followed(log) {
  const table = new Table(log.created?.data, (await trueShuffle(log))?.deck ?? null);
  try {
    for (const [seq, event] of log.events.entries()) {
      table.seq = seq;
      table.apply(event);
    }
  } catch (error) {
    if (error instanceof Failure) return { table, failure: error };
    throw error;
  }
  return { table, failure: null };
}

/**
 * Return what is wrong with the openings beside an unsealed log: its bundle is not that of a seat, or opens a card that the seat never saw.
 *
 * @param {Log} log
 * @param {string} profile of the bundle
 * @param {import("./openings.js").Opening[]} openings
 * @returns {Promise<{code: string, values: import("./log.js").Values} | null>} null also if the log cannot be followed
 */
export async function wrongOpening(log, profile, openings) {
  if (log.seal || log.broken || !openings.length) return null;
  if (profile === "public") return { code: "openings.not_of_a_seat", values: {} };
  const seat = Number(profile.split("-")[1]);
  const { table, failure } = await followed(log);
  const other = openings.map(({ p }) => p).sort((a, b) => a - b).find((p) => !table.obtained[seat]?.has(p));
  return failure || seat >= table.seats || other === undefined ? null : { code: "openings.not_own", values: { p: other, seat } };
}

/** @param {Log} log @returns {Failure | null} the difference of deck or deal from the ruleset, if there is one */
function againstRuleset(log) {
  const created = log.created?.data;
  const dealt = log.first("cards_dealt");
  const tree = created && treeOf(created.ruleset, created.hand);
  if (!created || !tree) return null;
  const deck = deckFor(tree, created.seats.length);
  if (JSON.stringify([deck.decks, deck.jokers, deck.partial]) !== JSON.stringify([created.deck.decks, created.deck.jokers, created.deck.partial])) {
    return new Failure(0, "deal.other_deck");
  }
  if (!dealt) return null;
  const { down, up, hand, layout, starter } = tree.deal;
  const expected = layout === "none" ? [down, up, hand] : [down, 0, up + hand];
  const found = [dealt.data.down, dealt.data.up, dealt.data.hand];
  if (expected.join() !== found.join()) return new Failure(dealt.seq, "deal.ruleset", { down, up: expected[1], hand: expected[2] });
  const special = (/** @type {{card: string}} */ opening) => isSpecial(tree, opening.card[0]);
  const { starter: turned, returned } = dealt.data;
  if (returned.length && (starter !== "plain" || !returned.every(special))) return new Failure(dealt.seq, "deal.returned");
  if (starter === "none" && turned) return new Failure(dealt.seq, "deal.starter");
  if (starter === "any" && !turned) return new Failure(dealt.seq, "deal.no_starter");
  if (starter === "plain" && turned && special(turned)) return new Failure(dealt.seq, "deal.starter");
  if (starter === "plain" && !turned && returned.length !== dealt.data.stock) return new Failure(dealt.seq, "deal.no_starter");
  return null;
}

/**
 * The place of every card. With the deck, which the seal publishes, every face is known. Before the
 * seal, a face is known once it was public, and a seat may play any card whose place is unknown.
 */
class Table {
  /** @param {any} created the data of the first event @param {string[] | null} deck */
  constructor(created, deck) {
    const codes = created ? deckCodes(created.deck) : [];
    this.codes = new Set(codes);
    this.seq = 0;
    this.seats = created?.seats.length ?? 0;
    /** @type {Card[]} top first */
    this.stock = codes.map((_, p) => ({ p, code: deck && deck[p] }));
    /** @type {Card[]} */
    this.pile = [];
    /** @type {Card[]} */
    this.burned = [];
    /** @type {Card[][]} */
    this.hands = [];
    /** @type {Card[][][]} stacks by seat and slot */
    this.up = [];
    /** @type {(Card | null)[][]} by seat and slot */
    this.down = [];
    /** @type {Set<number | null>[]} by seat, the positions of the cards that were dealt to it, drawn or turned by it */
    this.obtained = [];
    for (let seat = 0; seat < this.seats; seat++) {
      this.hands.push([]);
      this.up.push([]);
      this.down.push([]);
      this.obtained.push(new Set());
    }
  }

  /** @param {string} code @param {import("./log.js").Values} [values] @returns {never} */
  fail(code, values) {
    throw new Failure(this.seq, code, values);
  }

  /** @param {Event} event */
  apply({ type, data }) {
    const seat = data.seat;
    for (const named of MOVING.has(type) ? [seat, data.taker] : []) if (named >= this.seats) this.fail("order.no_seat", { seat: named });
    if (type === "cards_dealt") this.deal(data);
    else if (type === "cards_thrown") {
      this.pile.push(...data.cards.map((/** @type {string} */ code) => this.fromHand(seat, code)));
      this.draw(seat, data.count);
    } else if (type === "cards_swapped") this.swap(seat, data.up, data.hand);
    else if (type === "table_laid") this.lay(seat, data);
    else if (type === "cards_played") this.play(seat, data);
    else if (type === "cards_drawn") this.draw(seat, data.count);
    else if (type === "pile_burned") {
      this.countPile(data.count);
      this.burned.push(...this.pile.splice(0));
    } else if (type === "pile_picked_up") this.pickUp(seat, data);
    else if (type === "blind_failed") this.failBlind(seat, data);
    else if (type === "stock_failed") this.failStock(seat, data);
    else if (type === "seat_out" && (this.hands[seat].length || this.up[seat].flat().length || this.down[seat].some(Boolean))) {
      this.fail("custody.out", { seat });
    }
  }

  /** @param {any} data */
  deal(data) {
    const { dealer, down, up, hand, face_up: shown } = data;
    if (this.seats * (down + up + hand) + (data.starter ? 1 : 0) > this.stock.length) this.fail("deal.too_many");
    const faces = shown.map((/** @type {unknown[]} */ openings) => openings.length);
    if (faces.length !== this.seats || faces.some((/** @type {number} */ count) => count !== up)) this.fail("deal.shown");
    const order = this.up.map((_, i) => (dealer + 1 + i) % this.seats);
    for (let i = 0; i < down; i++) for (const seat of order) this.down[seat].push(this.top());
    for (let i = 0; i < up; i++) for (const seat of order) this.up[seat].push([this.top(seat)]);
    for (let i = 0; i < hand; i++) for (const seat of order) this.hands[seat].push(this.top(seat));
    for (const seat of order) while (this.up[seat].length < down) this.up[seat].push([]);
    for (const seat of this.hands.keys()) {
      for (const [slot, opening] of shown[seat].entries()) this.see(this.up[seat][slot][0], opening);
    }
    for (const opening of data.returned) this.stock.push(this.fromStock(opening));
    if (data.starter) this.pile.push(this.fromStock(data.starter));
    if (this.stock.length !== data.stock) this.fail("deal.left", { found: data.stock, expected: this.stock.length });
  }

  /** @param {number} [seat] that sees the card @returns {Card} */
  top(seat) {
    const card = this.stock.shift() ?? this.fail("deal.empty");
    if (seat !== undefined) this.obtained[seat].add(card.p);
    return card;
  }

  /** Check that an opening is that of a card, and record its face. @param {Card} card @param {import("./openings.js").Opening} opening */
  see(card, { p, card: code }) {
    if (card.p !== p) this.fail("deal.position", { p, expected: card.p });
    if (card.code !== null && card.code !== code) this.fail("custody.face", { p, card: code });
    if (card.code === null) this.checkUnseen(code);
    card.code = code;
  }

  /** @param {import("./openings.js").Opening} opening @param {number} [seat] that tries the card @returns {Card} */
  fromStock(opening, seat) {
    const card = this.top(seat);
    this.see(card, opening);
    return card;
  }

  /** @param {number} seat @param {number} count */
  draw(seat, count) {
    for (let i = 0; i < count; i++) this.hands[seat].push(this.top(seat));
  }

  /** @param {string} code @returns {string | null} the zone where a card is known to lie */
  zoneOf(code) {
    const has = (/** @type {(Card | null)[]} */ cards) => cards.some((card) => card?.code === code);
    if (has(this.pile)) return "pile";
    if (has(this.burned)) return "burned";
    if (has(this.stock)) return "stock";
    for (let seat = 0; seat < this.seats; seat++) {
      if (has(this.hands[seat])) return `hand of ${seat}`;
      if (has(this.up[seat].flat()) || has(this.down[seat])) return `table of ${seat}`;
    }
    return null;
  }

  /** Check that a face, seen for the first time, is in the deck and in no other place. @param {string} code */
  checkUnseen(code) {
    if (!this.codes.has(code)) this.fail("custody.no_card", { card: code });
    const zone = this.zoneOf(code);
    if (zone) this.fail("custody.elsewhere", { card: code, ...where(zone) });
  }

  /** @param {number} seat @param {string} code @returns {Card} */
  fromHand(seat, code) {
    const hand = this.hands[seat];
    const known = hand.findIndex((card) => card.code === code);
    if (known >= 0) return hand.splice(known, 1)[0];
    const zone = this.zoneOf(code);
    if (zone) this.fail("custody.not_held", { seat, card: code, ...where(zone) });
    const hidden = hand.findIndex((card) => card.code === null);
    if (hidden < 0 || !this.codes.has(code)) this.fail("custody.no_card", { card: code });
    hand.splice(hidden, 1); // which of the hidden cards it was is unknown
    for (const card of hand) if (card.code === null) card.p = null;
    return { p: null, code };
  }

  /** @param {number} seat @param {string} code @returns {Card} */
  fromTable(seat, code) {
    for (const stack of this.up[seat]) {
      const at = stack.findIndex((card) => card.code === code);
      if (at >= 0) return stack.splice(at, 1)[0];
    }
    return this.fail("custody.not_up", { seat, card: code });
  }

  /** @param {number} seat */
  checkEmptyHand(seat) {
    if (this.hands[seat].length) this.fail("custody.from_table", { seat });
  }

  /** @param {number} seat @param {number} slot @param {import("./openings.js").Opening | null} opening @returns {Card} */
  fromDown(seat, slot, opening) {
    this.checkEmptyHand(seat);
    const card = this.up[seat].flat().length ? null : this.down[seat][slot];
    if (!card) this.fail("custody.no_slot", { seat, slot });
    this.down[seat][slot] = null;
    this.obtained[seat].add(card.p);
    if (opening) this.see(card, opening);
    return card;
  }

  /** @param {number} seat @param {string[]} up @param {string[]} hand */
  swap(seat, up, hand) {
    const laid = up.map((code) => this.fromHand(seat, code));
    for (const [i, code] of hand.entries()) {
      const slot = this.up[seat].find((stack) => stack.some((card) => card.code === code));
      if (!slot || laid.some((card) => slot.includes(card))) this.fail("custody.not_up", { seat, card: code });
      this.hands[seat].push(this.fromTable(seat, code));
      slot.push(laid[i]);
    }
  }

  /** @param {number} seat @param {any} data */
  lay(seat, { stacks, count }) {
    if (stacks.length !== this.up[seat].length) this.fail("custody.no_slot", { seat, slot: stacks.length });
    for (const [slot, codes] of stacks.entries()) {
      for (const code of codes) this.up[seat][slot].push(this.fromHand(seat, code));
    }
    this.draw(seat, count);
  }

  /** @param {number} seat @param {any} data */
  play(seat, { zone, cards, slot, opening }) {
    if (zone === "hand") this.pile.push(...cards.map((/** @type {string} */ code) => this.fromHand(seat, code)));
    else if (zone === "up") {
      this.checkEmptyHand(seat);
      this.pile.push(...cards.map((/** @type {string} */ code) => this.fromTable(seat, code)));
    } else {
      const card = zone === "down" ? this.fromDown(seat, slot, opening) : this.fromStock(opening, seat);
      if (cards.length !== 1 || cards[0] !== card.code) this.fail("custody.other_card", { card: cards[0] });
      this.pile.push(card);
    }
  }

  /** @param {number} count */
  countPile(count) {
    if (count !== this.pile.length) this.fail("custody.pile", { found: count, expected: this.pile.length });
  }

  /** @param {number} seat @param {any} data */
  pickUp(seat, { taker, count, with: along }) {
    this.countPile(count);
    const cards = along.map((/** @type {string} */ code) => this.fromTable(seat, code));
    this.hands[taker].push(...this.pile.splice(0), ...cards);
  }

  /** The turned card goes to the seat that tried it, the pile to the taker. @param {number} seat @param {any} data */
  failStock(seat, { taker, opening, count }) {
    this.countPile(count);
    this.hands[seat].push(this.fromStock(opening, seat));
    this.hands[taker].push(...this.pile.splice(0));
  }

  /** As for the stock. @param {number} seat @param {any} data */
  failBlind(seat, { taker, slot, opening, count }) {
    this.countPile(count);
    this.hands[seat].push(this.fromDown(seat, slot, opening));
    this.hands[taker].push(...this.pile.splice(0));
  }
}

/** @param {string} zone @returns {{zone: string, holder: number | null}} */
function where(zone) {
  const [name, holder] = zone.split(" of ");
  return { zone: name, holder: holder === undefined ? null : Number(holder) };
}
