// The cluster map: points on a canvas that can be moved, zoomed, pointed at and selected with a lasso.
// The page passes functions for what happens to items that are pointed at or selected.

import { readColors } from "./colors.js";
import { paintDensity } from "./map_density.js";
import { drawCaptions, drawLasso, drawNumbers, drawRings, paintPoints, pointRadius } from "./map_paint.js";
import { between, bounds, centers, changedItems, CLUSTER, CONFIDENCE, Grid, nextPoint, STRIDE } from "./map_points.js";
import { listen } from "./map_input.js";

const TRAVEL_MS = 500;
const FLASH_MS = 2000;
const FLASH_LIMIT = 400; // rings; with more, when most items changed their cluster, none would stand out
const MARGIN = 28; // pixels between the outermost point and the edge
const MOST_MOVING = 100_000; // points that are painted while the view moves; all of them are once it rests
const DENSE_FROM = 100_000; // points in view, as far as the zoom tells, from which on they are painted as density
const REST_MS = 150;
const REACH = 12; // pixels between the pointer and the point that it points at

/** @typedef {import("./map_input.js").Pixel} Pixel */

/**
 * @typedef {{
 *   onPoint: (position: number, column: number, row: number) => void,
 *   onPick: (position: number, column: number, row: number) => void,
 *   onLasso: (positions: number[]) => void,
 *   onToggle?: (position: number) => void,
 *   onOpen?: () => void,
 *   captionOf?: (cluster: number) => string[],
 * }} MapHandlers called with the item that is pointed at or clicked, -1 for none, and with the items within a lasso;
 *   onToggle with an item that is clicked with Shift, or at which Space is pressed; onOpen when Enter is pressed at the
 *   item picked last; captionOf gives what is written under a cluster's number
 */

export class ClusterMap {
  /** @type {Grid | null} */
  grid = null;
  /** @type {ReturnType<typeof centers>} */
  centers = [];
  /** @type {ImageData | null} */
  image = null;
  /** @type {Uint16Array | null} what items are coloured by instead of clusters: places in the table of colours */
  tint = null;
  /** @type {Uint8Array | null} */
  shapes = null;
  /** @type {Uint8Array | null} 1 for the items that pass the filter; null: all do */
  passing = null;
  isBoxMode = false; // what is dragged over the map is a rectangle, not a lasso
  /** @type {import("./map_paint.js").Box[]} where numbers and captions are, in the pixels of the page */
  written = [];
  /** @type {import("./map_pictures.js").MapPictures | null} */
  pictures = null;
  /** @type {Pixel[] | null} a lasso that is being drawn */
  outline = null;
  width = 0;
  height = 0;
  ratio = 1;
  started = 0;
  isDrawQueued = false;
  resting = 0; // the timer that ends a movement of the view; 0 while it rests

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {MapHandlers} handlers
   */
  constructor(canvas, { onPoint, onPick, onLasso, onToggle, onOpen, captionOf }) {
    this.canvas = canvas;
    this.captionOf = captionOf ?? (() => []);
    this.onPoint = onPoint;
    this.onPick = onPick;
    this.onLasso = onLasso;
    this.onToggle = onToggle;
    this.onOpen = onOpen;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    /** @type {Float32Array} */
    this.points = new Float32Array(); // as they are painted, moving towards the target
    /** @type {Float32Array} */
    this.target = this.points;
    this.box = bounds(this.points);
    this.view = { x: 0, y: 0, zoom: 1 }; // the middle, in units of the map, and the magnification
    this.isTouched = false; // whether somebody moved the view, which new results must not change then
    this.chosen = 0;
    this.pinned = -1;
    /** @type {number[]} */
    this.selected = [];
    /** @type {number[]} */
    this.changed = [];
    this.lassoMode = false;
    this.hasMotion = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.colors = readColors(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
    new ResizeObserver(() => this.resize()).observe(canvas);
    listen(canvas, this);
  }

  /**
   * Show other points. If there are as many as before, they move from the old places to the new ones.
   * @param {Float32Array} points
   */
  show(points) {
    const before = this.points;
    const travels = before.length === points.length && before.length > 0;
    this.changed = travels ? changedItems(before, points) : [];
    if (this.changed.length > FLASH_LIMIT) this.changed = [];
    this.target = points;
    this.grid = new Grid(points);
    this.centers = centers(points);
    this.started = performance.now();
    if (!this.isTouched) this.fit(points);
    if (travels && this.hasMotion) this.travel(before);
    else this.settle();
  }

  /**
   * Show the same points in other clusters: nothing moves.
   * @param {Float32Array} points
   */
  recolor(points) {
    this.points = this.target = points;
    if (this.grid) this.grid.points = points;
    this.changed = [];
    this.centers = centers(points);
    this.redraw();
  }

  /** @param {Float32Array} before */
  travel(before) {
    const share = Math.min(1, (performance.now() - this.started) / TRAVEL_MS);
    if (share >= 1 || this.grid?.points !== this.target) {
      this.settle();
      return;
    }
    this.points = between(before, this.target, share * share * (3 - 2 * share));
    this.draw();
    requestAnimationFrame(() => this.travel(before));
  }

  settle() {
    this.points = this.target;
    this.canvas.dataset.points = String(this.points.length / STRIDE);
    this.redraw();
    const { changed } = this;
    if (changed.length) setTimeout(() => this.removeRings(changed), FLASH_MS);
  }

  /** @param {number[]} changed */
  removeRings(changed) {
    if (this.changed === changed) this.changed = [];
    this.draw();
  }

  restyle() {
    this.colors = readColors(this.canvas);
    this.draw();
  }

  resize() {
    this.ratio = Math.min(devicePixelRatio || 1, 3);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.round(this.width * this.ratio);
    this.canvas.height = Math.round(this.height * this.ratio);
    this.image = this.canvas.width && this.canvas.height
      ? this.context.createImageData(this.canvas.width, this.canvas.height) : null;
    if (!this.isTouched) this.fit(this.target);
    this.paint();
    this.pictures?.choose();
  }

  /** @param {Float32Array} points */
  fit(points) {
    this.box = bounds(points);
    this.view = { x: (this.box.left + this.box.right) / 2, y: (this.box.bottom + this.box.top) / 2, zoom: 1 };
  }

  /** Whether so many points are in view that they are painted as density. */
  get isDense() {
    return this.points.length / STRIDE / Math.max(1, this.view.zoom) ** 2 >= DENSE_FROM;
  }

  /** Return the pixels (of the page) for one unit of the map. */
  scale() {
    const { left, right, bottom, top } = this.box;
    const horizontal = (this.width - 2 * MARGIN) / (right - left || 1);
    const vertical = (this.height - 2 * MARGIN) / (top - bottom || 1);
    return Math.max(1e-9, Math.min(horizontal, vertical)) * this.view.zoom;
  }

  place() {
    const scale = this.scale();
    return { x: this.width / 2 - this.view.x * scale, y: this.height / 2 + this.view.y * scale, scale };
  }

  /**
   * @param {number} column
   * @param {number} row
   */
  toMap(column, row) {
    const place = this.place();
    return { x: (column - place.x) / place.scale, y: (place.y - row) / place.scale };
  }

  /**
   * @param {number} columns
   * @param {number} rows
   */
  pan(columns, rows) {
    this.move();
    this.isTouched = true;
    this.view.x -= columns / this.scale();
    this.view.y += rows / this.scale();
    this.redraw();
  }

  /**
   * Zoom about a place on the screen, which stays where it is.
   * @param {number} factor
   */
  zoom(factor, column = this.width / 2, row = this.height / 2) {
    this.move();
    const fixed = this.toMap(column, row);
    this.isTouched = true;
    this.view.zoom = Math.min(200, Math.max(0.5, this.view.zoom * factor));
    const shifted = this.toMap(column, row);
    this.view.x += fixed.x - shifted.x;
    this.view.y += fixed.y - shifted.y;
    this.redraw();
  }

  /** Paint fewer points of very many until the view rests, so that it follows the hand. */
  move() {
    if (this.points.length / STRIDE <= MOST_MOVING) return;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.resting = 0;
      this.draw();
    }, REST_MS);
  }

  reset() {
    this.isTouched = false;
    this.fit(this.points);
    this.redraw();
  }

  /**
   * Show the items that pass a filter before all others, which fade.
   * @param {number[] | null} positions null: there is no filter
   */
  pass(positions) {
    this.passing = positions && new Uint8Array(Math.max(this.target.length / STRIDE, ...positions.slice(-1).map((last) => last + 1)));
    for (const position of positions ?? []) if (this.passing) this.passing[position] = 1;
    this.canvas.dataset.passing = positions ? String(positions.length) : "";
    this.redraw();
  }

  /**
   * Return those of some items that pass the filter.
   * @param {number[]} positions
   */
  only(positions) {
    const { passing } = this;
    return passing ? positions.filter((position) => passing[position] === 1) : positions;
  }

  /**
   * Return whether an item is in use and none of those that fade: in the cluster shown alone, and passing the filter.
   * @param {number} position
   */
  isInFront(position) {
    const cluster = this.target[position * STRIDE + CLUSTER];
    return cluster >= 1 && (!this.chosen || cluster === this.chosen) && (!this.passing || this.passing[position] === 1);
  }

  /** @param {number} cluster */
  choose(cluster) {
    this.chosen = cluster;
    this.redraw();
  }

  /**
   * @param {number} column
   * @param {number} row
   */
  at(column, row) {
    if (!this.grid) return -1;
    const { x, y } = this.toMap(column, row);
    const nearest = this.grid.nearest(x, y, REACH / this.scale());
    return nearest < 0 && this.pictures ? this.pictures.at(column, row) : nearest;
  }

  /**
   * @param {number} column
   * @param {number} row
   */
  point(column, row) {
    const position = this.at(column, row);
    this.canvas.classList.toggle("pointing", position >= 0);
    this.onPoint(position, column, row);
  }

  /**
   * @param {number} column
   * @param {number} row
   */
  pick(column, row) {
    this.pinned = this.at(column, row);
    this.draw();
    this.onPick(this.pinned, column, row);
  }

  /** Pick the item that is nearest to the middle of the view: arrow keys go on from there. */
  beginWalk() {
    const { x, y } = this.view;
    const distance = (/** @type {number} */ k) => Math.hypot(this.target[k * STRIDE] - x, this.target[k * STRIDE + 1] - y);
    let nearest = -1;
    for (let k = 0; k < this.target.length / STRIDE; k += 1) {
      if (this.isInFront(k) && (nearest < 0 || distance(k) < distance(nearest))) nearest = k;
    }
    this.goTo(nearest);
  }

  /**
   * Pick the next item in a direction.
   * @param {import("./map_points.js").Place} direction
   */
  walk(direction) {
    this.goTo(nextPoint(this.target, this.pinned, direction, (position) => this.isInFront(position)));
  }

  /**
   * Pick an item, and move the view so that it is on the screen.
   * @param {number} position -1 for none: nothing happens
   */
  goTo(position) {
    if (position < 0) return;
    const before = this.pixelOf(position);
    const beyond = (/** @type {number} */ at, /** @type {number} */ size) => Math.min(Math.max(at, MARGIN), size - MARGIN) - at;
    const [columns, rows] = [beyond(before.column, this.width), beyond(before.row, this.height)];
    if (columns || rows) this.pan(columns, rows);
    this.pinned = position;
    this.draw();
    const { column, row } = this.pixelOf(position);
    this.onPick(position, column, row);
  }

  /**
   * Return where an item is on the screen.
   * @param {number} position
   */
  pixelOf(position) {
    const { x, y, scale } = this.place();
    return { column: x + this.target[position * STRIDE] * scale, row: y - this.target[position * STRIDE + 1] * scale };
  }

  /** @param {number[]} positions */
  select(positions) {
    this.selected = positions;
    this.draw();
  }

  /**
   * Return an item's cluster and confidence.
   * @param {number} position
   */
  of(position) {
    return { cluster: this.target[position * STRIDE + CLUSTER], confidence: this.target[position * STRIDE + CONFIDENCE] };
  }

  /**
   * @param {number} column
   * @param {number} row
   */
  toggle(column, row) {
    const position = this.at(column, row);
    if (position >= 0) this.onToggle?.(position);
  }

  /** @param {Pixel[] | null} outline */
  lasso(outline) {
    this.outline = outline;
    this.draw();
  }

  finishLasso() {
    const polygon = (this.outline ?? []).map(({ column, row }) => this.toMap(column, row));
    this.outline = null;
    this.draw();
    if (polygon.length > 2 && this.grid) this.onLasso(this.grid.inside(polygon));
  }

  /** Paint what is elsewhere now, and find room for pictures there. */
  redraw() {
    this.draw();
    this.pictures?.choose();
  }

  /** Paint in the next frame: many changes in one frame are painted once. */
  draw() {
    if (this.isDrawQueued) return;
    this.isDrawQueued = true;
    requestAnimationFrame(() => {
      this.isDrawQueued = false;
      this.paint();
    });
  }

  paint() {
    if (!this.image) return;
    const { x, y, scale } = this.place();
    const place = { x: x * this.ratio, y: y * this.ratio, scale: scale * this.ratio };
    const radius = pointRadius(this.points.length / STRIDE, this.view.zoom) * this.ratio;
    const every = this.resting ? Math.ceil(this.points.length / STRIDE / MOST_MOVING) : 1;
    const { chosen, passing, tint } = this;
    if (this.isDense) paintDensity(this.image, this.points, place, this.colors, this.ratio, { chosen, passing, tint, every });
    else paintPoints(this.image, this.points, place, this.colors, radius, chosen, passing, tint, this.shapes, every);
    this.context.putImageData(this.image, 0, 0);
    const ring = radius + 3 * this.ratio;
    drawRings(this.context, this.points, this.changed, place, ring, this.colors.accent, 1.5 * this.ratio);
    drawRings(this.context, this.points, this.selected, place, ring, this.colors.ink, this.ratio);
    if (this.pinned >= 0) drawRings(this.context, this.points, [this.pinned], place, ring, this.colors.ink, 2 * this.ratio);
    this.pictures?.draw(this.context, this.ratio);
    drawNumbers(this.context, this.centers, place, this.colors, this.ratio);
    const written = drawCaptions(this.context, this.centers, this.captionOf, place, this.ratio);
    this.written = written.map((box) => inPage(box, this.ratio));
    if (this.outline) drawLasso(this.context, this.outline, this.colors.accent, this.ratio);
    this.canvas.dataset.painted = this.isDense ? "density" : "points";
    this.canvas.dataset.zoom = this.view.zoom.toFixed(3);
  }
}

/**
 * @param {import("./map_paint.js").Box} box
 * @param {number} ratio
 */
function inPage({ left, right, top, bottom }, ratio) {
  return { left: left / ratio, right: right / ratio, top: top / ratio, bottom: bottom / ratio };
}
