/** The menu of the bar: in a narrow window language, pages and player, and always what a page adds to it. */

import { find, h } from "./dom.js";
import { t } from "./i18n.js";

const narrow = matchMedia("(max-width: 59.99rem)"); // as in app.css

/** Add the menu to the bar of the page. @param {HTMLElement[]} own what only this page has in it */
export function offerMenu(...own) {
  const bar = find(".bar > div");
  const panel = h("div", { class: "panel" }, own);
  const menu = h("details", { class: "settings" }, [h("summary", { "aria-label": t("settings"), title: t("settings") }, ["☰"]), panel]);
  bar.append(menu);
  const [pages, ...tools] = ["nav", "#language", "#account"].map(find);
  const arrange = () => {
    if (narrow.matches) panel.append(pages, ...tools);
    else {
      find(".bar .brand").after(pages);
      menu.before(...tools);
    }
    menu.hidden = !panel.childElementCount;
  };
  arrange();
  narrow.addEventListener("change", arrange);
  const close = (/** @type {Event} */ event) => {
    if (event instanceof KeyboardEvent ? event.key !== "Escape" : menu.contains(/** @type {Node} */ (event.target))) return;
    if (menu.open && event instanceof KeyboardEvent) menu.querySelector("summary")?.focus();
    menu.open = false;
  };
  addEventListener("pointerdown", close);
  addEventListener("keydown", close);
}
