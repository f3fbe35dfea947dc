// Mouse, touch, pen and keys on the map's canvas, turned into the map's verbs: pan, zoom, point, pick, lasso.

const CLICK = 4; // pixels a pointer may wander and still click
const STEP = 60; // pixels per arrow key

export function listen(canvas, map) {
  const pointers = new Map();
  let travelled = 0;

  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return { column: event.clientX - box.left, row: event.clientY - box.top };
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, place(event));
    travelled = 0;
    if (pointers.size > 1) map.lasso(null);
    else if (event.shiftKey || map.lassoMode) map.lasso([place(event)]);
  });

  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = pointers.get(event.pointerId);
    if (!before) return void map.point(now.column, now.row);
    travelled += Math.hypot(now.column - before.column, now.row - before.row);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (map.outline) map.lasso([...map.outline, now]);
    else if (other) pinch(map, before, now, other);
    else map.pan(now.column - before.column, now.row - before.row);
    pointers.set(event.pointerId, now);
  });

  const release = (event) => {
    if (!pointers.delete(event.pointerId)) return;
    const { column, row } = place(event);
    const clicked = travelled < CLICK && event.type === "pointerup";
    if (map.outline && !clicked) return void map.finishLasso();
    map.lasso(null);
    if (clicked) map.pick(column, row);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => map.onPoint(-1));

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const { column, row } = place(event);
    map.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.002)), column, row);
  }, { passive: false });

  canvas.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : KEYS[event.key];
    if (!action) return;
    event.preventDefault();
    action(map);
  });
}

function pinch(map, before, now, other) {
  const apart = (a) => Math.hypot(a.column - other.column, a.row - other.row);
  map.zoom(apart(now) / (apart(before) || 1), (now.column + other.column) / 2, (now.row + other.row) / 2);
  map.pan((now.column - before.column) / 2, (now.row - before.row) / 2);
}

const KEYS = {
  ArrowLeft: (map) => map.pan(STEP, 0),
  ArrowRight: (map) => map.pan(-STEP, 0),
  ArrowUp: (map) => map.pan(0, STEP),
  ArrowDown: (map) => map.pan(0, -STEP),
  "+": (map) => map.zoom(1.4),
  "=": (map) => map.zoom(1.4),
  "-": (map) => map.zoom(1 / 1.4),
  0: (map) => map.reset(),
  Escape: (map) => map.pick(-1e6, -1e6),
};
