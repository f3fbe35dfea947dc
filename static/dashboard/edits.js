// Edits of clusters by hand: what is selected is moved, kept together or apart, split off or merged. The server stores
// each edit as links that the next run learns from, and lists it on the answers page, where it can be taken back.

import { createElement } from "../web/dom.js";
import { explain } from "../web/problem.js";
import { CLUSTER, STRIDE } from "./map_points.js";

/** @typedef {import("./item_list.js").ItemStore} ItemStore */
/** @typedef {{ kind: string, cluster?: number, other?: number }} Change */

const MOST_EDITED = 5_000; // as the server has it
const NOT_REACHED = "The server was not reached. Try again.";
/** @type {Record<string, (count: string, change: Change) => string>} */
const DONE = {
  move: (count, { cluster }) => `${count} moved to cluster ${cluster} with the next run.`,
  keep: (count) => `${count} kept in place.`,
  typical: (count) => `${count} called typical. From the next run on, labelers compare others with what is typical.`,
  out: (count) => `${count} thrown out with the next run.`,
  together: (count) => `${count} in one cluster with the next run.`,
  apart: (count) => `${count} in different clusters with the next run.`,
  split: (count) => `${count} split off with the next run.`,
  merge: (_, { cluster, other }) => `Cluster ${other} becomes part of ${cluster} with the next run.`,
};

export class Edits {
  /**
   * @param {string} api
   * @param {ItemStore} items
   */
  constructor(api, items) {
    this.url = `${api}/edits`;
    this.items = items;
  }

  /**
   * Return why so many items cannot be edited; empty: they can.
   * @param {number} count
   */
  refusalOf(count) {
    return count > MOST_EDITED ? `Up to ${MOST_EDITED.toLocaleString("en")} items can be changed at once.` : "";
  }

  /**
   * Send an edit; return its number, 0 if that failed, and a sentence for the analyst.
   * @param {Change} change
   * @param {number[]} positions
   * @returns {Promise<{ number: number, sentence: string }>}
   */
  async make(change, positions) {
    const chosen = change.kind === "merge" ? [] : positions;
    const keys = (await this.items.all(chosen)).map((item) => item.key);
    if (keys.length < chosen.length) return { number: 0, sentence: NOT_REACHED };
    const headers = { "Content-Type": "application/json" };
    const body = JSON.stringify({ ...change, items: keys });
    const response = await fetch(this.url, { method: "POST", headers, body }).catch(() => null);
    if (!response) return { number: 0, sentence: NOT_REACHED };
    if (!response.ok) return { number: 0, sentence: await explain(response) };
    const { edit } = await response.json();
    return { number: edit, sentence: DONE[change.kind](items(chosen.length), change) };
  }

  /**
   * Take an edit back; return a sentence.
   * @param {number} number
   */
  async takeBack(number) {
    const response = await fetch(`${this.url}/${number}`, { method: "DELETE" }).catch(() => null);
    if (!response) return NOT_REACHED;
    return response.ok ? "Taken back." : explain(response);
  }
}

/** Return the positions of the items on the page that analysts call typical of their clusters. */
export function calledTypical() {
  const marked = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-typical]"));
  return new Set([...marked].map(({ dataset }) => Number(dataset.typical)));
}

/** @param {number} count */
function items(count) {
  return `${count.toLocaleString("en")} item${count === 1 ? "" : "s"}`;
}

/**
 * Return the numbers of the clusters that items are in, the one with most of them first.
 * @param {number[]} positions
 * @param {Float32Array} points
 */
export function clustersOf(positions, points) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const position of positions) {
    const cluster = points[position * STRIDE + CLUSTER];
    if (cluster > 0) counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([cluster]) => cluster);
}

/**
 * Return a list to choose a cluster from.
 * @param {Float32Array} points
 * @param {(cluster: number) => string} nameOf
 * @param {string} label
 */
export function clusterChoice(points, nameOf, label) {
  const all = Array.from({ length: points.length / STRIDE }, (_, position) => position);
  const numbers = clustersOf(all, points).sort((a, b) => a - b);
  const choice = createElement("select", {}, createElement("option", { value: "", textContent: label }),
    ...numbers.map((number) => createElement("option", { value: String(number), textContent: `${number} ${nameOf(number)}`.trim() })));
  choice.setAttribute("aria-label", label.replace("…", ""));
  return choice;
}
