/**
 * State for each object whether the verifier accepts its form: JSON lines on the input, `true` or `false` lines on the output.
 *
 *     node tests/web/shapes.js < objects.jsonl
 */

import { createInterface } from "node:readline";

import { MANIFEST } from "../../service/api/static/verifier/bundle.js";
import { ATTEMPT, checkEvent, wrongPlace } from "../../service/api/static/verifier/shapes.js";

/** @type {Record<string, (value: any, path: string) => unknown>} */
const SHAPES = { event: checkEvent, manifest: MANIFEST, "refusals.line": ATTEMPT };

for await (const line of createInterface({ input: process.stdin })) {
  const { kind, value } = JSON.parse(line);
  console.log(wrongPlace("", SHAPES[kind], value) === null);
}
