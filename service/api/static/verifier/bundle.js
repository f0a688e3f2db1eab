/** Evidence bundles (SHX/1, section 7): ZIP archives with a manifest, or a plain log. */

import { MAX_INFLATED, NotABundle, readArchive } from "./archive.js";
import { hex, sha256, text } from "./bytes.js";
import { NotCanonical, parseCanonical } from "./canonical.js";
import { HASH, integer, matching, record, TIME, UUID, wrongPlace, MAX_EVENTS } from "./shapes.js";

/** @typedef {import("./archive.js").ArchiveFile} ArchiveFile */

/**
 * The content of a file: the lines of a log, and for a bundle further files by name.
 *
 * @typedef {object} Bundle
 * @property {Uint8Array[]} lines
 * @property {Map<string, Uint8Array>} files
 * @property {{game: string, profile: string, made_at: string} | null} manifest
 * @property {Change[]} changed the files that are not those that the manifest lists
 * @property {boolean} repacked whether another program packed the files
 */

/** @typedef {{code: "changed" | "removed" | "added", name: string}} Change */

const MAX_BYTES = 128 * 2 ** 20;
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;
const isPlainName = (/** @type {string} */ name) => name.length <= 200 && NAME.test(name);
const BESIDE = /^(?:receipts\/[^/]+\.note|dispute\/.+|log\/(?:proof\.tlog-proof|stamped\.tlog-proof|stamped\.tsr)|openings\.json|refusals\.jsonl)$/;
const PROFILE = /^(?:public|seat-(?:[0-9]|[1-5][0-9]|6[0-3]))$/;
const EVENTS = "events.jsonl";
const MANIFEST_NAME = "manifest.json";

/** Files that operating systems add to folders and archives; they are not read. */
const CLUTTER = /^(?:__MACOSX\/.*|(?:.*\/)?(?:\.DS_Store|\._[^/]*|Thumbs\.db|desktop\.ini))$/s;

const FILE = record({ sha256: HASH, size: integer(0, MAX_BYTES) });
export const MANIFEST = record({
  v: integer(1, 1), game: UUID, made_at: TIME,
  profile: matching(PROFILE),
  files: (value, path) => {
    record({}, Object.fromEntries(Object.keys(value ?? {}).map((name) => [name, FILE])))(value, path);
  },
});

/**
 * Return the content of a file, whose first bytes determine its format.
 *
 * A bundle may be packed again: compressed, in one folder, beside files that operating systems add,
 * or as the only file of another archive.
 *
 * @param {Uint8Array} data
 * @returns {Promise<Bundle>} throws NotABundle
 */
export async function readFile(data) {
  if (data[0] === 0x50 && data[1] === 0x4b) return unpacked(await readArchive(data));
  if (data[0] !== 0x7b) throw new NotABundle("neither");
  const lines = linesOf(data);
  const bytes = new TextDecoder("latin1");
  const keysIn = (/** @type {Uint8Array} */ line) => new Set(bytes.decode(line).match(/"(?:prev|seq|type)"/g));
  if (!lines.some((line) => keysIn(line).size === 3)) throw new NotABundle("neither"); // other JSON
  return { lines, files: new Map(), manifest: null, changed: [], repacked: false };
}

/** Return the bundle in a folder. @param {Map<string, Uint8Array>} files by name @returns {Promise<Bundle>} throws NotABundle */
export const readFolder = (files) =>
  unpacked([...files].map(([name, content]) => ({ name, content, damaged: false, isPlain: false })));

/** @param {ArchiveFile[]} files @param {boolean} [inner] whether the archive was in another one @returns {Promise<Bundle>} */
async function unpacked(files, inner = false) {
  const own = files.filter(({ name }) => !name.endsWith("/") && !CLUTTER.test(name));
  if (!inner && own.length === 1 && own[0].name.endsWith(".shx")) {
    return { ...(await unpacked(await readArchive(own[0].content), true)), repacked: true };
  }
  const names = own.map(({ name }) => name);
  const folders = names.filter((name) => /^[^/]*\/manifest\.json$/s.test(name)).map((name) => name.slice(0, -MANIFEST_NAME.length));
  const folder = folders.length === 1 && !names.includes(MANIFEST_NAME) ? folders[0] : "";
  const repacked = Boolean(folder) || own.length < files.length || !own.every(({ isPlain }) => isPlain);
  if (repacked && own.reduce((sum, { content }) => sum + content.length, 0) > MAX_INFLATED) throw new NotABundle("large");
  const contents = new Map();
  const damaged = new Set();
  for (const one of own) {
    const name = one.name.slice(folder.length);
    if (!one.name.startsWith(folder) || !isPlainName(name)) throw new NotABundle("zip");
    contents.set(name, one.content);
    if (one.damaged) damaged.add(name);
  }
  return { ...(await bundleOf(contents, damaged)), repacked };
}

/** @param {Map<string, Uint8Array>} files @param {Set<string>} damaged those without their checksum @returns {Promise<Bundle>} */
async function bundleOf(files, damaged) {
  if (damaged.has(MANIFEST_NAME)) throw new NotABundle("manifest");
  const manifest = readManifest(files.get(MANIFEST_NAME));
  files.delete(MANIFEST_NAME);
  const events = files.get(EVENTS);
  if (!events) throw new NotABundle("no_events");
  const names = [...new Set([...files.keys(), ...Object.keys(manifest.files)])].sort();
  const changed = [];
  for (const name of [EVENTS, ...names.filter((one) => one !== EVENTS)]) {
    if (name !== EVENTS && !(BESIDE.test(name) && isPlainName(name))) throw new NotABundle("extra", { name });
    const entry = Object.hasOwn(manifest.files, name) ? manifest.files[name] : null;
    const content = files.get(name);
    if (!content) changed.push({ code: /** @type {const} */ ("removed"), name });
    else if (!entry) changed.push({ code: /** @type {const} */ ("added"), name });
    else if (damaged.has(name) || entry.size !== content.length || entry.sha256 !== hex(await sha256(content))) {
      changed.push({ code: /** @type {const} */ ("changed"), name });
    }
  }
  files.delete(EVENTS);
  return { lines: linesOf(events), files, manifest, changed, repacked: false };
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

/** @param {Uint8Array} data @returns {string} the text, "" if the bytes are not UTF-8 */
export function looseText(data) {
  try {
    return text(data);
  } catch {
    return "";
  }
}
