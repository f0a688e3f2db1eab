/** The rules of a hand on one screen, in a sheet over the table: what stands above the complete rules on their page. */

import { h, showDialog } from "./dom.js";
import { t } from "./i18n.js";

/** Show the sheet. @param {string} ruleset the id of a ruleset */
export async function showRules(ruleset) {
  const answer = await fetch(`/rules/${encodeURIComponent(ruleset)}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const short = page.querySelector(".short");
  if (!short) return void open(`/rules/${ruleset}`, "_blank", "noopener");
  short.querySelector(".button")?.remove(); // one plays with them already
  for (const element of short.querySelectorAll("[data-t]")) element.textContent = t(element.getAttribute("data-t") ?? "");
  const head = short.querySelector("h2");
  for (const [name, value] of [["tabindex", "-1"], ["autofocus", ""]]) head?.setAttribute(name, value); // it begins at its top
  const dialog = h("dialog", { class: "panel", "aria-labelledby": "in-short" }, [
    short,
    h("p", { class: "buttons" }, [
      h("a", { href: `/rules/${ruleset}`, target: "_blank", rel: "noopener" }, [t("short.complete")]),
      h("button", { onclick: () => dialog.close() }, [t("close")]),
    ]),
  ]);
  showDialog(dialog);
}
