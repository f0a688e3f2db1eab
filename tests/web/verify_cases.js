/**
 * Verify many files in one process: JSON lines of cases on the input, of findings on the output.
 *
 *     node tests/web/verify_cases.js < cases.jsonl
 */

import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { NotABundle } from "../../service/api/static/verifier/archive.js";
import { readFile } from "../../service/api/static/verifier/bundle.js";
import { readKeys } from "../../service/api/static/verifier/notes.js";
import { levelOf, statusFor } from "../../service/api/static/verifier/levels.js";
import { readKeyChanges, readSeatKey } from "../../service/api/static/verifier/seat_keys.js";
import { verifyAll } from "../../service/api/static/verifier/sequence.js";
import { adviceOf, authorOf, resultOf } from "../../service/api/static/verifier/verify.js";

globalThis.crypto ??= /** @type {Crypto} */ (webcrypto); // Node.js 18 has no global one

const STRINGS = new URL("../../service/words/", import.meta.url);
const words = Object.assign({}, ...["report", "verify", "findings"].map((part) => JSON.parse(readFileSync(new URL(`${part}/en.json`, STRINGS), "utf8"))));

/** @param {string} digits base64 */
const bytes = (digits) => Uint8Array.from(Buffer.from(digits, "base64"));

/**
 * @param {import("../../service/api/static/verifier/bundle.js").Bundle[]} bundles the one to judge, and others of its table
 * @param {import("../../service/api/static/verifier/outside.js").Outside} outside
 * @param {string} asked the level asked for
 */
async function findingsOf(bundles, outside, asked) {
  const [{ log, findings, outside: own }] = await verifyAll(bundles, outside);
  const shown = findings.map((finding) => {
    const { check, result, seq, reason, remarks, part } = finding;
    const advice = result === "fail" ? adviceOf(finding, authorOf(findings, own)) : null;
    const texts = [...(reason ? [reason] : []), ...remarks, ...(advice ? [{ code: advice }] : [])];
    const unknown = texts.filter(({ code }) => !(code in words));
    if (unknown.length) throw new Error(`no sentence ${unknown[0].code}`);
    return { check, result, seq, code: reason?.code ?? null, values: reason?.values, remarks, part, advice };
  });
  const reached = levelOf(log, findings, own);
  return { findings: shown, level: reached.level, status: statusFor(resultOf(findings, own), reached, log, asked) };
}

/**
 * @typedef {object} Input
 * @property {string} file
 * @property {string[]} receipts
 * @property {string} server_keys
 * @property {string} witness_keys
 * @property {number} quorum
 * @property {string[]} [seat_keys] of the form SEAT=KEY
 * @property {string[]} [key_changes] texts
 * @property {string[]} [others]
 * @property {string} [asked]
 */

/** @param {Input} one @returns {Promise<object>} its findings, or why it is refused */
async function answer({ file, receipts, server_keys, witness_keys, quorum, seat_keys = [], key_changes = [], others = [], asked = "L1" }) {
  const [serverKeys, witnessKeys] = [await readKeys(server_keys), await readKeys(witness_keys, true)];
  if ((server_keys && !serverKeys.length) || (witness_keys && !witnessKeys.length)) return { refused: "file.key" };
  const outside = {
    receipts: receipts.map(bytes),
    serverKeys,
    witnessKeys,
    quorum,
    seatKeys: new Map(seat_keys.flatMap((word) => [readSeatKey(word) ?? []].filter((pair) => pair.length === 2))),
    keyChanges: key_changes.flatMap((text) => readKeyChanges(text) ?? []),
  };
  try {
    return await findingsOf(await Promise.all([file, ...others].map((one) => readFile(bytes(one)))), outside, asked);
  } catch (error) {
    if (!(error instanceof NotABundle)) throw error;
    return { refused: error.code };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
