/**
 * Types for the JSDoc of the pages, based on those that `openapi-typescript` generates for the API.
 *
 * `Api["GameView"]` is a schema of the document. `Answer` and `Posted` find the call by its method and
 * path, as written in the call: `/v1/games/${id}?at=${n}` is the path `/v1/games/{game_id}`.
 */

import type { components, paths } from "shithead-api";

/** A path with `{}` for each parameter: of the document, or of a call with its values and query. */
type Shape<Path extends string> = Path extends `${infer Before}?${string}`
  ? Shape<Before>
  : Path extends `${infer Head}/${infer Rest}`
    ? `${Segment<Head>}/${Shape<Rest>}`
    : Segment<Path>;
type Segment<Text extends string> = string extends Text
  ? "{}"
  : Text extends `{${string}}` | `${number}`
    ? "{}"
    : Text;

type Documented<Path extends string> = {
  [Known in keyof paths & string]: Shape<Known> extends Shape<Path> ? Known : never;
}[keyof paths & string];
type Operation<Method extends string, Path extends string> = paths[Documented<Path>][Lowercase<Method> &
  keyof paths[Documented<Path>]];

type Json<Content> = Content extends { content: { "application/json": infer Found } } ? Found : null;
type Success<Call> = Call extends { responses: infer All } ? All[keyof All & (200 | 201 | 202 | 204)] : never;

declare global {
  /** The schemas of the document, by name. */
  type Api = components["schemas"];

  /** The path of a documented call; any other path is a type error. */
  type Call<Method extends string, Path extends string> = [Operation<Method, Path>] extends [never]
    ? { "not in the OpenAPI document": Path }
    : Path;

  /** The JSON of the answer to a call, null if it has none. */
  type Answer<Method extends string, Path extends string> = Json<Success<Operation<Method, Path>>>;

  /** The JSON that a call takes. */
  type Posted<Method extends string, Path extends string> =
    Operation<Method, Path> extends { requestBody?: { content: { "application/json": infer Found } } }
      ? Found
      : object;

  /** The settings of a ruleset that the pages read; `/v1/rulesets/schema` describes all. */
  interface Settings {
    deal: { layout?: string };
    order: { low_to_high: string[] };
  }
  /** Elements that pages find by id and that are not just an HTMLElement. */
  interface Elements {
    "#language": HTMLSelectElement;
    "#now": HTMLButtonElement;
    "#ruleset": HTMLSelectElement;
    "#seats": HTMLSelectElement;
    "#bots": HTMLSelectElement;
    "#strength": HTMLSelectElement;
    "#tile-bot": HTMLSelectElement;
    "#tile-friends": HTMLSelectElement;
    "#seek-rules": HTMLSelectElement;
    "#seek-seats": HTMLSelectElement;
    "#seek-bots": HTMLInputElement;
    "#seek-stayers": HTMLInputElement;
    "#clock": HTMLSelectElement;
    "#seek-clock": HTMLSelectElement;
    "#private": HTMLInputElement;
    "#always": HTMLInputElement;
    "#deal": HTMLButtonElement;
    "#scrub": HTMLInputElement;
    "#as": HTMLSelectElement;
    "#follow": HTMLSelectElement;
    "#progress": HTMLProgressElement;
    "#many-progress": HTMLProgressElement;
    "#file": HTMLInputElement & { files: FileList };
    "#receipts": HTMLInputElement & { files: FileList };
    "#offered": HTMLInputElement;
    "#server": HTMLInputElement;
    "#server-file": HTMLInputElement & { files: FileList };
    "#witness": HTMLInputElement;
    "#quorum": HTMLInputElement;
    "#witness-file": HTMLInputElement & { files: FileList };
    "#save": HTMLAnchorElement;
    "#by-id": HTMLFormElement;
    "#game": HTMLInputElement;
  }
}
