/** Challenges in the lobby: the form, and those without an answer. */

import { get, identity, newest, post } from "./api.js";
import { block } from "./company.js";
import { find, h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { ensurePlayer } from "./player.js";
import { entropyMode } from "./record.js";
import { row } from "./rows.js";
import { clockOf } from "./seek.js";
import { seatKey } from "./signing.js";
import { readJson, write } from "./storage.js";

const PATH = "/v1/challenges";
const SEARCH_AFTER = 250; // milliseconds without a key
const SEEN = "shithead.challenges"; // answers to own challenges that the reader has seen, by id

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

/** The text of an own challenge by its state; of a withdrawn one there is nothing to learn. @type {Record<string, string | undefined>} */
const SENT = { open: "challenge.sent", accepted: "challenge.accepted", declined: "invite.declined", expired: "challenge.expired" };

/** The own challenges whose end the reader has seen. @returns {string[]} */
const seen = () => readJson(SEEN) ?? [];

/** Show an answer no more, nor those that the server has deleted. @param {Challenge[]} sent @param {string} id */
const see = (sent, id) => write(SEEN, JSON.stringify([id, ...seen().filter((one) => sent.some((other) => other.id === one))]));

/** @param {string} id */
const goTo = async (id) => go(await get(`/v1/tables/${id}`));

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
  if (accepted) {
    see(sent, accepted.id);
    return goTo(accepted.id);
  }
  const again = () => showChallenges(attempt, nameOf, nameRulesets);
  const button = (/** @type {string} */ key, /** @type {Challenge} */ { id }, /** @type {() => Promise<unknown>} */ work, main = false) =>
    h("button", { class: main ? "main" : "", "data-key": `${key} ${id}`, onclick: (/** @type {Event} */ event) => attempt(event, async () => {
      await work();
      await again();
    }) }, [t(key)]);
  const asked = (/** @type {Challenge} */ one, /** @type {string} */ title, /** @type {HTMLElement[]} */ ...buttons) =>
    row({ title, detail: nameOf(one.ruleset), isPressable: false }, ...buttons);
  const saw = (/** @type {Challenge} */ one) => async () => see(sent, one.id);
  const answered = (/** @type {Challenge} */ one) =>
    one.status === "open" ? button("invite.withdraw", one, () => end(one.id))
    : one.status === "accepted" ? button("own.wait", one, () => saw(one)().then(() => goTo(one.id)), true)
    : button("close", one, saw(one));
  const rows = [
    ...received.map((one) => asked(one, t("challenge.by", { name: called(one.challenger) }),
      button("challenge.accept", one, () => accept(one.id), true),
      button("invite.decline", one, () => end(one.id)),
      button("block.short", one, () => block({ id: one.challenger.id, name: one.challenger.name ?? "–" })))),
    ...sent.filter(({ id, status }) => SENT[status] && !seen().includes(id)).map((one) => asked(one, t(SENT[one.status] ?? "", { name: called(one.player) }), answered(one))),
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
  const typed = () => who.value.trim().toLowerCase().replace(/^@/, "");
  const isNewest = newest();
  let due = 0;
  const propose = () => {
    clearTimeout(due);
    due = setTimeout(async () => {
      const still = isNewest();
      const prefix = typed();
      const found = /^[a-z](-?[a-z0-9])+-?$/.test(prefix) && identity() ? (await get(`/v1/handles?prefix=${encodeURIComponent(prefix)}`).catch(() => ({ items: [] }))).items : [];
      if (still()) replace(find("#challenge-found"), ...found.map((/** @type {Api["Person"]} */ one) => h("option", { value: one.handle ?? "", label: one.name ?? "" })));
    }, SEARCH_AFTER);
  };
  who.addEventListener("input", propose);
  if (who.value) propose(); // typed before this script listened
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
  const asked = new URLSearchParams(location.search).get("challenge");
  if (asked) {
    const [one] = (await get(`/v1/players?ids=${encodeURIComponent(asked)}`).catch(() => ({ items: [] }))).items;
    if (one?.name && !who.value) {
      chosen = { text: one.handle ?? one.name, id: one.id };
      who.value = chosen.text;
      who.scrollIntoView({ block: "center" });
      who.focus();
    }
  }
}
