/**
 * The verifier on the command line, for Node.js 18 or newer (20 for compressed archives):
 *
 *     node cli.js game.shx --receipt mine.note --server-key keys.json
 *
 * Exit status: 0 the record is intact, 1 a check failed,
 * 2 evidence for a required check is missing, 3 a file is neither a bundle nor a log, 64 a wrong command line; for several files the highest.
 */

import { webcrypto } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { parseArgs } from "node:util";

import { MAX_ENTRIES, MAX_INFLATED, NotABundle } from "./archive.js";
import { readFile, readFolder } from "./bundle.js";
import { distinct, readKeys } from "./notes.js";
import { ruleOf } from "./statements.js";
import { authorOf, resultOf, verdictOf, verify } from "./verify.js";

const USAGE = [
  "usage: node cli.js FILE… [options]     (a FILE may be the folder of an unpacked bundle)",
  "  --receipt FILE       a receipt that you stored (repeatable)",
  "  --server-key KEY     the server's key (name+id+key), a file with it, or a saved answer of /v1/keys",
  "  --witness-key KEY    the key of a witness (name+id+key), or a file with it (repeatable)",
  "  --quorum N           how many of these witnesses must have signed (all)",
  "  --json               one line of JSON for each file",
].join("\n");

globalThis.crypto ??= /** @type {Crypto} */ (webcrypto); // Node.js 18 has no global `crypto`

const SENTENCES = new URL("../app/strings/verify/en.json", import.meta.url);
/** @type {Record<string, string>} */
const words = JSON.parse(readFileSync(SENTENCES, "utf8"));

/** An invalid command line. */
class UsageError extends Error {}

/** @param {string} code @param {import("./log.js").Values} [values] */
function sentence(code, values = {}) {
  const named = (/** @type {string} */ name) => (/^(?:seat|dealer|taker|turn|due)$/.test(name) && values[name] !== null ? `seat ${values[name]}` : String(values[name] ?? "–"));
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

function options() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        receipt: { type: "string", multiple: true, default: [] },
        "server-key": { type: "string", multiple: true, default: [] },
        "witness-key": { type: "string", multiple: true, default: [] },
        quorum: { type: "string" },
        json: { type: "boolean", default: false },
      },
    });
    if (!positionals.length) throw new UsageError("no file");
    if (values.quorum !== undefined && !/^[1-9][0-9]*$/.test(values.quorum)) throw new UsageError("--quorum must be a positive integer");
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

/** @param {string} file @param {import("./outside.js").Outside} outside @param {boolean} json @returns {Promise<number>} */
async function report(file, outside, json) {
  const { log, findings } = await verify(await contentOf(file), outside);
  const status = resultOf(findings, outside);
  if (json) {
    console.log(JSON.stringify({ file, game: log.events[0]?.game ?? null, status, findings }));
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
  console.log(`${file}: ${sentence(verdictOf(status, findings))}`);
  return status;
}

/** @returns {Promise<number>} the exit status */
async function main() {
  const { values, files } = options();
  const witnessKeys = distinct((await Promise.all(values["witness-key"].map((key) => keysOf(key, true)))).flat());
  const outside = {
    receipts: values.receipt.map((path) => new Uint8Array(readFileSync(path))),
    serverKeys: (await Promise.all(values["server-key"].map((key) => keysOf(key, false)))).flat(),
    witnessKeys,
    quorum: values.quorum ? Number(values.quorum) : witnessKeys.length,
  };
  let worst = 0;
  for (const file of files) {
    try {
      worst = Math.max(worst, await report(file, outside, values.json));
    } catch (error) {
      const message = error instanceof NotABundle ? sentence(error.code, error.values) : error instanceof Error && "code" in error ? error.message : null;
      if (message === null) throw error;
      console.error(`${file}: ${message}`);
      worst = 3;
    }
  }
  return worst;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof UsageError || (error instanceof Error && "code" in error))) throw error;
  console.error(`${error.message}\n${USAGE}`);
  process.exitCode = 64;
}
