// Signing out, on every page: what the browser keeps is forgotten first.

import { forgetKept } from "./kept.js";

for (const form of document.querySelectorAll("form[action$='/sign-out']")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await forgetKept().catch(() => {}); // a browser without storage has kept nothing
    if (form instanceof HTMLFormElement) form.submit();
  });
}
