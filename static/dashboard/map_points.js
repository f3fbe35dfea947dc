// The points of a map as one Float32Array of rows (x, y, cluster, confidence), and computations on them: their bounds,
// the nearest point, the points inside a lasso. Nothing here needs a canvas.

export const STRIDE = 4;
const X = 0;
const Y = 1;
export const CLUSTER = 2;
export const CONFIDENCE = 3;

/** @typedef {{ left: number, right: number, bottom: number, top: number }} Box */
/** @typedef {{ x: number, y: number }} Place */

/**
 * @param {string} api
 * @param {string} run
 */
export async function fetchPoints(api, run) {
  const response = await fetch(`${api}/runs/${run}/map`);
  if (!response.ok) throw new Error(`the map of run ${run} could not be read: ${response.status}`);
  return new Float32Array(await response.arrayBuffer());
}

/**
 * @param {Float32Array} points
 * @returns {Box}
 */
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

/**
 * Return the points between their old and new places: 0 is the old place, 1 the new one.
 * @param {Float32Array} before
 * @param {Float32Array} after
 * @param {number} share
 */
export function between(before, after, share) {
  const points = new Float32Array(after);
  for (let i = 0; i < points.length; i += STRIDE) {
    points[i + X] = before[i + X] + (after[i + X] - before[i + X]) * share;
    points[i + Y] = before[i + Y] + (after[i + Y] - before[i + Y]) * share;
  }
  return points;
}

/**
 * Return the positions of the items whose cluster differs.
 * @param {Float32Array} before
 * @param {Float32Array} after
 */
export function changedItems(before, after) {
  /** @type {number[]} */
  const changed = [];
  for (let i = 0; i < after.length; i += STRIDE) {
    if (before[i + CLUSTER] !== after[i + CLUSTER]) changed.push(i / STRIDE);
  }
  return changed;
}

/**
 * @param {Float32Array} points
 * @param {number} cluster
 */
export function itemsOfCluster(points, cluster) {
  /** @type {number[]} */
  const positions = [];
  for (let i = 0; i < points.length; i += STRIDE) {
    if (points[i + CLUSTER] === cluster) positions.push(i / STRIDE);
  }
  return positions;
}

/** @param {number[]} values */
function median(values) {
  values.sort((a, b) => a - b);
  return values[values.length >> 1];
}

/**
 * Return the clusters of one resolution from those of all resolutions, the first of which has two clusters.
 * @param {Uint8Array} clusters
 * @param {Float32Array} points
 * @param {number} number
 */
export function ofResolution(clusters, points, number) {
  const n = points.length / STRIDE;
  return clusters.subarray((number - 2) * n, (number - 1) * n);
}

/**
 * Return the same points with other clusters, one byte an item. Their confidence is not stored: all are shown as sure.
 * @param {Float32Array} points
 * @param {Uint8Array} clusters
 */
export function withClusters(points, clusters) {
  const changed = new Float32Array(points);
  clusters.forEach((cluster, k) => {
    changed[k * STRIDE + CLUSTER] = cluster;
    changed[k * STRIDE + CONFIDENCE] = 1;
  });
  return changed;
}

/**
 * Return each cluster with its number of items, by cluster.
 * @param {Float32Array} points
 */
export function clusterSizes(points) {
  /** @type {Map<number, number>} */
  const sizes = new Map();
  for (let i = 0; i < points.length; i += STRIDE) {
    const cluster = points[i + CLUSTER];
    sizes.set(cluster, (sizes.get(cluster) ?? 0) + 1);
  }
  return [...sizes].sort((a, b) => a[0] - b[0]);
}

/**
 * Return the place of each cluster's number: the medians of x and y, which outliers do not change.
 * @param {Float32Array} points
 */
export function centers(points) {
  /** @type {Map<number, { x: number[], y: number[] }>} */
  const members = new Map();
  for (let i = 0; i < points.length; i += STRIDE) {
    const cluster = points[i + CLUSTER];
    const places = members.get(cluster) ?? { x: [], y: [] };
    members.set(cluster, places);
    places.x.push(points[i + X]);
    places.y.push(points[i + Y]);
  }
  return [...members].map(([cluster, { x, y }]) => ({ cluster, size: x.length, x: median(x), y: median(y) }));
}

/** A grid over the plane: `starts` says where each cell's points begin in `order`. */
export class Grid {
  /** @param {Float32Array} points */
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

  /** @param {number} x */
  column(x) {
    const { left, right } = this.box;
    return clamp(Math.floor(((x - left) / (right - left || 1)) * this.side), 0, this.side - 1);
  }

  /** @param {number} y */
  row(y) {
    const { bottom, top } = this.box;
    return clamp(Math.floor(((y - bottom) / (top - bottom || 1)) * this.side), 0, this.side - 1);
  }

  /**
   * @param {number} x
   * @param {number} y
   */
  cellOf(x, y) {
    return this.row(y) * this.side + this.column(x);
  }

  /**
   * Yield the positions of the points in the cells that a box touches.
   * @param {Box} box
   */
  * near({ left, right, bottom, top }) {
    for (let row = this.row(bottom); row <= this.row(top); row += 1) {
      for (let column = this.column(left); column <= this.column(right); column += 1) {
        const cell = row * this.side + column;
        for (let k = this.starts[cell]; k < this.starts[cell + 1]; k += 1) yield this.order[k];
      }
    }
  }

  /**
   * Return the position of the nearest point within a radius, or -1.
   * @param {number} x
   * @param {number} y
   * @param {number} radius
   */
  nearest(x, y, radius) {
    let nearest = -1;
    let least = radius * radius;
    for (const k of this.near({ left: x - radius, right: x + radius, bottom: y - radius, top: y + radius })) {
      const distance = (this.points[k * STRIDE + X] - x) ** 2 + (this.points[k * STRIDE + Y] - y) ** 2;
      if (distance <= least) [nearest, least] = [k, distance];
    }
    return nearest;
  }

  /**
   * Return the positions of the points inside a polygon.
   * @param {Place[]} polygon
   */
  inside(polygon) {
    const xs = polygon.map(({ x }) => x);
    const ys = polygon.map(({ y }) => y);
    const box = { left: Math.min(...xs), right: Math.max(...xs), bottom: Math.min(...ys), top: Math.max(...ys) };
    return [...this.near(box)].filter((k) =>
      contains(polygon, this.points[k * STRIDE + X], this.points[k * STRIDE + Y]));
  }
}

/**
 * Return the nearest point in a direction: right, left, up or down, within 45 degrees of it; -1 where there is none. Points
 * at the same place follow on each other in their order.
 * @param {Float32Array} points
 * @param {number} from
 * @param {Place} direction -1, 0 or 1 along each axis
 * @param {(position: number) => boolean} isPassed which points count
 */
export function nextPoint(points, from, direction, isPassed) {
  const order = direction.x - direction.y; // of points at the same place: 1 forwards (right, down), -1 backwards
  let nearest = -1;
  let least = Infinity;
  for (let k = 0; k < points.length / STRIDE; k += 1) {
    const x = points[k * STRIDE + X] - points[from * STRIDE + X];
    const y = points[k * STRIDE + Y] - points[from * STRIDE + Y];
    const along = x * direction.x + y * direction.y;
    const across = Math.abs(x * direction.y - y * direction.x);
    const isAhead = along > 0 ? along >= across : x === 0 && y === 0 && order * (k - from) > 0;
    const distance = Math.hypot(along, across);
    const isNearer = distance < least || (distance === 0 && least === 0 && order < 0);
    if (isAhead && isNearer && isPassed(k)) [nearest, least] = [k, distance];
  }
  return nearest;
}

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
function clamp(value, least, most) {
  return Math.min(most, Math.max(least, value));
}

/**
 * Return whether a place is inside a polygon: from there a ray to the right crosses the outline an odd number of times.
 * @param {Place[]} polygon
 * @param {number} x
 * @param {number} y
 */
function contains(polygon, x, y) {
  let isInside = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i, i += 1) {
    const [a, b] = [polygon[i], polygon[j]];
    if (a.y > y !== b.y > y && x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) isInside = !isInside;
  }
  return isInside;
}
