/** Whether the accused and another player spare each other: for the referees of a dispute about collusion. */

import { Problem, get } from "./api.js";
import { h, replace } from "./dom.js";
import { language, t } from "./i18n.js";
import { numbers } from "./plots.js";

const AGAIN = 2000; // milliseconds until the figures are asked for again while they are computed

const number = (/** @type {number} */ value) => new Intl.NumberFormat(language, { maximumSignificantDigits: 3 }).format(value);
const quiet = (/** @type {string} */ text, more = {}) => h("p", { class: "quiet", ...more }, [text]);

/** @type {HTMLElement | null} */
let section = null;

/**
 * The section with the figures; it is made once and fills itself.
 *
 * @param {Api["Dispute"]} dispute
 * @param {(seat: number | null) => string} who
 */
export function sparing(dispute, who) {
  if (section) return section;
  const body = h("div", { "aria-live": "polite" }, [quiet(t("sparing.computing"))]);
  section = h("section", null, [h("h2", null, [t("sparing.title")]), h("p", null, [t("sparing.proves")]), body]);
  void fill(body, dispute, who);
  return section;
}

/** @param {Element} body @param {Api["Dispute"]} dispute @param {(seat: number | null) => string} who */
async function fill(body, dispute, who) {
  try {
    const found = await get(`/v1/disputes/${dispute.id}/collusion`);
    if (found.state === "computing") return void setTimeout(() => fill(body, dispute, who), AGAIN);
    replace(body, ...found.pairs.map((pair) => comparison(pair, found.threshold, dispute, who)), found.pairs.length ? null : quiet(t("sparing.alone")));
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    replace(body, h("p", { class: "notice", lang: problem.lang }, [problem.message]));
  }
}

/** @param {Api["Pair"]} pair @param {number} threshold @param {Api["Dispute"]} dispute @param {(seat: number | null) => string} who */
function comparison(pair, threshold, dispute, who) {
  const [one, other] = [who(dispute.accused), who(pair.seat)];
  const names = [[one, other], [other, one]].map(([before, after]) => t("sparing.before", { one: before, other: after }));
  const row = (/** @type {string} */ name, /** @type {Api["Bets"]} */ of) => [name, of.n, of.difference === null ? "–" : number(of.difference), number(of.e_value)];
  const said = pair.e_value >= threshold ? "collusion.reached" : "collusion.not_reached";
  return h("div", null, [
    h("h3", null, [t("sparing.pair", { one, other, n: pair.hands })]),
    h("p", null, [t(said, { value: number(pair.e_value), threshold: number(threshold) })]),
    numbers(t("numbers"), ["who", "bets", "difference", "evidence"].map((key) => t(`sparing.column.${key}`)),
      [...pair.directions.map((of, at) => row(names[at] ?? "", of)), row(t("sparing.both"), pair.joint)]),
  ]);
}
