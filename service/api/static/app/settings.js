/** The settings of lobby, table and replay, pace and sound, in the menu of the bar. */

import { h } from "./dom.js";
import { t } from "./i18n.js";
import { offerMenu } from "./menu.js";
import { isSounding, setSound } from "./sound.js";
import { PACES, pace, setPace } from "./story.js";

/** Add the menu with the settings to the bar of the page. @param {() => void} onpace called after another pace was chosen */
export function offerSettings(onpace) {
  const paces = h("select", { id: "pace", onchange: () => (setPace(paces.value), onpace()) },
    Object.keys(PACES).map((key) => h("option", { value: key, selected: key === pace() }, [t(`pace.${key}`)])));
  const sounds = h("input", { type: "checkbox", id: "sound", checked: isSounding(), onchange: () => setSound(sounds.checked) });
  offerMenu(
    h("label", null, [h("span", null, [t("pace")]), paces]),
    h("label", { class: "box" }, [sounds, h("span", null, [t("sound")])]),
  );
}
