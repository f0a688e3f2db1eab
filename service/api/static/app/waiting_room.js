/** The waiting room of a table, also for an invited player. */

import { identity, newest, post } from "./api.js";
import { avatar } from "./avatars.js";
import { seatName } from "./captions.js";
import { guestList, guestsOf } from "./company.js";
import { h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { ensurePlayer, guestLine } from "./player.js";
import { entropyMode } from "./record.js";
import { waysToSend } from "./sending.js";
import { seatKey } from "./signing.js";
import { changed, game, report, root } from "./table_state.js";
import { attempt, deal, openGame } from "./table_transport.js";
import { setTitle } from "./title.js";

const FILLED_WITH = "greedy"; // the bot on the seats that no player took, as after a search for players

/** What the host sees of invitations; null until it is fetched. @type {import("./company.js").Guests | null} */
let guests = null;
const begin = newest();
let known = -1; // the version of the table for which it was fetched
/** The ways to send the address: made once, because a code is much to draw. @type {HTMLElement | null} */
let sending = null;

export function waitingRoom() {
  const { table } = game;
  const open = table.seats.filter((seat) => seat.kind === "open").length;
  if (open && table.host === identity()?.id && known !== table.version) showGuests().catch(report); // an invitation may have been accepted
  known = table.version;
  root.className = "waiting";
  const isInvited = table.as === null && open > 0;
  const title = isInvited ? invitation() : t("wait.title", { ruleset: game.ruleset.name });
  setTitle(`Shithead: ${title}`);
  const refusal = game.refusal ? h("p", { class: "fault", role: "alert", lang: game.refusal.lang }, [game.refusal.message]) : null;
  const heading = h("h1", null, [title]);
  replace(root, ...(isInvited ? [h("section", { class: "invited" }, [heading, ...welcome()]), refusal, ...seats(open), links()] : [heading, ...seats(open), refusal, ...company(open)]));
}

/** The name is that of the API: an address could state any. */
function invitation() {
  const { table } = game;
  const host = table.seats.find((seat) => seat.player !== null && seat.player === table.host);
  return host ? t("wait.invites", { name: seatName(host) }) : t("wait.invited");
}

/** For a reader who came by an address. */
function welcome() {
  return [
    h("p", { class: "buttons" }, [h("button", { class: "main big", "data-key": "sit", onclick: sit }, [t("wait.sit")]), identity() ? null : h("strong", null, [t("wait.free")])]),
    guestLine(),
    h("p", null, [t(`short.aim.${game.ruleset.in_short?.played_for ?? "loser"}`), h("br"), t("short.turn")]),
  ];
}

/** @param {number} open */
function seats(open) {
  const { table } = game;
  return [
    h("p", { role: "status" }, [open ? t("wait.open", { n: open }) : t("wait.full")]),
    h("ul", { class: "places" }, table.seats.map((seat) =>
      h("li", { class: seat.kind === "open" ? "quiet" : "" }, [seat.kind === "open" ? null : avatar(seat, seat.player), h("span", { translate: "no" }, [seatName(seat), seat.bot ? ` (${seat.bot})` : ""]), seat.seat === table.as ? ` (${t("you")})` : ""]),
    )),
  ];
}

/** @param {number} open */
function company(open) {
  const { table } = game;
  const isHost = table.host === identity()?.id;
  if (!open) return [guestLine(), links(table.as === null ? null : h("button", { class: "main", "data-key": "deal", onclick: () => deal() }, [t("wait.deal")]))];
  sending ??= waysToSend(t("wait.friends"), { title: t("wait.invited"), url: location.href });
  return [
    guestLine(),
    sending,
    links(isHost ? h("button", { "data-key": "fill", onclick: () => deal(FILLED_WITH) }, [t("wait.fill")]) : null),
    isHost && guests ? guestList(table, guests, (work) => attempt(async () => {
      await work();
      await showGuests();
    })) : null, // last, because it comes later than the rest
  ];
}

/** @param {HTMLElement | null} [first] what the player can do */
function links(first = null) {
  const { table, ruleset } = game;
  return h("p", { class: "buttons" }, [
    first,
    h("a", { class: "button", href: `/rules/${ruleset.id}` }, [t("more.rules")]),
    h("a", { class: "button", href: "/" }, [t("act.lobby")]),
    table.as === null ? null : h("button", { class: "plain", "data-key": "leave", onclick: leave }, [t("wait.leave")]),
  ]);
}

async function showGuests() {
  const isNewest = begin();
  const found = await guestsOf(game.table);
  if (!isNewest()) return;
  guests = found;
  if (!game.view) changed();
}

const sit = () =>
  attempt(async () => {
    await ensurePlayer();
    const invite = new URLSearchParams(location.hash.slice(1)).get("invite");
    game.table = await post(`/v1/tables/${game.table.id}/seats`, { seat: null, entropy: entropyMode(), ...(await seatKey()), ...(invite ? { invite } : {}) });
    if (game.table.game) await openGame(game.table.game);
  });

const leave = () =>
  attempt(async () => {
    await post(`/v1/tables/${game.table.id}/seats/me`, undefined, { method: "DELETE" });
    location.assign("/");
  });
