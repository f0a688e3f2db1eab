/** Several records on the page /verify: one after the other in one worker, a row each, and how many fail. */

import { NotABundle } from "../verifier/archive.js";
import { resultOf, verdictOf } from "../verifier/verify.js";
import { find, h, replace } from "./dom.js";
import { t } from "./i18n.js";

/** @typedef {import("./sources.js").Source} Source */
/** @typedef {import("../verifier/verify.js").Finding} Finding */
/** @typedef {{findings: Finding[], outside: import("../verifier/outside.js").Outside}} Judged */

const SHOWN = 500; // rows without a fault; those with one are all shown
const STATES = ["pass", "fail", "missing", "fail"]; // the class of a row, by the status of its record
const SIGNS = ["✓", "✗", "?", "✗"];
const REFUSED = 3;

let run = 0; // number of the latest run; earlier ones show nothing more

/** Show no list, and end the run of the present one. */
export function closeMany() {
  run += 1;
  find("#many").hidden = true;
}

/**
 * Check all records, and show a row for each.
 *
 * @param {Source[]} sources
 * @param {number} others files in the folders that are no evidence
 * @param {(source: Source) => Promise<Judged>} judge
 * @param {(source: Source) => unknown} open show the report of one
 */
export async function checkMany(sources, others, judge, open) {
  const own = ++run;
  const bar = find("#many-progress");
  /** @type {Record<string, number>} */
  const counts = {};
  let [fails, refused, left] = [0, 0, 0];
  find("#many").hidden = false;
  replace(find("#many-rows"));
  const heading = (/** @type {string} */ status, /** @type {string} */ text) => {
    find("#many-verdict").className = status;
    replace(find("#many-verdict"),
      h("h2", null, [text]),
      ...Object.entries(counts).map(([key, n]) => h("p", null, [t("page.many.count", { n, what: t(key) })])),
      left ? h("p", { class: "quiet" }, [t("page.many.left", { n: left })]) : null,
      others ? h("p", { class: "quiet" }, [t("page.many.others", { n: others })]) : null,
    );
  };
  for (const [at, source] of sources.entries()) {
    heading(fails ? "status-1" : "", t(fails ? "page.many.fail" : "page.many.running", { n: fails || at + 1, of: sources.length }));
    const { status, key, first } = await resultFor(source, judge);
    if (own !== run) return;
    counts[status === REFUSED ? "page.refused" : key] = (counts[status === REFUSED ? "page.refused" : key] ?? 0) + 1;
    fails += Number(status === 1);
    refused += Number(status === REFUSED);
    bar.value = (at + 1) / sources.length;
    if (status || find("#many-rows").childElementCount < SHOWN) find("#many-rows").append(row(source, status, key, first, open));
    else left += 1;
  }
  const worst = fails ? ["status-1", "page.many.fail", fails] : refused ? ["status-3", "page.many.refused", refused] : ["status-0", "page.many.pass", sources.length];
  const isOpen = !fails && !refused && Object.keys(counts).some((key) => key !== "verdict.0");
  heading(isOpen ? "status-2" : String(worst[0]), t(String(worst[1]), { n: worst[2], of: sources.length }));
}

/** @param {Source} source @param {(source: Source) => Promise<Judged>} judge @returns {Promise<{status: number, key: string, first?: Finding}>} */
async function resultFor(source, judge) {
  try {
    const { findings, outside } = await judge(source);
    const status = resultOf(findings, outside);
    return { status, key: verdictOf(status, findings), first: findings.find(({ result }) => result === "fail") };
  } catch (error) {
    if (!(error instanceof NotABundle)) throw error;
    return { status: REFUSED, key: error.code };
  }
}

/** @param {Source} source @param {number} status @param {string} key of its sentence @param {Finding | undefined} first the first failed check @param {(source: Source) => unknown} open */
const row = (source, status, key, first, open) => h("li", { class: STATES[status] }, [
  h("span", { class: "sign", "aria-hidden": "true" }, [SIGNS[status]]),
  h("div", null, [
    h("button", { class: "plain", onclick: () => open(source) }, [source.name]),
    h("p", null, [t(key), first ? `: ${t(`check.${first.check}`)}` : ""]),
  ]),
]);
