/**
 * The player of this browser: registration, and the dialog for name and recovery code.
 */

import { Problem, get, identity, post, setIdentity } from "./api.js";
import { avatar } from "./avatars.js";
import { blocksField } from "./company.js";
import { markConcerns } from "./concerns.js";
import "./connection.js";
import { download, find, h, replace, showDialog } from "./dom.js";
import { handleField } from "./handle.js";
import "./elsewhere.js";
import { canSign, setSigning, signing } from "./signing.js";
import { isLasting, read, readJson, remove, write } from "./storage.js";
import { t } from "./i18n.js";
import { fits, guestName } from "./names.js";

const ME = "/v1/players/me";
const NAME = "shithead.name";
/**
 * The former player of this browser, stored with the recovery code; `lost` is true if the server
 * rejected the token, for example after a recovery in another browser.
 */
const FORMER = "shithead.former";
const UNSTORED = "shithead.unstored";
const ASKED = "shithead.asked-to-save";

/** The name of a guest who has not chosen one. */
const GUEST = "shithead.guest";

function guest() {
  const name = read(GUEST) ?? guestName();
  write(GUEST, name);
  return name;
}

/** @returns {string} the name under which this browser's player is, or will be, registered */
export const playerName = () => identity()?.name ?? read(NAME) ?? guest();

/** A line that shows a guest's name where others are met, with a button that changes it; null once a name was chosen. */
export function guestLine() {
  if (playerName() !== read(GUEST)) return null;
  return h("p", { class: "quiet guest" }, [
    t("account.guest", { name: playerName() }), " ",
    h("button", { class: "plain", "data-key": "rename", onclick: openDialog }, [t("account.change")]),
  ]);
}

/**
 * Return this browser's player; without one a player is registered first.
 *
 * @returns {Promise<import("./api.js").Identity>}
 */
export async function ensurePlayer() {
  const known = identity();
  if (known) return known;
  const player = await post("/v1/players", { name: playerName() }, { once: true });
  setIdentity(player);
  showAccount();
  return player;
}

/** Forget the player and show a notice if the server rejects the token; the pages work without a player. */
export async function checkPlayer() {
  showUnstored();
  addEventListener("token-ended", checkPresent);
  addEventListener("storage", ({ key }) => key === FORMER && !identity() && readJson(FORMER)?.lost && lose(readJson(FORMER))); // in another tab
  await checkPresent();
}

async function checkPresent() {
  const known = identity();
  if (!known) {
    const former = readJson(FORMER);
    if (former?.lost) showLost(former);
    return;
  }
  try {
    const { id, name } = await get(ME);
    if (name !== known.name) setIdentity({ ...known, id, name: name ?? known.name });
    markConcerns();
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    if (problem.status !== 401) return; // the next calls of the page report it
    setIdentity(null);
    write(FORMER, JSON.stringify({ ...known, lost: true }));
    lose(known);
  }
}

/** Show at once, also in the middle of a hand, that this browser only watches from now on. @param {import("./api.js").Identity} former */
function lose(former) {
  showAccount();
  showLost(former);
}

/** Forget an erased player: neither token nor code lead back. */
export function forget() {
  setIdentity(null);
  for (const key of [FORMER, NAME, ASKED]) remove(key);
}

/** Show that the player lasts only as long as the tab, if this browser stores nothing, until the reader closes it. */
function showUnstored() {
  if (isLasting() || read(UNSTORED)) return;
  const close = () => {
    write(UNSTORED, "seen");
    notice.remove();
    dispatchEvent(new Event("resize")); // a page may have more room
  };
  const notice = h("div", { class: "notice lost", role: "status", id: "unstored" }, [
    h("p", null, [t("account.unstored")]),
    h("p", { class: "buttons" }, [h("button", { onclick: close }, [t("close")])]),
  ]);
  find("main").prepend(notice);
}

/**
 * Ask once to save the recovery code, which is lost together with the storage of the browser.
 */
export function askToSave() {
  const player = identity();
  if (!player?.recovery || read(ASKED)) return;
  write(ASKED, "yes");
  const { name, recovery } = player;
  const notice = h("div", { class: "notice lost", role: "status", id: "keep" }, [
    h("p", null, [t("account.keep", { name })]),
    h("p", null, [h("code", { class: "code", translate: "no" }, [recovery])]),
    h("p", { class: "buttons" }, [
      h("button", { class: "main", onclick: () => saveCode(name, recovery) }, [t("account.keep.file")]),
      h("button", { onclick: () => notice.remove() }, [t("close")]),
    ]),
  ]);
  find("main").prepend(notice);
}

/** Show why this browser has lost its player, and how to continue. @param {import("./api.js").Identity} former */
function showLost({ name, recovery: code }) {
  if (document.getElementById("lost")) return;
  const fault = h("p", { class: "fault", role: "alert" });
  const close = () => {
    write(FORMER, JSON.stringify({ name, recovery: code }));
    notice.remove();
  };
  const notice = h("div", { class: "notice lost", role: "status", id: "lost" }, [
    h("p", null, [t("account.lost", { name })]),
    fault,
    h("p", { class: "buttons" }, [
      h("button", { class: "main", onclick: () => (code ? attempt(fault, () => recover(code)) : openDialog()) }, [t(code ? "account.lost.back" : "account.recover", { name })]),
      h("button", { onclick: close }, [t("close")]),
    ]),
  ]);
  find("main").prepend(notice);
}

/** Continue as the player of a recovery code; the former token becomes invalid. @param {string} code */
async function recover(code) {
  const { token } = await post("/v1/players/recover", { recovery: code }, { once: true });
  setIdentity({ id: "", name: "", token, recovery: code });
  await checkPlayer();
  location.reload();
}

export function showAccount() {
  const button = find("#account");
  button.translate = false;
  replace(button, avatar({ kind: "human", name: playerName() }, identity()?.id || null), h("span", { class: "name" }, [playerName()]));
  button.setAttribute("aria-label", t("account.open", { name: playerName() }));
  button.onclick = openDialog;
  button.hidden = false;
}

export function openDialog() {
  const player = identity();
  const fault = h("p", { class: "fault", role: "alert" });
  const own = player ? playerFields(player, fault) : null;
  const dialog = h("dialog", { class: "panel", "aria-labelledby": "account-title" }, [
    h("h2", { id: "account-title" }, [t("account.title")]),
    ...(own ? own.fields : [h("p", null, [t("account.new")]), nameField(fault)]),
    player ? h("p", null, [h("a", { href: "/account" }, [t("account.more")])]) : null,
    signingBox(),
    player ? handleField((work) => attempt(fault, work)) : null,
    player ? blocksField((work) => attempt(fault, work)) : null,
    h("details", null, [h("summary", null, [t("account.recover")]), ...recoveryField(fault)]),
    own?.last ?? null,
    fault,
    h("p", { class: "buttons" }, [
      h("button", { onclick: () => dialog.close() }, [t("close")]),
    ]),
  ]);
  showDialog(dialog, showAccount);
}

/** @param {string} label @param {Record<string, any>} attributes */
function field(label, attributes) {
  return h("label", { class: "field" }, [h("span", null, [label]), h("input", attributes)]);
}

/** A box that turns signed moves on; hidden if the browser cannot make a key. */
function signingBox() {
  const box = h("input", { type: "checkbox", checked: signing() || null, onchange: () => setSigning(box.checked) });
  const label = h("label", { class: "box", hidden: "" }, [box, t("account.sign")]);
  canSign().then((can) => (label.hidden = !can));
  return label;
}

/** The name is saved on the server, or before the registration in this browser. @param {HTMLElement} fault */
function nameField(fault) {
  const name = field(t("account.name"), { value: playerName(), autocomplete: "nickname" });
  const save = async () => {
    const value = name.querySelector("input")?.value.trim() ?? "";
    complain(fault, fits(value) ? "" : t("account.nameless"));
    if (!fits(value)) return name.querySelector("input")?.focus();
    const player = identity();
    if (player) setIdentity({ ...player, name: (await post(ME, { name: value }, { method: "PATCH", once: true })).name ?? value });
    else write(NAME, value);
    document.querySelectorAll(".guest").forEach((line) => line.remove());
    name.closest("dialog")?.close();
  };
  return [name, h("p", null, [h("button", { class: "main", onclick: () => attempt(fault, save) }, [t("account.save")])])];
}

/** @param {HTMLElement} fault @param {() => Promise<void>} work */
async function attempt(fault, work) {
  fault.textContent = "";
  try {
    await work();
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    complain(fault, problem.message, problem.lang);
  }
}

/** Show a problem in the dialog, which may be longer than the screen. @param {HTMLElement} fault @param {string} text @param {string | null} [lang] */
function complain(fault, text, lang) {
  fault.lang = lang ?? document.documentElement.lang;
  fault.textContent = text;
  fault.scrollIntoView({ block: "nearest" });
}

/** @param {import("./api.js").Identity} player @param {HTMLElement} fault */
function playerFields(player, fault) {
  const code = h("div");
  const show = (/** @type {string | null} */ recovery) =>
    replace(code, h("p", null, [t(recovery ? "account.code" : "account.codeless")]), ...(recovery ? maskedCode(player.name, recovery) : []));
  /** @type {Promise<void> | null} */
  let renewing = null; // a second press would make the first code invalid
  const renew = async () => {
    const { recovery } = await post(`${ME}/recovery`, {}, { once: true });
    setIdentity({ ...(identity() ?? player), recovery });
    show(recovery);
  };
  show(player.recovery);
  const fields = [
    h("p", null, [t("account.is", { name: player.name })]),
    nameField(fault),
    code,
  ];
  const last = h("details", { class: "apart" }, [
    h("summary", null, [t("account.apart")]),
    h("p", { class: "buttons" }, [
      h("button", { onclick: () => (renewing ??= attempt(fault, renew).finally(() => (renewing = null))) }, [t("account.renew")]),
      h("button", { class: "plain", onclick: leave }, [t("account.leave")]),
    ]),
  ]);
  return { fields, last };
}

/** @param {string} name @param {string} recovery */
export const saveCode = (name, recovery) =>
  download(new Blob([`${location.origin}\n${name}\n${recovery}\n`], { type: "text/plain" }), "shithead-recovery.txt");

/** A recovery code that others in the room do not read, with buttons to show, copy and save it. @param {string} name @param {string} recovery */
function maskedCode(name, recovery) {
  const code = h("code", { class: "code", translate: "no" }, ["•".repeat(12)]);
  const show = h("button", { type: "button", onclick: () => {
    code.textContent = recovery;
    show.remove();
  } }, [t("account.show")]);
  const copied = h("span", { class: "quiet", role: "status" });
  const copy = async () => {
    await navigator.clipboard?.writeText(recovery);
    copied.textContent = t("wait.copied");
  };
  return [
    h("p", null, [code]),
    h("p", { class: "buttons" }, [
      show,
      navigator.clipboard ? h("button", { type: "button", onclick: copy }, [t("account.copy")]) : null,
      h("button", { type: "button", onclick: () => saveCode(name, recovery) }, [t("account.keep.file")]),
      copied,
    ]),
  ];
}

/** Forget the player: the next game registers another one. The recovery code restores this one. */
function leave() {
  if (!confirm(t("account.leave.sure"))) return;
  write(FORMER, JSON.stringify(identity()));
  setIdentity(null);
  location.assign("/");
}

/** @param {HTMLElement} fault */
function recoveryField(fault) {
  const code = field(t("account.recovery"), { autocomplete: "off", spellcheck: "false" });
  const value = () => code.querySelector("input")?.value.trim() ?? "";
  return [h("p", { class: "quiet" }, [t("account.recover.ends")]), code, h("p", null, [h("button", { onclick: () => attempt(fault, () => recover(value())) }, [t("account.recover.do")])])];
}
