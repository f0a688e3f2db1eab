/** The disputes that concern the player: rows with what is to be done, and a mark at the name in the bar. */

import { get, identity, newest } from "./api.js";
import { find, h, replace } from "./dom.js";
import { moment, t } from "./i18n.js";
import { readJson, remove, write } from "./storage.js";

const STORED = "shithead.concerns"; // the number of them, for other pages
const FRESH = 60_000; // milliseconds during which a page takes the stored number
const SHOWN = 20;
const NOTICES = ["dispute_opened", "vote_opened", "period_ending"];
/** The most urgent first. */
const STEPS = /** @type {const} */ (["reveal", "vote", "appeal", "statement"]);

const begin = newest(); // of the loads for the mark
const beginRows = newest();

/** @returns {Promise<Api["Dispute"][]>} the disputes that concern the player and are not closed */
export async function concerns() {
  if (!identity()) return [];
  const isNewest = begin();
  const { items } = await get(`/v1/disputes?mine=true&limit=${SHOWN}`);
  const running = items.filter(({ state }) => state !== "final");
  if (isNewest()) mark(running.length);
  return running;
}

/** Forget the stored number, which an act of the player has changed: the next page asks for it. */
export const forgetConcerns = () => remove(STORED);

/** @param {number} n */
function mark(n) {
  write(STORED, JSON.stringify({ of: identity()?.id, at: Date.now(), n }));
  const link = find("#concerns");
  link.classList.toggle("none", !n);
  link.setAttribute("aria-label", t("concern.mark", { n }));
  link.title = t("concern.mark", { n });
  replace(link, `⚖ ${n}`);
}

/** Show at the name in the bar how many disputes concern the player; the number is asked for once a minute. */
export function markConcerns() {
  const stored = readJson(STORED);
  const isFresh = stored && stored.of === identity()?.id && Date.now() - stored.at < FRESH;
  if (isFresh) mark(stored.n);
  else if (identity()) concerns().catch(() => {}); // the mark stays as it was
  addEventListener("notice", (event) => {
    if (NOTICES.includes(/** @type {any} */ (event).detail.type)) concerns().catch(() => {});
  });
}

/** @param {Api["Dispute"]} dispute @returns {HTMLElement} a row: the reader's part, what to do, and until when */
export function concernRow(dispute) {
  const { id, you, state, deadline, voting_from: from } = dispute;
  const part = you?.side ?? "referee";
  const step = STEPS.find((one) => you?.may.includes(one));
  const isWaiting = part === "referee" && ["open", "appealed"].includes(state);
  const next = step ? t(`concern.${step}`) : isWaiting ? t(from ? "concern.voting" : "concern.wait", { from: from && moment(from) }) : t("concern.nothing");
  const until = deadline && !isWaiting ? t("concern.until", { until: moment(deadline) }) : "";
  return h("li", { class: "row" }, [
    h("span", { class: "what" }, [h("strong", null, [t(`concern.${part}`)]), h("span", { class: "quiet" }, [[next, until].filter(Boolean).join(" · ")])]),
    h("a", { class: step && step !== "statement" ? "button main" : "button", href: `/disputes/${id}`, "data-key": id }, [t("concern.open")]),
  ]);
}

/** @param {HTMLElement} section */
export async function showConcerns(section) {
  const isNewest = beginRows(); // a load for the mark alone does not replace the rows
  const running = await concerns();
  if (!isNewest()) return;
  section.hidden = !running.length;
  replace(section, h("h2", null, [t("concern.title")]), h("ul", { class: "rows" }, running.map(concernRow)));
}
