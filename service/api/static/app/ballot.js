/** The vote of a referee: sealed in this browser or by the server, stored until it is revealed, saved as a file. */

import { hex, taggedHash, uint, unhex, uuidBytes } from "../verifier/bytes.js";
import { randomHex } from "./api.js";
import { download, find, h } from "./dom.js";
import { moment, t } from "./i18n.js";
import { attempt, button, field, missing, quiet } from "./forms.js";
import { canHash } from "./record.js";
import { isLasting, readJson, remove, write } from "./storage.js";

/** @typedef {{vote: "cheated" | "not_proven", salt: string, reason?: string}} Sealed */
/** Post a vote and show the dispute; returns whether the server took it. @typedef {(body: Posted<"POST", "/v1/disputes/{}/votes">) => Promise<boolean>} Cast */

const VOTE = "shithead.vote."; // prefix of a key in the storage: a vote and its salt, until they are revealed
const LONGEST_REASON = 1000; // characters of the reason of a vote

/** Whether this browser can hash a vote, and stores it until it is revealed. */
const canSeal = () => canHash() && isLasting();
const textOf = (/** @type {HTMLTextAreaElement} */ field) => (field.value.trim() ? { reason: field.value.trim() } : {});

/** The field for the reason of a vote, with why it is needed. @param {Api["Dispute"]} dispute @param {HTMLElement} reason */
const reasonField = ({ partner }, reason) => [field("vote.reason", reason), quiet(t(partner === null ? "vote.reason.about" : "vote.reason.pair"))];
const reasonText = () => h("textarea", { rows: 3, maxlength: LONGEST_REASON, "data-key": "reason" });

/**
 * The step of a referee who has voted: when to come back, or the button that reveals the vote.
 *
 * @param {Api["Dispute"]} dispute
 * @param {Api["Referee"]} referee
 * @param {Cast} cast
 */
export function afterVote(dispute, referee, cast) {
  if (referee.state !== "committed") return null;
  if (referee.sealed_by === "server") return h("p", null, [t("now.sealed.server")]);
  /** @type {Sealed | null} */
  const stored = readJson(VOTE + dispute.id);
  if (dispute.state === "revealing") return stored ? revealing(dispute, stored, cast) : fromFile(dispute, cast);
  const until = dispute.deadline && moment(dispute.deadline);
  return [
    h("p", null, [h("strong", null, [t(until ? "now.sealed" : "now.sealed.later", { until })])]),
    stored ? h("p", null, [button("vote.save", () => save(dispute.id, stored)), " ", h("span", { class: "quiet" }, [t("vote.save.about")])]) : null,
  ];
}

/** @param {string} id of the dispute @param {Sealed} sealed */
const save = (id, sealed) => download(new Blob([JSON.stringify({ dispute: id, ...sealed })], { type: "application/json" }), `vote-${id}.json`);

/** @param {Api["Dispute"]} dispute @param {Sealed} stored @param {Cast} cast */
function revealing(dispute, stored, cast) {
  const reason = reasonText();
  const lacks = dispute.reason_needed && stored.vote === "cheated" && !stored.reason;
  const reveal = async () => {
    if (lacks && !reason.value.trim()) return missing(reason, "vote.reason.missing");
    if (await cast({ ...stored, ...textOf(reason) })) remove(VOTE + dispute.id);
  };
  return h("div", { class: lacks ? "form" : "" }, [lacks ? reasonField(dispute, reason) : null, h("p", null, [button("vote.reveal", reveal, { class: "main" })])]);
}

/** Reveal a vote whose key this browser does not have, with the file that the referee saved. @param {Api["Dispute"]} dispute @param {Cast} cast */
function fromFile({ id }, cast) {
  const take = () => attempt(async () => {
    const saved = await new Response(file.files?.[0]).json().catch(() => null);
    if (saved?.dispute !== id) return file.setCustomValidity(t("vote.file.other")), void file.reportValidity();
    const { vote, salt, reason } = saved;
    await cast({ vote, salt, ...(reason && { reason }) });
  });
  const file = h("input", { type: "file", accept: ".json", "data-key": "vote.file", onchange: take });
  return [h("p", null, [t("vote.elsewhere")]), field("vote.file", file)];
}

/**
 * The form for a referee's vote, which this browser or the server seals; null if there is none to give.
 *
 * @param {Api["Dispute"]} dispute
 * @param {Api["Referee"]} referee
 * @param {Cast} cast
 */
export function ballot(dispute, referee, cast) {
  if (dispute.state !== "voting" || referee.state !== "seated") return null;
  const reason = reasonText();
  const radio = (/** @type {string} */ value) => h("label", { class: "box" }, [h("input", { type: "radio", name: "vote", value, "data-key": value }), t(`vote.${value}`)]);
  const sealing = h("input", { type: "checkbox", checked: canSeal(), disabled: !canSeal(), "data-key": "vote.seal", "aria-describedby": "vote-key" });
  const vote = async () => {
    const chosen = /** @type {Sealed["vote"] | undefined} */ (document.querySelector("input[name=vote]:checked")?.getAttribute("value"));
    if (!chosen) return find("input[name=vote]").focus();
    if (dispute.reason_needed && chosen === "cheated" && !reason.value.trim()) return missing(reason, "vote.reason.missing");
    if (!sealing.checked) return cast({ vote: chosen, ...textOf(reason) });
    const salt = randomHex(32);
    // Stored before the commitment is sent: without the salt the vote could not be revealed.
    write(VOTE + dispute.id, JSON.stringify({ vote: chosen, salt, ...textOf(reason) }));
    const commit = await taggedHash("shx/1/vote", uuidBytes(dispute.id), uint(referee.referee, 1), chosen, unhex(salt));
    return cast({ commit: hex(commit) });
  };
  return h("fieldset", { class: "ballot", id: "ballot" }, [
    h("legend", null, [t("vote.title")]), radio("cheated"), radio("not_proven"),
    dispute.reason_needed ? h("div", { class: "form" }, reasonField(dispute, reason)) : null,
    h("label", { class: "box" }, [sealing, t("vote.seal")]),
    h("p", { class: "quiet", id: "vote-key" }, [t("vote.seal.key")]),
    h("p", null, [button("vote.cast", async () => (await vote()) && find("#now-title").scrollIntoView({ block: "center" }), { class: "main" })]),
    quiet(t("vote.about")),
  ]);
}
