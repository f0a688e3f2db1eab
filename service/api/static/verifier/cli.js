/**
 * The verifier on the command line, for Node.js 18 or newer (20 for compressed archives):
 *
 *     node cli.js game.shx --receipt mine.note --server-key keys.json
 *
 * Exit status: 3 a file is neither a bundle nor a log, else 1 a check failed, else 2 evidence for a required check or for the level
 * asked for is missing, else 0; 64 a wrong command line. Several files are compared with each other, as the hands of a table.
 */

import { webcrypto } from "node:crypto";
import { closeSync, existsSync, lstatSync, openSync, readdirSync, readFileSync, readSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { parseArgs } from "node:util";

import { MAX_ENTRIES, MAX_INFLATED, NotABundle } from "./archive.js";
import { readFile, readFolder } from "./bundle.js";
import { LEVELS, levelOf, statusFor } from "./levels.js";
import { MAX_NOTE, distinct, readKeys, readRestores } from "./notes.js";
import { readKeyChanges, readSeatKey } from "./seat_keys.js";
import { verifyAll } from "./sequence.js";
import { ruleOf } from "./statements.js";
import { authorOf, resultOf, verdictOf } from "./verify.js";

const USAGE = [
  "usage: node cli.js FILE… [options]     (a FILE may be the folder of an unpacked bundle)",
  "  --level LEVEL        the level that is asked for: L0, L1, L2 or L3 (L1)",
  "  --receipt FILE       a receipt that you stored (repeatable)",
  "  --server-key KEY     the server's key (name+id+key), a file with it, or a saved answer of /v1/keys",
  "  --witness-key KEY    the key of a witness (name+id+key), or a file with it (repeatable)",
  "  --quorum N           how many of these witnesses must have signed (all)",
  "  --seat-key SEAT=KEY  the key of a seat, from 0, that you know from its player (repeatable)",
  "  --key-change FILE    changes of keys between hands: a saved answer of /v1/tables/ID/keys (repeatable)",
  "  --json               one line of JSON for each file",
].join("\n");

globalThis.crypto ??= /** @type {Crypto} */ (webcrypto); // Node.js 18 has no global `crypto`

/** The texts of the page, and those that only a comparison of several logs needs. @type {Record<string, string>} */
const words = Object.assign({}, ...[".", "report", "verify", "findings"].map((part) => JSON.parse(readFileSync(new URL(`../../../words/${part}/en.json`, import.meta.url), "utf8"))));

/** An invalid command line. */
class UsageError extends Error {}

const SEATS = /^(?:seat|dealer|taker|turn|due)$/;

/** @param {number} seat as data count it, from 0 @returns {string} the seat in words, which count from 1 */
const seatWords = (seat) => words["seat.number"].replace("{n}", String(seat + 1));

/** @param {string} code @param {import("./log.js").Values} [values] */
function sentence(code, values = {}) {
  const named = (/** @type {string} */ name) => (SEATS.test(name) && values[name] !== null ? seatWords(Number(values[name])) : String(values[name] ?? "–"));
  const text = words[code].replace(/\{(\w+)\}/g, (_, name) => named(name));
  return text[0].toUpperCase() + text.slice(1);
}

/** @param {string} value a key, or the name of a file of keys @param {boolean} witness */
async function keysOf(value, witness) {
  const keys = await readKeys(value, witness);
  if (keys.length) return keys;
  const found = await readKeys(readFileSync(value, "utf8"), witness);
  if (!found.length) throw new UsageError(`${value}: ${sentence("file.key")}`);
  return found;
}

/** @param {string} value a key, or the name of a file of keys @returns {string[]} the declarations of restores beside the keys */
const restoresOf = (value) => readRestores(existsSync(value) ? readFileSync(value, "utf8") : value);

function options() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        receipt: { type: "string", multiple: true, default: [] },
        "server-key": { type: "string", multiple: true, default: [] },
        "witness-key": { type: "string", multiple: true, default: [] },
        quorum: { type: "string" },
        level: { type: "string", default: "L1" },
        "seat-key": { type: "string", multiple: true, default: [] },
        "key-change": { type: "string", multiple: true, default: [] },
        json: { type: "boolean", default: false },
      },
    });
    if (!positionals.length) throw new UsageError("no file");
    if (values.quorum !== undefined && !/^[1-9][0-9]*$/.test(values.quorum)) throw new UsageError("--quorum must be a positive integer");
    if (!LEVELS.includes(values.level)) throw new UsageError("--level must be L0, L1, L2 or L3");
    return { values, files: positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : "");
  }
}

/** Return the content of a file, or of a folder with the files of a bundle. @param {string} path @returns {Promise<import("./bundle.js").Bundle>} */
const contentOf = async (path) => (statSync(path).isDirectory() ? readFolder(filesIn(path)) : readFile(readFileSync(path)));

/** @param {string} folder @returns {Map<string, Uint8Array>} its files by name, also those of its folders */
function filesIn(folder) {
  /** @type {Map<string, Uint8Array>} */
  const files = new Map();
  let left = MAX_INFLATED;
  const folders = [folder];
  for (let own = folders.pop(); own !== undefined; own = folders.pop()) {
    for (const entry of readdirSync(own, { withFileTypes: true })) {
      const path = join(own, entry.name);
      if (entry.isDirectory()) {
        folders.push(path);
        continue;
      }
      const name = relative(folder, path).split(sep).join("/");
      if (!entry.isFile()) throw new NotABundle("extra", { name });
      left -= lstatSync(path).size;
      if (left < 0 || files.size >= MAX_ENTRIES) throw new NotABundle("large");
      files.set(name, readFileSync(path));
    }
  }
  if (!files.has("manifest.json")) throw new NotABundle("folder");
  return files;
}

/** @param {string[]} words @returns {Map<number, string>} */
function seatKeysIn(words) {
  const keys = words.map((word) => {
    const found = readSeatKey(word);
    if (!found) throw new UsageError("--seat-key must be SEAT=KEY with a key of 32 bytes in base64");
    return found;
  });
  if (new Map(keys).size < keys.length) throw new UsageError("--seat-key repeats a seat");
  return new Map(keys);
}

/** @param {string} path */
function keyChangesIn(path) {
  const found = readKeyChanges(readFileSync(path, "utf8"));
  if (!found) throw new UsageError(`${path}: not a change of keys`);
  return found;
}

/**
 * Print the result of a file.
 *
 * @param {string} file
 * @param {{log: import("./log.js").Log, findings: import("./verify.js").Finding[], outside: import("./outside.js").Outside}} found
 * @param {string} asked the level asked for
 * @param {boolean} json
 * @returns {number} the exit status
 */
function report(file, { log, findings, outside }, asked, json) {
  const reached = levelOf(log, findings, outside);
  const status = statusFor(resultOf(findings, outside), reached, log, asked);
  if (json) {
    console.log(JSON.stringify({ file, game: log.events[0]?.game ?? null, status, level: reached.level, findings }));
    return status;
  }
  for (const { check, result, seq, reason, remarks } of findings) {
    const place = seq === null ? "" : `seq ${seq}: `;
    const sentences = [...(reason ? [reason] : []), ...remarks].map(({ code, values }) => sentence(code, values));
    console.log(`${check.padEnd(12)} ${result.padEnd(8)} ${place}${sentences.join(" ")}`.trimEnd());
    const rule = reason && ruleOf(log.created?.data.ruleset.id ?? "", reason.values.cite);
    if (rule) console.log(`${" ".repeat(22)}${sentence("page.rule", { id: rule.id })} ${rule.texts.join(" ")}`);
  }
  if (status === 1) {
    const author = authorOf(findings, outside);
    console.log(`${sentence(`verdict.who.${author}`)}\n${sentence(`verdict.more.${author}`)}`);
  }
  console.log(`${file}: ${sentence(verdictOf(status, findings))}${status === 1 ? "" : levelIn(reached, log)}`);
  return status;
}

/** @param {import("./levels.js").Reached} reached @param {import("./log.js").Log} log @returns {string} the level in words, after a verdict */
function levelIn({ level, upTo }, log) {
  const part = upTo === null || upTo >= log.lines.length - 1 ? "" : ` up to seq ${upTo}`;
  return level === null ? "" : `, level ${level}${part}${log.seal ? "" : " so far"}`;
}

/** The exit status of several files is the one of their statuses that comes last here. */
const SEVERITY = [0, 2, 1, 3];

/** @param {string} path @returns {Uint8Array} the note in a file, or so much of a longer file that it is no note */
function noteOf(path) {
  const bytes = new Uint8Array(MAX_NOTE + 1);
  const file = openSync(path, "r");
  try {
    let length = 0;
    for (let read = 1; read && length < bytes.length; length += read) read = readSync(file, bytes, length, bytes.length - length, null);
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** @returns {Promise<number>} the exit status */
async function main() {
  const { values, files } = options();
  const witnessKeys = distinct((await Promise.all(values["witness-key"].map((key) => keysOf(key, true)))).flat());
  const outside = {
    receipts: values.receipt.map(noteOf),
    serverKeys: (await Promise.all(values["server-key"].map((key) => keysOf(key, false)))).flat(),
    restores: values["server-key"].flatMap(restoresOf),
    witnessKeys,
    quorum: values.quorum ? Number(values.quorum) : witnessKeys.length,
    seatKeys: seatKeysIn(values["seat-key"]),
    keyChanges: values["key-change"].flatMap(keyChangesIn),
  };
  const statuses = [];
  const [names, bundles] = [/** @type {string[]} */ ([]), /** @type {import("./bundle.js").Bundle[]} */ ([])];
  for (const file of files) {
    try {
      bundles.push(await contentOf(file));
      names.push(file);
    } catch (error) {
      const message = error instanceof NotABundle ? sentence(error.code, error.values) : error instanceof Error && "code" in error ? error.message : null;
      if (message === null) throw error;
      console.error(`${file}: ${message}`);
      statuses.push(3);
    }
  }
  for (const [i, found] of (await verifyAll(bundles, outside)).entries()) statuses.push(report(names[i], found, values.level, values.json));
  return statuses.reduce((worst, status) => (SEVERITY.indexOf(status) > SEVERITY.indexOf(worst) ? status : worst), 0);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError || (error instanceof Error && "code" in error))) throw error;
  console.error(`${error.message}\n${USAGE}`);
  process.exitCode = 64;
}
