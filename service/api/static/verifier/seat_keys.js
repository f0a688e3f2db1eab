/** Readers of the keys of seats from outside, and of their changes (SHX/1, section 5); the page has no field for them. */

import { isStrongKey, unbase64 } from "./bytes.js";
import { integer, listOf, matching, Misshapen, record, SEAT, UUID } from "./shapes.js";

/** A statement that `key` replaces the key of a seat; its signature is not checked yet. @typedef {{change: {v: 1, table: string, seat: number, key: string}, sig: string}} KeyChange */

const MAX_CHANGES = 1000;
const base64Of = (/** @type {number} */ size) => (/** @type {any} */ value, /** @type {string} */ path) => {
  matching(/^[A-Za-z0-9+/]+={0,2}$/)(value, path);
  if (unbase64(value)?.length !== size) throw new Misshapen(path);
};
const CHANGES = listOf(record({ change: record({ v: integer(1, 1), table: UUID, seat: SEAT, key: base64Of(32) }), sig: base64Of(64) }), 0, MAX_CHANGES);

/** @param {string} source one change, a list of them, or a saved answer of the service @returns {KeyChange[] | null} null if it is none of these */
export function readKeyChanges(source) {
  try {
    const value = JSON.parse(source);
    const items = value?.items ?? value;
    const changes = Array.isArray(items) ? items : [items];
    CHANGES(changes, "");
    return changes;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof Misshapen) return null;
    throw error;
  }
}

/** @param {string} word of the form SEAT=KEY @returns {[number, string] | null} null if it has another form, or a key with which anybody can sign */
export function readSeatKey(word) {
  const [, seat, key] = /^([0-9]|[1-9][0-9])=(.+)$/s.exec(word) ?? [];
  return key && isStrongKey(unbase64(key) ?? new Uint8Array()) ? [Number(seat), key] : null;
}
