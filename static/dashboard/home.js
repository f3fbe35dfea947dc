// The list of projects: keeps its relative times current.

import { keepTimesCurrent } from "../web/relative_times.js";

keepTimesCurrent();
