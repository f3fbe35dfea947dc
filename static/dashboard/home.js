// The list of projects: only keeps its times as people say them.

import { keepTimesCurrent } from "../web/relative_times.js";

keepTimesCurrent();
