/** Canonical JSON of SHX/1 (section 1): RFC 8785, integers only, ASCII keys, NFC strings. */

import { text, utf8 } from "./bytes.js";

/** @typedef {null | boolean | number | string | any[] | {[key: string]: any}} Json */

/** Bytes that are not canonical JSON. */
export class NotCanonical extends Error {}

const MAX_NESTED = 64;

/**
 * Return a value as canonical JSON.
 *
 * @param {Json} value
 * @param {number} [depth]
 * @returns {string} throws NotCanonical for a value that has no canonical form
 */
export function canonical(value, depth = 0) {
  if (depth > MAX_NESTED) throw new NotCanonical("nested too deeply");
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new NotCanonical("a number that is no integer below 2^53");
    return String(value);
  }
  if (typeof value === "string") {
    if (/\p{Surrogate}/u.test(value)) throw new NotCanonical("a lone surrogate");
    if (value.normalize("NFC") !== value) throw new NotCanonical("a text that is not in normal form C");
    return JSON.stringify(value);
  }
  if (value === null || typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  const keys = Object.keys(value).sort();
  if (keys.some((key) => /[^\x00-\x7f]/.test(key))) throw new NotCanonical("a name that is not ASCII");
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key], depth + 1)}`).join(",")}}`;
}

/**
 * Return the value of canonical JSON.
 *
 * Parsing loses a second `"a"` in an object, and the spelling of `1.0`, `1e3` and spaces. If writing
 * the value again gives other bytes, the bytes were not canonical.
 *
 * @param {Uint8Array} bytes
 * @returns {Json} throws NotCanonical
 */
export function parseCanonical(bytes) {
  let source, value;
  try {
    source = text(bytes);
    value = JSON.parse(source);
  } catch {
    throw new NotCanonical("not JSON in UTF-8");
  }
  if (canonical(value) !== source) throw new NotCanonical("not in canonical form");
  return value;
}

/** @param {Json} value @returns {Uint8Array} the bytes of its canonical form */
export const canonicalBytes = (value) => utf8(canonical(value));
