// Turns mouse, touch, pen and keys on the map's canvas into the map's actions: pan, zoom, point, pick, lasso.

/** @typedef {import("./map.js").ClusterMap} ClusterMap */
/** @typedef {{ column: number, row: number }} Pixel */

const CLICK_REACH = 4; // pixels that the pointer may move during a click
const STEP = 60; // pixels per arrow key

/** @type {Record<string, (map: ClusterMap) => void>} */
const KEYS = {
  ArrowLeft: (map) => go(map, -1, 0),
  ArrowRight: (map) => go(map, 1, 0),
  ArrowUp: (map) => go(map, 0, 1),
  ArrowDown: (map) => go(map, 0, -1),
  Enter: (map) => (map.pinned < 0 ? map.beginWalk() : map.onOpen?.()),
  " ": (map) => (map.pinned < 0 ? map.beginWalk() : map.onToggle?.(map.pinned)),
  "+": (map) => map.zoom(1.4),
  "=": (map) => map.zoom(1.4),
  "-": (map) => map.zoom(1 / 1.4),
  0: (map) => map.reset(),
  Escape: (map) => map.pick(-1e6, -1e6),
};

/**
 * Go to the next item in a direction, or move the map where no item has been gone to.
 * @param {ClusterMap} map
 * @param {number} x
 * @param {number} y
 */
function go(map, x, y) {
  if (map.pinned < 0) map.pan(-x * STEP, y * STEP);
  else map.walk({ x, y });
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {ClusterMap} map
 */
export function listen(canvas, map) {
  /** @type {Map<number, Pixel>} */
  const pointers = new Map();
  let travelled = 0;

  /** @param {MouseEvent} event */
  const pixelOf = (event) => {
    const box = canvas.getBoundingClientRect();
    return { column: event.clientX - box.left, row: event.clientY - box.top };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, pixelOf(event));
    travelled = 0;
    if (pointers.size > 1) map.lasso(null);
    else if (event.shiftKey || map.lassoMode) map.lasso([pixelOf(event)]);
  });

  canvas.addEventListener("pointermove", (event) => {
    const current = pixelOf(event);
    const before = pointers.get(event.pointerId);
    if (!before) return void map.point(current.column, current.row);
    travelled += Math.hypot(current.column - before.column, current.row - before.row);
    const fixed = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (map.outline) map.lasso(map.isBoxMode ? corners(map.outline[0], current) : [...map.outline, current]);
    else if (fixed) pinch(map, before, current, fixed);
    else map.pan(current.column - before.column, current.row - before.row);
    pointers.set(event.pointerId, current);
  });

  /** @param {PointerEvent} event */
  const release = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    const { column, row } = pixelOf(event);
    const isClick = travelled < CLICK_REACH && event.type === "pointerup";
    if (map.outline && !isClick) return void map.finishLasso();
    map.lasso(null);
    if (isClick && event.shiftKey) map.toggle(column, row);
    else if (isClick) map.pick(column, row);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => map.onPoint(-1, 0, 0));

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { column, row } = pixelOf(event);
    map.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), column, row);
  }, { passive: false });

  canvas.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
    if (!action) return;
    event.preventDefault();
    action(map);
  });
}

/**
 * Return the corners of a rectangle, the one where it was begun first.
 * @param {Pixel} begun
 * @param {Pixel} current
 */
function corners(begun, current) {
  return [begun, { column: current.column, row: begun.row }, current, { column: begun.column, row: current.row }];
}

/**
 * Zoom by how far two fingers move apart.
 * @param {ClusterMap} map
 * @param {Pixel} before
 * @param {Pixel} current
 * @param {Pixel} fixed
 */
function pinch(map, before, current, fixed) {
  const distance = (/** @type {Pixel} */ finger) => Math.hypot(finger.column - fixed.column, finger.row - fixed.row);
  map.zoom(distance(current) / (distance(before) || 1), (current.column + fixed.column) / 2, (current.row + fixed.row) / 2);
  map.pan((current.column - before.column) / 2, (current.row - before.row) / 2);
}
