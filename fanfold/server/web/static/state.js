// Shows whether the page is up to date, on pages that poll their figures.
import { connect } from "./live.js";

connect("/live/state", {});
