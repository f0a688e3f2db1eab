/** Challenges in the lobby: the form, and those without an answer. */

import { get, identity, newest, post } from "./api.js";
import { now } from "./clock.js";
import { block } from "./company.js";
import { find, h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { ensurePlayer } from "./player.js";
import { entropyMode } from "./record.js";
import { row } from "./rows.js";
import { clockOf } from "./seek.js";
import { seatKey } from "./signing.js";

const PATH = "/v1/challenges";
const SEARCH_AFTER = 250; // milliseconds without a key
const REFUSAL_SHOWN = 3_600_000; // milliseconds after a challenge for which a refusal is shown

/** @typedef {Api["Challenge"]} Challenge */

/** Tables of open challenges by the reader, as they were last seen: their acceptance leads there. @type {Set<string>} */
const open = new Set();

/** Whether a table waits for the player whom the reader challenged: it is in no other list. @param {{id: string}} table */
export const isKept = ({ id }) => open.has(id);

/** @param {Api["Person"]} person */
const called = ({ name, handle }) => (handle ? `${name ?? "–"} (${handle})` : (name ?? "–"));

/** @param {{id: string, game: string | null}} table */
const go = ({ id, game }) => location.assign(game ? `/play/${game}` : `/tables/${id}`);

/** @param {string} id */
async function accept(id) {
  await ensurePlayer();
  go(await post(`${PATH}/${id}/accept`, { entropy: entropyMode(), ...(await seatKey()) }));
}

/** @param {string} id */
const end = (id) => post(`${PATH}/${id}`, undefined, { method: "DELETE" });

const begin = newest();

/**
 * Show the challenges of and by the reader; an accepted one leads to its table.
 *
 * @param {(event: Event, work: () => Promise<unknown>) => void} attempt @param {(id: string) => string} nameOf a ruleset
 * @param {(rulesets: {ruleset: {id: string}}[]) => Promise<void>} nameRulesets
 */
export async function showChallenges(attempt, nameOf, nameRulesets) {
  const isNewest = begin();
  const { received, sent } = identity() ? await get(PATH) : { received: [], sent: [] };
  await nameRulesets([...received, ...sent].map(({ ruleset }) => ({ ruleset: { id: ruleset } })));
  if (!isNewest()) return;
  const accepted = sent.find((one) => one.status === "accepted" && open.has(one.id));
  open.clear();
  for (const { id, status } of sent) if (status === "open") open.add(id);
  if (accepted) return go(await get(`/v1/tables/${accepted.id}`));
  const again = () => showChallenges(attempt, nameOf, nameRulesets);
  const button = (/** @type {string} */ key, /** @type {Challenge} */ { id }, /** @type {() => Promise<unknown>} */ work, main = false) =>
    h("button", { class: main ? "main" : "", "data-key": `${key} ${id}`, onclick: (/** @type {Event} */ event) => attempt(event, async () => {
      await work();
      await again();
    }) }, [t(key)]);
  const asked = (/** @type {Challenge} */ one, /** @type {string} */ title, /** @type {HTMLElement[]} */ ...buttons) =>
    row({ title, detail: nameOf(one.ruleset), isPressable: false }, ...buttons);
  const isNews = (/** @type {Challenge} */ { status, created_at }) => status === "declined" && now() - Date.parse(created_at) < REFUSAL_SHOWN;
  const rows = [
    ...received.map((one) => asked(one, t("challenge.by", { name: called(one.challenger) }),
      button("challenge.accept", one, () => accept(one.id), true),
      button("invite.decline", one, () => end(one.id)),
      button("block.short", one, () => block({ id: one.challenger.id, name: one.challenger.name ?? "–" })))),
    ...sent.filter((one) => one.status === "open").map((one) => asked(one, t("challenge.sent", { name: called(one.player) }), button("invite.withdraw", one, () => end(one.id)))),
    ...sent.filter(isNews).map((one) => asked(one, t("invite.declined", { name: called(one.player) }))),
  ];
  find("#challenges").hidden = !rows.length;
  replace(find("#challenge-list"), h("ul", { class: "rows" }, rows));
}

/**
 * Make the form: it proposes players whose handles begin as typed, and challenges the chosen one.
 *
 * @param {(event: Event, work: () => Promise<unknown>) => void} attempt @param {() => Promise<unknown>} show the lists again
 */
export async function offerChallenge(attempt, show) {
  const who = /** @type {HTMLInputElement} */ (find("#challenge-who"));
  /** The player whom a link chose, who may have no handle. */
  let chosen = { text: "", id: "" };
  const asked = new URLSearchParams(location.search).get("challenge");
  if (asked) {
    const [one] = (await get(`/v1/players?ids=${encodeURIComponent(asked)}`).catch(() => ({ items: [] }))).items;
    if (one?.name) {
      chosen = { text: one.handle ?? one.name, id: one.id };
      who.value = chosen.text;
      who.scrollIntoView({ block: "center" });
      who.focus();
    }
  }
  const typed = () => who.value.trim().toLowerCase().replace(/^@/, "");
  const isNewest = newest();
  let due = 0;
  who.addEventListener("input", () => {
    clearTimeout(due);
    due = setTimeout(async () => {
      const still = isNewest();
      const prefix = typed();
      const found = /^[a-z](-?[a-z0-9])+-?$/.test(prefix) && identity() ? (await get(`/v1/handles?prefix=${encodeURIComponent(prefix)}`).catch(() => ({ items: [] }))).items : [];
      if (still()) replace(find("#challenge-found"), ...found.map((/** @type {Api["Person"]} */ one) => h("option", { value: one.handle ?? "", label: one.name ?? "" })));
    }, SEARCH_AFTER);
  });
  const button = find("#challenge-do");
  who.addEventListener("keydown", (event) => {
    if (event.key === "Enter") button.click();
  });
  button.addEventListener("click", (event) => {
    if (!who.value.trim()) return who.focus();
    attempt(event, async () => {
      await ensurePlayer();
      await post(PATH, {
        player: who.value === chosen.text && chosen.id ? chosen.id : typed(),
        ruleset: /** @type {HTMLSelectElement} */ (find("#challenge-rules")).value,
        clock: clockOf("usual"),
        visibility: /** @type {HTMLInputElement} */ (find("#challenge-public")).checked ? "public" : "private",
        deal: "always",
        entropy: entropyMode(),
        ...(await seatKey()),
      });
      who.value = "";
      await show();
      find("#challenges").scrollIntoView({ block: "nearest" });
    });
  });
}
