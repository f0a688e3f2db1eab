/** The player's handle, by which others find them: a field of the player's dialog. */

import { get, post } from "./api.js";
import { h, replace } from "./dom.js";
import { moment, t } from "./i18n.js";

/** A part of the dialog that shows the handle, or a field that chooses one. @param {(work: () => Promise<void>) => void} attempt */
export function handleField(attempt) {
  const place = h("div");
  const show = (/** @type {{handle: string | null, handle_fixed_until: string | null}} */ { handle, handle_fixed_until: until }) => {
    const input = h("input", { value: handle ?? "", autocomplete: "off", autocapitalize: "none", spellcheck: "false", maxlength: 20, "aria-label": t("handle.title") });
    const save = async () => show(await post("/v1/players/me/handle", { handle: input.value.trim().toLowerCase() }, { method: "PUT" }));
    replace(place,
      h("p", null, [handle ? t("handle.is", { handle }) : t("handle.none")]),
      until ? h("p", { class: "quiet" }, [t("handle.until", { until: moment(until) })])
        : h("p", { class: "buttons" }, [input, h("button", { type: "button", onclick: () => attempt(save) }, [t("handle.save")])]));
  };
  return h("details", { ontoggle: (/** @type {Event} */ event) => {
    if (/** @type {HTMLDetailsElement} */ (event.currentTarget).open) attempt(async () => show(await get("/v1/players/me")));
  } }, [h("summary", null, [t("handle.title")]), place]);
}
