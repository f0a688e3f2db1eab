/** The checks with evidence beside the log: `receipts`, `anchor`, `witness`, `seal`, `sequence`. */

import { hex, sha256 } from "./bytes.js";
import { Failure, Unanswered } from "./log.js";
import { includes, keySigned, parseNote, parseProof, parseReceipt, receiptBody } from "./notes.js";

/** @typedef {import("./log.js").Log} Log */
/** @typedef {import("./bundle.js").Bundle} Bundle */
/** @typedef {import("./notes.js").NoteKey} NoteKey */

/**
 * Evidence that the user obtained from sources other than the file.
 *
 * @typedef {object} Outside
 * @property {Uint8Array[]} receipts
 * @property {NoteKey[]} serverKeys
 * @property {NoteKey[]} witnessKeys
 * @property {number} quorum how many of the witnesses must have cosigned
 */

/** @typedef {(code: string, values?: import("./log.js").Values) => void} Remark */

/** @typedef {{from: number, to: number}} Range the events that a check covers, if it does not cover all */

/** @param {Log} log @param {Bundle} bundle @param {Outside} outside @param {Remark} remark */
export async function checkReceipts(log, bundle, outside, remark) {
  const inside = [...bundle.files].filter(([name]) => name.startsWith("receipts/")).map(([, bytes]) => bytes);
  /** @type {Failure[]} */
  const failures = [];
  let reach = -1;
  for (const bytes of [...outside.receipts, ...inside]) {
    const found = await judgeReceipt(log, bytes, outside.serverKeys);
    if (found instanceof Failure) failures.push(found);
    else if (outside.receipts.includes(bytes)) reach = Math.max(reach, found);
  }
  const [first] = failures.sort((a, b) => (a.seq ?? Infinity) - (b.seq ?? Infinity));
  if (first) throw first;
  if (!outside.receipts.length) throw new Unanswered("missing", "no_receipt");
  if (!outside.serverKeys.length) throw new Unanswered("missing", "no_server_key");
  const from = log.linkedFrom(reach);
  if (from) return confirmed("receipts", from, reach, remark);
  if (reach === log.lines.length - 1) remark("receipts.whole");
  else remark("receipts.up_to", { seq: reach });
}

/** @param {string} check @param {number} from @param {number} to @param {Remark} remark @returns {Range} */
function confirmed(check, from, to, remark) {
  remark(`${check}.part`, { from, to });
  return { from, to };
}

/** @param {Log} log @param {Uint8Array} bytes @param {NoteKey[]} keys @returns {Promise<Failure | number>} the seq that the receipt names, or its fault */
async function judgeReceipt(log, bytes, keys) {
  const note = parseNote(bytes);
  const receipt = note && parseReceipt(note.body);
  if (!note || !receipt) return new Failure(null, "receipts.malformed");
  if (keys.length) {
    const signed = await Promise.all(keys.map((key) => keySigned(note, key)));
    if (!signed.includes(true)) return new Failure(null, "receipts.signature");
  }
  if (receipt.game !== log.events[0]?.game) return new Failure(null, "receipts.game");
  if (receipt.seq >= log.lines.length) {
    return new Failure(log.lines.length - 1, "receipts.beyond", { version: receipt.seq + 1, lines: log.lines.length });
  }
  if (receipt.head !== log.headHex(receipt.seq)) return new Failure(receipt.seq, "receipts.head");
  return receipt.seq;
}

const PROOF = "log/proof.tlog-proof";
const REFUSALS = "refusals.jsonl";

/** @param {Bundle} bundle */
const proofIn = (bundle) => bundle.files.get(PROOF);

/** @param {Bundle} bundle @param {Log} log @returns {Unanswered} why there is no proof to check */
function withoutProof({ unused }, log) {
  if (!unused.includes(PROOF)) return new Unanswered("missing", "not_anchored");
  return log.doubt === null ? new Unanswered("missing", "proof_unused") : new Unanswered("missing", "proof_changed", { seq: log.doubt });
}

/** @param {Log} log @param {Bundle} bundle @param {Outside} outside @param {Remark} remark */
export async function checkAnchor(log, bundle, outside, remark) {
  const bytes = proofIn(bundle);
  if (!bytes) throw withoutProof(bundle, log);
  const proof = parseProof(bytes);
  if (!proof) throw new Failure(null, "anchor.malformed");
  const last = log.events.length - 1;
  const game = log.events[0]?.game ?? "";
  const entry = proof.entry ?? receiptBody({ origin: proof.origin, game, seq: last, head: log.headHex(last) ?? "" });
  const named = parseReceipt(entry);
  if (!named || named.origin !== proof.origin || named.game !== game) throw new Failure(null, "anchor.other");
  if (named.head !== log.headHex(named.seq)) throw new Failure(named.seq < log.lines.length ? named.seq : null, "anchor.head");
  if (!(await includes(proof, entry))) throw new Failure(named.seq, "anchor.proof");
  if (!outside.serverKeys.length) throw new Unanswered("missing", "no_server_key");
  const signed = await Promise.all(outside.serverKeys.map((key) => keySigned(proof.checkpoint, key)));
  if (!signed.includes(true)) throw new Failure(named.seq, "anchor.signature");
  const from = log.linkedFrom(named.seq);
  if (from) return confirmed("anchor", from, named.seq, remark);
  if (named.seq < last) remark("anchor.up_to", { seq: named.seq });
}

/** @param {Log} log @param {Bundle} bundle @param {Outside} outside */
export async function checkWitness(log, bundle, { witnessKeys, quorum }) {
  if (!witnessKeys.length) throw new Unanswered("n/a", "no_witness_asked");
  const proof = parseProof(proofIn(bundle) ?? new Uint8Array());
  if (!proof) throw withoutProof(bundle, log);
  const signed = await Promise.all(witnessKeys.map((key) => keySigned(proof.checkpoint, key)));
  const count = signed.filter((isValid) => isValid === true).length;
  if (signed.includes(false)) throw new Failure(null, "witness.signature");
  if (count < quorum) throw new Unanswered("missing", "too_few_witnesses", { count, quorum });
}

/** @param {Log} log @param {Bundle} bundle @param {Outside} _outside @param {Remark} remark */
export async function checkSeal(log, bundle, _outside, remark) {
  if (!log.created) throw new Failure(0, "order.created");
  if (!log.seal) throw new Unanswered("missing", "unfinished");
  const file = bundle.files.get(REFUSALS);
  if (log.seal.v === 1) {
    if (file) remark("seal.unproven");
    return;
  }
  const { count, sha256: sealed } = log.seal.data.refusals;
  const empty = hex(await sha256(new Uint8Array()));
  if ((count === 0) !== (sealed === empty)) throw new Failure(log.seal.seq, "seal.count");
  if (!file && count) remark(bundle.unused.includes(REFUSALS) ? "seal.unused" : "seal.missing", { count });
  if (!file) return;
  if (file.filter((byte) => byte === 10).length !== count || hex(await sha256(file)) !== sealed) {
    throw new Failure(log.seal.seq, "seal.refusals", { count });
  }
}

/** Check the statements of the first event about the previous hand; other logs are not read. @param {Log} log @param {Bundle} _bundle @param {Outside} _outside @param {Remark} remark */
export async function checkSequence(log, _bundle, _outside, remark) {
  if (!log.created) throw new Failure(0, "order.created");
  const { hand, dealer, prev_game: previous } = log.created.data;
  if (hand === 1 && dealer !== null) throw new Failure(0, "sequence.dealer");
  if (hand > 1 && !previous) throw new Failure(0, "sequence.no_previous", { hand });
  if (hand > 1 && dealer === null) throw new Unanswered("missing", "drawn", { hand });
  if (hand === 1 && previous) throw new Unanswered("missing", "first_after", { game: previous });
  if (previous) remark("sequence.previous", { game: previous });
  throw new Unanswered("n/a", "one_log");
}
