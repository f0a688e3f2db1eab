/** The part of the player's page about the webhook: where the player's own events are sent, and whether they arrive. */

import { Problem, get, post } from "./api.js";
import { h } from "./dom.js";
import { attempt, button, field, quiet } from "./forms.js";
import { moment, t } from "./i18n.js";
import { copyable } from "./sending.js";

const HOOK = "/v1/players/me/webhook";
/** The types of events that are sent; the last one only if it is chosen. */
const TYPES = /** @type {const} */ ([
  "your_turn", "hand_dealt", "hand_sealed", "seek_matched", "seat_taken", "table_closed",
  "invited", "challenged", "challenge_answered", "dispute_opened", "vote_opened", "period_ending", "referee_wanted",
]); // prettier-ignore

/** @returns {Promise<Api["Webhook"] | null>} */
const present = () => get(HOOK).catch((problem) => {
  if (problem instanceof Problem && problem.status === 404) return null;
  throw problem;
});

/** The content of the part. @param {() => Promise<void>} again draws the page again */
export async function webhookPart(again) {
  const hook = await present();
  const url = h("input", { type: "url", value: hook?.url ?? "", maxlength: 500 });
  const boxes = TYPES.map((type) => ({ type, box: h("input", { type: "checkbox", checked: (hook ? hook.types.includes(type) : type !== "referee_wanted") || null }) }));
  const secret = h("div");
  const set = () => attempt(async () => {
    const types = boxes.filter(({ box }) => box.checked).map(({ type }) => type);
    const made = await post(HOOK, { url: url.value.trim(), types }, { method: "PUT", once: true });
    await again();
    show(made.secret);
  });
  return [
    quiet(t("hook.text")),
    hook ? stateOf(hook) : null,
    secret,
    field("hook.url", url),
    h("details", null, [h("summary", null, [t("hook.types")]), h("div", { class: "scopes" }, boxes.map(({ type, box }) => h("label", { class: "box" }, [box, h("code", null, [type])])))]),
    h("p", { class: "buttons" }, [
      button(hook ? "hook.again" : "hook.set", set, { class: hook ? "" : "main" }),
      hook ? button("hook.look", () => attempt(again)) : null,
      hook ? button("hook.end", () => attempt(async () => {
        if (!confirm(t("hook.end.sure"))) return;
        await post(HOOK, undefined, { method: "DELETE" });
        await again();
      })) : null,
    ]),
  ];
}

/** @param {Api["Webhook"]} hook */
function stateOf(hook) {
  const facts = [
    t(`hook.${hook.state}`),
    hook.fault ? t("hook.failed", { why: t(`hook.fault.${hook.fault}`), status: hook.status ? ` ${hook.status}` : "" }) : "",
    hook.delivered_at ? t("hook.delivered", { at: moment(hook.delivered_at) }) : "",
    hook.waiting ? t("hook.left", { n: hook.waiting }) : "",
  ];
  return h("p", { class: hook.state === "off" ? "fault" : "notice", role: "status" }, [facts.filter(Boolean).join(" ")]);
}

/** Show the secret, which the server shows once. @param {string} secret */
function show(secret) {
  const said = h("p", { class: "quiet", role: "status" });
  const value = h("input", { value: secret });
  document.querySelector("#account-webhook h2")?.after(h("div", { class: "notice" }, [h("p", null, [t("hook.secret.once")]), copyable(t("hook.secret"), value, said), said]));
  value.focus();
}
