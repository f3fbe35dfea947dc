// Small pictures of items beside their points, wherever a map has room for them without hiding anything.

import { calledTypical } from "./edits.js";
import { boxesWithRoom } from "./map_paint.js";
import { CONFIDENCE, STRIDE } from "./map_points.js";

/** @typedef {import("./map_paint.js").Box} Box */
/** @typedef {import("./map_paint.js").Placement} Placement */
/** @typedef {import("./item_list.js").Item} Item */
/** @typedef {{ position: number, width: number, height: number, right: number, down: number }} Spot
 *   `right` and `down` are the pixels from the point to the picture's middle */
/** @typedef {Spot & { item: Item }} Room */
/** @typedef {Spot & { image: HTMLImageElement }} Placed */

const MOST_IN_VIEW = 1000; // points; of more there is hardly room for a picture
const SIDE = 64; // pixels of the longer side of a picture, twice as many where few points are in view
const FEW = 15;
const GAP = 8; // pixels between a point's middle and its picture
const SIDES = [[0, -1], [0, 1], [1, 0], [-1, 0]]; // a picture is above its point, or else below, or beside it
const REST_MS = 150;

export class MapPictures {
  /** @type {Placed[]} */
  placed = [];
  /** @type {Map<number, Promise<HTMLImageElement | null>>} pictures by position */
  images = new Map();
  isOn = true;
  timer = 0;
  round = 0;

  /**
   * @param {import("./map.js").ClusterMap} map
   * @param {import("./item_list.js").ItemStore} items
   * @param {HTMLElement} button pressed while pictures are on; there is none before the first picture
   */
  constructor(map, items, button) {
    this.map = map;
    this.items = items;
    this.button = button;
  }

  toggle() {
    this.isOn = !this.isOn;
    this.button.setAttribute("aria-pressed", String(this.isOn));
    this.choose();
  }

  /** Choose pictures again once the view rests. */
  choose() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.place(), REST_MS);
  }

  async place() {
    this.round += 1;
    const { round } = this;
    const positions = this.isOn ? this.inView() : [];
    const pictured = (await this.items.all(positions)).filter((item) => item.thumbnail_url);
    const first = pictured.length ? await this.load(pictured[0]) : null; // the others are of about its shape
    if (round !== this.round) return; // the view has moved since
    const rooms = first ? this.rooms(positions, pictured, first) : [];
    const images = await Promise.all(rooms.map(({ item }) => this.load(item)));
    if (round !== this.round) return;
    this.placed = rooms.flatMap(({ item, ...room }, at) => {
      const image = images[at];
      return image ? [{ ...room, image }] : [];
    });
    if (this.placed.length) this.button.hidden = false;
    this.map.draw();
  }

  /**
   * Load an item's picture, once; null where it does not come.
   * @param {Item} item
   */
  load(item) {
    const image = this.images.get(item.position) ?? loaded(item.thumbnail_url ?? "");
    this.images.set(item.position, image);
    return image;
  }

  /** Return the positions of the points in view, typical ones first, then the surest, or none where there are too many. */
  inView() {
    const { map } = this;
    const [from, to] = [map.toMap(0, map.height), map.toMap(map.width, 0)];
    const positions = [];
    for (const k of map.grid?.near({ left: from.x, right: to.x, bottom: from.y, top: to.y }) ?? []) {
      const [x, y] = [map.target[k * STRIDE], map.target[k * STRIDE + 1]];
      if (!map.isInFront(k) || x < from.x || x > to.x || y < from.y || y > to.y) continue;
      positions.push(k);
      if (positions.length > MOST_IN_VIEW) return [];
    }
    // Those that are shown stay, so that pictures do not flicker while the view moves on.
    const shown = new Set(this.placed.map(({ position }) => position));
    const typical = calledTypical();
    const rank = (/** @type {number} */ k) => 2 * Number(typical.has(k)) + Number(shown.has(k)) + map.target[k * STRIDE + CONFIDENCE] / 2;
    return positions.sort((a, b) => rank(b) - rank(a));
  }

  /**
   * Return where there is room for pictures of the shape of one of them.
   * @param {number[]} positions of all points in view
   * @param {Item[]} pictured
   * @param {HTMLImageElement} first
   */
  rooms(positions, pictured, first) {
    const { map } = this;
    const place = map.place();
    const factor = (positions.length <= FEW ? 2 * SIDE : SIDE) / Math.max(first.naturalWidth, first.naturalHeight);
    const [width, height] = [first.naturalWidth * factor, first.naturalHeight * factor];
    const taken = positions.map((position) => boxOf(map, place, { position, width: 10, height: 10, right: 0, down: 0 }));
    taken.push(...map.written);
    let waiting = pictured;
    /** @type {Room[]} */
    const rooms = [];
    for (const [across, along] of SIDES) {
      const [right, down] = [across * (width / 2 + GAP), along * (height / 2 + GAP)];
      const tried = waiting.map((item) => ({ item, position: item.position, width, height, right, down }));
      const boxes = tried.map((room) => boxOf(map, place, room));
      const hasRoom = boxesWithRoom(boxes, taken, map);
      rooms.push(...tried.filter((_, at) => hasRoom[at]));
      taken.push(...boxes.filter((_, at) => hasRoom[at]));
      waiting = waiting.filter((_, at) => !hasRoom[at]);
    }
    return rooms;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {number} ratio
   */
  draw(context, ratio) {
    const place = this.map.place();
    for (const picture of this.placed.filter(({ position }) => this.map.isInFront(position))) {
      const { left, right, top, bottom } = boxOf(this.map, place, picture);
      const { naturalWidth, naturalHeight } = picture.image;
      const factor = Math.min((right - left) / naturalWidth, (bottom - top) / naturalHeight);
      const [width, height] = [naturalWidth * factor, naturalHeight * factor];
      const corner = [(left + right - width) / 2, (top + bottom - height) / 2];
      context.drawImage(picture.image, corner[0] * ratio, corner[1] * ratio, width * ratio, height * ratio);
    }
    this.map.canvas.dataset.pictures = String(this.placed.length);
  }

  /**
   * Return the position of the item whose picture is there, or -1.
   * @param {number} column
   * @param {number} row
   */
  at(column, row) {
    const place = this.map.place();
    const there = this.placed.find((picture) => {
      const { left, right, top, bottom } = boxOf(this.map, place, picture);
      return column >= left && column <= right && row >= top && row <= bottom;
    });
    return there?.position ?? -1;
  }
}

/**
 * Return where a picture is in the pixels of the page.
 * @param {import("./map.js").ClusterMap} map
 * @param {Placement} place
 * @param {Spot} picture
 * @returns {Box}
 */
function boxOf(map, place, { position, width, height, right, down }) {
  const column = place.x + map.points[position * STRIDE] * place.scale + right;
  const row = place.y - map.points[position * STRIDE + 1] * place.scale + down;
  return { left: column - width / 2, right: column + width / 2, top: row - height / 2, bottom: row + height / 2 };
}

/**
 * @param {string} url
 * @returns {Promise<HTMLImageElement | null>} null where it did not come
 */
async function loaded(url) {
  const image = new Image();
  image.src = url;
  return image.decode().then(() => image, () => null);
}
