// The points of a map as one Float32Array of rows (x, y, cluster, confidence), and questions about them:
// where they lie, which is nearest, which are inside a lasso. Nothing here knows of a canvas.

export const STRIDE = 4;
const X = 0;
const Y = 1;
export const CLUSTER = 2;
export const CONFIDENCE = 3;

export function bounds(points) {
  const box = { left: Infinity, right: -Infinity, bottom: Infinity, top: -Infinity };
  for (let i = 0; i < points.length; i += STRIDE) {
    box.left = Math.min(box.left, points[i + X]);
    box.right = Math.max(box.right, points[i + X]);
    box.bottom = Math.min(box.bottom, points[i + Y]);
    box.top = Math.max(box.top, points[i + Y]);
  }
  return points.length ? box : { left: 0, right: 1, bottom: 0, top: 1 };
}

export function between(before, after, share) {
  const points = new Float32Array(after);
  for (let i = 0; i < points.length; i += STRIDE) {
    points[i + X] = before[i + X] + (after[i + X] - before[i + X]) * share;
    points[i + Y] = before[i + Y] + (after[i + Y] - before[i + Y]) * share;
  }
  return points;
}

export function movedCluster(before, after) {
  const moved = [];
  for (let i = 0; i < after.length; i += STRIDE) {
    if (before[i + CLUSTER] !== after[i + CLUSTER]) moved.push(i / STRIDE);
  }
  return moved;
}

export function ofCluster(points, cluster) {
  const found = [];
  for (let i = 0; i < points.length; i += STRIDE) {
    if (points[i + CLUSTER] === cluster) found.push(i / STRIDE);
  }
  return found;
}

function median(values) {
  values.sort((a, b) => a - b);
  return values[values.length >> 1];
}

// The clusters of one resolution among those of all, which begin with two.
export function ofResolution(rows, points, number) {
  const n = points.length / STRIDE;
  return rows.subarray((number - 2) * n, (number - 1) * n);
}

// The same points with other clusters, one byte an item. How sure these are nobody has asked: all are shown as sure.
export function withClusters(points, clusters) {
  const changed = new Float32Array(points);
  clusters.forEach((cluster, k) => {
    changed[k * STRIDE + CLUSTER] = cluster;
    changed[k * STRIDE + CONFIDENCE] = 1;
  });
  return changed;
}

export function sizes(points) {
  const counted = new Map();
  for (let i = 0; i < points.length; i += STRIDE) {
    const cluster = points[i + CLUSTER];
    counted.set(cluster, (counted.get(cluster) ?? 0) + 1);
  }
  return [...counted].sort((a, b) => a[0] - b[0]);
}

// The place of each cluster's number: the medians of x and y, which stragglers do not pull away.
export function centers(points) {
  const members = new Map();
  for (let i = 0; i < points.length; i += STRIDE) {
    const cluster = points[i + CLUSTER];
    if (!members.has(cluster)) members.set(cluster, { x: [], y: [] });
    members.get(cluster).x.push(points[i + X]);
    members.get(cluster).y.push(points[i + Y]);
  }
  return [...members].map(([cluster, { x, y }]) => ({ cluster, size: x.length, x: median(x), y: median(y) }));
}

// A grid over the plane: `starts` says where each cell's points begin in `order`.
export class Grid {
  constructor(points) {
    const n = points.length / STRIDE;
    this.points = points;
    this.box = bounds(points);
    this.side = Math.min(512, Math.max(1, Math.ceil(Math.sqrt(n / 2))));
    this.starts = new Uint32Array(this.side * this.side + 1);
    this.order = new Uint32Array(n);
    const cells = Uint32Array.from({ length: n }, (_, k) => this.cellOf(points[k * STRIDE + X], points[k * STRIDE + Y]));
    for (const cell of cells) this.starts[cell + 1] += 1;
    for (let c = 0; c < this.side * this.side; c += 1) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice();
    for (let k = 0; k < n; k += 1) this.order[next[cells[k]]++] = k;
  }

  column(x) {
    const { left, right } = this.box;
    return clamp(Math.floor(((x - left) / (right - left || 1)) * this.side), 0, this.side - 1);
  }

  row(y) {
    const { bottom, top } = this.box;
    return clamp(Math.floor(((y - bottom) / (top - bottom || 1)) * this.side), 0, this.side - 1);
  }

  cellOf(x, y) {
    return this.row(y) * this.side + this.column(x);
  }

  * near(left, right, bottom, top) {
    for (let row = this.row(bottom); row <= this.row(top); row += 1) {
      for (let column = this.column(left); column <= this.column(right); column += 1) {
        const cell = row * this.side + column;
        for (let k = this.starts[cell]; k < this.starts[cell + 1]; k += 1) yield this.order[k];
      }
    }
  }

  nearest(x, y, radius) {
    let found = -1;
    let least = radius * radius;
    for (const k of this.near(x - radius, x + radius, y - radius, y + radius)) {
      const distance = (this.points[k * STRIDE + X] - x) ** 2 + (this.points[k * STRIDE + Y] - y) ** 2;
      if (distance <= least) [found, least] = [k, distance];
    }
    return found;
  }

  inside(polygon) {
    const xs = polygon.map((p) => p.x);
    const ys = polygon.map((p) => p.y);
    const box = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    return [...this.near(...box)].filter((k) =>
      contains(polygon, this.points[k * STRIDE + X], this.points[k * STRIDE + Y]));
  }
}

function clamp(value, least, most) {
  return Math.min(most, Math.max(least, value));
}

// A ray to the right crosses the outline an odd number of times from inside.
function contains(polygon, x, y) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [a, b] = [polygon[i], polygon[j]];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) odd = !odd;
  }
  return odd;
}
