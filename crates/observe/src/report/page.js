// Draws the timelines of the page. Times are nanoseconds from the start of a run; all runs share
// one axis.
(() => {
  const axisEnd = Math.max(1, ...data.runs.map((run) => run.wall_ns));
  const GUTTER = 132;
  const MARGIN = 76;
  const view = timeAxis(axisEnd, 200, () => draw());
  // Spans with fewer pixels have no colour of their own: it would be noise.
  const THIN = 2.5;
  const FONT = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
  const PALETTE = ["#3b7dd8", "#2a9d8f", "#8566cf", "#5a9e54", "#c2629b", "#3f9fc4", "#9a8430", "#8a6a58"];

  // ---- small helpers -------------------------------------------------------

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const grouped = (number) => number.toLocaleString("en-GB");
  const duration = (ns, digits = 4) => {
    const [unit, name] = ns >= 1e9 ? [1e9, "s"] : ns >= 1e6 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "µs"] : [1, "ns"];
    return `${unit === 1 ? ns : Number((ns / unit).toPrecision(digits))} ${name}`;
  };
  const plotWidth = (canvas) => canvas.clientWidth - GUTTER - MARGIN;
  const xOf = (canvas, ns) => GUTTER + ((ns - view.from) / (view.to - view.from)) * plotWidth(canvas);
  const nsOf = (canvas, x) => view.from + ((x - GUTTER) / plotWidth(canvas)) * (view.to - view.from);

  // The canvas scaled for the screen, cleared, and its drawing context.
  const fresh = (canvas, height) => {
    const scale = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = FONT;
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

  // The first span of a column set that may reach past `ns`.
  const firstFrom = (spans, ns) => {
    let low = 0;
    let high = spans.begin_ns.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (spans.begin_ns[middle] < ns) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  };

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
  const has = (test) => data.runs.some((run) => run.lanes.some(test));
  const swatches = [];
  const taskLabels = new Set(
    data.runs.flatMap((run) => run.lanes.flatMap((lane) => lane.tasks.flatMap((level) => level.label))));
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
    swatches.push(legendEntry("tasks too short to tell apart", (pen) => block(colour("many"))(pen)));
  }
  swatches.push(legendEntry("idle", (pen) => block(colour("row"))(pen)));
  if (has((lane) => lane.search.begin_ns.length)) swatches.push(legendEntry("looking for work", block(searchFill)));
  if (has((lane) => lane.sleep.begin_ns.length)) swatches.push(legendEntry("asleep", block(sleepFill)));
  if (has((lane) => lane.dropped > 0)) swatches.push(legendEntry("not recorded", block(unknownFill)));
  if (data.runs.some((run) => run.steals.at_ns.length)) {
    swatches.push(legendEntry("steal, victim to thief", (pen) => {
      pen.strokeStyle = pen.fillStyle = colour("steal");
      arrow(pen, 13, 0, 13, 1);
    }));
  }

  view.addTools();

  const charts = data.runs.map((run) => {
    const section = element("section", main);
    const head = element("h2", section, run.name);
    const dropped = run.lanes.reduce((sum, lane) => sum + lane.dropped, 0);
    const notes = [duration(run.wall_ns)];
    if (run.steals.at_ns.length) notes.push(`${grouped(run.steals.at_ns.length)} steals recorded`);
    if (dropped > 0) notes.push(`${grouped(dropped)} older events overwritten`);
    element("small", head, notes.join(", "));
    const canvas = classed(element("canvas", section), "lanes");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${run.name}: ${run.lanes.length} workers, ${duration(run.wall_ns)}`);
    const count = run.lanes.length;
    const row = count <= 4 ? 34 : count <= 12 ? 24 : count <= 32 ? 16 : 9;
    return { run, canvas, row, gap: row > 9 ? 4 : 1 };
  });

  classed(element("p", main), "note").textContent =
    "Drag to move, hold Ctrl and turn the wheel (or double-click) to zoom; all timelines move together. " +
    "A task that lies on another is a part of it, or ran while its worker waited inside it. " +
    `${grouped(data.spans)} spans were recorded` +
    (data.spans_shown < data.spans
      ? `; neighbours too thin to see were merged, which leaves ${grouped(data.spans_shown)} (${grouped(data.spans - data.spans_shown)} merged away).`
      : "; none was merged.");

  // ---- drawing -------------------------------------------------------------

  const arrow = (pen, x, fromY, toY, size) => {
    const way = toY > fromY ? 1 : -1;
    const tipY = size === undefined ? toY : 14;
    pen.beginPath();
    pen.moveTo(x, fromY);
    pen.lineTo(x, tipY - way);
    pen.stroke();
    pen.beginPath();
    pen.moveTo(x, tipY);
    pen.lineTo(x - 3.5, tipY - 6 * way);
    pen.lineTo(x + 3.5, tipY - 6 * way);
    pen.fill();
  };

  // Fills the spans of one column set; of several within a pixel only the first.
  const fillSpans = (pen, canvas, spans, top, height, fillOf, thinFill) => {
    const wide = [];
    let lastX = -1;
    for (let i = firstFrom(spans, view.from); i < spans.begin_ns.length; i += 1) {
      const begin = spans.begin_ns[i];
      const end = begin + spans.length_ns[i];
      if (begin > view.to) break;
      if (end < view.from) continue;
      const left = Math.max(GUTTER, xOf(canvas, begin));
      const right = Math.min(canvas.clientWidth - MARGIN, xOf(canvas, end));
      const width = right - left;
      if (width < 1) {
        if (Math.floor(left) === lastX) continue;
        lastX = Math.floor(left);
      }
      pen.fillStyle = thinFill && width < THIN ? thinFill : fillOf(spans.label[i]);
      // A hair's breadth between neighbours keeps equal colours apart.
      pen.fillRect(left, top, width > 4 ? width - 0.8 : Math.max(width, 1), height);
      if (width > 40) wide.push({ left, width, label: spans.label[i] });
    }
    return wide;
  };

  // Whether a span of another name has pixels between two positions.
  const coversAny = (canvas, spans, label, left, right) => {
    if (!spans) return false;
    for (let i = firstFrom(spans, nsOf(canvas, left)); i < spans.begin_ns.length; i += 1) {
      const begin = xOf(canvas, spans.begin_ns[i]);
      if (begin > right) return false;
      if (spans.label[i] !== label && xOf(canvas, spans.begin_ns[i] + spans.length_ns[i]) > left) return true;
    }
    return false;
  };

  // The name, or its last part, or the beginning of that.
  const fitting = (pen, name, width) => {
    if (pen.measureText(name).width <= width) return name;
    const last = name.slice(name.lastIndexOf("/") + 1);
    const room = Math.floor((width / Math.max(1, pen.measureText(last).width)) * last.length);
    return room >= last.length ? last : room > 3 ? `${last.slice(0, room - 1)}…` : "";
  };

  // Draws one worker and returns the names to write on its spans: they must come
  // last, or a part with the name of the whole would cover it.
  const drawLane = (pen, chart, lane, top) => {
    const { run, canvas, row } = chart;
    const left = Math.max(GUTTER, xOf(canvas, 0));
    const right = Math.min(canvas.clientWidth - MARGIN, xOf(canvas, run.wall_ns));
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
      const wide = fillSpans(pen, canvas, level, top + down, row - down, paint, thin);
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
    fillSpans(pen, canvas, lane.search, top, row, () => search);
    fillSpans(pen, canvas, lane.sleep, top, row, () => sleep);
    if (row >= 12) {
      pen.fillStyle = colour("ink");
      pen.textAlign = "left";
      pen.fillText(lane.name, 0, top + row / 2, GUTTER - 56);
      pen.fillStyle = colour("faint");
      pen.textAlign = "right";
      const known = Math.max(1, run.wall_ns - lane.unknown_until_ns);
      pen.fillText(`${Math.min(100, Math.round((100 * lane.busy_ns) / known))} %`, GUTTER - 12, top + row / 2);
      pen.textAlign = "left";
    }
    return names;
  };

  const drawSteals = (pen, chart) => {
    const { run, canvas, row, gap } = chart;
    const { at_ns, thief, victim } = run.steals;
    const middle = (lane) => lane * (row + gap) + row / 2;
    const visible = at_ns.filter((at) => at >= view.from && at <= view.to).length;
    pen.strokeStyle = pen.fillStyle = colour("steal");
    pen.lineWidth = 1.2;
    pen.globalAlpha = Math.min(0.9, Math.max(0.15, 60 / (visible + 1)));
    const last = new Map();
    for (let i = 0; i < at_ns.length; i += 1) {
      if (at_ns[i] < view.from || at_ns[i] > view.to) continue;
      const x = xOf(canvas, at_ns[i]);
      const pair = thief[i] * 65536 + victim[i];
      // Two arrows of the same pair within two pixels look like one.
      if (x - (last.get(pair) ?? -9) < 2) continue;
      last.set(pair, x);
      arrow(pen, x, middle(victim[i]), middle(thief[i]));
    }
    pen.globalAlpha = 1;
  };

  const drawChart = (chart) => {
    const { run, canvas, row, gap } = chart;
    const height = Math.max(row, run.lanes.length * (row + gap));
    const pen = fresh(canvas, height);
    pen.strokeStyle = colour("rule");
    for (const tick of view.ticks(plotWidth(axis))) {
      pen.beginPath();
      pen.moveTo(xOf(canvas, tick), 0);
      pen.lineTo(xOf(canvas, tick), height);
      pen.stroke();
    }
    const names = run.lanes.flatMap((lane, index) => drawLane(pen, chart, lane, index * (row + gap)));
    pen.fillStyle = "#ffffff";
    for (const { text, from, y } of names) pen.fillText(text, from + 4, y);
    drawSteals(pen, chart);
    const end = xOf(canvas, run.wall_ns);
    if (end >= GUTTER && end <= canvas.clientWidth - MARGIN + 0.5) {
      pen.strokeStyle = pen.fillStyle = colour("ink");
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(end, 0);
      pen.lineTo(end, height);
      pen.stroke();
      pen.fillText(duration(run.wall_ns), end + 6, Math.min(height / 2, row / 2));
    }
  };

  const drawAxis = () => {
    const pen = fresh(axis, 26);
    pen.strokeStyle = colour("rule");
    pen.fillStyle = colour("faint");
    pen.textAlign = "center";
    for (const tick of view.ticks(plotWidth(axis))) {
      const x = xOf(axis, tick);
      pen.beginPath();
      pen.moveTo(x, 19);
      pen.lineTo(x, 26);
      pen.stroke();
      pen.fillText(tick === 0 ? "0" : duration(tick), x, 11);
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

  const draw = oncePerFrame(() => {
    drawAxis();
    charts.forEach(drawChart);
  });

  // Lines for the tip, about the innermost span under the pointer.
  const under = (chart, x, y) => {
    const { run, canvas, row, gap } = chart;
    const at = nsOf(canvas, x);
    const pixel = (view.to - view.from) / plotWidth(canvas);
    const { at_ns, thief, victim } = run.steals;
    for (let i = 0; i < at_ns.length; i += 1) {
      const [upper, lower] = [Math.min(thief[i], victim[i]), Math.max(thief[i], victim[i])];
      const between = y > upper * (row + gap) + row / 2 && y < lower * (row + gap) + row / 2;
      if (between && Math.abs(at_ns[i] - at) < 3 * pixel && y % (row + gap) > row - 6) {
        const names = [thief[i], victim[i]].map((lane) => run.lanes[lane]?.name ?? `worker ${lane}`);
        return [`${names[0]} stole a job from ${names[1]}`, `at ${duration(at_ns[i])}`];
      }
    }
    const lane = run.lanes[Math.floor(y / (row + gap))];
    if (!lane || x < GUTTER || at < 0 || at > run.wall_ns) return null;
    for (const spans of [lane.sleep, lane.search, ...[...lane.tasks].reverse()]) {
      for (let i = firstFrom(spans, at); i < spans.begin_ns.length; i += 1) {
        const begin = spans.begin_ns[i];
        const length = spans.length_ns[i];
        if (begin > at + pixel) break;
        if (begin + length < at - pixel) continue;
        const lines = [
          data.labels[spans.label[i]],
          `${lane.name}, ${duration(length)}, from ${duration(begin, 7)} to ${duration(begin + length, 7)}`,
        ];
        if (spans.merged[i] > 1) lines.push(`stands for ${grouped(spans.merged[i])} spans; the longest gives the name`);
        return lines;
      }
    }
    return at < lane.unknown_until_ns
      ? ["not recorded", `${lane.name}: ${grouped(lane.dropped)} events were overwritten`]
      : ["nothing to do", lane.name];
  };

  for (const chart of charts) {
    const { canvas } = chart;
    view.attach(canvas, () => plotWidth(canvas), (event) => nsOf(canvas, event.offsetX),
      (event) => under(chart, event.offsetX, event.offsetY));
  }
  const repaint = () => {
    for (const name of Object.keys(patterns)) delete patterns[name];
    drawSwatches();
    draw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  new ResizeObserver(draw).observe(main);
  repaint();
})();
