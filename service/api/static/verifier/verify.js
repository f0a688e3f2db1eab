/** All checks in their order, and the result of a verification. */

import { NoEd25519 } from "./bytes.js";
import { checkCustody, checkDeal } from "./custody.js";
import { checkCommitments, checkShuffle } from "./deck.js";
import { checkBytes, checkChain, checkOrder } from "./integrity.js";
import { checkHidden, checkLegality } from "./legality.js";
import { Failure, Log, Unanswered } from "./log.js";
import { checkOpenings } from "./openings.js";
import { checkAnchor, checkReceipts, checkSeal, checkSequence, checkWitness } from "./outside.js";
import { checkSignatures } from "./signatures.js";

/** @typedef {import("./bundle.js").Bundle} Bundle */
/** @typedef {import("./outside.js").Outside} Outside */
/** @typedef {{code: string, values: import("./log.js").Values}} Sentence */
/** @typedef {"operator" | "other" | "damaged" | "open"} Author */

/**
 * The answer of one check. A fail names the first event that fails, if it is one event.
 *
 * @typedef {object} Finding
 * @property {string} check
 * @property {"pass" | "fail" | "missing" | "n/a"} result
 * @property {number | null} seq
 * @property {Sentence | null} reason
 * @property {Sentence[]} remarks observations that fail no check, for the reader to judge
 * @property {import("./outside.js").Range | null} part the events that a pass covers, null if it covers all
 */

/** @typedef {(log: Log, bundle: Bundle, outside: Outside, remark: import("./outside.js").Remark) => unknown} Check */

/** @type {[string, Check][]} */
const CHECKS = [
  ["bytes", checkBytes],
  ["chain", checkChain],
  ["order", checkOrder],
  ["commitments", checkCommitments],
  ["shuffle", checkShuffle],
  ["openings", checkOpenings],
  ["deal", checkDeal],
  ["custody", checkCustody],
  ["legality", checkLegality],
  ["hidden", checkHidden],
  ["signatures", checkSignatures],
  ["receipts", checkReceipts],
  ["anchor", checkAnchor],
  ["witness", checkWitness],
  ["seal", checkSeal],
  ["sequence", checkSequence],
];

/** Checks that need nothing but the log; none of them may lack evidence. */
const OF_THE_LOG = ["bytes", "chain", "order", "commitments", "shuffle", "openings", "deal", "custody", "legality", "hidden", "signatures", "seal"];

/** Checks that read all events; they stop before a line that is not an event. */
const LOG_CHECKS = new Set(OF_THE_LOG.slice(1));

/** Checks that follow the game one after the other: each judges only events that the earlier ones accept. */
const FOLLOW = new Set(["order", "deal", "custody", "legality"]);

export const NAMES = CHECKS.map(([name]) => name);

/** @type {Outside} */
export const NOTHING_FROM_OUTSIDE = { receipts: [], serverKeys: [], witnessKeys: [], quorum: 0 };

/**
 * Verify a log or bundle; each finding is reported as soon as its check ends.
 *
 * @param {Bundle} bundle
 * @param {Outside} [outside]
 * @param {object} [callbacks]
 * @param {(fraction: number) => void} [callbacks.progress] receives the part of the work done, from 0 to 1
 * @param {(finding: Finding) => unknown} [callbacks.found] is awaited, so that a page can show the finding
 * @returns {Promise<{log: Log, findings: Finding[]}>}
 */
export async function verify(bundle, outside = NOTHING_FROM_OUTSIDE, { progress = () => {}, found = () => {} } = {}) {
  const share = 0.2; // the part of the progress for reading the lines
  const log = await Log.read(bundle.lines, (fraction) => progress(fraction * share));
  const rest = (/** @type {number} */ fraction) => progress(share + (1 - share) * fraction);
  return { log, findings: await findingsOn(log, bundle, outside, { progress: rest, found }) };
}

/**
 * @param {Log} log
 * @param {Bundle} bundle
 * @param {Outside} outside
 * @param {{progress?: (fraction: number) => void, found?: (finding: Finding) => unknown, sequence?: Check}} [more] callbacks, and the check `sequence` of several logs
 * @returns {Promise<Finding[]>}
 */
export async function findingsOn(log, bundle, outside, { progress = () => {}, found = () => {}, sequence } = {}) {
  const findings = [];
  for (const [i, [check, run]] of CHECKS.entries()) {
    progress(i / CHECKS.length);
    const finding = await finish(check, async (remark) => {
      if (!log.events.length && check !== "bytes") throw new Unanswered("missing", "nothing_read");
      const judge = check === "sequence" && sequence ? sequence : run;
      if (!FOLLOW.has(check)) return judge(log, bundle, outside, remark);
      return beforeFault(log, () => judge(log, bundle, outside, remark));
    });
    if (FOLLOW.has(check) && finding.result === "fail") log.fault = Math.min(finding.seq ?? 0, log.fault ?? Infinity);
    limitToIntactPart(finding, log);
    findings.push(finding);
    await found(finding);
  }
  progress(1);
  return findings;
}

/**
 * Run a check that follows the game. At the event at which an earlier one of them failed and after it,
 * a failure may follow from that one: it is not counted.
 *
 * @param {Log} log
 * @param {() => unknown} run
 */
async function beforeFault(log, run) {
  try {
    await run();
  } catch (error) {
    const earlier = error instanceof Failure && (log.fault === null || (error.seq ?? 0) < log.fault);
    if (earlier || (error instanceof Unanswered && error.result === "n/a")) throw error;
    if (log.fault === null) throw error;
  }
  if (log.fault !== null) throw new Unanswered("missing", "not_followed", { seq: log.fault });
}

/**
 * Limit a finding to the events before the first doubtful one, which cannot be read or does not
 * continue the chain.
 *
 * @param {Finding} finding
 * @param {Log} log
 */
function limitToIntactPart(finding, log) {
  const { check, result, seq } = finding;
  if (check === "bytes") log.doubt = log.broken?.seq ?? null;
  if (check === "chain" && result === "fail" && seq !== null) log.doubt = Math.min(seq, log.doubt ?? seq);
  if (log.doubt === null || !LOG_CHECKS.has(check)) return;
  if (result === "pass") {
    finding.part = { from: 0, to: log.doubt - 1 };
    finding.remarks.push({ code: log.broken ? "part.unread" : "part.chain", values: { seq: log.doubt } });
  } else if (result === "missing" && log.broken) {
    finding.reason = { code: "open.unread", values: { seq: log.doubt } };
  }
}

/**
 * @param {string} check
 * @param {(remark: import("./outside.js").Remark) => unknown} run
 * @returns {Promise<Finding>}
 */
async function finish(check, run) {
  /** @type {Finding} */
  const finding = { check, result: "pass", seq: null, reason: null, remarks: [], part: null };
  try {
    const part = await run((code, values = {}) => finding.remarks.push({ code, values }));
    finding.part = /** @type {Finding["part"]} */ (part ?? null);
  } catch (error) {
    if (error instanceof Failure) {
      finding.result = "fail";
      finding.seq = error.seq;
      finding.reason = { code: error.code, values: error.values };
    } else if (error instanceof Unanswered) {
      finding.result = error.result;
      finding.reason = { code: `open.${error.code}`, values: error.values };
    } else if (error instanceof NoEd25519) {
      finding.result = "missing";
      finding.reason = { code: "open.no_ed25519", values: {} };
    } else if (error instanceof Error) {
      // A file that causes an error in this program must neither pass nor stop the page.
      finding.result = "fail";
      finding.reason = { code: "stopped", values: { error: String(error.message) } };
    } else throw error;
  }
  return finding;
}

/** Failures of the check `chain` with intact links: the server wrote the event in this way. */
const INTACT_LINKS = new Set(["chain.earlier", "chain.time"]);

/** @param {Finding[]} findings @returns {number | null} the last event that a receipt from outside confirms, Infinity for the whole log, null if none does */
export function confirmedUpTo(findings) {
  const receipts = findings.find(({ check, result }) => check === "receipts" && result === "pass");
  if (!receipts) return null;
  if (receipts.part) return receipts.part.to;
  const partly = receipts.remarks.find(({ code }) => code === "receipts.up_to");
  return partly ? Number(partly.values.seq) : Infinity;
}

/**
 * Return the possible author of the changes in a log that fails: `operator` if the server signed the
 * log with the failing event, `other` if it signed another log, `damaged` if the log was changed
 * after it was written, else `open`.
 *
 * @param {Finding[]} findings
 * @param {Outside} [outside]
 * @returns {Author}
 */
export function authorOf(findings, outside = NOTHING_FROM_OUTSIDE) {
  const failed = findings.filter(({ result }) => result === "fail");
  const codes = new Set(failed.map(({ reason }) => reason?.code));
  const signedOther = codes.has("receipts.head") || codes.has("receipts.beyond");
  if (signedOther && outside.serverKeys.length) return "other";
  if (failed.some(({ check, reason }) => check === "bytes" || (check === "chain" && !INTACT_LINKS.has(reason?.code ?? "")))) return "damaged";
  const reach = confirmedUpTo(findings) ?? -1;
  return Math.min(...failed.map(({ seq }) => seq ?? Infinity)) <= reach ? "operator" : "open";
}

/**
 * Return the result of all checks as an exit status of SHX/1 (section 8).
 *
 * @param {Finding[]} findings
 * @param {Outside} [outside]
 * @returns {0 | 1 | 2} the record is intact, a check failed, evidence for a required check is missing
 */
export function resultOf(findings, outside = NOTHING_FROM_OUTSIDE) {
  const results = new Map(findings.map((finding) => [finding.check, finding.result]));
  if ([...results.values()].includes("fail")) return 1;
  const required = [...OF_THE_LOG];
  if (outside.receipts.length) required.push("receipts");
  if (outside.witnessKeys.length) required.push("anchor", "witness");
  return required.some((check) => results.get(check) === "missing") ? 2 : 0;
}

/** @param {0 | 1 | 2} status from `resultOf` @param {Finding[]} findings @returns {string} the key of the result: without the check of the moves it never says that there is no evidence of tampering */
export function verdictOf(status, findings) {
  const isJudged = findings.some(({ check, result }) => check === "legality" && result === "pass");
  return status === 2 && !isJudged ? "verdict.2.unjudged" : `verdict.${status}`;
}

/** Failures of evidence beside the log that also a wrong file or key of the user can cause. */
const WRONG_EVIDENCE = /^(?:receipts\.(?:malformed|carriage_return|signature|game)|anchor\.(?:malformed|other|proof|signature)|witness\.signature)$/;

/**
 * Return the key of the text that states who can have caused a failure, and what to do next.
 *
 * @param {Finding} finding of a failed check
 * @param {Author} author from `authorOf`
 * @returns {string | null}
 */
export function adviceOf({ check, reason }, author) {
  const code = reason?.code ?? "";
  if (code === "stopped") return null;
  if (WRONG_EVIDENCE.test(code)) return "next.evidence";
  if (check === "anchor") return "next.anchor";
  const unsigned = check === "signatures" && code !== "signatures.weak" && author === "open";
  return unsigned ? "next.signatures" : `next.${author}`;
}
