/** Whether two moves are the same, up to the order of their cards. */

/** @param {Api["Move"]} move */
const plain = (move) =>
  JSON.stringify(Object.entries({ with: [], ...move }).sort().map(([name, value]) => [name, name === "cards" || name === "with" ? [...value].sort() : value]));

/** @param {Api["Move"]} one @param {Api["Move"]} other */
export const isSame = (one, other) => plain(one) === plain(other);
