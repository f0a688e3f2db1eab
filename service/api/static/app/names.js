/**
 * Names of players: their length as the server counts it, and names of two words for guests.
 */

/** Words that can be said aloud; the same in every language. */
const FIRST = "Brave Bright Calm Clever Copper Eager Early Gentle Golden Green Happy Honest Humble Jolly Keen Kind Lucky Merry Mighty Misty Noble Proud Quick Quiet Ruby Silver Sleepy Snowy Sunny Swift Tidy Tiny Warm Wild Wise Witty".split(" ");
const SECOND = "Badger Bear Beaver Bison Camel Crane Dolphin Eagle Falcon Ferret Fox Gecko Goose Hare Hawk Heron Ibis Koala Lark Lion Llama Lynx Magpie Mole Moose Otter Owl Panda Parrot Puffin Rabbit Raven Robin Seal Swan Tiger Turtle Walrus Wombat Zebra".split(" ");

const LONGEST = 40;
const MOST_BYTES = 160;

/** @returns {string} two words at random, such as "Brave Otter" */
export function guestName() {
  const [one, two] = crypto.getRandomValues(new Uint32Array(2));
  return `${FIRST[one % FIRST.length]} ${SECOND[two % SECOND.length]}`;
}

/**
 * Return whether a name has a length that the server accepts; its other rules are the server's.
 *
 * @param {string} name
 */
export function fits(name) {
  const text = name.normalize("NFC");
  // Without Intl.Segmenter an emoji of several parts counts as several: the server decides.
  const count = "Segmenter" in Intl ? [...new Intl.Segmenter().segment(text)].length : Math.min(LONGEST, [...text].length);
  return count >= 1 && count <= LONGEST && new TextEncoder().encode(text).length <= MOST_BYTES;
}
