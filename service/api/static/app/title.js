/** The title of the page, with a mark while a turn waits for the reader: "● …", or "(2) ● …" if there are several. */

let text = document.title;
const turns = { here: 0, elsewhere: 0 };

/** @param {string} title without a mark */
export function setTitle(title) {
  text = title;
  show();
}

/** Note how many turns wait on this page or at other tables. @param {Partial<typeof turns>} waiting */
export function markTurns(waiting) {
  Object.assign(turns, waiting);
  show();
}

/** @returns {string} the title without a mark */
export const plainTitle = () => text;

function show() {
  const waiting = turns.here + turns.elsewhere;
  document.title = `${waiting > 1 ? `(${waiting}) ` : ""}${waiting ? "● " : ""}${text}`;
}
