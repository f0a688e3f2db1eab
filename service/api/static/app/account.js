/** The page of the reader's own player: devices, programs, webhook, and erasure. All of it is calls of the public API. */

import { Problem, call, get, identity, newest, post, setIdentity } from "./api.js";
import { find, h, replace, showDialog } from "./dom.js";
import { attempt, button, field, quiet, section, single } from "./forms.js";
import { moment, start, t } from "./i18n.js";
import { offerMenu } from "./menu.js";
import { checkPlayer, forget, openDialog, saveCode, showAccount } from "./player.js";
import { codeFor, copyable } from "./sending.js";
import { noPlayer } from "./states.js";
import { setTitle } from "./title.js";
import { webhookPart } from "./webhook.js";

/** @typedef {Api["ListedToken"]} Token */

const ME = "/v1/players/me";
const TOKENS = `${ME}/tokens`;
const DEVICE = "device="; // before the token in the fragment of an address, which browsers do not send
const SCOPES = /** @type {const} */ (["read", "play", "dispute", "account"]);
const OF_SERVICE = ["registration", "recovery"]; // names that the service gives
const DAY = 86_400_000; // milliseconds
const page = find("#account-page");

/** A token with all scopes is a browser that plays as the player; another one is of a program. @param {Token} token */
const isDevice = (token) => SCOPES.every((scope) => token.scopes.includes(scope));

/** @param {Token} token */
const nameOf = (token) => (OF_SERVICE.includes(token.name) ? t(`account.token.${token.name}`) : token.name);

/** @param {string} at a time, or a day, which is that of UTC */
const dayOf = (at) => moment(at, { dateStyle: "medium", ...(at.includes("T") ? {} : { timeZone: "UTC" }) });

const begin = newest();

/** Draw the page from what the server has. */
async function draw() {
  const isNewest = begin();
  const player = identity();
  if (!player) return replace(page, noPlayer(openDialog));
  const { items } = await get(TOKENS);
  const webhook = await webhookPart(draw);
  if (!isNewest()) return;
  replace(page,
    h("p", { class: "lead" }, [t("account.is", { name: player.name })]),
    h("p", { class: "buttons" }, [h("button", { onclick: openDialog }, [t("account.name.code")]), h("a", { class: "button", href: "/moments" }, [t("moments.title")])]),
    devicesPart(items.filter(isDevice)),
    programsPart(items.filter((one) => !isDevice(one))),
    section("account.webhook", ...webhook),
    erasePart(player.name),
  );
}

/** @param {Token} token @param {string[]} facts */
function row(token, ...facts) {
  const since = t("account.since", { day: dayOf(token.created_at) });
  const used = token.used_on ? t("account.used", { day: dayOf(token.used_on) }) : t("account.unused");
  const end = async () => {
    if (!confirm(t("account.end.sure", { name: nameOf(token) }))) return;
    await attempt(async () => {
      await post(`${TOKENS}/${token.id}`, undefined, { method: "DELETE" });
      await draw();
    });
  };
  return h("li", { class: "row" }, [
    h("span", { class: "what" }, [h("span", null, [nameOf(token)]), h("span", { class: "quiet" }, [[...facts, since, used].join(" · ")])]),
    token.current ? h("strong", null, [t("account.here")]) : h("button", { "data-key": `end ${token.id}`, "aria-label": t("account.end.name", { name: nameOf(token) }), onclick: end }, [t("account.end")]),
  ]);
}

/** @param {Token[]} devices */
function devicesPart(devices) {
  return section("account.devices", quiet(t("account.devices.text")), h("ul", { class: "rows" }, devices.map((one) => row(one))),
    h("p", { class: "buttons" }, [button("account.devices.add", () => attempt(addDevice), { class: "main" })]));
}

/** Show an address, and its code, with a token that the other device replaces at once; unused it ends with the dialog. */
async function addDevice() {
  const issued = await post(TOKENS, { name: t("account.device.new"), scopes: [...SCOPES] }, { once: true });
  const address = h("input", { value: `${location.origin}/account#${DEVICE}${issued.token}` });
  const said = h("p", { class: "quiet", role: "status" });
  const dialog = h("dialog", { class: "panel", "aria-labelledby": "device-title" }, [
    h("h2", { id: "device-title" }, [t("account.devices.add")]),
    h("p", null, [t("account.devices.how")]),
    codeFor(address.value),
    copyable(t("account.devices.address"), address, said),
    said,
    h("p", { class: "notice" }, [t("account.devices.secret")]),
    h("p", { class: "buttons" }, [h("button", { class: "main", onclick: () => dialog.close() }, [t("account.done")])]),
  ]);
  const end = () => post(`${TOKENS}/${issued.id}`, undefined, { method: "DELETE" }).catch((problem) => {
    if (!(problem instanceof Problem) || problem.status !== 404) throw problem; // the other device has replaced it
  });
  addEventListener("pagehide", end, { once: true });
  showDialog(dialog, () => attempt(async () => {
    removeEventListener("pagehide", end);
    await end();
    await draw();
  }));
}

/** Ask whether this browser is to play as the player of a token: anybody can send such an address. @param {string} token */
async function offerDevice(token) {
  const authorized = { Authorization: `Bearer ${token}` };
  const present = await call("GET", "/v1/token", { more: authorized });
  const { name } = await get(`/v1/players/${present.player}`);
  const former = identity();
  const accept = async () => {
    const own = await call("POST", TOKENS, { body: { name: browserName(), replaces: true }, more: authorized });
    setIdentity({ id: present.player, name: name ?? "", token: own.token, recovery: null });
    location.replace("/account");
  };
  replace(page,
    h("section", { class: "state" }, [
      h("h2", null, [t("account.device.ask", { name: name ?? "–" })]),
      h("p", null, [t("account.device.ask.why")]),
      former ? h("p", { class: "notice" }, [t("account.device.former", { name: former.name }), " ", former.recovery ? h("button", { onclick: () => saveCode(former.name, former.recovery ?? "") }, [t("account.keep.file")]) : null]) : null,
      h("p", { class: "buttons" }, [
        h("button", { class: "main", onclick: single(() => attempt(accept)) }, [t("account.device.accept", { name: name ?? "–" })]),
        h("a", { class: "button", href: "/" }, [t("act.lobby")]),
      ]),
    ]),
  );
}

/** What the reader calls this browser: its name and system, as far as it states them. */
function browserName() {
  const first = (/** @type {string[]} */ ...names) => names.find((one) => navigator.userAgent.includes(one)) ?? "";
  const program = { Edg: "Edge", "": t("account.device.new") }[first("Firefox", "Edg", "Chrome", "Safari")] ?? first("Firefox", "Edg", "Chrome", "Safari");
  return [program, first("Android", "iPhone", "iPad", "Windows", "Mac", "Linux")].filter(Boolean).join(", ");
}

/** @param {Token[]} programs */
function programsPart(programs) {
  const name = h("input", { maxlength: 40, autocomplete: "off" });
  const boxes = SCOPES.map((scope) => ({ scope, box: h("input", { type: "checkbox", checked: scope === "read" || scope === "play" || null }) }));
  const end = h("select", null, [30, 365, 0].map((days) => h("option", { value: days }, [days ? t("account.days", { n: days }) : t("account.endless")])));
  const made = h("div");
  const make = () => attempt(async () => {
    const scopes = boxes.filter(({ box }) => box.checked).map(({ scope }) => scope);
    const days = Number(end.value);
    const { token } = await post(TOKENS, { name: name.value.trim(), scopes, ends_at: days ? new Date(Date.now() + days * DAY).toISOString().replace(/\.\d+Z/, "Z") : null }, { once: true });
    await draw();
    shown(find("#account-programs"), token);
  });
  return section("account.programs", quiet(t("account.programs.text")),
    programs.length ? h("ul", { class: "rows" }, programs.map((one) => row(one, one.scopes.join(", "), one.ends_at ? t("account.until", { day: dayOf(one.ends_at) }) : t("account.endless")))) : quiet(t("account.programs.none")),
    made,
    h("details", null, [
      h("summary", null, [t("account.programs.make")]),
      field("account.programs.name", name),
      h("fieldset", { class: "scopes" }, [h("legend", null, [t("account.scopes")]), ...boxes.map(({ scope, box }) => h("label", { class: "box" }, [box, h("span", null, [h("code", null, [scope]), " ", t(`account.scope.${scope}`)])]))]),
      field("account.programs.end", end),
      h("p", { class: "buttons" }, [button("account.programs.do", make, { class: "main" })]),
    ]),
  );
}

/** Show a token, which the server shows once. @param {HTMLElement} within @param {string} token */
function shown(within, token) {
  const said = h("p", { class: "quiet", role: "status" });
  const value = h("input", { value: token });
  within.querySelector("h2")?.after(h("div", { class: "notice" }, [h("p", null, [t("account.programs.made")]), copyable(t("account.programs.token"), value, said), said]));
  value.focus();
}

/** @param {string} name */
function erasePart(name) {
  const typed = h("input", { autocomplete: "off", oninput: () => (erase.disabled = typed.value.trim() !== name) });
  const erase = h("button", { class: "danger", disabled: true, onclick: () => attempt(async () => {
    await post(ME, undefined, { method: "DELETE" });
    forget();
    showAccount();
    replace(page, h("section", { class: "state", role: "status" }, [h("h2", { tabindex: -1 }, [t("account.erased")]), h("p", null, [t("account.erased.text")]), h("p", { class: "buttons" }, [h("a", { class: "button main", href: "/" }, [t("act.lobby")])])]));
    page.querySelector("h2")?.focus();
  }) }, [t("account.erase.do")]);
  return h("section", { id: "account-erase", class: "danger-zone" }, [
    h("h2", null, [t("account.erase")]),
    h("p", null, [t("account.erase.text")]),
    h("label", { class: "field" }, [h("span", null, [t("account.erase.type", { name })]), typed]),
    h("p", { class: "buttons" }, [erase]),
  ]);
}

await start("account", "state", "moments");
offerMenu();
setTitle(`Shithead: ${t("account.title")}`);
const { hash } = location;
if (hash.startsWith(`#${DEVICE}`)) history.replaceState(null, "", location.pathname); // the token stays in no history
await checkPlayer();
showAccount();
if (!(await attempt(() => (hash.startsWith(`#${DEVICE}`) ? offerDevice(hash.slice(DEVICE.length + 1)) : draw())))) replace(page, h("p", { class: "buttons" }, [h("a", { class: "button", href: "/account" }, [t("account.title")])]));
