/** Who plays together: invitations to a table, blocks between players, and the next hand by itself. */

import { get, identity, newest, post } from "./api.js";
import { seatName } from "./captions.js";
import { now } from "./clock.js";
import { h } from "./dom.js";
import { listed, t } from "./i18n.js";

const BLOCKS = "/v1/players/me/blocks";
const RECENT = 30; // newest hands from which people to invite are taken

/** @param {string} table @param {string} player */
const invite = (table, player) => post(`/v1/tables/${table}/invitations/${player}`, undefined, { method: "PUT" });

/** @param {string} table @param {string} player */
export const endInvitation = (table, player) => post(`/v1/tables/${table}/invitations/${player}`, undefined, { method: "DELETE" });

/** Block a player after a question, and confirm what that does; the player is not notified. @param {{id: string, name: string}} player */
export async function block({ id, name }) {
  if (!confirm(t("block.sure", { name }))) return false;
  await post(`${BLOCKS}/${id}`, undefined, { method: "PUT" });
  alert(t("block.done", { name }));
  return true;
}

/** The players whom the reader blocks, each with its end. @param {(work: () => Promise<void>) => void} attempt */
export function blocksField(attempt) {
  const list = h("ul", { class: "rows" });
  const begin = newest();
  const show = async () => {
    const isNewest = begin();
    const { items } = await get(BLOCKS);
    if (!isNewest()) return;
    list.replaceChildren(...items.map((one) => h("li", { class: "row" }, [
      h("span", { class: "what", translate: "no" }, [one.name ?? "–"]),
      h("button", { onclick: () => attempt(async () => {
        await post(`${BLOCKS}/${one.player}`, undefined, { method: "DELETE" });
        await show();
      }) }, [t("block.end")]),
    ])));
    if (!items.length) list.replaceChildren(h("li", { class: "quiet" }, [t("block.none")]));
  };
  return h("details", { ontoggle: (/** @type {Event} */ event) => {
    if (/** @type {HTMLDetailsElement} */ (event.currentTarget).open) attempt(show);
  } }, [h("summary", null, [t("block.title")]), list]);
}

/** @param {Api["Table"]} table */
export const others = (table) => table.seats.filter((seat) => seat.kind === "human" && seat.player && seat.player !== identity()?.id);

/** @typedef {{sent: Api["SentInvitation"][], known: Map<string, string>}} Guests */

/** The invitations that were sent, and people of the host's newest hands. @param {Api["Table"]} table @returns {Promise<Guests>} */
export async function guestsOf(table) {
  const [{ items: sent }, { items: games }] = await Promise.all([
    get(`/v1/tables/${table.id}/invitations`),
    get(`/v1/games?player=me&limit=${RECENT}`),
  ]);
  const away = new Set([identity()?.id, ...table.seats.map((seat) => seat.player), ...sent.map((one) => one.player)]);
  const known = new Map();
  for (const seat of games.flatMap((game) => game.seats)) {
    if (seat.kind === "human" && seat.player && seat.name && !away.has(seat.player)) known.set(seat.player, seat.name);
  }
  return { sent, known };
}

/**
 * The players invited to a table, and a field for further ones; for its host.
 *
 * @param {Api["Table"]} table @param {Guests} guests @param {(work: () => Promise<unknown>) => void} change then shows the table again
 */
export function guestList(table, { sent, known }, change) {
  const who = h("select", { "aria-label": t("invite.who"), "data-key": "who" }, [...known].map(([id, name]) => h("option", { value: id, translate: "no" }, [name])));
  return h("div", { class: "guests" }, [
    ...sent.map((one) => h("p", null, [
      t(`invite.${one.status}`, { name: one.name ?? "–" }), " ",
      one.status === "open" ? h("button", { class: "plain", "data-key": `withdraw ${one.player}`, onclick: () => change(() => endInvitation(table.id, one.player)) }, [t("invite.withdraw")]) : null,
    ])),
    known.size ? h("p", { class: "buttons" }, [who, h("button", { "data-key": "invite", onclick: () => change(() => invite(table.id, who.value)) }, [t("invite.do")])]) : null,
  ]);
}

/** Open the same table again, for its players. @param {Api["Table"]} table */
export async function playAgain(table) {
  const made = await post("/v1/tables", { like: table.id });
  location.assign(`/tables/${made.id}${made.invite ? `#invite=${encodeURIComponent(made.invite)}` : ""}`);
}

/**
 * When the next hand is dealt by itself, or why not, with a button that pauses or resumes; null at other tables.
 *
 * @param {Api["Table"]} table @param {(paused: boolean) => void} pause
 */
export function nextDeal(table, pause) {
  if (table.deal !== "always" || !["between", "open"].includes(table.status)) return null;
  const held = table.seats.filter((seat) => seat.paused);
  const own = table.as === null ? null : table.seats[table.as];
  const text = table.next_deal_at ? nextText(table) : held.length ? t("next.paused", { who: listed(held.map(seatName)) }) : table.status === "between" ? t("next.idle") : "";
  const stopped = own?.paused || (!table.next_deal_at && !held.length && table.status === "between");
  return h("span", { class: "stay" }, [
    h("span", { "data-next": "" }, [text]), " ",
    own ? h("button", { class: "plain", "data-key": "pause", onclick: () => pause(!stopped) }, [t(stopped ? "next.resume" : "next.pause")]) : null,
  ]);
}

/** @param {Api["Table"]} table */
export const nextText = (table) => t("next.in", { n: Math.max(0, Math.ceil((Date.parse(table.next_deal_at ?? "") - now()) / 1000)) });

