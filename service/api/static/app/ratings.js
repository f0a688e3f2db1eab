/** The page of ratings: the players and bots of a ruleset, the best first. */

import { get, identity, newest } from "./api.js";
import { avatar } from "./avatars.js";
import { find, h, replace } from "./dom.js";
import { language, start, t } from "./i18n.js";
import { offerMenu } from "./menu.js";
import { checkPlayer, showAccount } from "./player.js";
import { noHand } from "./states.js";
import { setTitle } from "./title.js";

/** Digits behind the point: a rating of a few hands is uncertain by whole numbers. */
const DIGITS = 1;
const number = (/** @type {number} */ value) =>
  new Intl.NumberFormat(language, { minimumFractionDigits: DIGITS, maximumFractionDigits: DIGITS }).format(value);

const COLUMNS = ["rank", "who", "rating", "mu", "sigma", "hands"];

/** @param {Api["Rating"]} one @param {string | undefined} own the id of the reader */
function row(one, own) {
  const name = one.bot === null ? (one.name ?? "–") : t("ratings.bot", { name: one.bot });
  const isOwn = Boolean(one.player && one.player === own);
  const face = avatar({ kind: one.bot === null ? "human" : "bot", name: one.name, bot: one.bot }, one.player);
  const link = one.player && !isOwn ? h("a", { class: "quiet", href: `/?challenge=${one.player}` }, [t("challenge.do")]) : null;
  const who = h("span", { class: "person" }, [face, isOwn ? h("strong", null, [name]) : h("span", null, [name]), link]);
  const hands = one.provisional ? t("ratings.provisional", { n: one.hands }) : String(one.hands);
  const cells = [String(one.rank), who, number(one.rating), number(one.mu), number(one.sigma), hands];
  return h("tr", { class: isOwn ? "own" : null }, cells.map((cell) => h("td", null, [cell])));
}

const begin = newest();

/** Show the ratings of a ruleset, and a button for each further page. @param {string} ruleset */
async function show(ruleset) {
  const isNewest = begin();
  const body = h("tbody", null, []);
  const more = h("button", { type: "button" }, [t("ratings.more")]);
  const head = h("tr", null, COLUMNS.map((key) => h("th", { scope: "col" }, [t(`ratings.${key}`)])));
  const title = t("ratings.title");
  const table = h("table", null, [h("thead", null, [head]), body]);
  let cursor = "";
  async function next() {
    const found = await get(`/v1/ratings?ruleset=${encodeURIComponent(ruleset)}${cursor}`);
    body.append(...found.items.map((one) => row(one, identity()?.id)));
    cursor = `&cursor=${found.next}`;
    more.hidden = found.next === null;
  }
  more.addEventListener("click", () => {
    more.disabled = true; // a second press would fetch the same rows
    void next().finally(() => (more.disabled = false));
  });
  await next();
  if (!isNewest()) return; // another ruleset was chosen
  const empty = !body.childElementCount;
  const scroll = { class: "scroll", tabindex: 0, role: "region", "aria-label": title };
  replace(find("#ratings"), empty ? noHand("ratings.none") : h("div", scroll, [table]), more);
}

await start("court");
offerMenu();
setTitle(`Shithead: ${t("ratings.title")}`);
await checkPlayer();
showAccount();
const { items } = await get("/v1/rulesets?limit=200");
const select = /** @type {HTMLSelectElement} */ (find("#ruleset"));
const playable = items.filter((one) => one.ruleset_hash !== null);
const asked = new URLSearchParams(location.search).get("ruleset");
const isPlayable = (/** @type {string | null | undefined} */ id) => playable.some((one) => one.id === id);
const played = isPlayable(asked) ? null : (await get("/v1/games?limit=1")).items[0]?.ruleset.id; // one that is played here
const first = [asked, played, "leeds"].find(isPlayable);
select.append(...playable.map((one) => h("option", { value: one.id, lang: "en", selected: one.id === first || null }, [one.name])));
select.addEventListener("change", () => {
  history.replaceState(null, "", `?ruleset=${encodeURIComponent(select.value)}`);
  void show(select.value);
});
await show(select.value).finally(() => find(".filling").classList.remove("filling"));
