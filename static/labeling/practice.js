// Practice before a labeler's first answer: questions whose answers are known, with the reason after each. Nothing of it
// is sent, and it is offered once in a browser.

import { local } from "../web/address.js";
import { byId } from "../web/dom.js";
import { say } from "../web/words.js";

/** @typedef {import("./preload.js").Question} Question */

/** @type {Record<string, string>} */
const WORDS = {
  yes: say("Yes, like 2"),
  no: say("No, like 3"),
  1: say("Item 1"),
  2: say("Item 2"),
  3: say("Item 3"),
  dnk: say("Don't know"),
};

export class Practice {
  #key;
  #url;
  #place = 0;
  #count = 0;
  #dialog = byId("practice-dialog", HTMLDialogElement);

  /**
   * `onQuestions(questions)` is called with what to practise with, `onNext()` to go on, `onEnd()` when it is over.
   * @param {{ project: string, user: string, onQuestions: (questions: Question[]) => void, onNext: () => void,
   *   onEnd: () => void }} options
   */
  constructor({ project, user, onQuestions, onNext, onEnd }) {
    this.#key = `tercet-practised/${project}/${user}`;
    this.#url = local(`/api/v1/projects/${encodeURIComponent(project)}/practice`);
    this.onQuestions = onQuestions;
    this.onEnd = onEnd;
    byId("practise").addEventListener("click", () => this.#begin());
    this.#dialog.addEventListener("close", () => remember(this.#key));
    byId("next-lesson").addEventListener("click", onNext);
    byId("end-practice").addEventListener("click", () => this.end());
  }

  /** Ask whether the labeler wants to practise, unless they were asked before. */
  offer() {
    if (!isRemembered(this.#key)) this.#dialog.showModal();
  }

  async #begin() {
    const response = await fetch(this.#url, { method: "POST" }).catch(() => null);
    const body = response?.ok ? await response.json() : { triplets: [] };
    /** @type {Question[]} */
    const questions = body.triplets.map((/** @type {any} */ { triplet, items, answer, reason }) => ({
      triplet,
      items,
      lesson: { answer, reason },
    }));
    this.#place = 0;
    this.#count = questions.length;
    if (questions.length) this.onQuestions(questions);
  }

  /** Show which question of the practice is on the screen. */
  showNext() {
    this.#place += 1;
    byId("lesson").hidden = true;
    byId("practice").hidden = false;
    byId("practice-place").textContent = say("{place} of {count}", { place: this.#place, count: this.#count });
  }

  /**
   * Say whether an answer is right, and why.
   * @param {string} answer
   * @param {{ answer: string, reason: string }} lesson
   */
  teach(answer, lesson) {
    const isRight = answer === lesson.answer;
    byId("verdict").textContent = isRight ? say("Right.") : say("The right answer is “{answer}”.", { answer: WORDS[lesson.answer] });
    byId("reason-why").textContent = lesson.reason;
    byId("lesson").dataset.verdict = isRight ? "right" : "wrong";
    byId("next-lesson").textContent = this.#place < this.#count ? say("Next") : say("Begin labeling");
    byId("lesson").hidden = false;
    byId("next-lesson").focus();
  }

  /** End the practice, also before its last question. */
  end() {
    byId("lesson").hidden = true;
    byId("practice").hidden = true;
    this.onEnd();
  }
}

/** @param {string} key */
function remember(key) {
  try {
    localStorage.setItem(key, "yes");
  } catch {
    // Without storage it is offered again, until the first answer.
  }
}

/** @param {string} key */
function isRemembered(key) {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}
