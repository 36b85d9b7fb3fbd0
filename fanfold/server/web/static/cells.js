// Item states as one letter per cell, decoded from runs and updated by small messages.

export const STATES = { d: "done", r: "running", t: "retrying", w: "waiting", p: "pending", f: "failed", g: "degraded" };

/** Decode "212d8rp" to an array of letters. */
export function unpacked(runs) {
  const letters = [];
  for (const [, count, letter] of runs.matchAll(/(\d*)([a-z])/g)) {
    for (let left = Number(count || 1); left > 0; left--) letters.push(letter);
  }
  return letters;
}

/** Decode "0-36,40" to positions. */
export function* positionsIn(ranges) {
  for (const part of ranges.split(",")) {
    const [first, last = first] = part.split("-").map(Number);
    for (let at = first; at <= last; at++) yield at;
  }
}

/** Encode sorted positions as "0-36,40". */
export function inRanges(positions) {
  const parts = [];
  let first = null;
  let last = null;
  const close = () => { if (first !== null) parts.push(first === last ? `${first}` : `${first}-${last}`); };
  for (const at of positions) {
    if (last !== null && at === last + 1) {
      last = at;
    } else {
      close();
      first = last = at;
    }
  }
  close();
  return parts.join(",");
}
