/** The settings of lobby, table and replay, pace and sound, behind one button; on a phone also language, pages and player. */

import { find, h } from "./dom.js";
import { t } from "./i18n.js";
import { isSounding, setSound } from "./sound.js";
import { PACES, pace, setPace } from "./story.js";

const narrow = matchMedia("(max-width: 59.99rem)");

/** Add the button to the bar of the page. @param {() => void} onpace called after another pace was chosen */
export function offerSettings(onpace) {
  const bar = find(".bar > div");
  const paces = h("select", { id: "pace", onchange: () => (setPace(paces.value), onpace()) },
    Object.keys(PACES).map((key) => h("option", { value: key, selected: key === pace() }, [t(`pace.${key}`)])));
  const sounds = h("input", { type: "checkbox", id: "sound", checked: isSounding(), onchange: () => setSound(sounds.checked) });
  const panel = h("div", { class: "panel" }, [
    h("label", null, [h("span", null, [t("pace")]), paces]),
    h("label", { class: "box" }, [sounds, h("span", null, [t("sound")])]),
  ]);
  const menu = h("details", { class: "settings" }, [h("summary", { "aria-label": t("settings"), title: t("settings") }, ["☰"]), panel]);
  bar.append(menu);
  const tools = [find(".bar nav"), find("#language"), find("#account")];
  const arrange = () => {
    if (narrow.matches) panel.append(...tools);
    else menu.before(...tools);
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
