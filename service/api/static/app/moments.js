/** The page of the moments that the reader keeps: by list, each leads to its replay; edit, delete, rename a list, export. */

import { get, identity, newest, post } from "./api.js";
import { announce, download, find, h, replace } from "./dom.js";
import { attempt, button } from "./forms.js";
import { moment, seatWords, start, t } from "./i18n.js";
import { offerMenu } from "./menu.js";
import { changeMoment, renameList } from "./moment_dialog.js";
import { checkPlayer, openDialog, showAccount } from "./player.js";
import { noHand, noPlayer } from "./states.js";
import { setTitle } from "./title.js";

/** @typedef {Api["Moment"]} Moment */

const MOMENTS = "/v1/players/me/moments";
const place = find("#moments");
const begin = newest();

/** The list that is shown, "" for all. */
let list = new URLSearchParams(location.search).get("list") ?? "";

/** @type {Api["MomentList"][]} */
let lists = [];
const names = () => lists.map(({ name }) => name);

/** @param {string} as a viewer */
function viewer(as) {
  if (as === "public" || as === "all") return t(`moments.as.${as}`);
  return t("moments.as.seat", { seat: seatWords(Number(as)) });
}

/** @param {Moment} one */
function row(one) {
  const values = { text: one.text };
  const facts = [t("moments.about", { n: one.version - 1, who: viewer(one.as) }), list ? null : one.list, moment(one.kept_at, { dateStyle: "medium" })];
  const edit = () => changeMoment(one, names(), draw);
  const remove = () => confirm(t("moments.delete.sure", values)) && attempt(async () => {
    await post(`${MOMENTS}/${one.id}`, undefined, { method: "DELETE", once: true });
    await draw();
    announce(t("moments.deleted"));
    place.querySelector("select")?.focus();
  });
  return h("li", { class: "row" }, [
    h("span", { class: "what" }, [
      h("a", { href: `/replay/${one.game}?event=${one.version - 1}&as=${one.as}`, dir: "auto", translate: "no" }, [one.text]),
      h("span", { class: "quiet" }, [facts.filter(Boolean).join(" · ")]),
    ]),
    h("span", { class: "buttons" }, [
      h("button", { "data-key": `edit ${one.id}`, "aria-label": t("moments.edit.one", values), onclick: edit }, [t("moments.edit")]),
      h("button", { "data-key": `delete ${one.id}`, "aria-label": t("moments.delete.one", values), onclick: remove }, [t("moments.delete")]),
    ]),
  ]);
}

/** @param {Record<string, string>} [more] */
const query = (more) => new URLSearchParams({ ...(list ? { list } : {}), ...more });

/** @param {string} name of the list to show */
function choose(name) {
  list = name;
  history.replaceState(null, "", `/moments?${query()}`);
  return attempt(draw);
}

/** The choice of a list, and what can be done with it. */
function head() {
  const count = lists.reduce((sum, one) => sum + one.moments, 0);
  const options = [h("option", { value: "" }, [t("moments.all", { n: count })]), ...lists.map(({ name, moments }) => h("option", { value: name }, [t("moments.one", { name, n: moments })]))];
  const select = h("select", { "data-key": "list", onchange: () => choose(select.value) }, options);
  select.value = list;
  return [
    h("label", { class: "field" }, [h("span", null, [t("moments.list")]), select]),
    h("p", { class: "buttons" }, [
      list ? button("moments.rename", () => renameList(list, names(), choose)) : null,
      button("moments.export", () => attempt(async () => download(new Blob([JSON.stringify(await get(`${MOMENTS}/export`), null, 1)], { type: "application/json" }), "moments.json"))),
    ]),
  ];
}

/** Draw the page from what the server has. */
async function draw() {
  if (!identity()) return replace(place, noPlayer(openDialog));
  const isNewest = begin();
  const first = await get(`${MOMENTS}?${query()}`);
  if (!isNewest()) return;
  lists = first.lists;
  if (list && !names().includes(list)) return void (await choose("")); // its last moment is gone
  if (!lists.length) return replace(place, noHand("moments.none"));
  const rows = h("ul", { class: "rows" });
  const more = button("moments.more", () => attempt(next));
  /** @type {{items: Moment[], next: string | null}} */
  let page = first;
  const show = () => {
    rows.append(...page.items.map(row));
    more.hidden = page.next === null;
  };
  async function next() {
    page = await get(`${MOMENTS}?${query({ cursor: page.next ?? "" })}`);
    if (isNewest()) show();
  }
  show();
  replace(place, h("section", { class: "part" }, [head(), rows, more]));
}

await start("moments", "state", "refusals");
offerMenu();
setTitle(`Shithead: ${t("moments.title")}`);
await checkPlayer();
showAccount();
if (!(await attempt(draw))) replace(place, h("p", { class: "buttons" }, [h("a", { class: "button", href: "/moments" }, [t("moments.title")])]));
