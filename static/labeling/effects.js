// After every fifty answers a sentence on what they changed, once runs know them; each is shown once in a browser.

import { local } from "../web/address.js";
import { byId } from "../web/dom.js";

const BLOCK = 50; // as on the server
const ASK_EVERY = 10; // answers: a run that knows the last fifty may be done only after some more

export class Effects {
  #key;
  #url;
  #answers = 0; // since a sentence is shown

  /** @param {{ project: string, user: string }} options */
  constructor({ project, user }) {
    this.#key = `tercet-effect/${project}/${user}`;
    this.#url = local(`/api/v1/projects/${encodeURIComponent(project)}/effect-of-my-answers`);
    byId("effect-read").addEventListener("click", () => this.#hide());
  }

  /**
   * Count an answer; now and then, look whether there is something to say.
   * @param {number} mine how many answers the labeler gave
   */
  async count(mine) {
    this.#answers += 1;
    if (this.#answers > ASK_EVERY) this.#hide();
    if (mine < BLOCK || mine % ASK_EVERY) return;
    const response = await fetch(this.#url).catch(() => null);
    const { block, sentence } = response?.ok ? await response.json() : { block: null, sentence: null };
    if (!sentence || block <= latest(this.#key)) return;
    remember(this.#key, block);
    this.#answers = 0;
    byId("effect").hidden = false;
    byId("effect-words").textContent = sentence;
  }

  #hide() {
    byId("effect").hidden = true;
  }
}

/** @param {string} key */
function latest(key) {
  try {
    return Number(localStorage.getItem(key) ?? 0);
  } catch {
    return 0;
  }
}

/**
 * @param {string} key
 * @param {number} block
 */
function remember(key, block) {
  try {
    localStorage.setItem(key, String(block));
  } catch {
    // Without storage it may be said twice.
  }
}
