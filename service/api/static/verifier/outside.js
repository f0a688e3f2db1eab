/** The checks with evidence beside the log: `receipts`, `anchor`, `witness`, `seal`, `sequence`. */

import { hex, sha256, utf8 } from "./bytes.js";
import { linesOf } from "./bundle.js";
import { NotCanonical, parseCanonical } from "./canonical.js";
import { Failure, Unanswered } from "./log.js";
import { cosignedAt, includes, keySigned, originSigned, parseNote, parseProof, parseReceipt, parseRestore, receiptBody } from "./notes.js";
import { ATTEMPT, LONGEST_LINE, MAX_REFUSALS_PER_SEAT, wrongPlace } from "./shapes.js";

/** @typedef {import("./log.js").Log} Log */
/** @typedef {import("./bundle.js").Bundle} Bundle */
/** @typedef {import("./notes.js").NoteKey} NoteKey */

/**
 * Evidence that the user obtained from sources other than the file.
 *
 * @typedef {object} Outside
 * @property {Uint8Array[]} receipts
 * @property {NoteKey[]} serverKeys
 * @property {string[]} [restores] signed notes in which the server declares restores
 * @property {NoteKey[]} witnessKeys
 * @property {number} quorum how many of the witnesses must have cosigned
 * @property {Map<number, string>} [seatKeys] the keys of seats in base64
 * @property {import("./seat_keys.js").KeyChange[]} [keyChanges] of seats, between hands
 */

/** @typedef {(code: string, values?: import("./log.js").Values) => void} Remark */

/** @typedef {{from: number, to: number}} Range the events that a check covers, if it does not cover all */

/** @param {Log} log @param {Bundle} bundle @param {Outside} outside @param {Remark} remark */
export async function checkReceipts(log, bundle, outside, remark) {
  const inside = [...bundle.files].filter(([name]) => name.startsWith("receipts/")).map(([, bytes]) => bytes);
  /** @type {[Failure, Uint8Array][]} */
  const failures = [];
  let reach = -1;
  for (const bytes of outside.receipts) {
    const found = await judgeReceipt(log, bytes, outside.serverKeys);
    if (found instanceof Failure) failures.push([found, bytes]);
    else reach = Math.max(reach, found);
  }
  for (const bytes of inside) {
    const found = await judgeReceipt(log, bytes, outside.serverKeys, true);
    if (found instanceof Failure) failures.push([found, bytes]);
  }
  const [first] = failures.sort(([a], [b]) => (a.seq ?? Infinity) - (b.seq ?? Infinity));
  if (first) {
    await explain(log, ...first, outside, remark);
    throw first[0];
  }
  if (!outside.receipts.length) throw new Unanswered("missing", "no_receipt");
  if (!outside.serverKeys.length) throw new Unanswered("missing", "no_server_key");
  const from = log.linkedFrom(reach);
  if (from) return confirmed("receipts", from, reach, remark);
  if (reach === log.lines.length - 1) remark("receipts.whole");
  else remark("receipts.up_to", { seq: reach });
}

/** Failures of a receipt that names another history than the log. */
const OTHER_HISTORY = new Set(["receipts.head", "receipts.beyond"]);

/**
 * Remark the newest declared restore that can be why the log lacks what a receipt names: the log recorded
 * what it has in its place after the restore, or has nothing there yet. The check fails as well.
 *
 * @param {Log} log
 * @param {Failure} failed
 * @param {Uint8Array} bytes of the receipt
 * @param {Outside} outside
 * @param {Remark} remark
 */
async function explain(log, failed, bytes, { restores = [], serverKeys }, remark) {
  if (!OTHER_HISTORY.has(failed.code)) return;
  const isOpen = failed.code === "receipts.beyond" && !log.seal;
  const recorded = isOpen ? null : log.events[failed.seq ?? 0]?.at;
  const origin = parseReceipt(parseNote(bytes)?.body ?? "")?.origin ?? "";
  for (const text of [...restores].reverse()) {
    const note = parseNote(utf8(text));
    const restore = note && parseRestore(note.body);
    if (!note || !restore || restore.origin !== origin || !(await originSigned(note, serverKeys, origin))) continue;
    if (recorded !== null && (recorded ?? "") < restore.at) continue;
    remark("receipts.restored", { at: restore.at, since: restore.since, leaf: restore.leaf });
    return;
  }
}

/** @param {string} check @param {number} from @param {number} to @param {Remark} remark @returns {Range} */
function confirmed(check, from, to, remark) {
  remark(`${check}.part`, { from, to });
  return { from, to };
}

/**
 * Return the seq that a receipt names, or its fault.
 *
 * A receipt of the bundle needs a valid signature only if it has one under a name and id of `keys`:
 * the user need not know the key of every receipt that the bundle contains.
 *
 * @param {Log} log
 * @param {Uint8Array} bytes
 * @param {NoteKey[]} keys
 * @param {boolean} [bundled]
 * @returns {Promise<Failure | number>}
 */
async function judgeReceipt(log, bytes, keys, bundled = false) {
  const note = parseNote(bytes);
  const receipt = note && parseReceipt(note.body);
  if (!note || !receipt) return new Failure(null, bytes.includes(13) ? "receipts.carriage_return" : "receipts.malformed");
  const named = await Promise.all(keys.map((key) => keySigned(note, key)));
  const needed = bundled ? named.some((signed) => signed !== null) : keys.length > 0;
  if (needed && !(await originSigned(note, keys, receipt.origin))) return new Failure(null, "receipts.signature");
  if (receipt.game !== log.events[0]?.game) return new Failure(null, "receipts.game");
  if (receipt.seq >= log.lines.length) {
    return new Failure(log.lines.length - 1, "receipts.beyond", { version: receipt.seq + 1, lines: log.lines.length });
  }
  if (receipt.head !== log.headHex(receipt.seq)) return new Failure(receipt.seq, "receipts.head");
  return receipt.seq;
}

const PROOF = "log/proof.tlog-proof";
const STAMP = "log/stamped.tsr";
const REFUSALS = "refusals.jsonl";
const LAST_SECOND = 253_402_300_799; // of the year 9999: no later date can be shown

/** @param {Bundle} bundle */
const proofIn = (bundle) => bundle.files.get(PROOF);

/**
 * Return the log proof and the seq of its event, after all checks that need no key.
 *
 * @param {Log} log
 * @param {Bundle} bundle
 */
async function anchored(log, bundle) {
  const bytes = proofIn(bundle);
  if (!bytes) throw new Unanswered("missing", "not_anchored");
  const proof = parseProof(bytes);
  if (!proof) throw new Failure(null, "anchor.malformed");
  const last = log.events.length - 1;
  const game = log.events[0]?.game ?? "";
  const entry = proof.entry ?? receiptBody({ origin: proof.origin, game, seq: last, head: log.headHex(last) ?? "" });
  const named = parseReceipt(entry);
  if (!named || named.origin !== proof.origin || named.game !== game) throw new Failure(null, "anchor.other");
  if (named.head !== log.headHex(named.seq)) throw new Failure(Math.min(named.seq, log.lines.length - 1), "anchor.head");
  if (!(await includes(proof, entry))) throw new Failure(named.seq, "anchor.proof");
  return { proof, seq: named.seq };
}

/** @param {Log} log @param {Bundle} bundle @param {Outside} outside @param {Remark} remark */
export async function checkAnchor(log, bundle, outside, remark) {
  const { proof, seq } = await anchored(log, bundle);
  if (!outside.serverKeys.length) throw new Unanswered("missing", "no_server_key");
  if (!(await originSigned(proof.checkpoint, outside.serverKeys, proof.origin))) throw new Failure(seq, "anchor.signature");
  if (bundle.files.has(STAMP)) remark("stamp.unchecked"); // no browser can check its certificates
  const from = log.linkedFrom(seq);
  if (from) return confirmed("anchor", from, seq, remark);
  if (seq < log.events.length - 1) remark("anchor.up_to", { seq });
}

/** A cosignature confirms the tree of the log proof, so it says nothing about later events. @param {Log} log @param {Bundle} bundle @param {Outside} outside @param {Remark} remark */
export async function checkWitness(log, bundle, { witnessKeys, quorum }, remark) {
  if (!witnessKeys.length) throw new Unanswered("n/a", "no_witness_asked");
  const { proof, seq } = await anchored(log, bundle);
  const signed = await Promise.all(witnessKeys.map((key) => keySigned(proof.checkpoint, key)));
  if (signed.includes(false)) throw new Failure(null, "witness.signature");
  /** By public key: under two names it is one witness. @type {Map<string, {name: string, time: bigint}>} */
  const found = new Map();
  for (const key of witnessKeys.filter((_, i) => signed[i])) {
    const [own, time] = [hex(key.key), await cosignedAt(proof.checkpoint, key)];
    const before = found.get(own);
    if (!before || before.time < time) found.set(own, { name: key.name, time });
  }
  const count = found.size;
  if (count < quorum) throw new Unanswered("missing", "too_few_witnesses", { count, quorum });
  if (seq < log.events.length - 1) throw new Unanswered("missing", "witnessed_part", { seq });
  const times = [...found.values()].map(({ time }) => time).sort((a, b) => (a < b ? -1 : Number(a > b)));
  const by = Number(times[quorum - 1] ?? 0n); // a witness may state any time: the one by which the quorum had signed
  remark("witness.signed", {
    count, quorum, of: new Set(witnessKeys.map(({ key }) => hex(key))).size,
    names: [...found.values()].map(({ name }) => name).sort().join(", "),
    since: `${new Date(Math.min(LAST_SECOND, by) * 1000).toISOString().slice(0, 19)}Z`,
  });
}

/** @param {Log} log @param {Bundle} bundle @param {Outside} _outside @param {Remark} remark */
export async function checkSeal(log, bundle, _outside, remark) {
  const file = bundle.files.get(REFUSALS);
  if (!log.seal) {
    if (file) remark("seal.unproven");
    throw new Unanswered("missing", "unfinished");
  }
  const { count, sha256: sealed } = log.seal.data.refusals;
  const empty = hex(await sha256(new Uint8Array()));
  if ((count === 0) !== (sealed === empty)) throw new Failure(log.seal.seq, "seal.count");
  if (!file && count) remark("seal.missing", { count });
  if (!file) return;
  if (file.filter((byte) => byte === 10).length !== count || hex(await sha256(file)) !== sealed) {
    throw new Failure(log.seal.seq, "seal.refusals", { count });
  }
  if (!log.created) throw new Unanswered("missing", "not_created"); // `order` fails
  const line = wrongAttempt(file, log.created.data.seats.length);
  if (line) throw new Failure(log.seal.seq, "seal.attempt", { line });
}

/** @param {Uint8Array} file of refused attempts @param {number} seats @returns {number | null} the first line, from 1, that is no attempt or out of order */
function wrongAttempt(file, seats) {
  const lines = linesOf(file);
  const ofSeat = Array(seats).fill(0);
  let before = "";
  for (const [i, line] of lines.entries()) {
    const attempt = parsed(line);
    if (wrongPlace("", ATTEMPT, attempt) !== null || attempt.seat >= seats || attempt.at < before) return i + 1;
    if (++ofSeat[attempt.seat] > MAX_REFUSALS_PER_SEAT) return i + 1;
    before = attempt.at;
  }
  return file.length && file[file.length - 1] !== 10 ? lines.length : null;
}

/** @param {Uint8Array} line @returns {any} undefined if it is not canonical JSON */
function parsed(line) {
  try {
    return line.length > LONGEST_LINE ? undefined : parseCanonical(line);
  } catch (error) {
    if (error instanceof NotCanonical) return undefined;
    throw error;
  }
}

/** @typedef {{code: string, values: import("./log.js").Values}} Sentence */

/** @param {Log} log @returns {Sentence[]} what its first event states wrongly about the hand before, without the log of that hand */
export function ownFaults({ events: [{ game, data: { hand, dealer, prev_game: previous } }] }) {
  const faults = [];
  if (previous === game) faults.push({ code: "sequence.itself", values: {} });
  if (hand === 1 && dealer !== null) faults.push({ code: "sequence.dealer", values: { dealer } });
  if (hand > 1 && !previous) faults.push({ code: "sequence.no_previous", values: { hand } });
  return faults;
}

/** @param {Log} first @returns {Sentence[]} why the log of the game before the first one is needed, if it is */
export function logBefore({ events: [{ data: { hand, dealer, prev_game: game } }] }) {
  if (!game) return [];
  if (hand === 1) return [{ code: "first_after", values: { game } }];
  return dealer === null ? [{ code: "drawn", values: { hand } }] : [];
}

/** Check the statements of the first event about the previous hand; `sequence.js` compares several logs. @param {Log} log @param {Bundle} _bundle @param {Outside} _outside @param {Remark} remark */
export async function checkSequence(log, _bundle, _outside, remark) {
  if (!log.created) throw new Unanswered("missing", "not_created"); // `order` fails
  const [fault] = ownFaults(log);
  if (fault) throw new Failure(0, fault.code, fault.values);
  const [needed] = logBefore(log);
  if (needed) throw new Unanswered("missing", needed.code, needed.values);
  const { prev_game: previous } = log.created.data;
  if (previous) remark("sequence.previous", { game: previous });
  throw new Unanswered("n/a", "one_log");
}
