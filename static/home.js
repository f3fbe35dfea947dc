// The list of projects: only keeps its times as people say them.

import { keepTimes } from "./times.js";

keepTimes();
