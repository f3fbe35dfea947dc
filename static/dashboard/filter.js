// The filter: which items the map, the lists, the gallery and the cards are about. It is in the page's address and nowhere
// else, so that it survives a reload, is shared by sending the address, and is the same on the answers page.

import { closest } from "../web/dom.js";
import { refresh } from "../web/live.js";
import { readBody } from "../web/problem.js";

/** @typedef {import("./map.js").ClusterMap} ClusterMap */

const PARTS = ["text", "tag", "by", "value"]; // as the server names them

export class Filter {
  #round = 0; // a newer filter overtakes an older one that is still being looked up

  /**
   * @param {string} api
   * @param {ClusterMap} map
   */
  constructor(api, map) {
    this.api = api;
    this.map = map;
    document.addEventListener("click", (event) => {
      const link = closest(event, "a[data-filter]");
      if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.go(link.search);
    });
    addEventListener("popstate", () => this.apply());
    this.load();
  }

  /**
   * Change parts of the filter; return the positions of the items that pass, null where the server was not reached.
   * @param {Record<string, string>} parts
   */
  set(parts) {
    const query = new URLSearchParams(location.search);
    for (const [name, part] of Object.entries(parts)) query.set(name, part);
    for (const name of PARTS) if (!query.get(name)) query.delete(name);
    return this.go(query.size ? `?${query}` : "");
  }

  /** @param {string} query */
  go(query) {
    if (query !== location.search) history.pushState(null, "", location.pathname + query);
    return this.apply();
  }

  /** Show what passes the filter of the address: on the map, and by the server on the cards and chips. */
  async apply() {
    const [positions] = await Promise.all([this.load(), refresh()]);
    return positions;
  }

  /** Look up which items pass, and show the others faded on the map. */
  async load() {
    const all = new URLSearchParams(location.search);
    const query = new URLSearchParams(PARTS.flatMap((name) => (all.get(name) ? [[name, all.get(name) ?? ""]] : [])));
    const round = (this.#round += 1);
    /** @type {number[] | null} */
    let positions = [];
    if (query.size) {
      const response = await fetch(`${this.api}/search?${query}`).catch(() => null);
      positions = response?.ok ? (await readBody(response)).positions : null;
    }
    if (round !== this.#round) return null;
    this.map.pass(query.size ? positions : null);
    return positions;
  }
}
