/** What the rules say of a move, for a player who is about to dispute it. Statements of the rules are in English. */

import { get, newest } from "./api.js";
import { h, replace } from "./dom.js";
import { t } from "./i18n.js";
import { isSame } from "./same_move.js";

/**
 * Return a section that explains the move of an event once `show` was called with it.
 *
 * @param {Api["GameView"]} game
 * @param {(seat: number) => string} who the name of a seat
 */
export function rulesSay(game, who) {
  const body = h("div", { role: "status", "aria-busy": "true" });
  const rules = `/rules/${game.ruleset.id}`;
  const ruleset = get(`/v1/rulesets/${game.ruleset.id}`);
  const begin = newest();

  /** @param {Api["Ruleset"]} known @param {string} id */
  const statement = ({ statements }, id) =>
    h("p", { class: "statement", lang: "en" }, [h("a", { href: `${rules}#${id}`, target: "_blank", rel: "noopener" }, [id]), " ", statements.find((one) => one.id === id)?.text ?? ""]);

  /** @param {number} seq of the event */
  async function show(seq) {
    const isNewest = begin();
    body.setAttribute("aria-busy", "true");
    const [decision, known] = await Promise.all([get(`/v1/games/${game.id}/audit/moves/${seq}`), ruleset]);
    if (!isNewest()) return;
    const { seat, did, legal, effects } = decision;
    const chosen = did && legal?.find(({ move }) => isSame(move, did));
    const name = seat === null ? "" : who(seat);
    const key = !did || seat === null ? "server" : decision.timed_out ? "late" : !legal ? "hidden" : chosen ? "allowed" : "refused";
    const cited = [...new Set([...(chosen?.rules ?? []), ...effects.flatMap((one) => one.rules)])];
    body.setAttribute("aria-busy", "false");
    replace(body,
      h("p", null, [h("strong", null, [t(`rules.say.${key}`, { who: name, n: legal?.length ?? 0 })])]),
      key === "allowed" ? h("p", null, [t("rules.say.evidence")]) : null,
      cited.map((id) => statement(known, id)),
    );
  }

  return { section: h("section", { class: "say" }, [h("h2", null, [t("rules.say")]), body]), show };
}
