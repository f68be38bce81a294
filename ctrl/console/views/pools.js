// pools.js - the pools of each appliance as a tree: a pool opens and closes by keyboard; amounts are of the last interval.

import { get } from "../api.js";
import { make, setText } from "../dom.js";
import { count, tokens } from "../format.js";
import { routes } from "../routes.js";

const OPEN_MEMBERS = 100;       // a pool with more members starts closed

function amountsText(node) {
  const { reservation, limit, shares } = node.static;
  const now = node.demand === undefined ? "" : `demand ${tokens(node.demand)}, entitlement ${tokens(node.entitlement)}, delivered ${tokens(node.delivered)}; `;
  const stated = `reservation ${tokens(reservation)}, limit ${limit === null ? "none" : tokens(limit)}, shares ${count(shares)}`;
  return `${now}${stated}${node.configured ? " (changed, the specification has others)" : ""}`;
}

/** One node as an item; `places` gets the elements that a refresh writes. */
function item(nodes, children, at, places) {
  const node = nodes[at];
  const place = { text: make("span", { class: "amounts" }), state: make("span", { class: "dim" }) };
  places[at] = place;
  const name = make("strong", {}, node.name);
  if (node.kind === "vnic")
    return make("li", {}, make("a", { href: `#/vnics/${encodeURIComponent(node.name)}` }, name), " ", place.state, place.text);
  const members = children[at] ?? [];
  return make("li", {}, make("details", { open: members.length <= OPEN_MEMBERS },
    make("summary", {}, name, " ", place.state, place.text),
    make("ul", {}, ...members.map((member) => item(nodes, children, member, places)))));
}

function build(pools) {
  const places = [];
  const trees = pools.map(({ nodes }, tree) => {
    const children = {};
    nodes.forEach((node, at) => node.parent !== null && (children[node.parent] ??= []).push(at));
    places[tree] = [];
    return make("ul", { class: "tree" }, ...nodes.flatMap((node, at) => (node.parent === null ? [item(nodes, children, at, places[tree])] : [])));
  });
  return { trees, places };
}

const shape = (pools) => JSON.stringify(pools.map(({ appliance, nodes }) => [appliance, nodes.map((node) => [node.name, node.kind, node.parent])]));

export const pools = {
  id: "pools",
  title: "Pools",
  open(section) {
    const place = make("div");
    let known = "";
    let built = null;
    section.append(place);
    return {
      async update() {
        const data = (await get(routes.pools())).pools;
        if (shape(data) !== known || !built) {
          known = shape(data);
          built = build(data);
          place.replaceChildren(...built.trees);
          if (data.length === 0) place.append(make("p", {}, "The specification has no pools."));
        }
        data.forEach(({ nodes, capacity }, tree) => nodes.forEach((node, at) => {
          const { text, state } = built.places[tree][at];
          setText(text, amountsText(node));
          const absent = node.present === false ? "absent " : "";
          setText(state, node.parent === null ? `appliance, capacity ${tokens(capacity)} ` : node.host ? `on ${node.host} ` : absent);
        }));
      },
    };
  },
};
