// Sentences about what was answered: after every fifty answers what they changed, once runs know them, each once in a
// browser; and where the project tells, what is right in place of an answer.

import { local } from "../web/address.js";
import { byId } from "../web/dom.js";
import { say } from "../web/words.js";

const BLOCK = 50; // as on the server
const ASK_EVERY = 10; // answers: a run that knows the last fifty may be done only after some more

export class Effects {
  #key;
  #url;
  #answersUrl;
  #answers = 0; // since a sentence is shown

  /** @param {{ project: string, user: string }} options */
  constructor({ project, user }) {
    const api = local(`/api/v1/projects/${encodeURIComponent(project)}`);
    this.#key = `tercet-effect/${project}/${user}`;
    this.#url = `${api}/effect-of-my-answers`;
    this.#answersUrl = `${api}/answers`;
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
    this.#show(sentence);
  }

  /**
   * Say whether an answer is right, where that is known.
   * @param {{ id: string, answer: string }} entry
   * @param {Record<string, string>} names of the answers
   */
  async tellRight({ id, answer }, names) {
    const response = await fetch(`${this.#answersUrl}/${id}/right`).catch(() => null);
    const right = response?.ok ? (await response.json()).answer : null;
    if (!right) return;
    const said = { said: names[answer] ?? answer, right: names[right] ?? right };
    if (right === answer) this.#show(say("You said {said}, and so do the people who run this project.", said));
    else this.#show(say("You said {said}; the people who run this project say {right}. Undo shows the question again.", said));
  }

  /** @param {string} sentence */
  #show(sentence) {
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
