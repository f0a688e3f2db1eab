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
import { adviceOf, authorOf, resultOf, verify } from "../../service/api/static/verifier/verify.js";

globalThis.crypto ??= /** @type {Crypto} */ (webcrypto); // Node.js 18 has no global one

const SENTENCES = new URL("../../service/api/static/app/strings/verify/en.json", import.meta.url);
const words = JSON.parse(readFileSync(SENTENCES, "utf8"));

/** @param {string} digits base64 */
const bytes = (digits) => Uint8Array.from(Buffer.from(digits, "base64"));

/**
 * @param {import("../../service/api/static/verifier/bundle.js").Bundle} bundle
 * @param {import("../../service/api/static/verifier/outside.js").Outside} outside
 */
async function findingsOf(bundle, outside) {
  const { findings } = await verify(bundle, outside);
  const shown = findings.map((finding) => {
    const { check, result, seq, reason, remarks, part } = finding;
    const advice = result === "fail" ? adviceOf(finding, authorOf(findings, outside)) : null;
    const texts = [...(reason ? [reason] : []), ...remarks, ...(advice ? [{ code: advice }] : [])];
    const unknown = texts.filter(({ code }) => !(code in words));
    if (unknown.length) throw new Error(`no sentence ${unknown[0].code}`);
    return { check, result, seq, code: reason?.code ?? null, values: reason?.values, remarks, part, advice };
  });
  return { findings: shown, status: resultOf(findings, outside) };
}

/**
 * @param {{file: string, receipts: string[], server_keys: string, witness_keys: string, quorum: number}} one
 * @returns {Promise<object>} its findings, or why it is refused
 */
async function answer({ file, receipts, server_keys, witness_keys, quorum }) {
  const outside = {
    receipts: receipts.map(bytes),
    serverKeys: await readKeys(server_keys),
    witnessKeys: await readKeys(witness_keys, true),
    quorum,
  };
  try {
    return await findingsOf(await readFile(bytes(file)), outside);
  } catch (error) {
    if (!(error instanceof NotABundle)) throw error;
    return { refused: error.code };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await answer(JSON.parse(line))));
}
