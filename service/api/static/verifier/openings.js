/** The check `openings`: every card that was shown is the one that was fixed in its place. */

import { hex, unhex } from "./bytes.js";
import { NotCanonical, parseCanonical } from "./canonical.js";
import { cardCommitment } from "./cards.js";
import { wrongOpening } from "./custody.js";
import { Failure, Unanswered } from "./log.js";
import { listOf, OPENING, wrongPlace } from "./shapes.js";

/** @typedef {import("./log.js").Log} Log */
/** @typedef {{p: number, card: string, salt: string}} Opening */

/** @param {Log} log @returns {{seq: number, opening: Opening}[]} every card that the log opens */
function openings(log) {
  return log.events.flatMap(({ data }, seq) => {
    const { face_up: shown = [], starter = null, returned = [], opening = null } = data;
    return [...shown.flat(), starter, ...returned, opening].flatMap((item) => (item ? [{ seq, opening: item }] : []));
  });
}

/** @param {Log} log @param {import("./bundle.js").Bundle} bundle */
export async function checkOpenings(log, { files, manifest }) {
  if (!log.created) throw new Unanswered("missing", "not_created"); // `order` fails
  const { game } = log.created;
  const found = openings(log);
  const beside = files.get("openings.json");
  if (!beside && !found.length) throw new Unanswered("n/a", "none_opened");
  const commitments = log.first("deck_committed")?.data.cards ?? [];
  const judge = async (/** @type {number} */ seq, /** @type {Opening} */ { p, card, salt }) => {
    if (hex(await cardCommitment(game, p, card, unhex(salt))) !== commitments[p]) throw new Failure(seq, "openings.commitment", { p, card });
  };
  for (const { seq, opening } of found) {
    await judge(seq, opening);
    const { opening: own, cards = [opening.card] } = log.events[seq].data;
    if (own === opening && cards.join() !== opening.card) throw new Failure(seq, "openings.played", { card: opening.card });
  }
  const last = log.events.length - 1;
  const more = beside ? openingsBeside(last, beside) : [];
  const wrong = await wrongOpening(log, manifest?.profile ?? "public", more);
  if (wrong) throw new Failure(last, wrong.code, wrong.values);
  for (const opening of more) await judge(last, opening);
}

/** @param {number} seq @param {Uint8Array} bytes @returns {Opening[]} the openings that a seat's bundle adds */
function openingsBeside(seq, bytes) {
  try {
    const value = /** @type {any} */ (parseCanonical(bytes));
    if (wrongPlace("", listOf(OPENING), value) === null) return value;
  } catch (error) {
    if (!(error instanceof NotCanonical)) throw error;
  }
  throw new Failure(seq, "openings.malformed");
}
