/** Pill over the bar that says at once that the page has lost its connection, and goes when it is back. */

import { find, h } from "./dom.js";
import { t } from "./i18n.js";

/** @type {Set<string>} */
const lost = new Set();

/**
 * Note whether a part of the page reaches the server; the pill is shown while any part does not.
 *
 * @param {string} part for example "browser" or "stream"
 * @param {boolean} isUp
 */
export function connected(part, isUp) {
  if (isUp) lost.delete(part);
  else lost.add(part);
  const pill = document.getElementById("connection") ?? find("body").appendChild(h("p", { id: "connection", role: "status" }));
  pill.textContent = lost.size ? t("lost") : "";
}

addEventListener("offline", () => connected("browser", false));
addEventListener("online", () => connected("browser", true));
