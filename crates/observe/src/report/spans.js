// Spans as columns that are ordered and searched: their number costs no time in drawing.

// How many of an ordered column are below `ns`.
const below = (column, ns, from = 0) => {
  let low = from;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < ns) low = middle + 1;
    else high = middle;
  }
  return low;
};
// The first span of a column set that may reach past `ns`.
const firstFrom = (spans, ns) => Math.max(0, below(spans.begin_ns, ns) - 1);

// Makes columns that can be searched of those in the data: begins, ends, and how much time all
// spans before each one take.
const unpacked = ({ step_ns, length_ns, label, merged, source }) => {
  const count = step_ns.length;
  const spans = { count, label, merged, source, begin_ns: new Float64Array(count), end_ns: new Float64Array(count), before_ns: new Float64Array(count + 1) };
  for (let i = 0, at = 0; i < count; i += 1) {
    at += step_ns[i];
    spans.begin_ns[i] = at;
    spans.end_ns[i] = at + length_ns[i];
    spans.before_ns[i + 1] = spans.before_ns[i] + length_ns[i];
  }
  return spans;
};
for (const lane of data.runs.flatMap((run) => run.lanes)) {
  lane.tasks = lane.tasks.map(unpacked);
  lane.search = unpacked(lane.search);
  lane.sleep = unpacked(lane.sleep);
}
// The time up to `ns` that the spans take.
const takenUpTo = (spans, ns) => {
  const next = below(spans.begin_ns, ns);
  return next === 0 ? 0 : spans.before_ns[next] - Math.max(0, spans.end_ns[next - 1] - ns);
};

