// The two dialogs in which labelers say more than an answer: that an item is broken, and what they note on an answer.

import { byId, query } from "../web/dom.js";

/** @typedef {import("./preload.js").Question} Question */
/** @typedef {{ item: string, reason: string, note: string }} Flag */

export class FlagDialog {
  #dialog = byId("flag-dialog", HTMLDialogElement);
  #form = query(this.#dialog, "form", HTMLFormElement);
  /** @type {Question | null} */
  #question = null;

  /** `onFlag` is called with what the labeler says of a question on the screen. @param {(flag: Flag) => void} onFlag */
  constructor(onFlag) {
    // Keys choose the item as long as nobody writes; Enter sends the form.
    this.#dialog.addEventListener("keydown", ({ key, target }) => {
      if (target instanceof HTMLInputElement && target.type === "text") return;
      if (["1", "2", "3"].includes(key)) this.#choose(Number(key) - 1);
    });
    this.#form.addEventListener("submit", (event) => {
      if (event.submitter?.getAttribute("value") !== "flag" || !this.#question) return;
      const fields = new FormData(this.#form);
      const item = this.#question.triplet[Number(fields.get("place"))];
      onFlag({ item, reason: String(fields.get("reason")), note: String(fields.get("note")).trim() });
    });
  }

  /**
   * Ask what is wrong; `place` is the item that is chosen at first.
   * @param {Question} question
   * @param {number} place
   */
  open(question, place) {
    this.#question = question;
    this.#form.reset();
    this.#dialog.showModal();
    this.#choose(place);
  }

  /** @param {number} place */
  #choose(place) {
    const field = query(this.#form, `input[name="place"][value="${place}"]`, HTMLInputElement);
    field.checked = true;
    field.focus();
  }
}

export class CommentDialog {
  #dialog = byId("comment-dialog", HTMLDialogElement);
  #field = byId("comment", HTMLTextAreaElement);

  /** `onComment` is called with the text, which may be empty. @param {(text: string) => void} onComment */
  constructor(onComment) {
    const form = query(this.#dialog, "form", HTMLFormElement);
    form.addEventListener("submit", (event) => {
      if (event.submitter?.getAttribute("value") === "save") onComment(this.#field.value.trim());
    });
    this.#field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      form.requestSubmit(query(form, "button[value=save]", HTMLButtonElement));
    });
  }

  /**
   * Show the note on an answer, to be written or changed.
   * @param {string} answer in words
   * @param {string} comment
   */
  open(answer, comment) {
    byId("commented-answer").textContent = answer;
    this.#field.value = comment;
    this.#dialog.showModal();
    this.#field.focus();
  }
}
