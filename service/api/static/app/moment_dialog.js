/** Dialogs of moments: keep one from the replay room, change its text or list, rename a list. */

import { Problem, get, post } from "./api.js";
import { h, replace, showDialog } from "./dom.js";
import { missing } from "./forms.js";
import { t } from "./i18n.js";

const MOMENTS = "/v1/players/me/moments";
const LONGEST = 200; // characters of a text
const LONGEST_NAME = 40; // of the name of a list

/**
 * Ask for some lines of text, until they are saved or the reader cancels.
 *
 * @param {string} title
 * @param {{label: string, value: string, longest: number, absent: string, choices?: string[]}[]} lines
 * @param {{save: string, about?: string}} texts
 * @param {(...values: string[]) => Promise<any>} save returns what is shown when it is saved, null to close
 */
function ask(title, lines, texts, save) {
  const fault = h("p", { class: "fault", role: "alert" });
  const inputs = lines.map(({ value, longest, choices }) => h("input", { value, size: 40, maxlength: longest, autocomplete: "off", list: choices ? "moment-lists" : null }));
  const content = h("form", { onsubmit: submit }, [
    ...lines.map(({ label }, at) => h("label", { class: "field" }, [h("span", null, [label]), inputs[at]])),
    h("datalist", { id: "moment-lists" }, lines.flatMap(({ choices }) => choices ?? []).map((value) => h("option", { value }))),
    texts.about ? h("p", { class: "quiet" }, [texts.about]) : null,
    fault,
    h("p", { class: "buttons" }, [h("button", { class: "main", type: "submit" }, [texts.save]), h("button", { onclick: () => dialog.close() }, [t("moments.cancel")])]),
  ]);
  const dialog = h("dialog", { class: "panel", "aria-labelledby": "moment-title" }, [h("h2", { id: "moment-title" }, [title]), content]);

  /** @param {Event} event */
  async function submit(event) {
    event.preventDefault();
    const empty = inputs.findIndex((one) => !one.value.trim());
    if (empty >= 0) return missing(inputs[empty], lines[empty].absent);
    const [button] = content.querySelectorAll("button");
    button.disabled = true;
    fault.textContent = "";
    try {
      const saved = await save(...inputs.map((one) => one.value.trim()));
      if (!saved) return dialog.close();
      replace(content, h("p", { role: "status" }, [saved]), h("p", { class: "buttons" }, [h("button", { onclick: () => dialog.close() }, [t("close")])]));
      content.querySelector("button")?.focus();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      fault.lang = problem.lang ?? document.documentElement.lang;
      fault.textContent = problem.message;
    } finally {
      button.disabled = false;
    }
  }

  showDialog(dialog);
  inputs[0].select();
}

/** @param {string} value @param {string[]} choices */
const ofList = (value, choices) => ({ label: t("moments.list"), value, longest: LONGEST_NAME, absent: "moments.list.missing", choices });
/** @param {string} value */
const ofText = (value) => ({ label: t("moments.text"), value, longest: LONGEST, absent: "moments.text.missing" });

/**
 * Ask for a text and a list, and keep a moment of a hand.
 *
 * @param {{game: string, version: number, as: string}} hand
 * @param {string} text what is proposed
 */
export async function keepMoment(hand, text) {
  if (document.querySelector("dialog")) return; // a second press before the first one showed it
  ask(t("moments.keep"), [ofText(text.slice(0, LONGEST)), ofList(t("moments.first"), [])], { save: t("moments.save"), about: t("moments.keep.about") }, async (line, list) => {
    const kept = await post(MOMENTS, { ...hand, text: line, list });
    return [t("moments.kept", { list: kept.list }), " ", h("a", { href: `/moments?list=${encodeURIComponent(kept.list)}` }, [t("moments.title")])];
  });
  const { items, lists } = await get(`${MOMENTS}?limit=1`);
  document.querySelector("#moment-lists")?.append(...lists.map(({ name }) => h("option", { value: name })));
  const input = /** @type {HTMLInputElement | null} */ (document.querySelector("[list=moment-lists]"));
  if (input?.value === t("moments.first") && items.length) input.value = items[0].list; // the reader goes on with the last one
}

/** Ask for another text or list. @param {Api["Moment"]} moment @param {string[]} names of lists @param {() => unknown} changed */
export function changeMoment(moment, names, changed) {
  ask(t("moments.edit.title"), [ofText(moment.text), ofList(moment.list, names)], { save: t("moments.edit.save") }, async (text, list) => {
    await post(`${MOMENTS}/${moment.id}`, { text, list }, { method: "PATCH", once: true });
    await changed();
  });
}

/** Ask for another name of a list. @param {string} list @param {string[]} names of lists @param {(name: string) => unknown} changed */
export function renameList(list, names, changed) {
  const line = { ...ofList(list, names), label: t("moments.rename.name") };
  ask(t("moments.rename.title", { list }), [line], { save: t("moments.edit.save"), about: t("moments.rename.about") }, async (to) => {
    if (to !== list) await post(MOMENTS, { list, to }, { method: "PATCH", once: true });
    await changed(to);
  });
}
