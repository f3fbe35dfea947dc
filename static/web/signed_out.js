// A page that asks to sign in: nobody is, so nothing stays here, however the session ended. Somebody may have signed out
// before the script that forgets had come, or by another page.

import { forgetKept } from "./kept.js";

await forgetKept().catch(() => {}); // a browser without storage has kept nothing
