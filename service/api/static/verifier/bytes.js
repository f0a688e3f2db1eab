/**
 * Bytes, hashes and encodings of SHX/1 (section 1), and Ed25519, with WebCrypto alone.
 *
 * This program shares no code with the server or its verifier. It is written from the public
 * description of the format, so that two independent programs have to agree on a game.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @param {string} text @returns {Uint8Array} */
export const utf8 = (text) => encoder.encode(text);

/** @param {Uint8Array} bytes @returns {string} the text; throws TypeError if it is not UTF-8 */
export const text = (bytes) => decoder.decode(bytes);

/** @param {Uint8Array[]} parts @returns {Uint8Array} */
export function concat(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** @param {Uint8Array} a @param {Uint8Array} b */
export const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);

/** @param {Uint8Array} bytes */
export const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {string} digits lowercase hex of even length */
export const unhex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** @param {Uint8Array} bytes */
export const base64 = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

/** @param {string} digits @returns {Uint8Array | null} null unless it is canonical standard base64 */
export function unbase64(digits) {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits) || digits.length % 4) return null;
  const bytes = Uint8Array.from(atob(digits), (character) => character.charCodeAt(0));
  return base64(bytes) === digits ? bytes : null;
}

/**
 * Return a big-endian integer.
 *
 * @param {number} value below 2^53
 * @param {number} size in bytes
 */
export function uint(value, size) {
  const bytes = new Uint8Array(size);
  for (let i = size - 1, rest = value; i >= 0; i--, rest = Math.floor(rest / 256)) bytes[i] = rest % 256;
  return bytes;
}

/** @param {string} uuid @returns {Uint8Array} its 16 bytes */
export const uuidBytes = (uuid) => unhex(uuid.replaceAll("-", ""));

/** @param {(string | Uint8Array)[]} parts @returns {Uint8Array} enc(x1, …, xk) */
function encoded(parts) {
  const pieces = parts.map((part) => (typeof part === "string" ? utf8(part) : part));
  return concat(...pieces.flatMap((piece) => [uint(piece.length, 4), piece]));
}

/** @param {Uint8Array} bytes @returns {Promise<Uint8Array>} */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", /** @type {BufferSource} */ (bytes)));
}

/** @param {string} tag @param {(string | Uint8Array)[]} parts @returns {Promise<Uint8Array>} TH(tag, x…) */
export const taggedHash = (tag, ...parts) => sha256(encoded([tag, ...parts]));

/**
 * Return a function that computes TM(key, tag, x…) for one key, which is imported only once.
 *
 * @param {Uint8Array} key
 * @returns {Promise<(tag: string, ...parts: (string | Uint8Array)[]) => Promise<Uint8Array>>}
 */
export async function taggedMac(key) {
  const imported = await crypto.subtle.importKey(
    "raw", /** @type {BufferSource} */ (key), { name: "HMAC", hash: "SHA-256" }, false, ["sign"],
  );
  return async (tag, ...parts) =>
    new Uint8Array(
      await crypto.subtle.sign("HMAC", imported, /** @type {BufferSource} */ (encoded([tag, ...parts]))),
    );
}

/** @param {Uint8Array} line @returns {Promise<Uint8Array>} head(seq), the hash of an event's bytes */
export const headOf = (line) => sha256(concat(new Uint8Array(1), line));

/** Signatures cannot be checked: the browser has no Ed25519. */
export class NoEd25519 extends Error {}

const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

/** @param {bigint} base @param {bigint} exponent */
function power(base, exponent) {
  let result = 1n;
  for (let b = base % P, e = exponent; e > 0n; e >>= 1n, b = (b * b) % P) if (e & 1n) result = (result * b) % P;
  return result;
}

/**
 * Return whether 32 bytes are a valid public key, and not a weak one (RFC 8032, section 5.1.3).
 *
 * For a point of small order, signatures can be made without a private key. A second encoding of a
 * point, and a point that is not on the curve, are refused as well.
 *
 * @param {Uint8Array} key
 */
export function isStrongKey(key) {
  if (key.length !== 32) return false;
  const y = BigInt("0x" + hex(Uint8Array.from(key).reverse())) & (2n ** 255n - 1n);
  if (y >= P) return false;
  const y2 = (y * y) % P;
  const x2 = (((y2 - 1n + P) % P) * power(D * y2 + 1n, P - 2n)) % P;
  if (x2 === 0n || y === 0n) return false; // order 1 or 2, and order 4
  if (power(x2, (P - 1n) / 2n) !== 1n) return false; // not on the curve
  // The four points of order 8 are those whose double has y = 0: there y² = -x².
  return (y2 + x2) % P !== 0n;
}

/**
 * Return whether a signature of a message was made with a key.
 *
 * @param {Uint8Array} key
 * @param {Uint8Array} signature
 * @param {Uint8Array} message
 * @returns {Promise<boolean>} throws NoEd25519 if this browser cannot check it
 */
export async function signedBy(key, signature, message) {
  if (!isStrongKey(key) || signature.length !== 64) return false;
  const parts = [key, signature, message].map((part) => /** @type {BufferSource} */ (part));
  let imported;
  try {
    imported = await crypto.subtle.importKey("raw", parts[0], { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    if (error instanceof DOMException && error.name === "DataError") return false;
    throw new NoEd25519();
  }
  return crypto.subtle.verify({ name: "Ed25519" }, imported, parts[1], parts[2]);
}
