// The cluster map: points on a canvas that can be moved, zoomed, pointed at and circled with a lasso.
// What happens to a pointed or circled item is the page's business: it hands in three functions.

import { readColors } from "./colors.js";
import { drawLasso, drawNumbers, drawRings, paintPoints, pointRadius } from "./map_paint.js";
import { between, bounds, centers, Grid, movedCluster, STRIDE } from "./map_points.js";
import { listen } from "./map_input.js";

const TRAVEL_MS = 500;
const FLASH_MS = 2000;
const FLASH_LIMIT = 400; // rings; when nearly everything moved they would say nothing
const MARGIN = 28; // pixels between the outermost point and the edge
const REACH = 12; // pixels from the pointer at which a point counts as pointed at

export class ClusterMap {
  constructor(canvas, { onPoint, onPick, onLasso }) {
    Object.assign(this, { canvas, onPoint, onPick, onLasso });
    this.context = canvas.getContext("2d", { alpha: false });
    this.points = new Float32Array();
    this.view = { x: 0, y: 0, zoom: 1 }; // the middle, in units of the map, and the magnification
    this.touched = false; // whether the person moved the view, which new results then leave alone
    this.chosen = 0;
    this.pinned = -1;
    this.moved = [];
    this.lassoMode = false;
    this.outline = null;
    this.motion = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.restyle();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.restyle());
    new ResizeObserver(() => this.resize()).observe(canvas);
    listen(canvas, this);
  }

  // Show other points. The same number of items travels from the old places to the new ones.
  show(points) {
    const before = this.points;
    const travels = before.length === points.length && before.length > 0;
    this.moved = travels ? movedCluster(before, points) : [];
    if (this.moved.length > FLASH_LIMIT) this.moved = [];
    this.target = points;
    this.grid = new Grid(points);
    this.centers = centers(points);
    this.started = performance.now();
    if (!this.touched) this.fit(points);
    if (travels && this.motion) this.travel(before);
    else this.settle();
  }

  // The same points in other clusters: nothing moves.
  recolor(points) {
    this.points = this.target = points;
    this.grid.points = points;
    this.moved = [];
    this.centers = centers(points);
    this.draw();
  }

  travel(before) {
    const share = Math.min(1, (performance.now() - this.started) / TRAVEL_MS);
    if (share >= 1 || this.grid.points !== this.target) return this.settle();
    this.points = between(before, this.target, share * share * (3 - 2 * share));
    this.draw();
    return requestAnimationFrame(() => this.travel(before));
  }

  settle() {
    this.points = this.target;
    this.canvas.dataset.points = this.points.length / STRIDE;
    this.draw();
    if (this.moved.length) setTimeout(() => this.forget(this.moved), FLASH_MS);
  }

  forget(moved) {
    if (this.moved === moved) this.moved = [];
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
    if (!this.touched) this.fit(this.target ?? this.points);
    this.paint();
  }

  fit(points) {
    this.box = bounds(points);
    this.view = { x: (this.box.left + this.box.right) / 2, y: (this.box.bottom + this.box.top) / 2, zoom: 1 };
  }

  // Pixels (of the page) for one unit of the map.
  scale() {
    const { left, right, bottom, top } = this.box;
    const across = (this.width - 2 * MARGIN) / (right - left || 1);
    const up = (this.height - 2 * MARGIN) / (top - bottom || 1);
    return Math.max(1e-9, Math.min(across, up)) * this.view.zoom;
  }

  place() {
    const scale = this.scale();
    return { x: this.width / 2 - this.view.x * scale, y: this.height / 2 + this.view.y * scale, scale };
  }

  toMap(column, row) {
    const place = this.place();
    return { x: (column - place.x) / place.scale, y: (place.y - row) / place.scale };
  }

  pan(columns, rows) {
    this.touched = true;
    this.view.x -= columns / this.scale();
    this.view.y += rows / this.scale();
    this.draw();
  }

  // Zoom about a place on the screen, which stays where it is.
  zoom(factor, column = this.width / 2, row = this.height / 2) {
    const fixed = this.toMap(column, row);
    this.touched = true;
    this.view.zoom = Math.min(200, Math.max(0.5, this.view.zoom * factor));
    const shifted = this.toMap(column, row);
    this.view.x += fixed.x - shifted.x;
    this.view.y += fixed.y - shifted.y;
    this.draw();
  }

  reset() {
    this.touched = false;
    this.fit(this.points);
    this.draw();
  }

  choose(cluster) {
    this.chosen = cluster;
    this.draw();
  }

  at(column, row) {
    if (!this.grid) return -1;
    const { x, y } = this.toMap(column, row);
    return this.grid.nearest(x, y, REACH / this.scale());
  }

  point(column, row) {
    const found = this.at(column, row);
    this.canvas.classList.toggle("pointing", found >= 0);
    this.onPoint(found, column, row);
  }

  pick(column, row) {
    this.pinned = this.at(column, row);
    this.draw();
    this.onPick(this.pinned, column, row);
  }

  lasso(outline) {
    this.outline = outline;
    this.draw();
  }

  finishLasso() {
    const polygon = this.outline.map(({ column, row }) => this.toMap(column, row));
    this.outline = null;
    this.draw();
    if (polygon.length > 2 && this.grid) this.onLasso(this.grid.inside(polygon));
  }

  // Many changes in one frame are painted once.
  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  paint() {
    if (!this.image || !this.box) return;
    const { x, y, scale } = this.place();
    const place = { x: x * this.ratio, y: y * this.ratio, scale: scale * this.ratio };
    const radius = pointRadius(this.points.length / STRIDE, this.view.zoom) * this.ratio;
    paintPoints(this.image, this.points, place, this.colors, radius, this.chosen);
    this.context.putImageData(this.image, 0, 0);
    const ring = radius + 3 * this.ratio;
    drawRings(this.context, this.points, this.moved, place, ring, this.colors.accent, 1.5 * this.ratio);
    if (this.pinned >= 0) drawRings(this.context, this.points, [this.pinned], place, ring, this.colors.ink, 2 * this.ratio);
    drawNumbers(this.context, this.centers ?? [], place, this.colors, this.ratio);
    if (this.outline) drawLasso(this.context, this.outline, this.colors.accent, this.ratio);
    this.canvas.dataset.zoom = this.view.zoom.toFixed(3);
  }
}
