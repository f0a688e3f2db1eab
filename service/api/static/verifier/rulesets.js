/**
 * The settings of rulesets that determine the deal: the deck, and the number of cards in each zone.
 *
 * The table repeats values of the catalogue of rulesets, so that the verifier needs no other file. A
 * custom ruleset ("custom-…") has them in its settings.
 */

/**
 * @typedef {object} DeckSettings
 * @property {"fixed" | "to_fit" | "half_in_stock" | "by_seats"} count how the number of decks follows from the seats
 * @property {number} decks the minimum number of decks
 * @property {number} jokers
 * @property {number | null} [jokers_from_seats] with this number of seats or more there are `jokers_then` jokers
 * @property {number} [jokers_then]
 * @property {number} [seats_per_deck]
 * @property {string[]} [partial] ranks of a partial deck that replaces the last one
 */

/**
 * @typedef {object} DealSettings
 * @property {number} down
 * @property {number} up
 * @property {number} hand
 * @property {string} layout "none" if the face-up cards are dealt; else players lay them
 * @property {"none" | "any" | "plain"} starter the card turned to start the pile; "plain": special cards are put back
 */

/** @typedef {{deck: DeckSettings, deal: DealSettings, special: string[]}} Dealing */

/** @param {number} down @param {number} up @param {number} hand @param {Partial<DealSettings>} [more] @returns {DealSettings} */
const deal = (down, up, hand, more) => ({ down, up, hand, layout: "none", starter: "none", ...more });

/** @param {Partial<DeckSettings>} [more] @returns {DeckSettings} */
const deck = (more) => ({ count: "fixed", decks: 1, jokers: 0, ...more });

const THREES = deal(3, 3, 3);
const LAYOUT = deal(3, 3, 3, { layout: "plain" });

/** @type {Record<string, [DealSettings, DeckSettings]>} */
const CATALOGUE = {
  leeds: [deal(3, 3, 3, { starter: "any" }), deck({ count: "to_fit" })],
  "shithead-six": [THREES, deck({ jokers: 2 })],
  "shithead-layout": [LAYOUT, deck()],
  "karma-radford": [LAYOUT, deck()],
  smeghead: [deal(4, 4, 4), deck({ count: "half_in_stock", decks: 2 })],
  "smeghead-west-kent": [deal(5, 5, 5), deck()],
  guarducci: [THREES, deck({ jokers: 2 })],
  "finnish-four": [deal(4, 4, 3), deck()],
  "ten-two-slide": [deal(3, 3, 4), deck()],
  "covered-queen": [THREES, deck({ count: "by_seats", seats_per_deck: 4 })],
  morehead: [THREES, deck({ jokers_from_seats: 6, jokers_then: 2 })],
  reverse: [LAYOUT, deck()],
  "shit-boot": [deal(3, 3, 3, { layout: "plain", starter: "plain" }), deck()],
};
for (const id of [
  "shithead", "shithead-winner", "shithead-ten-in-rank", "shithead-keep-table", "gultnieks", "egilsson", "threes",
  "threes-house", "threes-katastrophic",
]) CATALOGUE[id] = [THREES, deck()];

/**
 * Return the deal of a ruleset; null for an unknown ruleset without settings, or invalid options.
 *
 * @param {{id: string, options: any, settings: any}} ruleset
 * @returns {Dealing | null}
 */
export function dealingOf({ id, options, settings }) {
  if (Object.hasOwn(CATALOGUE, id)) {
    const [dealt, defaults] = CATALOGUE[id];
    const chosen = { ...defaults };
    if (id === "guarducci" && Array.isArray(options.switches) && !options.switches.includes(4)) chosen.jokers = 0;
    if (options.jokers === 2) chosen.jokers = 2;
    else if (options.jokers !== undefined) return null; // a log never names defaults: such options are invalid
    if (Array.isArray(options.partial)) chosen.partial = options.partial;
    return { deck: chosen, deal: dealt, special: ["2", "T"] };
  }
  if (!settings?.deck || !settings?.deal) return null;
  return { deck: settings.deck, deal: settings.deal, special: Object.keys(settings.ranks ?? {}).filter((rank) => isSpecial(settings.ranks[rank])) };
}

/** The rule of a rank is not special if it repeats the defaults. @param {Record<string, unknown>} rule */
function isSpecial(rule) {
  const plain = { plays: "normal", asks: "at_least", alone: "anything" };
  return Object.entries(rule).some(([name, value]) => {
    if (Array.isArray(value)) return value.length > 0;
    return Object.hasOwn(plain, name) ? value !== plain[/** @type {keyof plain} */ (name)] : Boolean(value);
  });
}

/**
 * Return the deck that a ruleset requires, in the form of `game_created`.
 *
 * @param {Dealing} dealing
 * @param {number} seats
 */
export function deckFor({ deck: rule, deal: dealt }, seats) {
  const cards = seats * (dealt.down + dealt.up + dealt.hand) + (dealt.starter === "none" ? 0 : 1);
  const needed = { fixed: 0, to_fit: cards / 52, half_in_stock: cards / 26, by_seats: seats / (rule.seats_per_deck || 1) };
  const decks = rule.count === "fixed" ? rule.decks : Math.max(rule.decks, Math.ceil(needed[rule.count] ?? 0));
  const jokers = rule.jokers_from_seats && seats >= rule.jokers_from_seats ? rule.jokers_then ?? 0 : rule.jokers;
  const partial = rule.partial?.length && decks > 1 ? [...rule.partial] : [];
  return { decks: partial.length ? decks - 1 : decks, jokers, partial };
}
