/** Evidence bundles (SHX/1, section 7): strict ZIP archives with a manifest, or a plain log. */

import { equal, hex, sha256, text } from "./bytes.js";
import { NotCanonical, parseCanonical } from "./canonical.js";
import { HASH, integer, matching, record, TIME, UUID, wrongPlace, MAX_EVENTS } from "./shapes.js";

/**
 * The file is neither a bundle nor a log; `code` is the key of a text. If a file of a bundle was
 * changed, `rest` is the log without the other files: its checks can show the changed event.
 */
export class NotABundle extends Error {
  /** @param {string} code @param {Record<string, string | number>} [values] @param {Bundle | null} [rest] */
  constructor(code, values = {}, rest = null) {
    super(code);
    this.code = `file.${code}`;
    this.values = values;
    this.rest = rest;
  }
}

/**
 * The content of a file: the lines of a log, and for a bundle further files by name.
 *
 * @typedef {object} Bundle
 * @property {Uint8Array[]} lines
 * @property {Map<string, Uint8Array>} files
 * @property {{game: string, profile: string, made_at: string} | null} manifest
 * @property {string[]} unused names of the files of a changed bundle, which are not used as evidence
 */

const MAX_BYTES = 128 * 2 ** 20;
const MAX_ENTRIES = 4096;
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const BESIDE = /^(?:receipts\/[^/]+\.note|dispute\/.+|log\/proof\.tlog-proof|openings\.json|refusals\.jsonl)$/;
const PROFILE = /^(?:public|seat-(?:[0-9]|[1-5][0-9]|6[0-3]))$/;

const FILE = record({ sha256: HASH, size: integer(0, MAX_BYTES) });
const MANIFEST = record({
  v: integer(1, 1), game: UUID, made_at: TIME,
  profile: matching(PROFILE),
  files: (value, path) => {
    record({}, Object.fromEntries(Object.keys(value ?? {}).map((name) => [name, FILE])))(value, path);
  },
});

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

/** @param {Uint8Array} bytes */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * Return the content of a file, whose first bytes determine its format.
 *
 * @param {Uint8Array} data
 * @returns {Promise<Bundle>} throws NotABundle
 */
export async function readFile(data) {
  if (data[0] === 0x50 && data[1] === 0x4b) return readBundle(data);
  if (data[0] !== 0x7b) throw new NotABundle("neither");
  const lines = linesOf(data);
  const bytes = new TextDecoder("latin1");
  const keysIn = (/** @type {Uint8Array} */ line) => new Set(bytes.decode(line).match(/"(?:prev|seq|type)"/g));
  if (!lines.some((line) => keysIn(line).size === 3)) throw new NotABundle("neither"); // other JSON
  return { lines, files: new Map(), manifest: null, unused: [] };
}

/** @param {Uint8Array} data @returns {Promise<Bundle>} */
async function readBundle(data) {
  const { files, damaged } = readZip(data);
  if (damaged.includes("manifest.json")) throw new NotABundle("changed", { name: "manifest.json" });
  const manifest = readManifest(files.get("manifest.json"));
  files.delete("manifest.json");
  const listed = Object.keys(manifest.files);
  if (listed.length !== files.size) throw new NotABundle("manifest");
  for (const [name, content] of files) {
    const entry = Object.hasOwn(manifest.files, name) ? manifest.files[name] : null;
    if (!entry || (name !== "events.jsonl" && !BESIDE.test(name))) throw new NotABundle("extra", { name });
    if (entry.size !== content.length || entry.sha256 !== hex(await sha256(content))) damaged.push(name);
  }
  const events = files.get("events.jsonl");
  if (!events) throw new NotABundle("no_events");
  files.delete("events.jsonl");
  const lines = linesOf(events);
  if (!damaged.length) return { lines, files, manifest, unused: [] };
  const name = damaged.includes("events.jsonl") ? "events.jsonl" : damaged[0];
  throw new NotABundle("changed", { name }, { lines, files: new Map(), manifest: null, unused: [...files.keys()] });
}

/** @param {Uint8Array | undefined} data */
function readManifest(data) {
  if (!data) throw new NotABundle("manifest");
  try {
    const manifest = /** @type {any} */ (parseCanonical(data));
    if (wrongPlace("", MANIFEST, manifest) === null) return manifest;
  } catch (error) {
    if (!(error instanceof NotCanonical)) throw error;
  }
  throw new NotABundle("manifest");
}

/** @param {Uint8Array} data @returns {Uint8Array[]} the lines, unchecked */
export function linesOf(data) {
  const lines = [];
  for (let at = 0; at < data.length; ) {
    const end = data.indexOf(10, at);
    lines.push(data.subarray(at, end < 0 ? data.length : end));
    if (lines.length > MAX_EVENTS) throw new NotABundle("many");
    at = end < 0 ? data.length : end + 1;
  }
  return lines;
}

/**
 * Return the files of an archive, and the names of those with a wrong checksum.
 *
 * Two readers must never see different files in one archive. So entries are stored, not compressed;
 * they follow each other up to the directory without gaps; each header agrees with the directory;
 * and no bytes follow the end.
 *
 * @param {Uint8Array} data
 * @returns {{files: Map<string, Uint8Array>, damaged: string[]}}
 */
function readZip(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const bad = () => new NotABundle("zip");
  const end = data.length - 22;
  if (end < 0 || data.length > MAX_BYTES || view.getUint32(end, true) !== 0x06054b50) throw bad();
  const [disk, first, here, total] = [4, 6, 8, 10].map((at) => view.getUint16(end + at, true));
  const directory = view.getUint32(end + 16, true);
  if (disk || first || here !== total || total > MAX_ENTRIES) throw bad();
  if (view.getUint16(end + 20, true) || directory + view.getUint32(end + 12, true) !== end) throw bad();
  const entries = [];
  let at = directory;
  for (let i = 0; i < total; i++) {
    if (at + 46 > end || view.getUint32(at, true) !== 0x02014b50) throw bad();
    const [long, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const after = at + 46 + long + extra + comment;
    const mode = view.getUint16(at + 40, true);
    if (after > end || view.getUint16(at + 34, true) || view.getUint8(at + 38) & 0x10) throw bad();
    if (![0, 0x8000].includes(mode & 0xf000)) throw bad(); // a link or another special file, whichever system made it
    checkExtra(view, at + 46 + long, extra);
    entries.push({ central: at, offset: view.getUint32(at + 42, true), name: data.subarray(at + 46, at + 46 + long) });
    at = after;
  }
  if (at !== end) throw bad();
  return contents(data, view, entries.sort((a, b) => a.offset - b.offset), directory);
}

/** @param {Uint8Array} data @param {DataView} view @param {{central: number, offset: number, name: Uint8Array}[]} entries @param {number} directory */
function contents(data, view, entries, directory) {
  const files = new Map();
  /** @type {string[]} */
  const damaged = [];
  const bad = () => new NotABundle("zip");
  let expected = 0;
  for (const { central, offset, name } of entries) {
    if (offset !== expected || offset + 30 > directory || view.getUint32(offset, true) !== 0x04034b50) throw bad();
    const [flags, method] = [8, 10].map((field) => view.getUint16(central + field, true));
    if (method || flags & ~0x0800 || view.getUint16(offset + 6, true) !== flags || view.getUint16(offset + 8, true)) throw bad();
    const [crc, packed, size] = [16, 20, 24].map((field) => view.getUint32(central + field, true));
    const same = [14, 18, 22].every((field, i) => view.getUint32(offset + field, true) === [crc, packed, size][i]);
    const [long, extra] = [26, 28].map((field) => view.getUint16(offset + field, true));
    const start = offset + 30 + long + extra;
    if (packed !== size || !same || start + size > directory) throw bad();
    if (!equal(name, data.subarray(offset + 30, offset + 30 + long))) throw bad();
    checkExtra(view, offset + 30 + long, extra);
    const path = String.fromCharCode(...name);
    if (path.length > 200 || !NAME.test(path) || files.has(path)) throw bad();
    const content = data.subarray(start, start + size);
    if (crc32(content) !== crc) damaged.push(path);
    files.set(path, content);
    expected = start + size;
  }
  if (expected !== directory) throw bad();
  return { files, damaged };
}

/** Refuse extra fields in which some readers find another size or name. @param {DataView} view @param {number} at @param {number} length */
function checkExtra(view, at, length) {
  for (const end = at + length; at < end; ) {
    const whole = at + 4 <= end && at + 4 + view.getUint16(at + 2, true) <= end;
    if (!whole || [0x0001, 0x554e, 0x7075].includes(view.getUint16(at, true))) throw new NotABundle("zip");
    at += 4 + view.getUint16(at + 2, true);
  }
}

/** @param {Uint8Array} data @returns {string} the text, "" if the bytes are not UTF-8 */
export function looseText(data) {
  try {
    return text(data);
  } catch {
    return "";
  }
}
