// What is said of the item that is pointed at or pinned on a map, beside the pointer.

import { describe, element, picture } from "./picks.js";

const HOVER_MS = 60; // the pointer rests this long before an item's picture is fetched

export class Tip {
  constructor(box, items, map, nameOf) {
    Object.assign(this, { box, items, map, nameOf, hovering: 0, pinned: -1 });
  }

  hover(position, column, row) {
    if (this.pinned >= 0) return;
    if (position === this.hovering && position >= 0 && !this.box.hidden) return;
    this.hovering = position;
    if (position < 0) this.box.hidden = true;
    else setTimeout(() => this.hovering === position && this.show(position, column, row, false), HOVER_MS);
  }

  pin(position, column, row) {
    this.pinned = position;
    this.hovering = -1;
    this.box.hidden = true;
    if (position >= 0) this.show(position, column, row, true);
  }

  async show(position, column, row, stays) {
    const [item] = await this.items.at([position]);
    if (!stays && this.hovering !== position) return;
    const { box, map } = this;
    box.replaceChildren(picture(item), ...describe(item, map.target, this.nameOf));
    if (stays && item.media_url) box.append(linkTo(item));
    box.classList.toggle("pinned", stays);
    box.hidden = false;
    const left = Math.min(column + 14, map.width - box.offsetWidth - 4);
    const top = row + 14 + box.offsetHeight > map.height ? row - box.offsetHeight - 14 : row + 14;
    box.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }
}

function linkTo(item) {
  const plays = item.media_type?.startsWith("audio");
  const link = element("a", { href: item.media_url, textContent: plays ? "Play" : "Open" });
  if (plays) link.dataset.play = "";
  return link;
}
