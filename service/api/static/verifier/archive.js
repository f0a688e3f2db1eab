/** ZIP archives of evidence: read if every reader sees the same files in them. */

import { equal } from "./bytes.js";

/** The file is neither a bundle nor a log; `code` is the key of a text. */
export class NotABundle extends Error {
  /** @param {string} code @param {Record<string, string | number>} [values] */
  constructor(code, values = {}) {
    super(code);
    this.code = `file.${code}`;
    this.values = values;
  }
}

/**
 * A file or folder of an archive, under the name that the archive gives it (as Latin-1).
 *
 * @typedef {object} ArchiveFile
 * @property {string} name
 * @property {Uint8Array} content
 * @property {boolean} damaged whether the content does not have the checksum that the archive names
 * @property {boolean} isPlain whether it is stored as the server stores it, not compressed or streamed
 */

/** @typedef {{name: string, nameBytes: Uint8Array, flags: number, method: number, sums: number[], offset: number}} Entry */

const MAX_BYTES = 128 * 2 ** 20;
export const MAX_ENTRIES = 4096;
export const MAX_INFLATED = 32 * 2 ** 20;
const STREAMED = 0x0008;
const UTF8 = 0x0800;
const HARMLESS = UTF8 | STREAMED | 0x0006; // and the effort of the compression

const bad = () => new NotABundle("zip");

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

/** @param {Uint8Array} bytes */
const latin1 = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

/**
 * Return the files and folders of an archive, also of one packed by an ordinary program.
 *
 * Two readers must never see different files in one archive. So the entries follow each other up to
 * the directory without gaps; each header agrees with the directory; no name occurs twice; and no
 * bytes follow the end. Content is stored, or deflated to at most MAX_INFLATED bytes in all, counted
 * while it is inflated.
 *
 * @param {Uint8Array} data
 * @returns {Promise<ArchiveFile[]>} throws NotABundle
 */
export async function readArchive(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const { entries, directory } = readDirectory(data, view);
  /** @type {Map<string, ArchiveFile>} */
  const files = new Map();
  let [expected, left] = [0, MAX_INFLATED];
  for (const entry of entries.sort((a, b) => a.offset - b.offset)) {
    const { name, method, flags, sums: [crc, , size], offset } = entry;
    if (offset !== expected || files.has(name)) throw bad();
    const { packed, after } = readPacked(data, view, entry, directory);
    if (method && size > left) throw new NotABundle("large");
    const content = method ? await inflated(packed, size) : packed;
    left -= method ? size : 0;
    files.set(name, { name, content, damaged: crc32(content) !== crc, isPlain: !method && !(flags & ~UTF8) });
    expected = after;
  }
  if (expected !== directory) throw bad();
  return [...files.values()];
}

/** @param {Uint8Array} data @param {DataView} view @returns {{entries: Entry[], directory: number}} */
function readDirectory(data, view) {
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
    const [flags, method] = [8, 10].map((offset) => view.getUint16(at + offset, true));
    const sums = [16, 20, 24].map((offset) => view.getUint32(at + offset, true));
    const [long, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    const after = at + 46 + long + extra + comment;
    if (after > end || view.getUint16(at + 34, true) || ![0, 8].includes(method) || flags & ~HARMLESS) throw bad();
    if (!method && sums[1] !== sums[2]) throw bad();
    const nameBytes = data.subarray(at + 46, at + 46 + long);
    const name = latin1(nameBytes);
    const isFolder = name.endsWith("/") && !sums[2];
    const kind = view.getUint16(at + 40, true) & 0xf000;
    // A link or another special file, whichever system made it; some writers leave the kind out.
    if (![0, isFolder ? 0x4000 : 0x8000].includes(kind) || (view.getUint8(at + 38) & 0x10 && !isFolder)) throw bad();
    checkExtra(view, at + 46 + long, extra);
    entries.push({ name, nameBytes, flags, method, sums, offset: view.getUint32(at + 42, true) });
    at = after;
  }
  if (at !== end) throw bad();
  return { entries, directory };
}

/** Return the bytes of an entry as they are stored, and the offset of the next entry. @param {Uint8Array} data @param {DataView} view @param {Entry} entry @param {number} directory */
function readPacked(data, view, { nameBytes, flags, method, sums, offset }, directory) {
  if (offset + 30 > directory || view.getUint32(offset, true) !== 0x04034b50) throw bad();
  if (view.getUint16(offset + 6, true) !== flags || view.getUint16(offset + 8, true) !== method) throw bad();
  const own = [14, 18, 22].map((field) => view.getUint32(offset + field, true));
  if (own.some((value, i) => value !== sums[i] && (value || !(flags & STREAMED)))) throw bad();
  const [long, extra] = [26, 28].map((field) => view.getUint16(offset + field, true));
  const start = offset + 30 + long + extra;
  const end = start + sums[1];
  if (start > directory || !equal(nameBytes, data.subarray(offset + 30, offset + 30 + long))) throw bad();
  checkExtra(view, offset + 30 + long, extra);
  const after = flags & STREAMED ? afterSums(view, sums, end, directory) : end;
  if (after > directory) throw bad();
  return { packed: data.subarray(start, end), after };
}

/** Return the offset after the checksum and sizes that follow a streamed entry. @param {DataView} view @param {number[]} sums @param {number} at @param {number} directory */
function afterSums(view, sums, at, directory) {
  if (at + 16 > view.byteLength) throw bad();
  const start = view.getUint32(at, true) === 0x08074b50 ? at + 4 : at; // this mark is often left out
  if (start + 12 > directory || sums.some((value, i) => view.getUint32(start + 4 * i, true) !== value)) throw bad();
  return start + 12;
}

/** Return the content of a deflated entry. @param {Uint8Array} packed @param {number} size @returns {Promise<Uint8Array>} */
async function inflated(packed, size) {
  const content = await inflate(packed, size);
  // Node.js 20 ignores bytes after the end of the stream; without its last byte none has an end.
  const more = content && (await inflate(packed.subarray(0, -1), size));
  if (!content || more) throw bad();
  return content;
}

/** Return inflated bytes, null if they are not exactly `size` bytes. @param {Uint8Array} packed @param {number} size */
async function inflate(packed, size) {
  const stream = decompressor();
  const content = new Uint8Array(size);
  let at = 0;
  try {
    const reader = new Blob([/** @type {BlobPart} */ (packed)]).stream().pipeThrough(stream).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return at === size ? content : null;
      if (at + value.length > size) {
        await reader.cancel();
        return null;
      }
      content.set(value, at);
      at += value.length;
    }
  } catch {
    return null;
  }
}

function decompressor() {
  try {
    return new DecompressionStream("deflate-raw");
  } catch {
    throw new NotABundle("compressed");
  }
}

/** Refuse extra fields in which some readers find another size or name. @param {DataView} view @param {number} at @param {number} length */
function checkExtra(view, at, length) {
  for (const end = at + length; at < end; ) {
    const whole = at + 4 <= end && at + 4 + view.getUint16(at + 2, true) <= end;
    if (!whole || [0x0001, 0x554e, 0x7075].includes(view.getUint16(at, true))) throw new NotABundle("zip");
    at += 4 + view.getUint16(at + 2, true);
  }
}
