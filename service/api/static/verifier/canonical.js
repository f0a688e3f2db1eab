/** Canonical JSON of SHX/1 (section 1): RFC 8785, integers and printable ASCII only. */

import { text, utf8 } from "./bytes.js";

/** @typedef {null | boolean | number | string | any[] | {[key: string]: any}} Json */

/** Bytes that are not canonical JSON. */
export class NotCanonical extends Error {}

const MAX_NESTED = 64;
const PRINTABLE = /^[ -~]*$/;

/**
 * Return a value as canonical JSON.
 *
 * @param {Json} value
 * @param {number} [depth] of the lists and objects around it
 * @returns {string} throws NotCanonical for a value that has no canonical form
 */
export function canonical(value, depth = 0) {
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new NotCanonical("a number that is no integer below 2^53");
    return String(value);
  }
  if (typeof value === "string") {
    if (!PRINTABLE.test(value)) throw new NotCanonical("a character other than printable ASCII");
    return JSON.stringify(value);
  }
  if (value === null || typeof value === "boolean") return String(value);
  if (depth === MAX_NESTED) throw new NotCanonical("nested too deeply"); // also an empty list counts
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, depth + 1)).join(",")}]`;
  const keys = Object.keys(value).sort();
  if (!keys.every((key) => PRINTABLE.test(key))) throw new NotCanonical("a name with a character other than printable ASCII");
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
