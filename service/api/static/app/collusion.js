/** Whether the accused and the named partner spare each other: for the referees of a dispute about collusion. */

import { Problem, get } from "./api.js";
import { h, replace } from "./dom.js";
import { language, t } from "./i18n.js";
import { numbers } from "./plots.js";

const AGAIN = 2000; // milliseconds until the figures are asked for again while they are computed

const number = (/** @type {number} */ value) => new Intl.NumberFormat(language, { maximumSignificantDigits: 3 }).format(value);
const quiet = (/** @type {string} */ text, more = {}) => h("p", { class: "quiet", ...more }, [text]);

/** The newest figures, which the next section shows until its own arrive. @type {Api["Collusion"] | null} */
let known = null;

/**
 * The section with the figures for a referee who may vote, null for others; it fills itself.
 *
 * Who may read them depends on the state of the dispute, so each drawing of the page asks for them again.
 *
 * @param {Api["Dispute"]} dispute
 * @param {(seat: number | null) => string} who
 */
export function sparing(dispute, who) {
  const number = dispute.you?.referee ?? null;
  const state = number !== null && dispute.referees[number].state;
  const isJudged = !["open", "appealed"].includes(dispute.state);
  if (dispute.charge !== "collusion" || !isJudged || !state || state === "recused") return null;
  const body = h("div", { "aria-live": "polite" }, known ? figures(known, dispute, who) : [quiet(t("sparing.computing"))]);
  // The body is not on the page yet: it is asked for after the page was drawn.
  void Promise.resolve().then(() => fill(body, dispute, who));
  return h("section", null, [h("h2", null, [t("sparing.title")]), h("p", null, [t("sparing.proves")]), body]);
}

/** Ask until the figures are there, or the page is drawn again. @param {Element} body @param {Api["Dispute"]} dispute @param {(seat: number | null) => string} who */
async function fill(body, dispute, who) {
  try {
    while (body.isConnected) {
      const found = await get(`/v1/disputes/${dispute.id}/collusion`);
      if (!body.isConnected) return; // the next drawing asks by itself
      if (found.state !== "computing") {
        if (JSON.stringify(found) === JSON.stringify(known)) return;
        known = found;
        return replace(body, ...figures(found, dispute, who));
      }
      await new Promise((done) => setTimeout(done, AGAIN));
    }
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    replace(body, h("p", { class: "notice", lang: problem.lang }, [problem.message]));
  }
}

/** @param {Api["Collusion"]} found @param {Api["Dispute"]} dispute @param {(seat: number | null) => string} who */
const figures = (found, dispute, who) => found.pairs.map((pair) => comparison(pair, found.threshold, dispute, who));

/** @param {Api["Pair"]} pair @param {number} threshold @param {Api["Dispute"]} dispute @param {(seat: number | null) => string} who */
function comparison(pair, threshold, dispute, who) {
  const [one, other] = [who(dispute.accused), who(pair.seat)];
  const names = [[one, other], [other, one]].map(([before, after]) => t("sparing.before", { one: before, other: after }));
  const row = (/** @type {string} */ name, /** @type {Api["Bets"]} */ of) => [name, of.n, of.difference === null ? "–" : number(of.difference), number(of.e_value)];
  const said = pair.e_value >= threshold ? "collusion.reached" : "collusion.not_reached";
  return h("div", null, [
    h("h3", null, [t("sparing.pair", { one, other, n: pair.hands })]),
    h("p", null, [t(said, { value: number(pair.e_value), threshold: number(threshold) })]),
    numbers(t("numbers"), ["who", "bets", "difference", "evidence"].map((key) => t(`sparing.column.${key}`, { threshold: number(threshold) })),
      [...pair.directions.map((of, at) => row(names[at] ?? "", of)), row(t("sparing.both"), pair.joint)]),
  ]);
}
