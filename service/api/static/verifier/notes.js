/** Signed notes of C2SP, keys of servers and witnesses, receipts, checkpoints and inclusion proofs. */

import { base64, concat, equal, hex, isStrongKey, sha256, signedBy, text, uint, unbase64, utf8 } from "./bytes.js";
import { MAX_EVENTS, TIME, wrongPlace } from "./shapes.js";

/**
 * A key that signs notes: a server's (algorithm 1) or a witness's (algorithm 4).
 *
 * @typedef {object} NoteKey
 * @property {string} name
 * @property {Uint8Array} key
 * @property {number} algorithm
 */

/** @typedef {{name: string, id: Uint8Array, signature: Uint8Array}} NoteSignature */
/** @typedef {{body: string, signatures: NoteSignature[]}} Note */

const ED25519 = 1;
const COSIGNATURE = 4;
export const MAX_NOTE = 2 ** 20; // bytes
const MAX_SIGNATURES = 100;
const MAX_EXTRA = 2 ** 16; // bytes
const LATEST = 2n ** 63n - 1n; // of tree sizes and of times

/**
 * Parse a note; its signatures are not verified.
 *
 * @param {Uint8Array} bytes
 * @returns {Note | null} null if it is malformed
 */
export function parseNote(bytes) {
  let source;
  if (bytes.length > MAX_NOTE) return null;
  try {
    source = text(bytes);
  } catch {
    return null;
  }
  const split = source.lastIndexOf("\n\n");
  if (split < 0 || !source.endsWith("\n") || /[\x00-\x09\x0b-\x1f]/.test(source)) return null;
  const signatures = [];
  for (const line of source.slice(split + 2, -1).split("\n")) {
    const [, name, digits] = /^— ([^\p{White_Space}+]+) (\S+)$/u.exec(line) ?? [];
    const blob = digits ? unbase64(digits) : null;
    if (!blob || blob.length < 5 || signatures.length === MAX_SIGNATURES) return null;
    signatures.push({ name, id: blob.slice(0, 4), signature: blob.slice(4) });
  }
  return { body: source.slice(0, split + 1), signatures };
}

/** @param {NoteKey[]} keys @returns {NoteKey[]} each key once */
export const distinct = (keys) => [...new Map(keys.map((one) => [`${one.name}+${hex(one.key)}`, one])).values()];

/** @param {NoteKey} key @returns {Promise<Uint8Array>} */
async function idOf({ name, key, algorithm }) {
  return (await sha256(concat(utf8(`${name}\n`), uint(algorithm, 1), key))).slice(0, 4);
}

/**
 * Return whether a key signed a note; one wrong signature under its name and id is enough for false.
 *
 * @param {Note} note
 * @param {NoteKey} key
 * @returns {Promise<boolean | null>} null if the note has no signature under this key's name and id
 */
export async function keySigned(note, key) {
  const id = await idOf(key);
  let found = null;
  for (const { name, id: named, signature } of note.signatures) {
    if (name !== key.name || !equal(named, id)) continue;
    found = await (key.algorithm === COSIGNATURE ? cosigned(note, key, signature) : signedBy(key.key, signature, utf8(note.body)));
    if (!found) return false;
  }
  return found;
}

/**
 * Return whether a server signed a note: a key with the name `origin` did, and no signature under the
 * name and id of one of `keys` is wrong.
 *
 * @param {Note} note
 * @param {NoteKey[]} keys
 * @param {string} origin
 */
export async function originSigned(note, keys, origin) {
  const signed = await Promise.all(keys.map((key) => keySigned(note, key)));
  return !signed.includes(false) && keys.some(({ name }, i) => name === origin && signed[i]);
}

/** @param {Uint8Array} blob of a cosignature @returns {bigint} its time in seconds */
const timeOf = (blob) => BigInt(`0x${hex(blob.slice(0, 8))}`);

/** @param {Note} note that the witness signed @param {NoteKey} key @returns {Promise<bigint>} the latest time of its cosignatures */
export async function cosignedAt(note, key) {
  const id = await idOf(key);
  const own = note.signatures.filter(({ name, id: named }) => name === key.name && equal(named, id));
  return own.map(({ signature }) => timeOf(signature)).reduce((latest, one) => (one > latest ? one : latest), 0n);
}

/** @param {Note} note @param {NoteKey} key @param {Uint8Array} blob the time and the signature */
async function cosigned(note, key, blob) {
  if (blob.length !== 72) return false;
  const time = timeOf(blob);
  return time <= LATEST && signedBy(key.key, blob.slice(8), utf8(`cosignature/v1\ntime ${time}\n${note.body}`));
}

/** @param {any} value @param {(value: any) => boolean} fits whether a field that is left out or null, or has a value of this form */
const optional = (value, fits) => value === undefined || value === null || fits(value);

/**
 * Return the keys in a text: words of the form name+id+key, or a saved answer of `/v1/keys`.
 *
 * @param {string} source
 * @param {boolean} [witness]
 * @returns {Promise<NoteKey[]>} empty if the text has no key, or one that is malformed, weak, of another algorithm, or has not the id of its name and key
 */
export async function readKeys(source, witness = false) {
  const algorithm = witness ? COSIGNATURE : ED25519;
  /** @type {{name: any, key: Uint8Array | null, id?: string}[]} */
  let found;
  try {
    const items = JSON.parse(source).items;
    // A server's list has no witness: its own signature would count as a cosignature.
    if (witness || !Array.isArray(items) || !items.every(isListed)) return [];
    found = items.map(({ name, public: digits, id }) => ({ name, id, key: unbase64(String(digits)) }));
  } catch {
    found = source.split(/[ \t\r\n]+/).filter(Boolean).map((word) => {
      const [, name, id, digits] = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(word) ?? [];
      const blob = digits ? unbase64(digits) : null;
      return { name, id, key: blob?.[0] === algorithm ? blob.slice(1) : null };
    });
  }
  const keys = [];
  for (const { name, key, id } of found) {
    if (typeof name !== "string" || !KEY_NAME.test(name) || !key || !isStrongKey(key)) return [];
    const made = { name, key, algorithm };
    if (id !== undefined && id !== hex(await idOf(made))) return [];
    keys.push(made);
  }
  return keys;
}

const KEY_NAME = /^[^\p{White_Space}\x00-\x1f+]+$/u;

/** @param {any} item @returns {boolean} whether the fields of a key in a list have their form; those beside name and key may be left out */
function isListed(item) {
  const isTime = (/** @type {any} */ value) => wrongPlace("", TIME, value) === null;
  const { from, to, signed_by_previous: signed } = item;
  return optional(from, isTime) && optional(to, isTime) && optional(signed, (value) => typeof value === "string" && unbase64(value) !== null);
}

const MAX_RESTORES = 1000;

/** @param {string} source a text with keys @returns {string[]} the declarations of restores in it, if it is a saved answer of `/v1/keys` */
export function readRestores(source) {
  try {
    const found = JSON.parse(source).restores;
    return Array.isArray(found) ? found.filter((note) => typeof note === "string").slice(0, MAX_RESTORES) : [];
  } catch {
    return []; // not JSON: lines of text
  }
}

/**
 * A declared restore: moves that were acknowledged after `since` and before `at` may be missing.
 *
 * @typedef {{origin: string, leaf: string, since: string, at: string}} Restore
 */

/** @param {string} body @returns {Restore | null} */
export function parseRestore(body) {
  const time = "(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z)";
  const [, origin, leaf, since, at] = new RegExp(`^([^\\n]+)/restored\\n(0|[1-9]\\d{0,18})\\n${time}\\n${time}\\n$`).exec(body) ?? [];
  return at && since <= at ? { origin, leaf, since, at } : null;
}

/**
 * The content of a receipt: the head of a game's log after the event `seq`.
 *
 * @typedef {{origin: string, game: string, seq: number, head: string}} Receipt
 */

/** @param {string} body @returns {Receipt | null} */
export function parseReceipt(body) {
  const [, origin, game, version, digits] =
    /^([^\p{White_Space}+]+)\/g\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\n([1-9][0-9]{0,5})\n(\S+)\n$/u.exec(body) ?? [];
  const head = digits ? unbase64(digits) : null;
  return head?.length === 32 && Number(version) <= MAX_EVENTS ? { origin, game, seq: Number(version) - 1, head: hex(head) } : null;
}

/** @param {Receipt} receipt @returns {string} the body of a receipt */
export const receiptBody = ({ origin, game, seq, head }) =>
  `${origin}/g/${game}\n${seq + 1}\n${base64(Uint8Array.from(head.match(/../g) ?? [], (pair) => parseInt(pair, 16)))}\n`;

/**
 * A proof that a public log contains an entry (C2SP tlog-proof).
 *
 * @typedef {{entry: string | null, index: bigint, hashes: Uint8Array[], checkpoint: Note, size: bigint, root: Uint8Array, origin: string}} Proof
 */

/** @param {Uint8Array} bytes @returns {Proof | null} null if it is malformed */
export function parseProof(bytes) {
  let source;
  try {
    source = text(bytes);
  } catch {
    return null;
  }
  const split = source.indexOf("\n\n");
  const [head, ...lines] = source.slice(0, Math.max(split, 0)).split("\n");
  if (head !== "c2sp.org/tlog-proof@v1") return null;
  const extra = lines[0]?.startsWith("extra ") ? unbase64(lines.shift()?.slice(6) ?? "") : undefined;
  const [, index] = /^index (0|[1-9][0-9]{0,18})$/.exec(lines.shift() ?? "") ?? [];
  const hashes = lines.map(unbase64);
  const checkpoint = parseNote(utf8(source.slice(split + 2)));
  const [, origin, size, root] = /^([^\n]+)\n(0|[1-9][0-9]{0,18})\n([^\n]+)\n(?:[^\n]+\n)*$/.exec(checkpoint?.body ?? "") ?? [];
  const rootBytes = root ? unbase64(root) : null;
  if (!index || extra === null || hashes.some((hash) => hash?.length !== 32) || hashes.length > 63) return null;
  if (!checkpoint || rootBytes?.length !== 32 || (extra?.length ?? 0) > MAX_EXTRA) return null;
  if (BigInt(index) > LATEST || BigInt(size) > LATEST) return null;
  let entry = null;
  try {
    if (extra) entry = text(extra);
  } catch {
    return null;
  }
  const found = /** @type {Uint8Array[]} */ (hashes);
  return { entry, index: BigInt(index), hashes: found, checkpoint, size: BigInt(size), root: rootBytes, origin };
}

/** @param {Uint8Array} left @param {Uint8Array} right */
const node = (left, right) => sha256(concat(uint(1, 1), left, right));

/**
 * Return whether a proof leads from an entry to the root of its checkpoint (RFC 9162, 2.1.3.2).
 *
 * @param {Proof} proof
 * @param {string} entry
 */
export async function includes({ index, size, hashes, root }, entry) {
  if (index >= size) return false;
  let hash = await sha256(concat(uint(0, 1), utf8(entry)));
  let [at, last] = [index, size - 1n];
  for (const other of hashes) {
    if (last === 0n) return false;
    if (at & 1n || at === last) {
      hash = await node(other, hash);
      while (!(at & 1n) && at) [at, last] = [at >> 1n, last >> 1n];
    } else hash = await node(hash, other);
    [at, last] = [at >> 1n, last >> 1n];
  }
  return last === 0n && equal(hash, root);
}
