// Draws the timelines of the page. Times are nanoseconds from the start of a run; all runs share
// one axis.
(() => {
  const axisEnd = Math.max(1, ...data.runs.map((run) => run.wall_ns));
  const view = timeAxis(axisEnd, 20, () => draw());
  // Spans with fewer pixels have no colour of their own: it would be noise.
  const THIN = 2.5;
  const PALETTE = ["#2f6fc9", "#1c7c71", "#7a58c8", "#44803c", "#ad4a86", "#26789a", "#806c1e", "#7f5f50"];
  // Sizes in pixels, as wide as the screen and the letters ask for; see `measure`.
  const size = {};
  // The span that was chosen by a key or a click: its chart, lane, column set and index.
  let chosen = null;

  // ---- small helpers -------------------------------------------------------

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const grouped = (number) => number.toLocaleString("en-GB");
  const counted = (number, one) => `${grouped(number)} ${one}${number === 1 ? "" : "s"}`;
  const duration = (ns, digits = 4) => {
    const [unit, name] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    return `${unit === 1 ? Math.round(ns * 10) / 10 : Number((ns / unit).toPrecision(digits))} ${name}`;
  };
  const plotWidth = (canvas) => Math.max(1, canvas.clientWidth - size.gutter - size.margin);
  const xOf = (canvas, ns) => size.gutter + ((ns - view.from) / (view.to - view.from)) * plotWidth(canvas);
  const nsOf = (canvas, x) => view.from + ((x - size.gutter) / plotWidth(canvas)) * (view.to - view.from);

  const measure = () => {
    const letter = (parseFloat(getComputedStyle(document.documentElement).fontSize) / 16) * 12;
    size.narrow = main.clientWidth < 560;
    size.letter = letter;
    size.font = `${letter}px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;
    size.gutter = letter * (size.narrow ? 5.4 : 11);
    size.margin = letter * (size.narrow ? 0.5 : 6.4);
    for (const chart of charts) {
      const count = chart.run.lanes.length;
      chart.row = Math.round((count <= 4 ? 34 : count <= 12 ? 24 : count <= 32 ? 16 : 9) * (letter / 12));
      chart.gap = count <= 32 ? 4 : 1;
      chart.strip = chart.run.steals.at_ns.length ? Math.round(letter * 1.7) : 0;
      chart.height = Math.max(chart.row, count * (chart.row + chart.gap)) + chart.strip;
    }
  };

  // The canvas scaled for the screen, cleared, and its drawing context.
  const fresh = (canvas, height) => {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = size.font;
    pen.textBaseline = "middle";
    return pen;
  };

  const patterns = {};
  const pattern = (pen, name, shape) => {
    if (patterns[name]) return patterns[name];
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const brush = tile.getContext("2d");
    brush.fillStyle = colour("row");
    brush.fillRect(0, 0, 8, 8);
    brush.strokeStyle = brush.fillStyle = colour(name);
    brush.lineWidth = 2;
    shape(brush);
    patterns[name] = pen.createPattern(tile, "repeat");
    return patterns[name];
  };
  const diagonal = (brush) => {
    for (const shift of [-8, 0, 8]) {
      brush.beginPath();
      brush.moveTo(shift - 2, 10);
      brush.lineTo(shift + 10, -2);
      brush.stroke();
    }
  };
  const dots = (brush) => {
    for (const [x, y] of [[1, 1], [5, 5]]) brush.fillRect(x, y, 2, 2);
  };
  const searchFill = (pen) => pattern(pen, "search", diagonal);
  const sleepFill = (pen) => pattern(pen, "sleep", dots);
  const unknownFill = (pen) => pattern(pen, "unknown", diagonal);

  // ---- the frame: legend, tools, axis, one section per run -----------------

  const axis = classed(element("canvas", bar), "axis");

  const legendEntry = (text, paint) => {
    const entry = element("span", legend);
    const swatch = element("canvas", entry);
    element("span", entry, text);
    return { swatch, paint };
  };
  const block = (fill) => (pen) => {
    pen.fillStyle = typeof fill === "function" ? fill(pen) : fill;
    pen.fillRect(0, 1, 26, 12);
  };
  const sourceOf = (spans, index) => data.sources[(spans.source[index] ?? 0) - 1];
  const has = (test) => data.runs.some((run) => run.lanes.some(test));
  const swatches = [];
  const taskLabels = new Set();
  for (const level of data.runs.flatMap((run) => run.lanes.flatMap((lane) => lane.tasks))) {
    for (let i = 0; i < level.count && taskLabels.size <= 5; i += 1) taskLabels.add(level.label[i]);
  }
  if (taskLabels.size > 0 && taskLabels.size <= 5) {
    for (const label of taskLabels) {
      swatches.push(legendEntry(data.labels[label], block(PALETTE[label % PALETTE.length])));
    }
  } else if (taskLabels.size > 0) {
    swatches.push(legendEntry("tasks, each with one colour everywhere", (pen) => {
      for (let index = 0; index < 4; index += 1) {
        pen.fillStyle = PALETTE[index];
        pen.fillRect(index * 6.5, 1, 6, 12);
      }
    }));
  }
  for (const [source, text] of [["own", "job of the worker's own deque"], ["stolen", "stolen job"], ["submitted", "job from outside the pool"]]) {
    const code = data.sources.indexOf(source) + 1;
    if (!has((lane) => lane.tasks.some((level) => level.source.includes(code)))) continue;
    swatches.push(legendEntry(text, (pen) => {
      block(PALETTE[0])(pen);
      markSource(pen, source, 0, 1, 26, 3);
    }));
  }
  swatches.push(legendEntry("tasks too short to tell apart; the paler, the more idle between them", (pen) => block(colour("many"))(pen)));
  swatches.push(legendEntry("idle", (pen) => block(colour("row"))(pen)));
  if (has((lane) => lane.search.count)) swatches.push(legendEntry("looking for work", block(searchFill)));
  if (has((lane) => lane.sleep.count)) swatches.push(legendEntry("asleep", block(sleepFill)));
  if (has((lane) => lane.dropped > 0)) swatches.push(legendEntry("not recorded", block(unknownFill)));
  if (data.runs.some((run) => run.steals.at_ns.length)) {
    swatches.push(legendEntry("steal, victim to thief; where there are many, how many", (pen) => {
      pen.strokeStyle = pen.fillStyle = colour("steal");
      arrow(pen, 6, 0, 13);
      [5, 9, 4].forEach((high, at) => pen.fillRect(14 + at * 4, 13 - high, 3, high));
    }));
  }

  view.addTools([["chosen task", "show the chosen task alone (Enter)", "zoom to the chosen task", () => zoomToChosen()]]);
  const status = classed(element("p", bar), "chosen");
  bar.insertBefore(status, axis);
  status.setAttribute("role", "status");

  const charts = data.runs.map((run) => {
    const section = element("section", main);
    const head = element("h2", section, run.name);
    const dropped = run.lanes.reduce((sum, lane) => sum + lane.dropped, 0);
    const notes = [duration(run.wall_ns)];
    if (run.steals.at_ns.length) notes.push(`${counted(run.steals.at_ns.length, "steal")} recorded`);
    if (dropped > 0) notes.push(`${counted(dropped, "older event")} overwritten`);
    element("small", head, notes.join(", "));
    const canvas = classed(element("canvas", section), "lanes");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-roledescription", "timeline");
    canvas.setAttribute("aria-describedby", "keys");
    canvas.setAttribute("aria-label", `${run.name}: ${run.lanes.length} workers, ${duration(run.wall_ns)}`);
    return { run, canvas };
  });

  const note = (text) => { classed(element("p", main), "note").textContent = text; };
  note("Drag to move, hold Ctrl and turn the wheel (or double-click) to zoom; all timelines move together. " +
    "A click chooses a task. One that lies on another is a part of it, or ran while its worker waited inside it. " +
    `${grouped(data.spans)} spans were recorded` +
    (data.spans_shown < data.spans
      ? `; neighbours too thin to see were merged, which leaves ${grouped(data.spans_shown)} (${grouped(data.spans - data.spans_shown)} merged away).`
      : "; none was merged."));
  note("Keys: + and - zoom, arrows left and right, Home and End move, 0 shows the whole run. In a timeline that has the focus: " +
    "arrows up and down choose a worker, n and p its next and previous task, i and o the task inside and around, " +
    "s the next steal; Enter shows what is chosen alone, Escape drops it.");
  main.lastElementChild.id = "keys";

  // ---- drawing -------------------------------------------------------------

  const arrow = (pen, x, fromY, toY) => {
    const way = toY > fromY ? 1 : -1;
    pen.beginPath();
    pen.moveTo(x, fromY);
    pen.lineTo(x, toY - way);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x, toY);
    pen.lineTo(x - 3.5, toY - 6 * way);
    pen.lineTo(x + 3.5, toY - 6 * way);
    pen.fill();
  };

  // Where a job came from: a stolen one has an edge in the colour of steals and a corner at its
  // begin, one from outside the pool a dashed edge, and one of the worker's own deque has none.
  const markSource = (pen, source, left, top, width, thick) => {
    if (source === "stolen") {
      pen.fillStyle = "#ffffff";
      pen.fillRect(left, top + thick, width, 1);
      pen.fillStyle = colour("steal");
      pen.fillRect(left, top, width, thick);
      const corner = Math.min(width, 3 * thick);
      pen.beginPath();
      pen.moveTo(left, top);
      pen.lineTo(left + corner, top);
      pen.lineTo(left, top + corner);
      pen.fill();
    } else if (source === "submitted") {
      pen.fillStyle = "#ffffff";
      for (let at = 0; at < width; at += 8) pen.fillRect(left + at, top, Math.min(4, width - at), thick);
    }
  };

  // Fills the spans of one column set. Those too thin to be seen are drawn pixel by pixel, each as
  // strong as the share of it that spans take, and the next pixel is found by search: however many
  // there are, the work is that of the pixels.
  const fillSpans = (pen, canvas, spans, top, height, fillOf, thinFill, thick = 0) => {
    const wide = [];
    const end = size.gutter + plotWidth(canvas);
    const pixel = (view.to - view.from) / plotWidth(canvas);
    let i = firstFrom(spans, view.from);
    if (i < spans.count && spans.end_ns[i] < view.from) i += 1;
    while (i < spans.count && spans.begin_ns[i] <= view.to) {
      const left = Math.max(size.gutter, xOf(canvas, spans.begin_ns[i]));
      const width = Math.min(end, xOf(canvas, spans.end_ns[i])) - left;
      if (width >= THIN) {
        pen.fillStyle = fillOf(spans.label[i]);
        // A hair's breadth between neighbours keeps equal colours apart.
        const shown = width > 4 ? width - 0.8 : width;
        pen.fillRect(left, top, shown, height);
        if (thick) markSource(pen, sourceOf(spans, i), left, top, shown, thick);
        if (width > 40) wide.push({ left, width, label: spans.label[i] });
        i += 1;
        continue;
      }
      const x = Math.floor(left);
      const after = nsOf(canvas, x + 1);
      let next = Math.max(i + 1, below(spans.begin_ns, after, i + 1));
      const taken = takenUpTo(spans, after) - takenUpTo(spans, after - pixel);
      pen.globalAlpha = Math.min(1, Math.max(0.2, taken / pixel));
      pen.fillStyle = thinFill;
      pen.fillRect(x, top, 1, height);
      pen.globalAlpha = 1;
      // The last one in this pixel may be wide, and so has a turn of its own.
      if (next - 1 > i && xOf(canvas, spans.end_ns[next - 1]) - xOf(canvas, spans.begin_ns[next - 1]) >= THIN) next -= 1;
      i = next;
    }
    return wide;
  };

  // Whether a span of another name has pixels between two positions.
  const coversAny = (canvas, spans, label, left, right) => {
    if (!spans) return false;
    for (let i = firstFrom(spans, nsOf(canvas, left)); i < spans.count; i += 1) {
      if (xOf(canvas, spans.begin_ns[i]) > right) return false;
      if (spans.label[i] !== label && xOf(canvas, spans.end_ns[i]) > left) return true;
    }
    return false;
  };

  // The name, or its last part, or the beginning of that.
  const fitting = (pen, name, width) => {
    if (pen.measureText(name).width <= width) return name;
    const last = name.slice(Math.max(name.lastIndexOf("/") + 1, name.lastIndexOf("::") + (name.includes("::") ? 2 : 1)));
    const room = Math.floor((width / Math.max(1, pen.measureText(last).width)) * last.length);
    return room >= last.length ? last : room > 3 ? `${last.slice(0, room - 1)}…` : "";
  };

  // Draws one worker and returns the names to write on its spans: they must come
  // last, or a part with the name of the whole would cover it.
  const drawLane = (pen, chart, lane, top) => {
    const { run, canvas, row } = chart;
    const left = Math.max(size.gutter, xOf(canvas, 0));
    const right = Math.min(canvas.clientWidth - size.margin, xOf(canvas, run.wall_ns));
    if (right > left) {
      pen.fillStyle = colour("row");
      pen.fillRect(left, top, right - left, row);
    }
    const known = Math.min(right, xOf(canvas, lane.unknown_until_ns));
    if (lane.unknown_until_ns > 0 && known > left) {
      pen.fillStyle = unknownFill(pen);
      pen.fillRect(left, top, known - left, row);
    }
    const inset = row >= 24 ? 4 : row >= 16 ? 2 : 1;
    const many = colour("many");
    const names = [];
    lane.tasks.forEach((level, depth) => {
      const down = inset * Math.min(depth, 4);
      const paint = (label) => PALETTE[label % PALETTE.length];
      // On top of another task the many are a shade, so that it shows through.
      const thin = depth === 0 ? many : `color-mix(in srgb, ${many} 35%, transparent)`;
      const wide = fillSpans(pen, canvas, level, top + down, row - down, paint, thin, Math.min(3, inset));
      for (const { left: from, width, label } of row < 16 ? [] : wide) {
        const text = fitting(pen, data.labels[label], width - 9);
        const to = from + 6 + pen.measureText(text).width;
        const again = names.some((name) => name.label === label && name.from < to && name.to > from);
        if (!again && !coversAny(canvas, lane.tasks[depth + 1], label, from, to)) {
          names.push({ text, label, from, to, y: top + (row + down) / 2 + 0.5 });
        }
      }
    });
    const search = searchFill(pen);
    const sleep = sleepFill(pen);
    fillSpans(pen, canvas, lane.search, top, row, () => search, colour("search"));
    fillSpans(pen, canvas, lane.sleep, top, row, () => sleep, colour("sleep"));
    if (row >= 12) {
      const known = Math.max(1, run.wall_ns - lane.unknown_until_ns);
      const share = `${Math.min(100, Math.round((100 * lane.busy_ns) / known))} %`;
      const stacked = size.narrow && row >= 30;
      pen.fillStyle = colour("ink");
      pen.textAlign = "left";
      const name = size.narrow ? fitting(pen, lane.name, size.gutter - 4) : lane.name;
      pen.fillText(name, 0, top + (stacked ? row * 0.28 : row / 2), size.gutter - (size.narrow ? 4 : size.letter * 4.5));
      pen.fillStyle = colour("faint");
      if (stacked) pen.fillText(share, 0, top + row * 0.75);
      pen.textAlign = "right";
      if (!size.narrow) pen.fillText(share, size.gutter - 12, top + row / 2);
      pen.textAlign = "left";
    }
    return names;
  };

  // The steals in view as first and last index, and whether there is room to draw each.
  const stealsInView = (chart) => {
    const { at_ns } = chart.run.steals;
    const [first, last] = [below(at_ns, view.from), below(at_ns, view.to + 1)];
    return { first, last, apart: last - first <= Math.max(12, plotWidth(chart.canvas) / 16) };
  };
  const BIN = 5;
  const middleOf = (chart, lane) => lane * (chart.row + chart.gap) + chart.row / 2;

  // How many steals there were, below the lanes; and arrows, if there is room, or else marks at the
  // lower edge of the thieves' lanes.
  const drawSteals = (pen, chart) => {
    const { run, canvas, row, gap, height, strip } = chart;
    const { at_ns, thief, victim } = run.steals;
    if (at_ns.length === 0) return;
    const { first, last, apart } = stealsInView(chart);
    const bins = new Uint32Array(Math.ceil(plotWidth(canvas) / BIN) + 1);
    const byThief = new Map();
    for (let i = first; i < last; i += 1) {
      const bin = Math.floor((xOf(canvas, at_ns[i]) - size.gutter) / BIN);
      bins[bin] += 1;
      const key = thief[i] * bins.length + bin;
      byThief.set(key, (byThief.get(key) ?? 0) + 1);
    }
    const most = bins.reduce((so, count) => Math.max(so, count), 1);
    pen.fillStyle = colour("faint");
    pen.fillText(counted(last - first, "steal"), 0, height - strip / 2, size.gutter - 6);
    if (!size.narrow && most > 1) pen.fillText(`max ${most}`, size.gutter + plotWidth(canvas) + 6, height - strip / 2);
    pen.strokeStyle = pen.fillStyle = colour("steal");
    bins.forEach((count, bin) => {
      const high = count && Math.max(2, (count / most) * (strip - 4));
      pen.fillRect(size.gutter + bin * BIN, height - high, BIN - 1, high);
    });
    if (apart) {
      pen.lineWidth = 1.4;
      for (let i = first; i < last; i += 1) {
        arrow(pen, xOf(canvas, at_ns[i]), middleOf(chart, victim[i]), middleOf(chart, thief[i]));
      }
      return;
    }
    const thick = Math.max(2, Math.round(row / 8));
    for (const [key, count] of byThief) {
      const [lane, bin] = [Math.floor(key / bins.length), key % bins.length];
      pen.globalAlpha = Math.max(0.35, count / most);
      pen.fillRect(size.gutter + bin * BIN, lane * (row + gap) + row - thick, BIN - 1, thick);
    }
    pen.globalAlpha = 1;
  };

  const drawChosen = (pen, chart) => {
    if (!chosen || chosen.chart !== chart) return;
    const { canvas, row, gap } = chart;
    const edge = size.gutter + plotWidth(canvas);
    const [from, to] = chosen.spans
      ? [chosen.spans.begin_ns[chosen.index], chosen.spans.end_ns[chosen.index]]
      : chosen.steal === undefined ? [view.from, view.to] : [chosen.steal, chosen.steal];
    if (to < view.from || from > view.to) return;
    const left = Math.max(size.gutter - 1, xOf(canvas, from) - 1);
    const right = Math.min(edge + 1, xOf(canvas, to) + 1);
    for (const [ink, width] of [["page", 5], ["ink", 2.5]]) {
      pen.strokeStyle = colour(ink);
      pen.lineWidth = width;
      pen.strokeRect(left, chosen.lane * (row + gap) + 1.5, Math.max(2, right - left), row - 3);
    }
  };

  const drawChart = (chart) => {
    const { run, canvas, row, gap, height } = chart;
    const pen = fresh(canvas, height);
    pen.strokeStyle = colour("rule");
    for (const tick of view.ticks(plotWidth(axis) * (12 / size.letter))) {
      pen.beginPath();
      pen.moveTo(xOf(canvas, tick), 0);
      pen.lineTo(xOf(canvas, tick), height);
      pen.stroke();
    }
    const names = run.lanes.flatMap((lane, index) => drawLane(pen, chart, lane, index * (row + gap)));
    pen.fillStyle = "#ffffff";
    for (const { text, from, y } of names) pen.fillText(text, from + 4, y);
    drawSteals(pen, chart);
    drawChosen(pen, chart);
    const end = xOf(canvas, run.wall_ns);
    if (end >= size.gutter && end <= canvas.clientWidth - size.margin + 0.5) {
      pen.strokeStyle = pen.fillStyle = colour("ink");
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(end, 0);
      pen.lineTo(end, height);
      pen.stroke();
      if (!size.narrow) pen.fillText(duration(run.wall_ns), end + 6, row / 2);
    }
  };

  const drawAxis = () => {
    const high = Math.round(size.letter * 2.2);
    const pen = fresh(axis, high);
    pen.strokeStyle = colour("rule");
    pen.fillStyle = colour("faint");
    pen.textAlign = "center";
    for (const tick of view.ticks(plotWidth(axis) * (12 / size.letter))) {
      const x = xOf(axis, tick);
      pen.beginPath();
      pen.moveTo(x, high - 7);
      pen.lineTo(x, high);
      pen.stroke();
      pen.fillText(tick === 0 ? "0" : duration(tick), x, size.letter);
    }
  };

  const drawSwatches = () => {
    for (const { swatch, paint } of swatches) {
      const scale = window.devicePixelRatio || 1;
      swatch.width = 26 * scale;
      swatch.height = 14 * scale;
      const pen = swatch.getContext("2d");
      pen.scale(scale, scale);
      paint(pen);
    }
  };

  const drawNow = () => {
    measure();
    drawAxis();
    charts.forEach(drawChart);
  };
  const draw = oncePerFrame(drawNow);

  // ---- what is under the pointer, and what is chosen ------------------------

  const linesOf = (lane, spans, index) => {
    const [begin, end] = [spans.begin_ns[index], spans.end_ns[index]];
    const lines = [
      data.labels[spans.label[index]],
      `${lane.name}, ${duration(end - begin)}, from ${duration(begin, 7)} to ${duration(end, 7)}`,
    ];
    const source = sourceOf(spans, index);
    if (source) lines.push(`${source} job`);
    const merged = spans.merged[index] ?? 1;
    if (merged > 1) lines.push(`stands for ${grouped(merged)} spans; the longest gives the name`);
    return lines;
  };
  const nameOf = (run, lane) => run.lanes[lane]?.name ?? `worker ${lane}`;

  // The innermost span of a lane at `at`, or within a pixel of it.
  const spanAt = (lane, at, pixel) => {
    for (const reach of [0, pixel]) {
      for (const spans of [lane.sleep, lane.search, ...[...lane.tasks].reverse()]) {
        for (let i = firstFrom(spans, at - reach); i < spans.count && spans.begin_ns[i] <= at + reach; i += 1) {
          if (spans.end_ns[i] >= at - reach) return { spans, index: i };
        }
      }
    }
    return null;
  };

  const stealLines = (chart, x, y) => {
    const { run, canvas, row, height, strip } = chart;
    const { at_ns, thief, victim } = run.steals;
    const at = nsOf(canvas, x);
    const pixel = (view.to - view.from) / plotWidth(canvas);
    if (strip && y >= height - strip) {
      const bin = Math.floor((x - size.gutter) / BIN);
      const [from, to] = [nsOf(canvas, size.gutter + bin * BIN), nsOf(canvas, size.gutter + (bin + 1) * BIN)];
      const pairs = new Map();
      const [first, last] = [below(at_ns, from), below(at_ns, to)];
      for (let i = first; i < last; i += 1) {
        const pair = `${nameOf(run, thief[i])} from ${nameOf(run, victim[i])}`;
        pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
      }
      const most = [...pairs].sort((one, other) => other[1] - one[1]).slice(0, 6);
      return [counted(last - first, "steal"), `between ${duration(from, 7)} and ${duration(to, 7)}`,
        ...most.map(([pair, count]) => `${pair}: ${grouped(count)}`)];
    }
    if (!stealsInView(chart).apart) return null;
    for (let i = below(at_ns, at - 3 * pixel); i < at_ns.length && at_ns[i] < at + 3 * pixel; i += 1) {
      const [upper, lower] = [Math.min(thief[i], victim[i]), Math.max(thief[i], victim[i])];
      const between = y > middleOf(chart, upper) && y < middleOf(chart, lower);
      if (between && y % (row + chart.gap) > row - 6) {
        return [`${nameOf(run, thief[i])} stole a job from ${nameOf(run, victim[i])}`, `at ${duration(at_ns[i], 7)}`];
      }
    }
    return null;
  };

  const under = (chart, x, y) => {
    const { run, canvas, row, gap } = chart;
    const at = nsOf(canvas, x);
    const steal = stealLines(chart, x, y);
    if (steal) return steal;
    const lane = run.lanes[Math.floor(y / (row + gap))];
    if (!lane || x < size.gutter || at < 0 || at > run.wall_ns) return null;
    const found = spanAt(lane, at, (view.to - view.from) / plotWidth(canvas));
    if (found) return linesOf(lane, found.spans, found.index);
    return at < lane.unknown_until_ns
      ? ["not recorded", `${lane.name}: ${grouped(lane.dropped)} events were overwritten`]
      : ["nothing to do", lane.name];
  };

  // Brings a stretch into view, with as much zoom as there is.
  const reveal = (from, to) => {
    const width = view.to - view.from;
    if (from < view.from || from > view.to) view.show((from + to - width) / 2, (from + to + width) / 2);
  };
  const choose = (next) => {
    chosen = next;
    if (!next) status.textContent = "";
    else if (next.spans) {
      status.textContent = `Chosen: ${linesOf(next.chart.run.lanes[next.lane], next.spans, next.index).join(", ")}`;
      reveal(next.spans.begin_ns[next.index], next.spans.end_ns[next.index]);
    } else status.textContent = `Chosen: ${next.text ?? nameOf(next.chart.run, next.lane)}`;
    draw();
  };
  const zoomToChosen = () => {
    if (!chosen) status.textContent = "No task is chosen: click one, or press n in a timeline.";
    else if (chosen.spans) {
      const [from, to] = [chosen.spans.begin_ns[chosen.index], chosen.spans.end_ns[chosen.index]];
      view.show(from - (to - from) / 20, to + (to - from) / 20);
    } else if (chosen.steal !== undefined) view.show(chosen.steal - 2e4, chosen.steal + 2e4);
  };

  // The keys of a timeline that has the focus.
  const stepLane = (chart, by) => {
    const count = chart.run.lanes.length;
    const lane = chosen?.chart === chart ? (chosen.lane + by + count) % count : by > 0 ? 0 : count - 1;
    choose({ chart, lane });
  };
  const stepTask = (chart, by) => {
    const own = chosen?.chart === chart ? chosen : { chart, lane: 0 };
    const spans = own.spans ?? chart.run.lanes[own.lane]?.tasks[0];
    if (!spans?.count) return;
    const start = by > 0 ? below(spans.begin_ns, view.from) : Math.max(0, below(spans.begin_ns, view.to) - 1);
    const index = own.spans ? own.index + by : start;
    if (index >= 0 && index < spans.count) choose({ chart, lane: own.lane, spans, index });
  };
  const stepLevel = (chart, by) => {
    if (chosen?.chart !== chart || !chosen.spans) return;
    const { tasks } = chart.run.lanes[chosen.lane];
    const level = tasks.indexOf(chosen.spans);
    const spans = level < 0 ? undefined : tasks[level + by];
    if (!spans) return;
    const begin = chosen.spans.begin_ns[chosen.index];
    const index = by > 0 ? below(spans.begin_ns, begin) : below(spans.begin_ns, begin + 1) - 1;
    if (index < 0 || index >= spans.count || spans.begin_ns[index] > chosen.spans.end_ns[chosen.index]) return;
    choose({ chart, lane: chosen.lane, spans, index });
  };
  const stepSteal = (chart) => {
    const { at_ns, thief, victim } = chart.run.steals;
    const own = chosen?.chart === chart ? chosen.steal : undefined;
    const i = below(at_ns, own === undefined ? view.from : own + 1);
    if (i >= at_ns.length) return;
    reveal(at_ns[i], at_ns[i]);
    const text = `${nameOf(chart.run, thief[i])} stole a job from ${nameOf(chart.run, victim[i])} at ${duration(at_ns[i], 7)}`;
    choose({ chart, lane: thief[i], steal: at_ns[i], text });
  };
  const KEYS = {
    ArrowUp: (chart) => stepLane(chart, -1),
    ArrowDown: (chart) => stepLane(chart, 1),
    n: (chart) => stepTask(chart, 1),
    p: (chart) => stepTask(chart, -1),
    i: (chart) => stepLevel(chart, 1),
    o: (chart) => stepLevel(chart, -1),
    s: stepSteal,
    Enter: zoomToChosen,
    Escape: () => choose(null),
  };

  for (const chart of charts) {
    const { canvas } = chart;
    view.attach(canvas, () => plotWidth(canvas), (event) => nsOf(canvas, event.offsetX),
      (event) => under(chart, event.offsetX, event.offsetY));
    canvas.addEventListener("click", (event) => {
      const lane = Math.floor(event.offsetY / (chart.row + chart.gap));
      const at = nsOf(canvas, event.offsetX);
      const pixel = (view.to - view.from) / plotWidth(canvas);
      const found = chart.run.lanes[lane] && event.offsetX >= size.gutter && spanAt(chart.run.lanes[lane], at, pixel);
      if (found) choose({ chart, lane, ...found });
    });
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
      event.preventDefault();
      KEYS[event.key](chart);
    });
  }

  const repaint = () => {
    for (const name of Object.keys(patterns)) delete patterns[name];
    drawSwatches();
    drawNow();
  };
  // Paper is light, and as wide as the sheet. It is drawn at once: no frame comes before it is
  // printed.
  const printing = (on) => {
    document.documentElement.classList.toggle("printing", on);
    repaint();
  };
  window.addEventListener("beforeprint", () => printing(true));
  window.addEventListener("afterprint", () => printing(false));
  matchMedia("print").addEventListener("change", (event) => printing(event.matches));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  new ResizeObserver(draw).observe(main);
  measure();
  repaint();
})();
