/** The judgement of a hand, move by move: what the rules allow, and what must follow from it (ops/spec/rules.md, section 4). */

import { faultOf, fitsAlone } from "./actions.js";
import { Exchange, SetUp } from "./exchange.js";
import { Leaving } from "./leaving.js";
import { EXCHANGES, LEAVINGS, PLAYS } from "./log.js";
import { openingOf } from "./opening.js";
import { Position } from "./position.js";
import { rankOf } from "./rules.js";
import { Clock } from "./time_outs.js";

/** @typedef {import("./log.js").Event} Event @typedef {import("./exchange.js").Fault} Fault */
/** @typedef {{type: string, data: Record<string, any>, cite: string}} Due an event that must follow, and the setting whose statement decides */

/**
 * The last play of cards, which follow-ups may continue.
 *
 * @typedef {object} Play
 * @property {number} seat
 * @property {string[]} cards also those of its follow-ups
 * @property {string[]} drawn after it
 * @property {number} direction before it
 */

export class Judge {
  /** @param {any} created the data of `game_created` @param {import("./rulesets.js").Tree} tree @param {string[]} deck */
  constructor(created, tree, deck) {
    this.tree = tree;
    this.entries = created.seats;
    this.limit = created.turn_limit;
    this.setUp = new SetUp(created.seats);
    this.position = new Position(tree, created.seats.length, deck);
    this.clock = new Clock(created.clock);
    this.leaving = new Leaving(created);
    /** @type {Exchange | null} */
    this.exchange = null;
    /** @type {import("./opening.js").Opening | null} until the first turn is over */
    this.opening = null;
    this.isPlaying = false;
    /** @type {number | null} */
    this.turn = null;
    /** @type {number | null} the seat that must cover its play */
    this.covering = null;
    /** @type {Play | null} */
    this.last = null;
    this.actions = 0;
    this.passes = 0;
    /** @type {{seq: number, fits: boolean}[]} the face-down cards that failed unseen */
    this.unseen = [];
  }

  /** Judge one move, whose events are followed afterwards. @param {Event[]} events @returns {{seq: number, fault: Fault} | null} the first event that is not by the rules */
  judge([first, ...others]) {
    if (first.type !== "turn_timed_out") return this.judgeMove([first, ...others], false);
    const fault = this.faultOfTimeOut(first);
    if (fault) return { seq: first.seq, fault };
    return others.length ? this.judgeMove(others, true) : null;
  }

  /** @param {Event[]} events from the action on @param {boolean} timedOut @returns {{seq: number, fault: Fault} | null} */
  judgeMove([event, ...rest], timedOut) {
    const { type, data, seq } = event;
    const fault = this.faultOfFirst(event, timedOut);
    if (fault) return { seq, fault };
    if (type === "table_laid" && rest[0]?.type === "seat_ready") return this.judgeRest(event, rest.slice(1), this.afterReady(data.seat));
    if (type === "seat_ready") return this.judgeRest(event, rest, this.afterReady(data.seat));
    if (LEAVINGS.has(type)) return this.judgeRest(event, rest, this.leaving.due(type, data));
    if (!PLAYS.has(type)) return this.judgeRest(event, rest, []);
    const { turn, direction, due, cite } = this.outcome(type, data);
    if (data.turn !== turn) {
      const code = turn === null ? "turn_over" : data.turn === null ? "turn_none" : "turn";
      return { seq, fault: { code, values: { turn: data.turn, due: turn }, cite: turn === null ? due[due.length - 1].cite : cite } };
    }
    if (data.direction !== undefined && data.direction !== direction) return { seq, fault: { code: "direction", values: { seat: data.seat }, cite } };
    return this.judgeRest(event, rest, due);
  }

  /** @param {Event} event @param {boolean} timedOut @returns {Fault | null} why the first event of a move is not allowed */
  faultOfFirst(event, timedOut) {
    const { type, data } = event;
    if (type === "game_aborted") return this.faultOfAbort(data);
    const throws = this.exchange && !this.isPlaying && type !== "game_ended" ? this.exchange.judgeThrow(type, data) : null;
    if (throws) return throws;
    if (EXCHANGES.has(type)) return this.exchange ? this.exchange.judge(type, data, timedOut) : null;
    if (type === "game_ended") return this.faultOfForfeit(data);
    if (type === "end_agreed") return this.leaving.faultOfAgreement(data);
    if (type === "absence_claimed") return this.leaving.faultOfClaim(data, this.position, this.mayAwait(data.absent));
    if (!PLAYS.has(type) || this.continues(type, data, timedOut)) return null;
    if (!this.mayAct(data.seat)) return { code: "out_of_turn", values: { seat: data.seat }, cite: "model.turn" };
    return faultOf(this, type, data) ?? this.faultOfTaking(type, data);
  }

  get cover() {
    return this.covering !== null;
  }

  /** @param {number} seat @returns {boolean} whether it is the seat's turn */
  mayAct(seat) {
    if (!this.isPlaying) return false;
    return this.turn === null ? Boolean(this.opening?.seats.includes(seat)) : this.turn === seat;
  }

  /** @param {string} type @param {any} data @param {boolean} timedOut @returns {boolean} whether a play is a follow-up */
  continues(type, { seat, zone, cards }, timedOut) {
    const { last } = this;
    if (type !== "cards_played" || zone !== "hand" || timedOut || !last || last.seat !== seat || this.turn === seat) return false;
    const rank = rankOf(last.cards[last.cards.length - 1]);
    const fits = (/** @type {string} */ card) => last.drawn.includes(card) && rankOf(card) === rank;
    return this.position.holds(seat, cards) && cards.every(fits);
  }

  /** @param {Event} event @returns {Fault | null} */
  faultOfTimeOut({ data: { seat }, at }) {
    const claimed = this.leaving.replaced.has(seat);
    const waits = this.isPlaying ? this.mayAct(seat) && (claimed || this.firstOf(seat)) : Boolean(this.exchange && !this.exchange.ready.has(seat));
    const code = waits ? this.clock.timeOut(seat, at, !this.isPlaying, claimed) : "no_time_out";
    return code ? { code, values: { seat }, cite: "model.time_out" } : null;
  }

  /** @param {number} seat @returns {boolean} whether a time-out may name it, of those that may act */
  firstOf(seat) {
    return this.turn !== null || this.opening?.seats[0] === seat;
  }

  /** @param {any} data @returns {Fault | null} */
  faultOfAbort({ cause, seat }) {
    if (cause === "no_entropy") return null;
    const values = { seat };
    if (cause === "agreed") return { code: "aborted", values, cite: "model.agreed_end" }; // one that follows an agreement is part of its move
    if (cause === "left") return seat !== null && this.entries[seat].kind !== "bot" && !this.exchange ? null : { code: "aborted", values };
    return seat === null || this.waitsFor(seat) ? null : { code: "aborted", values };
  }

  /** @param {number} seat @returns {boolean} whether the game may wait for the seat, by what everybody sees */
  mayAwait(seat) {
    if (this.isPlaying) return this.position.isPlaying(seat) && (this.turn === null || this.turn === seat);
    return this.waitsFor(seat);
  }

  /** @param {number} seat @returns {boolean} */
  waitsFor(seat) {
    if (this.isPlaying) return this.turn === seat;
    return this.exchange ? !this.exchange.ready.has(seat) : this.setUp.owes(seat);
  }

  /** @param {any} data @returns {Fault | null} */
  faultOfForfeit({ reason, shithead, places }) {
    const { out } = this.position;
    const isForfeit = reason === "forfeit" && shithead !== null && this.position.isPlaying(shithead);
    return isForfeit && this.exchange && places.join() === out.join() ? null : { code: "forfeit", values: { seat: shithead }, cite: "model.forfeit" };
  }

  /** @param {string} type @param {any} data @returns {Fault | null} */
  faultOfTaking(type, { seat, taker }) {
    if (taker === undefined || taker === this.takerFor(seat)) return null;
    return { code: "taker", values: { taker, due: this.takerFor(seat) }, cite: "pick_up.taker" };
  }

  /** @returns {number | null} the seat of the last play on this pile, if it is not out */
  get previous() {
    const { owner } = this.position;
    return owner !== null && this.position.isPlaying(owner) ? owner : null;
  }

  /** @param {number} seat @returns {number} */
  takerFor(seat) {
    return this.tree.pick_up.taker === "previous" ? this.previous ?? seat : seat;
  }

  /** @param {number} seat that becomes ready @returns {Due[]} */
  afterReady(seat) {
    const ready = this.exchange?.ready ?? new Set();
    if (new Set([...ready, seat]).size < this.position.seats || !this.exchange) return [];
    return [{ type: "play_started", data: { turn: openingOf(this.position, this.exchange.thrower).turn }, cite: "opening.opener" }];
  }

  /** @param {Event} event @param {Event[]} rest @param {Due[]} due @returns {{seq: number, fault: Fault} | null} */
  judgeRest(event, rest, due) {
    const stated = rest.filter(({ type }) => type !== "game_sealed");
    for (const [i, { type, data, cite }] of due.entries()) {
      const one = stated[i];
      const values = { seat: data.seat ?? event.data.seat ?? null, count: data.count ?? null, cause: data.cause ?? null };
      if (one?.type !== type) return { seq: (one ?? rest[rest.length - 1] ?? event).seq, fault: { code: `no_${type}`, values, cite } };
      const wrong = Object.keys(data).find((name) => JSON.stringify(one.data[name]) !== JSON.stringify(data[name]));
      if (wrong) return { seq: one.seq, fault: { code: type, values: { ...values, due: data.turn ?? null, place: data.place ?? null }, cite } };
    }
    const extra = stated[due.length];
    return extra ? { seq: extra.seq, fault: { code: `extra_${extra.type}`, values: { seat: extra.data.seat ?? null }, cite: CITED[extra.type] } } : null;
  }

  /** @param {string} type @param {any} data @returns {{turn: number | null, direction: number, due: Due[], cite: string}} what an action must lead to */
  outcome(type, data) {
    if (type === "cards_played") return this.afterPlay(data);
    const { seat } = data;
    const { position } = this;
    const passed = type === "turn_passed" && this.passes + 1 >= position.playing;
    const cite = type === "turn_passed" ? "model.pass" : "pick_up.after";
    const next = type === "turn_passed" ? position.ahead(seat, 1) : this.afterPickUp(seat);
    const over = passed || this.actions + 1 >= this.limit;
    const end = { reason: "stalemate", shithead: null, places: [...position.out] };
    const due = over ? [{ type: "game_ended", data: end, cite: passed ? "model.pass" : "model.turn_limit" }] : [];
    return { turn: over ? null : next, direction: position.direction, due, cite };
  }

  /** @param {number} seat @returns {number} the seat that plays next */
  afterPickUp(seat) {
    const { taker, after } = this.tree.pick_up;
    const { previous, position } = this;
    if (previous !== null && taker === "previous") return seat;
    const isPrevious = after === "previous" || (after === "previous_above_two" && position.playing > 2);
    return taker === "self" && isPrevious && previous !== null ? previous : position.ahead(seat, 1);
  }

  /** @param {any} data @returns {{turn: number | null, direction: number, due: Due[], cite: string}} */
  afterPlay({ seat, zone, cards, slot }) {
    const { position } = this;
    const { rules } = position;
    /** @type {Due[]} */
    const due = [];
    const pile = [...position.pile, ...cards];
    const held = position.hands[seat].length - (zone === "hand" ? cards.length : 0);
    const count = this.drawCount(held, cards.length);
    if (count) due.push({ type: "cards_drawn", data: { seat, count }, cite: "refill.to" });
    const cause = rules.burns(pile);
    if (cause) {
      const cleared = this.tree.burn.flusher ? position.flusher ?? seat : seat;
      const cite = cause === "rank" ? `ranks.${rankOf(pile[pile.length - 1])}.burns` : "burn.set_size";
      due.push({ type: "pile_burned", data: { seat, cause, count: pile.length, cleared_by: cleared }, cite });
    }
    const isOut = held + count === 0 && !this.keepsTable(seat, zone, cards, slot);
    if (isOut) due.push({ type: "seat_out", data: { seat, place: position.out.length + 1 }, cite: "model.going_out" });
    const end = this.ending(isOut ? [...position.out, seat] : position.out, isOut);
    if (end) due.push(end);
    const next = this.nextAfter(seat, cards, isOut, Boolean(cause));
    const burning = due.find(({ type }) => type === "pile_burned");
    return { ...next, turn: end ? null : next.turn, due, cite: burning?.cite ?? next.cite };
  }

  /** @param {number} held @param {number} played @returns {number} the cards to draw */
  drawCount(held, played) {
    const { to, size } = this.tree.refill;
    return Math.min(to === "size" ? Math.max(0, size - held) : played, this.position.stock.length);
  }

  /** @param {number} seat @param {string} zone @param {string[]} cards played @param {number | null} slot @returns {boolean} whether cards stay on the table */
  keepsTable(seat, zone, cards, slot) {
    const { up, down } = this.position;
    if (up[seat].flat().some((card) => zone !== "up" || !cards.includes(card))) return true;
    return down[seat].some((card, one) => card !== null && !(zone === "down" && one === slot));
  }

  /** @param {number[]} out @param {boolean} wentOut @returns {Due | null} the end of the hand after a play */
  ending(out, wentOut) {
    const { seats } = this.position;
    if (wentOut && this.tree.end.played_for === "winner") {
      return { type: "game_ended", data: { reason: "winner", shithead: null, places: out.slice(-1) }, cite: "end.played_for" };
    }
    if (seats - out.length <= 1) {
      const shithead = this.position.hands.findIndex((_, seat) => !out.includes(seat));
      return { type: "game_ended", data: { reason: "shithead", shithead, places: [...out, shithead] }, cite: "end.played_for" };
    }
    if (this.actions + 1 < this.limit) return null;
    return { type: "game_ended", data: { reason: "stalemate", shithead: null, places: [...out] }, cite: "model.turn_limit" };
  }

  /** @param {number} seat @param {string[]} cards @param {boolean} isOut @param {boolean} burned @returns {{turn: number, direction: number, cite: string}} */
  nextAfter(seat, cards, isOut, burned) {
    const { position } = this;
    const original = this.last && this.last.seat === seat && this.turn !== seat ? this.last : null;
    const direction = original?.direction ?? position.direction;
    const ranks = [...(original?.cards ?? []), ...cards].map(rankOf);
    const having = (/** @type {"reverses" | "skips"} */ effect) => ranks.filter((rank) => position.rules.of(rank)[effect]);
    const [reversers, skippers] = [having("reverses"), having("skips")];
    if (burned || this.mustCover(seat, cards, isOut)) {
      const cite = burned ? "burn.set_size" : `ranks.${ranks[ranks.length - 1]}.covers`;
      return { turn: isOut ? this.step(seat, direction, 1, isOut) : seat, direction, cite };
    }
    const way = reversers.length % 2 ? -direction : direction;
    const cite = skippers.length ? `ranks.${skippers[0]}.skips` : reversers.length ? `ranks.${reversers[0]}.reverses` : "model.turn";
    return { turn: this.step(seat, way, 1 + skippers.length, isOut), direction: way, cite };
  }

  /** @param {number} seat @param {string[]} cards @param {boolean} isOut @returns {boolean} */
  mustCover(seat, cards, isOut) {
    const top = this.position.rules.of(rankOf(cards[cards.length - 1]));
    return top.covers || (top.covers_with_two && this.position.playing === 2 && !isOut);
  }

  /** @param {number} seat @param {number} way @param {number} steps @param {boolean} isOut whether the seat went out @returns {number} */
  step(seat, way, steps, isOut) {
    const { position } = this;
    const playing = (/** @type {number} */ one) => position.isPlaying(one) && !(isOut && one === seat);
    if (!position.hands.some((_, one) => playing(one))) return seat;
    let at = seat;
    for (let left = steps; left > 0; ) {
      at = (at + way + position.seats) % position.seats;
      if (playing(at)) left -= 1;
    }
    return at;
  }

  /** Follow an event as it stands. @param {Event} event @param {boolean} timedOut */
  follow({ type, data, at, seq }, timedOut) {
    if (!timedOut && (EXCHANGES.has(type) || PLAYS.has(type))) this.leaving.moved(data.seat);
    if (type.startsWith("entropy_")) this.setUp.follow(type, data.seat);
    else if (LEAVINGS.has(type)) this.leaving.follow(type, data);
    else if (type === "cards_dealt") {
      this.position.deal(data);
      this.exchange = new Exchange(this.position);
      this.clock.begin(at, null);
    } else if (type === "cards_thrown" || EXCHANGES.has(type)) {
      this.exchange?.follow(type, data);
      if (!timedOut && data.seat !== undefined && type !== "cards_thrown") this.clock.moved(data.seat);
    } else if (type === "play_started") this.start(data, at);
    else if (PLAYS.has(type)) this.act({ type, data, at, seq }, timedOut);
    else if (type === "cards_drawn") this.followDraw(data);
    else if (type === "pile_burned") this.followBurn(data);
    else if (type === "seat_out") {
      this.position.out.push(data.seat);
      if (this.covering === data.seat) this.covering = null;
    }
  }

  /** @param {any} data @param {string} at */
  start(data, at) {
    this.isPlaying = true;
    this.opening = openingOf(this.position, this.exchange?.thrower ?? null);
    this.turn = data.turn;
    this.clock.begin(at, data.turn);
  }

  /** @param {any} data */
  followDraw({ seat, count }) {
    const drawn = this.position.draw(seat, count);
    if (this.last && this.last.seat === seat) this.last.drawn.push(...drawn);
  }

  /** @param {any} data */
  followBurn({ seat }) {
    this.position.pile = [];
    this.position.owner = null;
    this.position.flusher ??= seat;
    this.covering = null;
    this.last = null;
  }

  /** @param {Pick<Event, "type" | "data" | "at" | "seq">} event @param {boolean} timedOut */
  act({ type, data, at, seq }, timedOut) {
    const { position } = this;
    const { seat } = data;
    if (!timedOut) this.clock.moved(seat);
    if (this.turn !== data.turn || data.turn === seat) this.clock.begin(at, data.turn);
    this.actions += 1;
    this.passes = type === "turn_passed" ? this.passes + 1 : 0;
    if (type === "cards_played") this.followPlay(data);
    else {
      if (type === "blind_failed") this.turnBlind(data, seq);
      this.last = null;
      this.covering = null;
      if (type === "stock_failed") position.draw(seat, 1);
      if (type !== "turn_passed") {
        const along = data.with ?? [];
        position.remove(seat, along);
        position.takePile(data.taker, along);
      }
    }
    this.turn = data.turn;
    if (data.direction !== undefined) position.direction = data.direction;
    this.opening = null;
  }

  /** @param {any} data @param {number} seq */
  turnBlind({ seat, slot, opening }, seq) {
    const { position } = this;
    const card = position.down[seat][slot];
    if (card === null || card === undefined) return;
    if (!opening) this.unseen.push({ seq, fits: fitsAlone(this, card) });
    position.down[seat][slot] = null;
    position.hands[seat].push(card);
  }

  /** @param {any} data */
  followPlay({ seat, zone, cards, slot, turn }) {
    const { position } = this;
    const original = this.last && this.last.seat === seat && this.turn !== seat ? this.last : null;
    if (zone === "down") position.down[seat][slot] = null;
    else if (zone === "stock") position.stock.shift();
    else position.remove(seat, cards);
    position.pile.push(...cards);
    position.owner = seat;
    this.covering = this.mustCover(seat, cards, false) && turn === seat ? seat : null;
    const direction = original?.direction ?? position.direction;
    const drawn = (original?.drawn ?? []).filter((card) => !cards.includes(card));
    this.last = this.tree.turn.follow_up ? { seat, cards: [...(original?.cards ?? []), ...cards], drawn, direction } : null;
  }
}

/** The settings whose statements decide about events that are one too many. @type {Record<string, string>} */
const CITED = {
  cards_drawn: "refill.to", pile_burned: "burn.set_size", seat_out: "model.going_out", game_ended: "end.played_for", play_started: "opening.opener",
  seat_ready: "deal.exchange", game_aborted: "model.absence",
};
