// Thirty calls with the types that openapi-typescript makes of the document.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

type Move = components["schemas"]["Move"];
type Event = components["schemas"]["Event"];

declare const process: { argv: string[] };
const baseUrl = process.argv[2]!;
let calls = 0;

/** Return the data of an answer; throws its problem. */
function got<T>(answer: { data?: T; error?: unknown; response: Response }): T {
  calls += 1;
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const open = createClient<paths>({ baseUrl });
const ada = got(await open.POST("/v1/players", { body: { name: "Ada" } }));
const bob = got(await open.POST("/v1/players", { body: { name: "Bob" } }));
const of = (token: string) =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const seats = [of(ada.token), of(bob.token)];
const [first, second] = seats as [typeof open, typeof open];

got(await first.GET("/v1/players/me"));
got(await open.GET("/v1/players/{player_id}", { params: { path: { player_id: ada.id } } }));
got(await open.GET("/v1/rulesets", { params: { query: { limit: 2 } } }));
got(await open.GET("/v1/rulesets/{ruleset_id}", { params: { path: { ruleset_id: "leeds" } } }));
got(await open.GET("/v1/bots"));
const table = got(
  await first.POST("/v1/tables", { body: { ruleset: "leeds", seats: ["me", "open"] } }),
);
const sat = got(
  await second.POST("/v1/tables/{table_id}/seats", {
    params: { path: { table_id: table.id } },
    body: {},
  }),
);
got(await open.GET("/v1/tables/{table_id}", { params: { path: { table_id: table.id } } }));
got(await open.GET("/v1/tables"));
const path = { game_id: sat.game! };

/** Return what an event is about: the compiler knows the data of each type. */
function describe(event: Event): string {
  switch (event.type) {
    case "cards_played":
      return `${event.data.seat} plays ${event.data.cards.join(" ")} from ${event.data.zone}`;
    case "pile_burned":
      return `${event.data.count} cards burn by ${event.data.cause}`;
    default:
      return event.type;
  }
}

const ready: Move = { type: "ready" };
for (const seat of seats) {
  got(await seat.POST("/v1/games/{game_id}/moves", { params: { path }, body: ready }));
}
for (let played = 0; played < 6; played++) {
  const { turn } = got(await open.GET("/v1/games/{game_id}", { params: { path } }));
  const seat = seats[turn!]!;
  const view = got(await seat.GET("/v1/games/{game_id}", { params: { path } }));
  const moved = got(
    await seat.POST("/v1/games/{game_id}/moves", { params: { path }, body: view.moves[0]! }),
  );
  console.log(moved.events.map(describe).join("; "));
}
const { turn: next } = got(await open.GET("/v1/games/{game_id}", { params: { path } }));
const refused = await seats[next!]!.POST("/v1/games/{game_id}/moves", {
  params: { path },
  body: { type: "play", cards: ["10h"] },
});
calls += 1;
if (refused.error === undefined) throw new Error("10h is no card");
console.log(refused.error.status, refused.error.type);
got(
  await first.POST("/v1/games/{game_id}/moves", { params: { path }, body: { type: "forfeit" } }),
);
const page = got(await open.GET("/v1/games/{game_id}/events", { params: { path } }));
if (typeof page === "string") throw new Error("the other media type of this answer");
console.log(page.items.length, "events");
got(await open.GET("/v1/games/{game_id}/replay", { params: { path, query: { as: "all" } } }));
const audit = got(await open.GET("/v1/games/{game_id}/audit", { params: { path } }));
console.log(calls, "calls", audit.result, audit.level);
