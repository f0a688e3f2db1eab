/** The dispute pages: the list, the form to open one, and a dispute with its votes. */

import { Problem, get, newest, post } from "./api.js";
import { now } from "./clock.js";
import { afterVote, ballot } from "./ballot.js";
import { caption, seatName } from "./captions.js";
import { sparing } from "./collusion.js";
import { concerns, forgetConcerns, showConcerns } from "./concerns.js";
import { announce, find, h, replace } from "./dom.js";
import { attempt, button, field, missing, quiet, section } from "./forms.js";
import { language, moment, seatWords, start, t } from "./i18n.js";
import { offerMenu } from "./menu.js";
import { checkPlayer, showAccount } from "./player.js";
import { receiptsOf } from "./receipts.js";
import { rulesSay } from "./rules_say.js";
import { nothing, problemState } from "./states.js";
import { setTitle } from "./title.js";
import { worded } from "./worded.js";

const PAGE = 20; // disputes that are fetched at once
const BEFORE = 30; // events in the form, up to the selected one
const LONGEST = 4000; // characters of a statement
const POLL = 10_000; // milliseconds between polls of an open dispute
/** @type {Api["Accusation"]["charge"][]} */
const CHARGES = ["illegal_move", "false_pick_up", "wrong_deal", "altered_log", "time", "collusion", "other"];
const CHARGES_AGAINST_SERVER = ["wrong_deal", "altered_log"];
/** The checks that answer a charge against the server: a move, which any other charge is about, is none of its acts. @type {Record<string, string[]>} */
const CHECKS = { wrong_deal: ["commitments", "shuffle", "openings", "deal"], altered_log: ["chain", "receipts", "anchor", "witness"] };
const TAKES_THE_PILE = ["pile_picked_up", "blind_failed", "stock_failed"];
const STATES = ["open", "voting", "revealing", "ruled", "appealed", "final"];
/** @type {Record<string, string>} */
const SIGNS = { pass: "✓", fail: "✗", missing: "?", "n/a": "–" };

const root = find("#court");
const { dispute: id = "" } = root.dataset;
const query = new URLSearchParams(location.search);

/** The dispute on the page, its game, and the disputed event, null for collusion. @type {{dispute: Api["Dispute"], game: Api["GameView"], event: Api["Event"] | null}} */
const court = /** @type {any} */ ({ dispute: null, game: null, event: null });

const who = (/** @type {number | null} */ seat) => (seat === null ? t("court.server") : seatName(court.game.seats[seat]));
const side = (/** @type {"accuser" | "accused" | "partner"} */ name) => `${t(`side.${name}`)} (${who(court.dispute[name === "accuser" ? "by" : name])})`;
const may = (/** @type {NonNullable<Api["Dispute"]["you"]>["may"][number]} */ act) => Boolean(court.dispute.you?.may.includes(act));

/** A duration in whole units, the largest unit possible: "3 days". @param {number} seconds */
function durationText(seconds) {
  const size = [86400, 3600, 60].find((one) => seconds >= one) ?? 1;
  const unit = { 86400: "day", 3600: "hour", 60: "minute" }[size] ?? "second";
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "long" }).format(Math.floor(seconds / size));
}

// ---- the list

/** List the disputes; above it, how to open one if the reader came to do that. @param {boolean} isToOpen */
async function list(isToOpen) {
  const option = (/** @type {string} */ value, /** @type {string} */ text) => h("option", { value }, [text]);
  const filter = h("select", { onchange: () => attempt(load) }, [option("", t("court.any")), ...STATES.map((one) => option(one, t(`state.${one}`)))]);
  const rows = h("ul", { class: "rows" });
  const how = () => [t("court.how"), " ", h("a", { href: "/" }, [t("court.lobby")])];
  const none = nothing([t("court.none"), " ", isToOpen ? null : how()]);
  let next = "";
  const begin = newest();
  const more = button("court.more", () => attempt(() => load(next)));
  const load = async (cursor = "") => {
    const isNewest = begin();
    const state = filter.value;
    const query = new URLSearchParams({ limit: String(PAGE), ...(state && { state }), ...(cursor && { cursor }) });
    const page = await get(`/v1/disputes?${query}`);
    if (!isNewest()) return; // the filter has changed since, or more was asked for again
    const shown = page.items.map(listed);
    if (!cursor) rows.replaceChildren();
    rows.append(...shown);
    next = page.next ?? "";
    more.hidden = !next;
    none.hidden = Boolean(next || rows.childElementCount);
    if (cursor) shown[0]?.querySelector("a")?.focus();
  };
  const own = h("section", { hidden: "" });
  await Promise.all([load(), showConcerns(own)]);
  replace(root, own, isToOpen ? h("p", { class: "notice" }, how()) : null, isToOpen ? h("h2", null, [t("court.title")]) : null, h("section", null, [field("court.state", filter), rows, none, more]));
}

const listed = (/** @type {Api["Dispute"]} */ dispute) => h("li", { class: "row" }, [
  h("span", { class: "what" }, [
    h("strong", null, [t(`charge.${dispute.charge}`)]),
    h("span", { class: "quiet" }, [`${t("court.accused")}: ${dispute.accused === null ? t("court.server") : seatWords(dispute.accused)} · ${t(`state.${dispute.withdrawn ? "withdrawn" : dispute.state}`)} · ${t("court.opened")}: ${moment(dispute.opened_at)}`]),
  ]),
  h("a", { class: "button", href: `/disputes/${dispute.id}` }, [t("court.read")]),
]);

// ---- opening a dispute

/** The event in the address, null without one. */
function selectedEvent() {
  const event = query.get("event");
  return event === null ? null : Math.max(0, Math.round(Number(event)) || 0);
}

/**
 * Return the most likely charge for an event. For a move of the reader, or a step of the server, only
 * the server can be accused.
 *
 * @param {Api["Event"]} event
 * @param {boolean} isOfOther whether it is a move of another seat
 * @returns {Api["Accusation"]["charge"]}
 */
function chargeFor({ type }, isOfOther) {
  if (!isOfOther) return ["deck_committed", "cards_dealt", "cards_thrown"].includes(type) ? "wrong_deal" : "altered_log";
  if (TAKES_THE_PILE.includes(type)) return "false_pick_up";
  return type === "turn_timed_out" ? "time" : "other"; // the server refused what the rules do not allow, and says so above
}

/** @param {string} game */
async function accuse(game) {
  court.game = await get(`/v1/games/${game}`);
  const selected = selectedEvent();
  const version = Math.min(selected === null ? court.game.version : selected + 1, court.game.version);
  const { as } = court.game;
  if (typeof as !== "number") {
    const link = (/** @type {string} */ href, /** @type {string} */ key) => h("a", { class: "button", href }, [t(key)]);
    replace(root, h("p", null, [t("court.seats_only")]), h("p", { class: "buttons" }, [link(`/replay/${game}${location.hash}`, "act.replay"), link("/disputes", "court.title"), link("/", "act.lobby")]));
    return;
  }
  const first = Math.max(0, version - BEFORE);
  const { items } = await get(`/v1/games/${game}/events?after=${first}&limit=${version - first}`);
  const events = items.reverse();
  const seatOf = (/** @type {Api["Event"]} */ { by, data }) => by ?? ("seat" in data ? data.seat : null);
  const isOfOther = (/** @type {Api["Event"]} */ event) => ![as, null].includes(seatOf(event));
  const shown = (selected === null && events.find(isOfOther)) || events[0];
  const option = (/** @type {string | number} */ value, /** @type {string} */ text, /** @type {boolean} */ chosen) => h("option", { value, selected: chosen }, [text]);
  const seq = h("select");
  const accused = h("select");
  const charge = h("select", { "aria-describedby": "to-be-shown" });
  const partner = h("select");
  const toShow = h("p", { class: "notice", id: "to-be-shown" });
  const people = court.game.seats.filter(({ seat, kind }) => seat !== as && kind === "human");
  const isOfPair = () => charge.value === "collusion";
  const statement = h("textarea", { rows: 5, maxlength: LONGEST, required: "" });
  const notice = h("p", { class: "quiet", role: "status" });
  const isAgainstServer = () => CHARGES_AGAINST_SERVER.includes(charge.value);
  const fits = (/** @type {Api["Event"]} */ event, one = charge.value) => [...CHARGES_AGAINST_SERVER, "collusion"].includes(one) || (isOfOther(event) && (one !== "false_pick_up" || TAKES_THE_PILE.includes(event.type)));
  const chosen = () => events.find((event) => event.seq === Number(seq.value)) ?? shown;
  /** List first the charges that fit the event; choosing one of the others selects another event. */
  const listCharges = (/** @type {string} */ initial) => {
    const possible = CHARGES.filter((one) => one !== "collusion" || people.length > 1);
    const options = (/** @type {boolean} */ fitting) => possible.filter((one) => fits(chosen(), one) === fitting).map((one) => option(one, t(`charge.${one}`), one === initial));
    const others = options(false);
    charge.replaceChildren(...options(true), ...(others.length ? [h("optgroup", { label: t("court.charge.other") }, others)] : []));
  };
  /** List who can be accused: of collusion two people, else a seat or the server. */
  const listAccused = (/** @type {string} */ initial) => {
    const seats = isOfPair() ? people : court.game.seats.filter(({ seat }) => seat !== as);
    accused.replaceChildren(...seats.map(({ seat }) => option(seat, who(seat), String(seat) === initial)), ...(isOfPair() ? [] : [option("", t("court.server"), initial === "")]));
    listPartners();
  };
  const listPartners = () => partner.replaceChildren(...people.filter(({ seat }) => String(seat) !== accused.value).map(({ seat }) => option(seat, who(seat), String(seat) === partner.value)));
  const explain = () => {
    toShow.textContent = t(`charge.shown.${charge.value}`);
    notice.textContent = isOfPair() ? "" : !seq.value ? t("court.no_move") : accused.value === "" && !isAgainstServer() ? t("court.of_server") : "";
  };
  const said = rulesSay(court.game, (seat) => who(seat));
  const follow = () => {
    const answered = seq.value ? attempt(() => said.show(Number(seq.value))) : null;
    listCharges(charge.value);
    const seat = seatOf(chosen());
    listAccused(isAgainstServer() ? "" : seat !== null && seat !== as ? String(seat) : accused.value);
    moveField.hidden = said.section.hidden = isOfPair();
    partnerField.hidden = !isOfPair();
    explain();
    return answered;
  };
  const offer = async () => {
    const before = seq.value || String(shown.seq);
    seq.replaceChildren(...events.filter((event) => fits(event)).map((event) => option(event.seq, `${event.seq}: ${caption(event, { who })}`, String(event.seq) === before)));
    const answered = follow();
    if (seq.value && seq.value !== before) notice.textContent = t("court.moved");
    await answered;
  };
  const [moveField, partnerField] = [field("court.event", seq), field("court.partner", partner)];
  listCharges(chargeFor(shown, isOfOther(shown)));
  await offer(); // what the rules say is of any height: it would move the form
  seq.addEventListener("change", follow);
  accused.addEventListener("change", () => {
    listPartners();
    explain();
  });
  charge.addEventListener("change", offer);
  const review = () => {
    if (!isOfPair() && !seq.value) return seq.focus();
    if (!statement.value.trim()) return missing(statement);
    const chosen = [accused, ...(isOfPair() ? [partner, charge] : [charge, seq])].map((one) => one.selectedOptions[0]?.text ?? "").join(" · ");
    form.hidden = true;
    replace(last, h("h2", { tabindex: -1 }, [t("court.review.title")]), h("p", null, [h("strong", null, [chosen])]), h("p", { class: "reason" }, [statement.value]), h("p", { class: "notice" }, [t("court.review.about")]),
      h("p", { class: "buttons" }, [button("court.open", open, { class: "main" }), button("court.review.change", change)]));
    last.hidden = false;
    last.querySelector("h2")?.focus();
  };
  const change = () => {
    last.hidden = true;
    form.hidden = false;
    statement.focus();
  };
  const open = () => attempt(async () => {
    const dispute = await post(`/v1/games/${game}/disputes`, {
      accused: accused.value === "" ? null : Number(accused.value),
      ...(isOfPair() ? { partner: Number(partner.value) } : { seq: Number(seq.value) }), charge: /** @type {Api["Accusation"]["charge"]} */ (charge.value), statement: statement.value,
    });
    forgetConcerns();
    location.assign(`/disputes/${dispute.id}${location.hash}`);
  });
  const last = h("div", { class: "sheet form", id: "review", hidden: "" });
  const form = h("div", { class: "sheet form" }, [
      moveField, said.section, field("court.accused", accused), partnerField, field("court.charge", charge), toShow, notice,
      field("court.statement", statement),
      h("p", { class: "buttons" }, [button("court.review", review, { class: "main" }), h("a", { class: "button", href: `/play/${game}` }, [t("court.back")])]),
  ]);
  replace(root, h("p", null, [t("court.opening")]), form, last);
}

// ---- the dispute

/**
 * Post to the dispute, and show the dispute in the answer.
 *
 * @template {"statements" | "receipts" | "referees" | "votes" | "appeal" | "withdrawal"} Part
 * @param {Part} part
 * @param {Posted<"POST", `/v1/disputes/{}/${Part}`>} [body]
 * @param {() => void} [onaccepted] called before the dispute is shown
 */
function call(part, body, onaccepted) {
  const before = JSON.stringify(EFFECTS[part](court.dispute));
  return attempt(async () => {
    const dispute = await post(/** @type {any} */ (`/v1/disputes/${id}/${part}`), body);
    onaccepted?.();
    read();
    show(/** @type {any} */ (dispute));
    concerns().catch(forgetConcerns); // the mark in the bar
    if (part === "appeal" || (part === "referees" && !body)) find("#now-title").scrollIntoView({ block: "center" }); // what comes next
  }, async () => {
    const isNewest = read();
    const dispute = await get(`/v1/disputes/${id}`);
    if (isNewest()) show(dispute);
    return JSON.stringify(EFFECTS[part](dispute)) !== before;
  });
}

/** @param {Api["Dispute"]} dispute @param {{by: string}[]} entries @returns {number} how many of them are of the reader's side */
const ofSide = (dispute, entries) => entries.filter((one) => one.by === dispute.you?.side).length;

/**
 * What a step of the reader changes in a dispute. Other parts change without the reader: findings are added, others act.
 *
 * @type {Record<"statements" | "receipts" | "referees" | "votes" | "appeal" | "withdrawal", (dispute: Api["Dispute"]) => unknown>}
 */
const EFFECTS = {
  statements: (dispute) => ofSide(dispute, dispute.statements),
  receipts: (dispute) => ofSide(dispute, dispute.receipts),
  referees: ({ you, referees }) => [you?.referee, referees.filter((one) => you?.side && one.refused_by === you.side).length],
  votes: ({ you, referees }) => referees.filter((one) => one.referee === you?.referee).map((one) => [one.voted_at, one.revealed_at]),
  appeal: ({ rulings }) => rulings.filter((one) => one.state === "appealed" || one.state === "superseded").length,
  withdrawal: ({ withdrawn }) => withdrawn,
};

const cast = (/** @type {Posted<"POST", "/v1/disputes/{}/votes">} */ body) => call("votes", body);

/** The reader's entry as a referee, null if the reader is none. */
function own() {
  const number = court.dispute.you?.referee ?? null;
  return number === null ? null : court.dispute.referees[number];
}

/** Begins each read of the dispute; an answer to something that the reader did ends the reads before it. */
const read = newest();

async function follow() {
  show(await get(`/v1/disputes/${id}`));
  const { side, referee } = court.dispute.you ?? {};
  if ((side ?? referee ?? null) !== null) concerns().catch(forgetConcerns); // the mark may be older than this dispute
  setInterval(async () => {
    if (document.hidden || court.dispute.state === "final") return;
    const isNewest = read();
    const dispute = await get(`/v1/disputes/${id}`).catch(() => court.dispute);
    if (!isNewest()) return;
    if (JSON.stringify(dispute) === JSON.stringify(court.dispute)) return;
    if (dispute.state !== court.dispute.state) announce(t(`state.${dispute.withdrawn ? "withdrawn" : dispute.state}`));
    show(dispute);
  }, POLL);
}

/** Draw the dispute; a text that the reader is typing, and a chosen vote, are retained. @param {Api["Dispute"]} dispute */
function show(dispute) {
  court.dispute = dispute;
  const [by, accused, partner] = [dispute.by, dispute.accused, dispute.partner].map(who);
  const question = t(`question.${dispute.charge}`, { who: accused, partner });
  find("h1").textContent = question;
  setTitle(`Shithead: ${question}`);
  /** @type {[string | null, string][]} */
  const drafts = [...root.querySelectorAll("textarea")].map((one) => [one.getAttribute("data-key"), one.value]);
  const sealing = () => /** @type {HTMLInputElement | null} */ (root.querySelector("input[data-key='vote.seal']"));
  const isSealing = sealing()?.checked;
  const opened = [...document.querySelectorAll("details[open] > summary")].map((one) => one.getAttribute("data-key"));
  const vote = document.querySelector("input[name=vote]:checked")?.getAttribute("value");
  const facts = [
    ["court.charge", t(`charge.${dispute.charge}`)],
    ["court.by", by],
    ["court.accused", accused],
    ["court.partner", dispute.partner !== null && partner],
    ["court.opened", moment(dispute.opened_at)],
    ["court.voting", dispute.voting_from && moment(dispute.voting_from)],
    ["court.deadline", dispute.deadline && moment(dispute.deadline)],
    ["court.periods", periods(dispute.periods)],
    ["court.bundle", [h("code", { class: "code", translate: "no" }, [dispute.bundle_sha256]), h("br"), h("span", { class: "quiet" }, [t("court.bundle.about", { file: `dispute/${dispute.id}.shx` })]), " ", h("a", { href: `/v1/games/${dispute.game}/evidence`, download: "" }, [t("court.evidence")])]],
  ];
  replace(root,
    h("p", { class: "lead" }, [
      court.event ? t("court.says", { who: by, event: caption(court.event, { who }) }) : t("court.says.pair", { who: by, accused, partner }), " ",
      h("a", { href: `/replay/${dispute.game}${court.event ? `?event=${court.event.seq}` : ""}` }, [t("court.replay")]),
      court.event ? [" · ", h("a", { href: `/replay/${dispute.game}?event=${court.event.seq}&why=1&alike=1` }, [t("court.alike")])] : null,
    ]),
    todo(dispute), ruling(dispute), findings(dispute), sparing(dispute, who), statements(dispute), receipts(dispute), panel(dispute),
    h("details", { class: "facts" }, [
      h("summary", { "data-key": "facts" }, [t("court.facts")]),
      h("dl", { class: "facts-list" }, facts.filter(([, value]) => value).map(([key, value]) => [h("dt", null, [t(String(key))]), h("dd", null, [value])])),
    ]),
  );
  for (const [key, draft] of drafts) {
    const field = root.querySelector(`textarea[data-key="${key}"]`);
    if (field instanceof HTMLTextAreaElement) field.value = draft;
  }
  for (const key of opened) document.querySelector(`summary[data-key="${key}"]`)?.parentElement?.toggleAttribute("open", true);
  const radio = vote && document.querySelector(`input[name=vote][value=${vote}]`);
  if (radio instanceof HTMLInputElement) radio.checked = true;
  const box = sealing();
  if (box && isSealing !== undefined) box.checked = isSealing;
}

/** A text in which `#57` leads to event 57 of the hand. @param {string} text @param {string} game */
const withEvents = (text, game) =>
  text.split(/(#\d{1,6}\b)/).map((part) => (/^#\d/.test(part) ? h("a", { href: `/replay/${game}?event=${part.slice(1)}` }, [part]) : part));

/** The state, and what the reader can do in it. @param {Api["Dispute"]} dispute */
function todo(dispute) {
  const referee = own();
  const isFinal = dispute.state === "final";
  const isWaiting = ["open", "appealed"].includes(dispute.state);
  const until = dispute.deadline && moment(dispute.deadline);
  const step = referee && (referee.state === "recused" ? h("p", null, [t("now.left")]) : afterVote(dispute, referee, cast));
  const steps = { vote: "ballot", appeal: "court-ruling", statement: "court-statements", receipt: "court-receipts", refuse: "court-panel", judge: "court-panel" };
  const mine = Object.entries(steps)
    .filter(([act]) => may(/** @type {any} */ (act)))
    .map(([act, place]) => h("li", null, [h("a", { href: `#${place}` }, [t(`now.${act}`)])]));
  const seated = referee?.state === "seated" && dispute.state !== "voting";
  const nothing = isFinal ? "now.over" : seated ? (dispute.voting_from ? "now.seated.from" : "now.seated") : dispute.you ? "now.wait" : "now.stranger";
  const isIdle = !mine.length && !step;
  return h("section", { class: "sheet now", "aria-labelledby": "now-title" }, [
    h("h2", { id: "now-title" }, [t("court.now")]),
    h("p", null, [dispute.withdrawn ? t("now.is.withdrawn") : isWaiting && dispute.voting_from ? t("now.is.seated", { from: moment(dispute.voting_from) }) : t(`now.is.${dispute.state}`, { until })]),
    step, mine.length ? h("ul", null, mine) : null,
    isIdle ? h("p", { class: seated ? "" : "quiet" }, [t(nothing, { from: dispute.voting_from && moment(dispute.voting_from) })]) : null,
    may("withdraw") ? h("p", null, [button("court.withdraw", () => confirm(t("court.withdraw.sure")) && call("withdrawal")), " ", h("span", { class: "quiet" }, [t("court.withdraw.about")])]) : null,
    isFinal ? h("p", { class: "buttons" }, [h("a", { class: "button", href: `/verify?game=${dispute.game}` }, [t("act.verify")]), h("a", { class: "button", href: "/disputes" }, [t("court.title")])]) : null,
  ]);
}

/** The conditions and periods of a dispute in words. */
const periods = (/** @type {Record<string, number>} */ of) => t("court.periods.are", {
  hands: of.referee_hands,
  ...Object.fromEntries(["referee_account", "referee_seated", "vote", "appeal", "dispute"].map((one) => [one, durationText(of[`${one}_seconds`])])),
});

/** The rulings with their votes, newest first: one after an appeal replaces the first. @param {Api["Dispute"]} dispute */
function ruling(dispute) {
  if (!dispute.rulings.length && dispute.state !== "final") return null; // the state says so
  const present = ["appealable", "final"];
  const verdict = (/** @type {Api["StandingRuling"]} */ one) => t(!one.against ? "verdict.is.cleared" : dispute.accused === null ? "verdict.is.proven" : one.state === "final" ? "verdict.is.cad" : "verdict.is.against", { who: who(dispute.accused) });
  const vote = (/** @type {Api["Dispute"]["votes"][number]} */ one) => h("li", null, [`${t("court.referee", { n: one.referee + 1 })}: ${t(`vote.${one.vote}`)}`, one.reason ? h("div", { class: "reason" }, withEvents(one.reason, dispute.game)) : null]);
  return section("court.ruling",
    [...dispute.rulings].reverse().map((one) => [
      h("p", { class: present.includes(one.state) ? "verdict" : "quiet" }, [
        h("span", null, [verdict(one)]), " ",
        h("span", { class: "when" }, [`${moment(one.at)} · ${t(`ruling.${one.state}`, { until: dispute.deadline && moment(dispute.deadline) })}`]),
      ]),
      h("ul", { class: present.includes(one.state) ? "" : "quiet" }, dispute.votes.filter(({ referee }) => one.referees.includes(referee)).map(vote)),
    ]),
    dispute.rulings.length ? null : quiet(t(dispute.withdrawn ? "court.withdrawn" : "court.no_ruling")),
    may("appeal") ? h("p", null, [button("court.appeal", () => confirm(t("court.appeal.sure")) && call("appeal"))]) : null,
  );
}

/**
 * What is known of a finding beyond its first sentence.
 *
 * @param {Api["Finding"]} finding
 */
function beyond({ values, more }) {
  const technical = values["detail"] ? [h("code", { class: "code", translate: "no" }, [values["detail"]]), " "] : null;
  return [technical, more.map((one) => [inWords(one, one.text), " "])];
}

const english = (/** @type {string} */ text) => (text ? h("span", { lang: "en" }, [text]) : null);
/** @param {{code: string | null, values: Record<string, any>}} said @param {string} text in English */
const inWords = (said, text) => worded(said, who) ?? english(text);

/** @param {Api["Dispute"]} dispute */
function findings(dispute) {
  const rules = `/rules/${court.game.ruleset.id}`;
  const rows = (/** @type {Api["Finding"][]} */ some) => h("ul", { class: "rows" }, some.map((one) => h("li", { class: `row ${one.result}` }, [
    h("span", { class: "what" }, [
      h("strong", null, [`${SIGNS[one.result]} `, inWords(one, one.plain)]),
      h("span", { class: "quiet" }, [
        t(one.check === "event" && dispute.partner !== null ? "charge.collusion" : `check.${one.check}`), one.seq === null ? "" : ` · ${t("court.at", { n: one.seq })}`, " ",
        one.rule ? h("a", { href: `${rules}#${one.rule}` }, [one.rule]) : null,
      ]),
      h("span", null, [beyond(one)]),
    ]),
  ])));
  const about = CHECKS[dispute.charge];
  const isMain = (/** @type {Api["Finding"]} */ one) => // a failure, on the charge, or else on an event
    one.result === "fail" || (about ? about.includes(one.check) : one.check === "event" || one.seq !== null);
  const further = dispute.findings.filter((one) => !isMain(one));
  return section("court.findings",
    rows(dispute.findings.filter(isMain)),
    further.length ? h("details", null, [h("summary", { "data-key": "further" }, [t("court.further", { n: further.length })]), rows(further)]) : null,
    dispute.findings.length ? null : quiet(t("court.no_findings")),
  );
}

/** @param {Api["Dispute"]} dispute */
function statements(dispute) {
  const text = h("textarea", { rows: 3, maxlength: LONGEST, "data-key": "text" });
  const submit = async () => {
    const statement = text.value.trim();
    if (!statement) return missing(text);
    await call("statements", { text: statement }, () => {
      const field = document.querySelector("textarea");
      if (field) field.value = "";
    });
  };
  return section("court.statements",
    h("ol", { class: "statements" }, dispute.statements.map((one) => h("li", null, [
      h("strong", null, [side(one.by)]), ` · ${moment(one.at)}`,
      h("p", null, one.text ? withEvents(one.text, dispute.game) : [h("em", { class: "quiet" }, [t("court.unread")])]),
    ]))),
    may("statement") ? h("div", { class: "form" }, [field("court.statement", text), h("p", null, [button("court.say", submit)])]) : null,
  );
}

/** The receipts that the sides handed in; a side adds one that this browser stored, or a file. @param {Api["Dispute"]} dispute */
function receipts(dispute) {
  const stored = receiptsOf(dispute.game).at(-1);
  const handIn = (/** @type {string} */ receipt) => call("receipts", { receipt });
  const from = h("input", { type: "file", accept: ".note,.txt,text/plain", "data-key": "note", onchange: async () => from.files?.[0] && handIn(await from.files[0].text()) });
  return section("court.receipts",
    dispute.receipts.length
      ? h("ol", null, dispute.receipts.map((one) => h("li", null, [`${t("court.up_to", { n: one.seq })} · ${side(one.by)} · ${moment(one.at)}`])))
      : quiet(t("court.no_receipts")),
    may("receipt") ? h("div", { class: "form" }, [
      stored ? h("p", null, [button("court.receipt.kept", () => handIn(stored))]) : null,
      field("court.receipt.file", from), quiet(t("court.receipt.about")),
    ]) : null,
  );
}

/** The state of a referee with its time, in words. @param {Api["Referee"]} one */
function refereeState(one) {
  const at = one.revealed_at ?? one.voted_at;
  const isAwaited = one.state === "committed" && court.dispute.state === "revealing";
  const state = one.refused_by ? t("referee.refused", { who: side(one.refused_by) }) : t(`referee.${isAwaited ? "unrevealed" : one.state}`);
  return [state, one.state !== "recused" && at ? moment(at) : "", one.sealed_by ? t(`sealed.${one.sealed_by}`) : ""].filter(Boolean).join(" · ");
}

/** What a referee has done before, for those who may refuse. @param {Api["Experience"]} of */
const experience = ({ hands, judged, registered_at: since }) =>
  t("court.experience", { hands, judged, age: durationText(Math.max(0, (now() - Date.parse(since)) / 1000)) });

/** @param {Api["Dispute"]} dispute */
function panel(dispute) {
  const referee = own();
  const waiting = ["open", "appealed"].includes(dispute.state);
  const refuse = (/** @type {number} */ n) => button("court.refuse", () => call("referees", { refuse: n }), { "data-key": `refuse ${n}`, "aria-label": t("court.refuse.whom", { n: n + 1 }) });
  return section("court.panel",
    dispute.referees.length
      ? h("ul", { class: "rows" }, dispute.referees.map((one) => h("li", { class: "row" }, [
          h("span", { class: "what" }, [
            h("strong", null, [t("court.referee", { n: one.referee + 1 }), one === referee ? ` (${t("you")})` : ""]),
            h("span", { class: "quiet" }, [refereeState(one)]),
            one.experience ? h("span", { class: "quiet" }, [experience(one.experience)]) : null,
          ]),
          may("refuse") && one.state === "seated" ? refuse(one.referee) : null,
        ])))
      : quiet(t("court.no_referees")),
    dispute.state === "final" ? null : quiet(t("court.unanimous", { who: who(dispute.accused) })),
    waiting && (may("judge") || !dispute.you) ? h("p", null, [
      dispute.you ? button("court.offer", () => call("referees")) : null, " ",
      h("span", { class: "quiet" }, [t("court.offer.about", { n: dispute.periods.referee_hands, age: durationText(dispute.periods.referee_account_seconds) })]),
    ]) : null,
    referee ? ballot(dispute, referee, cast) : null,
  );
}

async function openDispute() {
  const dispute = await get(`/v1/disputes/${id}`);
  court.game = await get(`/v1/games/${dispute.game}`);
  if (dispute.seq !== null) [court.event = null] = (await get(`/v1/games/${dispute.game}/events?after=${dispute.seq}&limit=1`)).items;
  await follow();
}

const game = query.get("game");
await start("court", "verify", "findings", "refusals", "state");
offerMenu();
setTitle(`Shithead: ${find("h1").textContent}`);
await checkPlayer();
showAccount();
try {
  await (id ? openDispute() : game ? accuse(game) : list(location.pathname.endsWith("/new")));
} catch (problem) {
  if (!(problem instanceof Problem)) throw problem;
  replace(root, problemState(problem, id ? "dispute" : "hand"));
}
