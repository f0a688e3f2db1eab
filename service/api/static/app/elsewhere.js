/** Turns at tables that this page does not show: a pill in the bar that leads to the most urgent, the mark of the title, a sound. */

import { pause } from "./api.js";
import { asClock, secondsTo } from "./clock.js";
import { announce, h } from "./dom.js";
import { t } from "./i18n.js";
import { followNotices, shownAnywhere } from "./notices.js";
import { chime } from "./sound.js";
import { markTurns } from "./title.js";

/** @typedef {import("./notices.js").Notice} Notice */

const SOUND = 2000; // milliseconds in which no other window sounds for the same turn

/** The turns that wait for the player anywhere. @type {Notice[]} */
let waiting = [];
/** What this page shows. @type {{game: string | null, table: string | null}} */
let own = { game: null, table: null };

const elsewhere = () => waiting.filter(({ id, table }) => id !== own.game && (!table || table !== own.table));

/** @param {Notice} turn @returns {number} */
const urgency = ({ ends_at: at }) => (at ? Date.parse(at) : Infinity);

function draw() {
  const turns = elsewhere().sort((a, b) => urgency(a) - urgency(b));
  markTurns({ elsewhere: turns.length });
  document.body.classList.toggle("summoned", turns.length > 0);
  document.getElementById("elsewhere")?.remove();
  if (!turns.length) return;
  const [{ id, ends_at: end }] = turns;
  const words = { n: turns.length };
  const pill = h("a", { id: "elsewhere", href: `/play/${id}`, "aria-label": t("elsewhere.turn", words) }, [
    h("span", { class: "whole" }, [t("elsewhere.turn", words)]), h("span", { class: "brief" }, [t("elsewhere.brief", words)]), ...(end ? [" · ", h("span", { class: "clock", "data-until": end })] : []),
  ]);
  (document.querySelector(".bar > div > nav") ?? document.querySelector(".bar .brand"))?.after(pill);
  tick();
}

export function tick() {
  for (const place of document.querySelectorAll("[data-until]")) place.textContent = asClock(secondsTo(place.getAttribute("data-until") ?? ""));
}

/** Sound once for a turn that came to the player at a table that no tab shows. @param {Notice} turn */
async function sound({ id }) {
  const { isShown, isAnyVisible, isLeading } = await shownAnywhere(id);
  if (isShown || (isAnyVisible ? document.hidden : !isLeading)) return;
  await navigator.locks.request(`shithead.sound.${id}`, { ifAvailable: true }, async (lock) => {
    if (!lock) return;
    chime();
    await pause(SOUND);
  });
}

addEventListener("turns", (/** @type {any} */ event) => {
  const before = new Set(waiting.map(({ id }) => id));
  waiting = event.detail;
  draw();
  const [fresh] = elsewhere().filter(({ id }) => !before.has(id));
  if (!fresh) return;
  announce(t("elsewhere.turn", { n: 1 }));
  sound(fresh).catch(() => {});
});
addEventListener("showing", (/** @type {any} */ event) => {
  own = event.detail;
  draw();
});
addEventListener("page-started", () => {
  followNotices();
  setInterval(tick, 1000);
}, { once: true });
