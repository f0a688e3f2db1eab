/** The evidence among chosen or dropped files: bundles and logs, also those in folders and tar files, each read when it is checked. */

import { MAX_ENTRIES, NotABundle } from "../verifier/archive.js";
import { readFile, readFolder } from "../verifier/bundle.js";

/**
 * A bundle or log that is not read yet; `read` throws NotABundle with the reason if it is none, or cannot be read.
 *
 * @typedef {{name: string, read: () => Promise<import("../verifier/bundle.js").Bundle>}} Source
 */

const MAX_BYTES = 128 * 2 ** 20; // of one file
const MAX_SOURCES = 100_000;
const BLOCK = 512; // bytes of a header of a tar file, and the unit of its content
const EVIDENCE = /\.(?:shx|jsonl|ndjson|zip|tar)$/i; // in a folder; files of other names are left out there
const BESIDE = /(?:^|\/)index\.ndjson$/; // of a dump of a month

const tooLarge = () => new NotABundle("big", { n: MAX_BYTES / 2 ** 20 });

/** Return the body of an answer; reads none if it is announced as too large, else no more than the limit. @param {Response} answer @returns {Promise<Blob>} throws NotABundle */
export async function blobOf(answer) {
  let left = MAX_BYTES;
  const parts = [];
  if (Number(answer.headers.get("Content-Length")) > left) throw tooLarge();
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (answer.body).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    left -= part.value.length;
    if (left >= 0) continue;
    void reader.cancel();
    throw tooLarge();
  }
  return new Blob(parts);
}

/** Return the bytes of a file. @param {Blob} file @returns {Promise<Uint8Array>} throws NotABundle if it is too large, a folder, or cannot be read */
export async function bytesOf(file) {
  if (file.size > MAX_BYTES) throw tooLarge();
  try {
    return new Uint8Array(await file.arrayBuffer());
  } catch {
    throw new NotABundle("unread");
  }
}

/** @param {Blob} file @param {string} name @returns {Source} */
export const sourceOf = (file, name) => ({ name, read: async () => readFile(await bytesOf(file)) });

/** @param {string} name @param {string} code @returns {Source} a part that cannot be read */
const unreadable = (name, code) => ({ name, read: () => Promise.reject(new NotABundle(code)) });

/**
 * Return the evidence in files and folders, and the number of other files in the folders.
 *
 * @param {(File | FileSystemEntry)[]} items
 * @returns {Promise<{sources: Source[], others: number}>}
 */
export async function sourcesIn(items) {
  /** @type {{sources: Source[], others: number}} */
  const found = { sources: [], others: 0 };
  for (const item of items) {
    if (item instanceof Blob) await addFile(item, item.name, found.sources);
    else if (item.isFile) await addFile(await fileOf(/** @type {FileSystemFileEntry} */ (item)), item.name, found.sources);
    else await addFolder(/** @type {FileSystemDirectoryEntry} */ (item), found);
  }
  return found;
}

/** @param {File | null} file @param {string} name @param {Source[]} sources */
async function addFile(file, name, sources) {
  if (sources.length >= MAX_SOURCES) throw new NotABundle("sources", { n: MAX_SOURCES });
  if (!file) sources.push(unreadable(name, "unread"));
  else if (await isTar(file)) await addTar(file, name, sources);
  else sources.push(sourceOf(file, name));
}

/** @param {FileSystemFileEntry} entry @returns {Promise<File | null>} */
const fileOf = (entry) => new Promise((done) => entry.file(done, () => done(null)));

/** A folder is an unpacked bundle, or has files of evidence. @param {FileSystemDirectoryEntry} folder @param {{sources: Source[], others: number}} found */
async function addFolder(folder, found) {
  const entries = await entriesOf(folder);
  const name = folder.fullPath.slice(1);
  if (entries.some((one) => one.isFile && one.name === "manifest.json")) {
    found.sources.push({ name, read: async () => readFolder(await filesIn(folder)) });
    return;
  }
  for (const entry of entries) {
    const path = entry.fullPath.slice(1);
    if (entry.isDirectory) await addFolder(/** @type {FileSystemDirectoryEntry} */ (entry), found);
    else if (EVIDENCE.test(entry.name) && !BESIDE.test(path)) await addFile(await fileOf(/** @type {FileSystemFileEntry} */ (entry)), path, found.sources);
    else found.others += 1;
  }
}

/** @param {FileSystemDirectoryEntry} folder @returns {Promise<FileSystemEntry[]>} sorted by name; a reader returns some at a time */
async function entriesOf(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((done) => reader.readEntries(done, () => done([])));
    if (!some.length) return all.sort((a, b) => (a.name < b.name ? -1 : 1));
    all.push(...some);
  }
}

/** @param {FileSystemDirectoryEntry} root @returns {Promise<Map<string, Uint8Array>>} the files of an unpacked bundle by name */
async function filesIn(root) {
  /** @type {Map<string, Uint8Array>} */
  const files = new Map();
  const folders = [root];
  for (let own = folders.pop(); own; own = folders.pop()) {
    for (const entry of await entriesOf(own)) {
      if (entry.isDirectory) folders.push(/** @type {FileSystemDirectoryEntry} */ (entry));
      else {
        const file = await fileOf(/** @type {FileSystemFileEntry} */ (entry));
        if (!file) throw new NotABundle("unread");
        if (files.size >= MAX_ENTRIES) throw new NotABundle("large");
        files.set(entry.fullPath.slice(root.fullPath.length + 1), await bytesOf(file));
      }
    }
  }
  return files;
}

/** @param {Blob} file @param {number} at @returns {Promise<Uint8Array | null>} a block, null if it cannot be read or is cut off */
async function blockAt(file, at) {
  const block = await file.slice(at, at + BLOCK).arrayBuffer().catch(() => null);
  return block?.byteLength === BLOCK ? new Uint8Array(block) : null;
}

const ascii = (/** @type {Uint8Array} */ bytes) => String.fromCharCode(...bytes).replace(/\0.*$/s, "");

/** @param {Blob} file */
async function isTar(file) {
  const block = await blockAt(file, 0);
  return block !== null && ascii(block.subarray(257, 262)) === "ustar";
}

/** Add the files of a tar file, without reading them; what follows a part that is no plain file is not read. @param {File} tar @param {string} name @param {Source[]} sources */
async function addTar(tar, name, sources) {
  for (let at = 0; ; ) {
    const header = await blockAt(tar, at);
    if (!header) return void sources.push(unreadable(name, "tar_cut"));
    if (header.every((byte) => !byte)) return;
    const size = parseInt(ascii(header.subarray(124, 136)), 8);
    const end = at + BLOCK + size;
    if (!"0\0".includes(String.fromCharCode(header[156])) || !Number.isInteger(size)) return void sources.push(unreadable(name, "tar"));
    if (end > tar.size) return void sources.push(unreadable(name, "tar_cut"));
    const member = [ascii(header.subarray(345, 500)), ascii(header.subarray(0, 100))].filter(Boolean).join("/");
    if (sources.length >= MAX_SOURCES) throw new NotABundle("sources", { n: MAX_SOURCES });
    sources.push(sourceOf(tar.slice(at + BLOCK, end), `${name}: ${member}`));
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
