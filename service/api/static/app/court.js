/** The pages of disputes: the list, opening one, and its file with findings, statements and votes. */

import { hex, taggedHash, uint, unhex, uuidBytes } from "../verifier/bytes.js";
import { Problem, get, identity, post, randomHex } from "./api.js";
import { caption, seatName } from "./captions.js";
import { announce, find, h, replace } from "./dom.js";
import { moment, start, t } from "./i18n.js";
import { checkPlayer, ensurePlayer, showAccount } from "./player.js";
import { canHash } from "./record.js";

const VOTE = "shithead.vote."; // of a dispute: a vote with its salt, until it is revealed
const SHOWN = 20; // disputes of the list at a time
const BEFORE = 30; // events before the disputed one from which can be chosen
const LONGEST = 4000; // characters of a statement
const EVERY = 10_000; // milliseconds between looks at an open dispute
/** @type {Api["Accusation"]["charge"][]} */
const CHARGES = ["illegal_move", "false_pick_up", "wrong_deal", "altered_log", "time", "collusion", "other"];
const OF_THE_SERVER = ["wrong_deal", "altered_log"];
const STATES = ["open", "voting", "revealing", "ruled", "appealed", "final"];
/** @type {Record<string, string>} */
const SIGNS = { pass: "✓", fail: "✗", missing: "?", "n/a": "–" };

const root = find("#court");
const { dispute: id = "" } = root.dataset;
const query = new URLSearchParams(location.search);

/** What the page shows now. @type {{file: Api["Dispute"], game: Api["GameView"], event: Api["Event"]}} */
const court = /** @type {any} */ ({ file: null, game: null, event: null });

const who = (/** @type {number | null} */ seat) => (seat === null ? t("court.server") : seatName(court.game.seats[seat]));

/** Do something with the server, and show what it says against it. @param {() => Promise<unknown>} work */
async function attempt(work) {
  replace(find("#fault"));
  try {
    await work();
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    const more = (problem.body.errors ?? []).map((error) => `${error.at}: ${error.message}`);
    const other = problem.body.id ? h("a", { href: `/disputes/${problem.body.id}` }, [t("court.other")]) : null;
    replace(find("#fault"), [problem.message, ...more].join(" "), " ", other);
    find("#fault").scrollIntoView({ block: "nearest" });
  }
}

/** @param {string} key @param {any[]} content */
const section = (key, ...content) => h("section", null, [h("h2", null, [t(key)]), content]);
const quiet = (/** @type {string} */ text) => h("p", { class: "quiet" }, [text]);
/** @param {string} key @param {() => unknown} onclick @param {Record<string, any>} [more] */
const button = (key, onclick, more = {}) => h("button", { onclick, "data-key": key, ...more }, [t(key)]);
/** @param {string} key @param {HTMLElement} control */
const field = (key, control) => h("label", { class: "field" }, [h("span", null, [t(key)]), control]);

// ---- the list

async function list() {
  const option = (/** @type {string} */ value, /** @type {string} */ text) => h("option", { value }, [text]);
  const filter = h("select", { onchange: () => load() }, [option("", t("court.any")), ...STATES.map((one) => option(one, t(`state.${one}`)))]);
  const rows = h("ul", { class: "rows" });
  const none = h("p", null, [t("court.none")]);
  let next = "";
  const more = button("court.more", () => load(next));
  const load = (cursor = "") => attempt(async () => {
    const state = filter.value;
    const query = new URLSearchParams({ limit: String(SHOWN), ...(state && { state }), ...(cursor && { cursor }) });
    const page = await get(`/v1/disputes?${query}`);
    if (state !== filter.value) return; // another choice came between
    const shown = page.items.map(listed);
    if (!cursor) rows.replaceChildren();
    rows.append(...shown);
    next = page.next ?? "";
    more.hidden = !next;
    none.hidden = Boolean(next || rows.childElementCount);
    if (cursor) shown[0]?.querySelector("a")?.focus();
  });
  await load();
  replace(root, field("court.state", filter), rows, none, more);
}

const listed = (/** @type {Api["Dispute"]} */ file) => h("li", { class: "row" }, [
  h("span", { class: "what" }, [
    h("strong", null, [t(`charge.${file.charge}`)]),
    h("span", { class: "quiet" }, [`${t(`state.${file.state}`)} · ${moment(file.opened_at)}`]),
  ]),
  h("a", { class: "button", href: `/disputes/${file.id}` }, [t("court.read")]),
]);

// ---- opening one

/** @param {string} game */
async function accuse(game) {
  court.game = await get(`/v1/games/${game}`);
  const version = Math.min(Number(query.get("version")) || court.game.version, court.game.version);
  const { as } = court.game;
  if (typeof as !== "number") {
    replace(root, h("p", null, [t("court.seats_only")]));
    return;
  }
  const shortly = Math.max(0, version - BEFORE);
  const { items } = await get(`/v1/games/${game}/events?after=${shortly}&limit=${version - shortly}`);
  const events = items.reverse();
  const seatOf = (/** @type {Api["Event"]} */ { by, data }) => by ?? ("seat" in data ? data.seat : null);
  const shown = events.find((event) => ![as, null].includes(seatOf(event))) ?? events[0];
  const option = (/** @type {string | number} */ value, /** @type {string} */ text, /** @type {boolean} */ chosen) => h("option", { value, selected: chosen }, [text]);
  const seq = h("select", null, events.map((event) => option(event.seq, `${event.seq}: ${caption(event, { who })}`, event === shown)));
  const accused = h("select", null, [
    ...court.game.seats.filter(({ seat }) => seat !== as).map(({ seat }) => option(seat, who(seat), seat === seatOf(shown))),
    option("", t("court.server"), false),
  ]);
  const charge = h("select", null, CHARGES.map((one) => option(one, t(`charge.${one}`), false)));
  const statement = h("textarea", { rows: 5, maxlength: LONGEST, required: "" });
  const about = h("p", { class: "quiet", role: "status" });
  const explain = () => (about.textContent = accused.value === "" && !OF_THE_SERVER.includes(charge.value) ? t("court.of_server") : "");
  seq.addEventListener("change", () => {
    const seat = seatOf(events[seq.selectedIndex]);
    if (seat !== null && seat !== as) accused.value = String(seat);
  });
  accused.addEventListener("change", explain);
  charge.addEventListener("change", explain);
  const open = () => attempt(async () => {
    const file = await post(`/v1/games/${game}/disputes`, {
      accused: accused.value === "" ? null : Number(accused.value),
      seq: Number(seq.value), charge: CHARGES[charge.selectedIndex], statement: statement.value,
    });
    location.assign(`/disputes/${file.id}${location.hash}`);
  });
  replace(root,
    h("p", null, [t("court.opening")]),
    h("div", { class: "sheet form" }, [
      field("court.event", seq), field("court.accused", accused), field("court.charge", charge), about,
      field("court.statement", statement),
      h("p", { class: "buttons" }, [button("court.open", open, { class: "main" }), h("a", { class: "button", href: `/play/${game}` }, [t("court.back")])]),
    ]),
  );
}

// ---- the file

/**
 * Post to the dispute, and show the file with which each of these calls answers.
 *
 * @template {"statements" | "referees" | "votes" | "appeal"} Part
 * @param {Part} part
 * @param {Posted<"POST", `/v1/disputes/{}/${Part}`>} [body]
 */
const call = (part, body) => attempt(async () => show(/** @type {any} */ (await post(/** @type {any} */ (`/v1/disputes/${id}/${part}`), body))));

/** What the reader is in this dispute. */
function roles() {
  const { file, game } = court;
  const me = identity()?.id;
  const as = typeof game.as === "number" ? game.as : null;
  const side = as !== null && as === file.by ? "accuser" : as !== null && as === file.accused ? "accused" : null;
  const referee = me ? (file.referees.find((one) => one.player === me && one.state !== "recused") ?? null) : null;
  return { side, referee, seated: as !== null };
}

async function follow() {
  show(await get(`/v1/disputes/${id}`));
  setInterval(async () => {
    if (document.hidden || court.file.state === "final") return;
    const file = await get(`/v1/disputes/${id}`).catch(() => court.file);
    if (JSON.stringify(file) === JSON.stringify(court.file)) return;
    if (file.state !== court.file.state) announce(t(`state.${file.state}`));
    show(file);
  }, EVERY);
}

/** Draw the file; what the reader is writing stays where it is. @param {Api["Dispute"]} file */
function show(file) {
  court.file = file;
  const game = `/replay/${file.game}?version=${file.seq + 1}`;
  find("h1").textContent = t(`charge.${file.charge}`);
  const typed = document.querySelector("textarea")?.value ?? "";
  const opened = document.querySelector("details")?.open ?? false;
  const vote = document.querySelector("input[name=vote]:checked")?.getAttribute("value");
  const facts = [
    ["court.state", t(`state.${file.state}`)],
    ["court.event", [caption(court.event, { who }), " · ", h("a", { href: game }, [t("court.replay")])]],
    ["court.by", who(file.by)],
    ["court.accused", who(file.accused)],
    ["court.opened", moment(file.opened_at)],
    ["court.voting", file.voting_from && moment(file.voting_from)],
    ["court.deadline", file.deadline && moment(file.deadline)],
    ["court.bundle", h("code", { class: "code" }, [file.bundle_sha256])],
  ];
  replace(root,
    h("dl", { class: "facts-list" }, facts.filter(([, value]) => value).map(([key, value]) => [h("dt", null, [t(String(key))]), h("dd", null, [value])])),
    ruling(file), findings(file), statements(file), panel(file),
  );
  const field = document.querySelector("textarea");
  if (field) field.value = typed;
  document.querySelector("details")?.toggleAttribute("open", opened);
  const again = vote && document.querySelector(`input[name=vote][value=${vote}]`);
  if (again instanceof HTMLInputElement) again.checked = true;
}

/** @param {Api["Dispute"]} file */
function ruling(file) {
  const chain = [];
  for (let one = file.ruling; one; one = one.superseded_by) chain.push(one);
  const { side } = roles();
  const lost = file.ruling?.verdict === "cleared" ? "accuser" : "accused";
  return section("court.ruling",
    chain.map((one) => h("p", { class: one.superseded_by ? "quiet" : "verdict" }, [
      t(`verdict.is.${one.verdict}`), ` · ${moment(one.at)}`, one.superseded_by ? ` · ${t("court.superseded")}` : "",
    ])),
    chain.length ? null : quiet(t(file.state === "ruled" ? "court.unanimous" : file.state === "final" ? "court.no_ruling" : "court.unruled")),
    file.votes.length ? h("ul", null, file.votes.map((one) => h("li", null, [`${t("court.referee", { n: one.referee + 1 })}: ${t(`vote.${one.vote}`)}`]))) : null,
    side === lost && file.state === "ruled" ? h("p", null, [button("court.appeal", () => confirm(t("court.appeal.sure")) && call("appeal"))]) : null,
  );
}

/** @param {Api["Dispute"]} file */
function findings(file) {
  const rules = `/rules/${court.game.ruleset.id}`;
  const rows = (/** @type {Api["Finding"][]} */ some) => h("ul", { class: "rows" }, some.map((one) => h("li", { class: `row ${one.result}` }, [
    h("span", { class: "what", lang: "en" }, [
      h("strong", null, [`${SIGNS[one.result]} ${one.plain}`]),
      h("span", { class: "quiet" }, [
        one.check, one.seq === null ? "" : ` · ${one.seq}`, one.plain.toLowerCase() === `${one.text}.` ? " " : ` · ${one.text} `,
        one.rule ? h("a", { href: `${rules}#${one.rule}` }, [one.rule]) : null,
      ]),
    ]),
  ])));
  const speaks = (/** @type {Api["Finding"]} */ one) => one.seq !== null || one.result === "fail"; // of the move, or against somebody
  const further = file.findings.filter((one) => !speaks(one));
  return section("court.findings",
    rows(file.findings.filter(speaks)),
    further.length ? h("details", null, [h("summary", { "data-key": "further" }, [t("court.further", { n: further.length })]), rows(further)]) : null,
    file.findings.length ? null : quiet(t("court.no_findings")),
  );
}

/** @param {Api["Dispute"]} file */
function statements(file) {
  const { side } = roles();
  const text = h("textarea", { rows: 3, maxlength: LONGEST, "data-key": "text" });
  const say = async () => {
    const said = text.value.trim();
    if (!said) return text.focus();
    text.value = "";
    await call("statements", { text: said });
  };
  return section("court.statements",
    h("ol", { class: "said" }, file.statements.map((one) => h("li", null, [
      h("strong", null, [t(`side.${one.by}`)]), ` · ${moment(one.at)}`,
      h("p", null, [one.text ?? h("em", { class: "quiet" }, [t("court.unread")])]),
    ]))),
    side && file.state !== "final" ? h("div", { class: "form" }, [field("court.statement", text), h("p", null, [button("court.say", say)])]) : null,
  );
}

/** @param {Api["Dispute"]} file */
function panel(file) {
  const { side, referee, seated } = roles();
  const waiting = ["open", "appealed"].includes(file.state);
  const refuse = (/** @type {number} */ n) => button("court.refuse", () => call("referees", { refuse: n }), { "data-key": `refuse ${n}`, "aria-label": t("court.refuse.whom", { n: n + 1 }) });
  return section("court.panel",
    file.referees.length
      ? h("ul", { class: "rows" }, file.referees.map((one) => h("li", { class: "row" }, [
          h("span", { class: "what" }, [
            h("strong", null, [t("court.referee", { n: one.referee + 1 }), one === referee ? ` (${t("you")})` : ""]),
            h("span", { class: "quiet" }, [[t(`referee.${one.state}`), one.sealed_by ? t(`sealed.${one.sealed_by}`) : ""].filter(Boolean).join(" · ")]),
          ]),
          side && waiting && one.state !== "recused" ? refuse(one.referee) : null,
        ])))
      : quiet(t("court.no_referees")),
    waiting && !side && !referee && !seated ? h("p", null, [button("court.offer", async () => {
      await ensurePlayer();
      await call("referees");
    }), " ", h("span", { class: "quiet" }, [t("court.offer.about")])]) : null,
    referee && !file.votes.some((one) => one.referee === referee.referee)
      ? h("p", null, [
          h("a", { class: "button", href: `/replay/${file.game}?version=${file.seq + 1}&dispute=${id}` }, [t("court.room")]), " ",
          h("span", { class: "quiet" }, [t("court.room.about")]),
        ])
      : null,
    referee ? ballot(file, referee) : null,
  );
}

/** The vote of a referee: sealed here, or by the server. @param {Api["Dispute"]} file @param {Api["Referee"]} referee */
function ballot(file, referee) {
  const kept = JSON.parse(localStorage.getItem(VOTE + id) ?? "null");
  if (file.state === "revealing" && referee.state === "committed" && referee.sealed_by === "referee") {
    const reveal = async () => {
      await call("votes", kept);
      if (!find("#fault").textContent) localStorage.removeItem(VOTE + id);
    };
    return h("p", { class: "notice" }, kept ? [button("vote.reveal", reveal, { class: "main" })] : [t("vote.elsewhere")]);
  }
  if (file.state !== "voting" || referee.state !== "seated") return null;
  const radio = (/** @type {string} */ value) => h("label", { class: "box" }, [h("input", { type: "radio", name: "vote", value, "data-key": value }), t(`vote.${value}`)]);
  const sealing = h("input", { type: "checkbox", checked: canHash(), disabled: !canHash() });
  const vote = async () => {
    const chosen = document.querySelector("input[name=vote]:checked")?.getAttribute("value");
    if (!chosen) return find("input[name=vote]").focus();
    if (!sealing.checked) return call("votes", { vote: /** @type {Api["PlainVote"]["vote"]} */ (chosen) });
    const salt = randomHex(32);
    // Stored before the commitment is sent: without the salt the vote could not be revealed.
    localStorage.setItem(VOTE + id, JSON.stringify({ vote: chosen, salt }));
    const commit = await taggedHash("shx/1/vote", uuidBytes(id), uint(referee.referee, 1), chosen, unhex(salt));
    await call("votes", { commit: hex(commit) });
  };
  return h("fieldset", { class: "ballot" }, [
    h("legend", null, [t("vote.title")]), radio("cheated"), radio("not_proven"),
    h("label", { class: "box" }, [sealing, t("vote.seal")]),
    h("p", null, [button("vote.cast", vote, { class: "main" })]),
    quiet(t("vote.about")),
  ]);
}

async function openFile() {
  const file = await get(`/v1/disputes/${id}`);
  court.game = await get(`/v1/games/${file.game}`);
  const { items } = await get(`/v1/games/${file.game}/events?after=${file.seq}&limit=1`);
  court.event = items[0];
  await follow();
}

const game = query.get("game");
await start("court");
await checkPlayer();
showAccount();
await attempt(() => (id ? openFile() : game ? accuse(game) : list()));
