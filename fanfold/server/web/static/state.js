// Is what the page shows how things are? For pages that fetch their figures by themselves, now and then.
import { connect } from "./live.js";

connect("/live/state", {});
