/** The checks `bytes`, `chain` and `order`: is the log unbroken and in order? */

import { headOf, hex } from "./bytes.js";
import { canonicalBytes } from "./canonical.js";
import { genesis } from "./cards.js";
import { EXCHANGES, Failure, isForfeit, LEAVINGS, PLAYS } from "./log.js";

/** @typedef {import("./log.js").Log} Log @typedef {import("./log.js").Event} Event */

/** @param {Log} log @param {import("./bundle.js").Bundle} bundle @param {unknown} _outside @param {import("./outside.js").Remark} remark */
export function checkBytes(log, { changed, repacked }, _outside, remark) {
  if (repacked) remark("bytes.repacked");
  const fault = log.broken ?? (log.lines.length ? null : new Failure(0, "bytes.empty"));
  for (const { code, name } of changed) {
    if (!fault) throw new Failure(null, `bytes.${code}`, { name });
    remark(`bytes.${code}`, { name }); // the place of the fault says more than the file that has it
  }
  if (fault) throw fault;
}

/** @param {Log} log @param {import("./bundle.js").Bundle} bundle */
export async function checkChain(log, { manifest }) {
  const game = log.events[0]?.game;
  if (manifest && game && manifest.game !== game) throw new Failure(0, "chain.manifest");
  const n = Number(manifest?.profile.split("-")[1] ?? -1);
  if (log.created && n >= log.created.data.seats.length) throw new Failure(0, "chain.seat", { seat: n });
  const whole = endOfMoves(log);
  for (const [seq, event] of log.events.entries()) {
    if (event.named !== seq) throw new Failure(seq, "chain.seq", { named: event.named });
    if (event.game !== game) throw new Failure(seq, "chain.game");
    if (!seq && event.prev !== hex(await genesis(game))) throw new Failure(seq, "chain.genesis");
    if (seq && event.prev !== log.headHex(seq - 1)) throw await brokenLink(log, seq);
    if (seq && event.at < log.events[seq - 1].at) throw new Failure(seq, "chain.earlier");
    const start = log.starts[seq];
    if (start < whole && event.at !== log.events[start].at) throw new Failure(seq, "chain.time", { start });
  }
  const last = log.events.length - 1;
  if (manifest && !log.broken && manifest.made_at !== log.events[last].at) throw new Failure(last, "chain.made_at");
}

/** @param {Log} log @returns {number} the first event of the first move that is not whole: an event that begins none, a time-out without its action, an end without its seal */
function endOfMoves({ events, starts }) {
  const found = events.findIndex((event, seq) => {
    if (starts[seq] === seq && FOLLOWING.has(event.type) && !isForfeit(event)) return true;
    return /^(?:turn_timed_out|game_ended)$/.test(event.type) && starts[seq + 1] !== starts[seq];
  });
  return found < 0 ? events.length : starts[found];
}

/**
 * Return the failure for an event whose `prev` is not the head before it: at this event, if only its `prev` was changed, so that the next
 * event names its head with the right one; else at the event before, whose change is the usual cause if later links hold.
 *
 * @param {Log} log
 * @param {number} seq
 */
async function brokenLink({ events, heads }, seq) {
  const { named, ...event } = events[seq];
  const right = canonicalBytes({ ...event, seq: named, prev: hex(heads[seq - 1]) });
  if (events[seq + 1]?.prev === hex(await headOf(right))) return new Failure(seq, "chain.prev");
  const isLinked = (/** @type {number} */ at) => at >= events.length || events[at].prev === hex(heads[at - 1]);
  const isOneChange = seq + 1 < events.length && (isLinked(seq + 1) || isLinked(seq + 2));
  return new Failure(seq - 1, isOneChange ? "chain.changed" : "chain.removed", { next: seq });
}

/** Events that follow from a move and never begin one. */
const FOLLOWING = new Set(["play_started", "cards_drawn", "pile_burned", "seat_out", "game_ended", "game_sealed"]);
const BY_SERVER = new Set([
  "game_created", "deck_committed", "cards_dealt", "cards_thrown", "play_started", "game_ended", "game_sealed",
  "game_aborted", "turn_timed_out",
]);

/** @param {Log} log */
export function checkOrder(log) {
  const course = new Course(log);
  log.events.forEach((event, seq) => course.follow(event, seq));
  course.end();
}

/** The phase of a game, which determines the events that may come next. */
class Course {
  /** @param {Log} log */
  constructor(log) {
    this.log = log;
    this.phase = "new";
    this.committed = new Set();
    this.revealed = new Set();
    this.ready = new Set();
    this.seq = 0;
  }

  /** @param {string} code @param {import("./log.js").Values} [values] @returns {never} */
  fail(code, values) {
    throw new Failure(this.seq, `order.${code}`, values);
  }

  /** @param {Event} event @param {number} seq */
  follow(event, seq) {
    this.seq = seq;
    if (this.phase === "over") this.fail("after_seal");
    if (seq && this.log.starts[seq] === seq) this.checkWhole(seq - 1, event);
    if ((event.type === "game_created") !== (seq === 0)) this.fail("created");
    if (seq === 0) this.seatEntries = event.data.seats;
    this.checkSeats(event);
    if (event.type === "cards_dealt" && event.data.face_up.length !== this.seatEntries.length) this.fail("face_up");
    this.checkMove(event);
    this.checkBy(event);
    this.advance(event);
  }

  end() {
    const last = this.log.events.at(-1);
    if (this.log.broken || !last) return;
    if (this.isUnfinished(last.seq) || this.endsInMove(last)) this.fail("incomplete");
  }

  /** @param {Event} last @returns {boolean} whether an action that ends the hand is not followed by the end of its move */
  endsInMove(last) {
    if (/^game_(sealed|aborted)$/.test(last.type)) return false;
    const move = this.log.events.slice(this.log.starts[last.seq]);
    return move.some(({ type, data }) => PLAYS.has(type) && data.turn === null);
  }

  /** @param {number} seq @returns {boolean} whether a move that ends with this event is incomplete */
  isUnfinished(seq) {
    const { type } = this.log.events[seq];
    if (type === "game_ended" || type === "turn_timed_out") return true;
    return type === "seat_ready" && this.ready.size === this.seatEntries.length;
  }

  /** Check that the move before an event that begins another one is whole. @param {number} last its last event @param {Event} event */
  checkWhole(last, event) {
    const { type, data } = this.log.events[last];
    const acts = EXCHANGES.has(event.type) || PLAYS.has(event.type);
    if (acts && type === "turn_timed_out") this.fail("timed_out", { seat: data.seat });
    if (this.isUnfinished(last)) throw new Failure(last, "order.incomplete");
  }

  /** @param {Event} event */
  checkSeats(event) {
    const { seat, absent, taker, turn, shithead, cleared_by: cleared, dealer, places } = event.data;
    for (const named of [event.by, seat, absent, taker, turn, shithead, cleared, dealer, ...(places ?? [])]) {
      if (Number.isInteger(named) && named >= this.seatEntries.length) this.fail("no_seat", { seat: named });
    }
  }

  /** @param {Event} event */
  checkMove(event) {
    if (this.log.starts[this.seq] !== this.seq) return;
    if (FOLLOWING.has(event.type) && !isForfeit(event)) this.fail("begins_none");
  }

  /** @param {Event} event */
  checkBy(event) {
    const start = this.log.events[this.log.starts[this.seq]];
    const byServer = BY_SERVER.has(event.type) || start.type === "turn_timed_out" || isForfeit(start);
    const acting = start.data.seat ?? null;
    const expected = byServer ? null : EXCHANGES.has(start.type) || PLAYS.has(start.type) ? acting : event.data.seat;
    if (event.by !== expected) this.fail("by");
  }

  /** @param {Event} event */
  advance({ type, data }) {
    if (type === "game_created") this.phase = "shuffling";
    else if (type === "entropy_committed" || type === "entropy_revealed") this.contribute(type, data.seat);
    else if (type === "deck_committed") this.commit();
    else if (type === "cards_dealt") this.deal();
    else if (type === "cards_thrown") this.expect(["dealt"]);
    else if (EXCHANGES.has(type)) this.exchange(type, data.seat);
    else if (type === "play_started") this.start();
    else if (LEAVINGS.has(type)) this.leave();
    else if (type === "game_aborted") this.abort(data);
    else if (type === "game_sealed") this.phase = "over";
    else if (type === "turn_timed_out" || type === "game_ended") this.expect(["dealt", "exchange", "playing"]);
    else this.expect(["playing"]);
  }

  /** @param {string[]} phases */
  expect(phases) {
    if (!phases.includes(this.phase)) this.fail("phase");
  }

  /** @param {string} kind @returns {number[]} the seats with an entropy of this kind */
  seats(kind) {
    return this.seatEntries.flatMap((/** @type {any} */ entry, /** @type {number} */ seat) => (entry.entropy === kind ? [seat] : []));
  }

  allCommitted() {
    return this.seats("commit").every((seat) => this.committed.has(seat));
  }

  /** @returns {number[]} the seats that have to reveal entropy and have not */
  outstanding() {
    return [...this.seats("value"), ...this.seats("commit")].filter((seat) => !this.revealed.has(seat));
  }

  /** @returns {number[]} the seats that could contribute; one that has committed waits for all others */
  silent() {
    return this.outstanding().filter((seat) => this.allCommitted() || !this.committed.has(seat));
  }

  /** @param {string} type @param {number} seat */
  contribute(type, seat) {
    this.expect(["shuffling"]);
    const kind = this.seatEntries[seat].entropy;
    const done = type === "entropy_committed" ? this.committed : this.revealed;
    if (kind === "none" || (type === "entropy_committed" && kind !== "commit")) this.fail("entropy", { seat });
    if (done.has(seat)) this.fail("entropy_twice", { seat });
    if (type === "entropy_revealed" && kind === "commit" && !this.allCommitted()) this.fail("early_reveal", { seat });
    done.add(seat);
  }

  commit() {
    this.expect(["shuffling"]);
    const [seat] = this.outstanding();
    if (seat !== undefined) this.fail("early_deck", { seat });
    this.phase = "committed";
  }

  deal() {
    this.expect(["committed"]);
    this.phase = "dealt";
  }

  /** @param {string} type @param {number} seat */
  exchange(type, seat) {
    this.expect(["dealt", "exchange"]);
    this.phase = "exchange";
    if (type !== "seat_ready") {
      if (this.log.events[this.seq - 1].type === "turn_timed_out" && !this.madeReady(type, seat)) this.fail("timed_out_ready", { seat });
      return;
    }
    if (this.ready.has(seat)) this.fail("ready_twice", { seat });
    this.ready.add(seat);
  }

  /** @param {string} type @param {number} seat @returns {boolean} whether these cards are laid for a seat that is made ready with them */
  madeReady(type, seat) {
    const next = this.log.events[this.seq + 1];
    return type === "table_laid" && next?.type === "seat_ready" && next.data.seat === seat;
  }

  start() {
    if (this.phase !== "exchange" || this.ready.size !== this.seatEntries.length) this.fail("early_start");
    this.phase = "playing";
  }

  leave() {
    this.expect(["dealt", "exchange", "playing"]);
    if (this.phase === "dealt") this.phase = "exchange"; // no cards are thrown any more
  }

  /** @param {any} data */
  abort({ cause, seat }) {
    if (cause === "no_entropy" && !(this.phase === "shuffling" && this.silent().includes(seat))) this.fail("not_outstanding");
    this.phase = "over";
  }
}
