/** The waiting room of a table: before its first hand, places, address and invitations. */

import { identity, newest, post } from "./api.js";
import { avatar } from "./avatars.js";
import { seatName } from "./captions.js";
import { guestList, guestsOf } from "./company.js";
import { announce, h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { ensurePlayer, guestLine } from "./player.js";
import { entropyMode } from "./record.js";
import { seatKey } from "./signing.js";
import { changed, game, report, root } from "./table_state.js";
import { attempt, deal, openGame } from "./table_transport.js";
import { setTitle } from "./title.js";

/** What the host sees of invitations; null until it is fetched. @type {import("./company.js").Guests | null} */
let guests = null;
const begin = newest();
let known = -1; // the version of the table for which it was fetched

/** Draw the waiting room. */
export function waitingRoom() {
  const { table } = game;
  const seated = table.as !== null;
  const open = table.seats.filter((seat) => seat.kind === "open").length;
  const sit = () =>
    attempt(async () => {
      await ensurePlayer();
      const invite = new URLSearchParams(location.hash.slice(1)).get("invite");
      game.table = await post(`/v1/tables/${table.id}/seats`, { seat: null, entropy: entropyMode(), ...(await seatKey()), ...(invite ? { invite } : {}) });
      if (game.table.game) await openGame(game.table.game);
    });
  const leave = () =>
    attempt(async () => {
      await post(`/v1/tables/${table.id}/seats/me`, undefined, { method: "DELETE" });
      location.assign("/");
    });
  const address = h("input", { readonly: "", value: location.href, "aria-label": t("wait.address"), onfocus: () => address.select() });
  const copy = async () => {
    address.select();
    // Without a secure context navigator.clipboard is undefined, and only execCommand can copy.
    await (navigator.clipboard?.writeText(address.value) ?? document.execCommand("copy"));
    announce(copied.textContent = t("wait.copied"));
  };
  const copied = h("span", { class: "quiet" });
  const hosts = open > 0 && table.host === identity()?.id;
  const showGuests = async () => {
    const isNewest = begin();
    const found = await guestsOf(table);
    if (!isNewest()) return;
    guests = found;
    if (!game.view) changed();
  };
  if (hosts && known !== table.version) showGuests().catch(report); // an invitation may have been accepted
  known = table.version;
  root.className = "waiting";
  const title = t("wait.title", { ruleset: game.ruleset.name });
  setTitle(`Shithead: ${title}`);
  replace(
    root,
    h("h1", null, [title]),
    h("p", { role: "status" }, [open ? t("wait.open", { n: open }) : t("wait.full")]),
    h("ul", { class: "places" }, table.seats.map((seat) =>
      h("li", { class: seat.kind === "open" ? "quiet" : "" }, [seat.kind === "open" ? null : avatar(seat, seat.player), h("span", { translate: "no" }, [seatName(seat)]), seat.seat === table.as ? ` (${t("you")})` : ""]),
    )),
    guestLine(),
    open ? h("label", { class: "field" }, [h("span", null, [t("wait.address")]), address]) : null,
    open ? h("p", { class: "buttons" }, [h("button", { class: seated ? "main" : "", "data-key": "copy", onclick: copy }, [t("wait.copy")]), copied]) : null,
    hosts && guests ? guestList(table, guests, (work) => attempt(async () => {
      await work();
      await showGuests();
    })) : null,
    game.refusal ? h("p", { class: "fault", role: "alert", lang: game.refusal.lang }, [game.refusal.message]) : null,
    h("p", { class: "buttons" }, [
      !seated && open ? h("button", { class: "main", "data-key": "sit", onclick: sit }, [t("wait.sit")]) : null,
      seated && !open ? h("button", { class: "main", "data-key": "deal", onclick: deal }, [t("wait.deal")]) : null,
      h("a", { class: "button", href: `/rules/${game.ruleset.id}` }, [t("more.rules")]),
      h("a", { class: "button", href: "/" }, [t("act.lobby")]),
      seated ? h("button", { class: "plain", "data-key": "leave", onclick: leave }, [t("wait.leave")]) : null,
    ]),
  );
}
