// Draws the machines of a run, the jobs on them and their moves. Times are milliseconds from the
// start of the run.
(() => {
  const axisEnd = Math.max(1, data.wall_ms);
  const view = timeAxis(axisEnd, 20, () => later());
  const GUTTER = 150;
  const MARGIN = 24;
  const AXIS = 26;
  const STRIP = 44;
  const LANE = 20;
  const GAP = 4;
  const BETWEEN = 18;
  const PALETTE = ["#3f9fc4", "#2a9d8f", "#8566cf", "#5a9e54", "#c2629b", "#b07a2a", "#5b7fa6", "#8a6a58"];

  // ---- small helpers -------------------------------------------------------

  const time = (ms) => (ms >= 1000 ? `${Number((ms / 1000).toFixed(ms >= 10000 ? 2 : 3))} s` : `${Math.round(ms * 10) / 10} ms`);
  const size = (bytes) => (bytes < 1e4 ? `${bytes} B` : bytes < 1e7 ? `${Math.round(bytes / 1e3)} kB` : `${Math.round(bytes / 1e6)} MB`);
  const percent = (share) => `${Math.round(share * 100)} %`;

  // The share at the top of each strip: all processors, or more if work waited for some.
  const most = data.machines.reduce((so, machine) => machine.share.reduce((so, share) => Math.max(so, share), so), 1);
  const TOP = Math.ceil(most * 2) / 2;

  // ---- where things are ----------------------------------------------------

  // The lanes of each machine: an attempt takes the first that is free.
  const blocks = data.machines.map(() => ({ lanes: [] }));
  const spans = data.jobs.flatMap((job, index) => {
    const own = job.attempts.map((attempt) => ({ ...attempt, job, index }));
    own.forEach((span, order) => { span.next = own[order + 1]; });
    return own;
  });
  for (const span of [...spans].sort((one, other) => one.begin - other.begin || one.index - other.index)) {
    const { lanes } = blocks[span.machine];
    // A job that comes back likes the lane that it had.
    const isFree = (lane) => lane.until <= span.begin;
    let at = lanes.findIndex((lane) => isFree(lane) && lane.job === span.index);
    if (at < 0) at = lanes.findIndex(isFree);
    if (at < 0) at = lanes.push({}) - 1;
    lanes[at] = { until: span.end, job: span.index };
    span.lane = at;
  }
  let height = 0;
  for (const block of blocks) {
    block.top = height;
    block.height = STRIP + GAP + block.lanes.length * (LANE + GAP);
    height += block.height + BETWEEN;
  }
  const yOf = (span) => blocks[span.machine].top + STRIP + GAP + span.lane * (LANE + GAP);
  const use = (id) => `url(#${id})`;

  // ---- the frame: legend, tools, axis, chart -------------------------------

  const axis = drawing(bar);
  axis.setAttribute("height", AXIS);
  const chart = drawing(main);
  chart.setAttribute("height", Math.max(1, height));
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `${data.machines.length} machines, ${data.jobs.length} jobs, ${data.moves.length} moves, ${time(data.wall_ms)}`);
  const plotWidth = () => chart.clientWidth - GUTTER - MARGIN;
  const xOf = (ms) => GUTTER + ((ms - view.from) / (view.to - view.from)) * plotWidth();
  const msOf = (x) => view.from + ((x - GUTTER) / plotWidth()) * (view.to - view.from);

  const legendEntry = (text, paint) => {
    const entry = element("span", legend);
    paint(drawing(entry));
    element("span", entry, text);
  };
  const box = (fill) => (svg) => shape("rect", svg, { y: 1, width: 30, height: 12, fill, rx: 2 });
  legendEntry("processors in use", box("var(--busy)"));
  if (data.machines.some((machine) => machine.share.includes(null))) {
    legendEntry("not known", box(use("unknown")));
  }
  if (data.machines.some((machine) => machine.absent.length)) legendEntry("not there", box(use("absent")));
  if (data.undriven.length) legendEntry("no driver", box(use("undriven")));
  if (spans.length) {
    legendEntry("job on a machine, with checkpoints", (svg) => {
      box(PALETTE[0])(svg);
      for (const x of [9, 21]) shape("line", svg, { x1: x, x2: x, y1: 8, y2: 13, stroke: "var(--kept)", "stroke-width": 1.6 });
    });
  }
  if (data.moves.length) {
    legendEntry("move", (svg) => {
      shape("line", svg, { x1: 2, x2: 22, y1: 7, y2: 7, stroke: "var(--move)", "stroke-width": 1.6 });
      shape("path", svg, { d: "M28 7l-7-4v8z", fill: "var(--move)" });
    });
  }
  const cross = (parent, x, y) =>
    shape("path", parent, { d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10`, stroke: "var(--steal)", "stroke-width": 2.4 });
  if (spans.some((span) => span.why === "lost")) legendEntry("attempt lost, goes on from a checkpoint", (svg) => cross(svg, 15, 7));
  view.addTools();
  classed(element("p", main, "Drag to move, hold Ctrl and turn the wheel (or double-click) to zoom. The upper part of each machine is the share of its processors in use" +
    (TOP > 1 ? "; above the dashed line, at 100 %, work waited for a processor." : ".")), "note");

  // ---- drawing -------------------------------------------------------------

  const patterns = (svg) => {
    const defs = shape("defs", svg, {});
    for (const [id, ink, background] of [
      ["unknown", "var(--unknown)", "var(--row)"],
      ["absent", "var(--steal)", "var(--row)"],
      ["undriven", "var(--search)", "none"],
      ["pausing", "rgb(255 255 255 / 45%)", "none"],
    ]) {
      const pattern = shape("pattern", defs, { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
      shape("rect", pattern, { width: 7, height: 7, fill: background });
      shape("line", pattern, { x1: 1, x2: 1, y1: 0, y2: 7, stroke: ink, "stroke-width": 2 });
    }
    const frame = shape("clipPath", defs, { id: "plot" });
    shape("rect", frame, { x: GUTTER, y: -4, width: Math.max(1, plotWidth() + 6), height: height + 8 });
  };
  const hint = (made, lines) => {
    made.hint = lines;
    return made;
  };

  const fitting = (name, width) => {
    const room = Math.floor(width / 7);
    return name.length <= room ? name : room > 3 ? `${name.slice(0, room - 1)}…` : "";
  };

  const drawMachine = (plot, machine, block) => {
    const { top } = block;
    const bottom = top + STRIP;
    hint(shape("rect", plot, { x: xOf(0), y: top, width: Math.max(0, xOf(axisEnd) - xOf(0)), height: STRIP, fill: "var(--row)" }),
      [machine.name, "not measured"]);
    // Neighbours are one path, and each stretch has a part of its own for the pointer.
    let path = "";
    let edge = "";
    for (let i = 0; i < machine.begin.length; i += 1) {
      const [begin, end, share] = [machine.begin[i], machine.end[i], machine.share[i]];
      if (end < view.from || begin > view.to) continue;
      const [left, right] = [xOf(begin), xOf(end)];
      if (share !== null) {
        const y = bottom - (share / TOP) * STRIP;
        path += `M${left} ${bottom}V${y}H${right}V${bottom}z`;
        const isNext = i > 0 && machine.end[i - 1] === begin && machine.share[i - 1] !== null && edge !== "";
        edge += `${isNext ? "L" : "M"}${left} ${y}H${right}`;
      }
    }
    shape("path", plot, { d: path, fill: "var(--busy)", "fill-opacity": 0.38, "pointer-events": "none" });
    shape("path", plot, { d: edge, fill: "none", stroke: "var(--busy)", "stroke-width": 1.6, "pointer-events": "none" });
    if (TOP > 1) {
      const y = bottom - STRIP / TOP;
      shape("line", plot, { x1: xOf(0), x2: xOf(axisEnd), y1: y, y2: y, stroke: "var(--faint)", "stroke-dasharray": "2 4", "pointer-events": "none" });
    }
    for (const [begin, end] of machine.absent) {
      hint(shape("rect", plot, { x: xOf(begin), y: top, width: Math.max(1, xOf(end) - xOf(begin)), height: block.height, fill: use("absent"), "fill-opacity": 0.55 }),
        [`${machine.name} was not there`, `from ${time(begin)} to ${time(end)}`]);
    }
    for (let i = 0; i < machine.begin.length; i += 1) {
      const [begin, end, share] = [machine.begin[i], machine.end[i], machine.share[i]];
      if (end < view.from || begin > view.to) continue;
      const lines = [
        `${machine.name}: ${share === null ? "not known" : `${percent(share)} in use`}`,
        `from ${time(begin)} to ${time(end)}`,
      ];
      if (machine.why[i]) lines.push(machine.why[i]);
      hint(shape("rect", plot, {
        x: xOf(begin), y: top, width: Math.max(1, xOf(end) - xOf(begin)), height: STRIP,
        fill: share === null ? use("unknown") : "transparent",
      }), lines);
    }
  };

  const linesOf = (span) => {
    const words = { done: "done", failed: "failed", moved: "moved on", lost: "lost", open: "was not over" };
    const lines = [
      `${span.job.name} on ${data.machines[span.machine].name}`,
      `attempt ${span.epoch}, ${time(span.end - span.begin)}, from ${time(span.begin)} to ${time(span.end)}`,
      `${words[span.why]}${span.note ? `: ${span.note}` : ""}`,
      `${span.checkpoints.length} checkpoints`,
    ];
    if (span.job.note) lines.push(span.job.note);
    return lines;
  };

  const drawSpan = (plot, span) => {
    const y = yOf(span);
    const [left, right] = [xOf(span.begin), xOf(span.end)];
    const width = Math.max(2, right - left);
    hint(shape("rect", plot, { x: left, y, width, height: LANE, rx: 3, fill: PALETTE[span.index % PALETTE.length] }), linesOf(span));
    for (const [at, progress, bytes] of span.checkpoints) {
      if (at < view.from || at > view.to) continue;
      const x = xOf(at);
      shape("line", plot, { x1: x, x2: x, y1: y + LANE - 6, y2: y + LANE, stroke: "var(--kept)", "stroke-width": 1.6, "pointer-events": "none" });
      hint(shape("rect", plot, { x: x - 3, y: y + LANE - 8, width: 6, height: 8, fill: "transparent" }),
        [`checkpoint of ${span.job.name}`, `at ${time(at)}: ${percent(progress)} done, ${size(bytes)}`]);
    }
    const from = Math.max(left, GUTTER);
    const name = fitting(span.job.name, Math.min(right, GUTTER + plotWidth()) - from - 12);
    if (name) shape("text", plot, { x: from + 6, y: y + LANE / 2, class: "on" }, name);
  };

  // The marks at the end of a span, above all spans.
  const drawEnd = (plot, span) => {
    const lines = linesOf(span);
    const [right, y] = [xOf(span.end), yOf(span)];
    if (span.why === "failed") cross(plot, right, y + LANE / 2).hint = lines;
    if (span.next && span.why !== "moved") drawLoss(plot, span, lines);
    if (span.why === "lost") cross(plot, right, y + LANE / 2).hint = lines;
  };

  // From where an attempt ended to where the job goes on.
  const way = (plot, from, to, attributes, lines) => {
    const [x1, y1, x2, y2] = [xOf(from.end), yOf(from) + LANE / 2, xOf(to.begin), yOf(to) + LANE / 2];
    const down = Math.sign(y2 - y1);
    const tipY = y2 - down * (LANE / 2);
    const tipX = down === 0 ? x2 : Math.max(x2, x1 + 1);
    const bend = Math.max(10, Math.min(46, Math.abs(y2 - y1) / 3));
    const d = down === 0
      ? `M${x1} ${y1}H${x2 - 6}`
      : `M${x1} ${y1}C${x1 + bend} ${y1 + down * bend} ${tipX} ${tipY - down * (bend + 8)} ${tipX} ${tipY - down * 7}`;
    shape("path", plot, { d, fill: "none", "stroke-width": 1.8, "pointer-events": "none", ...attributes });
    const head = down === 0
      ? `M${x2} ${y2}l-7 -4v8z`
      : `M${tipX} ${tipY}l-4 ${-down * 8}h8z`;
    shape("path", plot, { d: head, fill: attributes.stroke, "pointer-events": "none" });
    shape("circle", plot, { cx: x1, cy: y1, r: 3, fill: attributes.stroke, "pointer-events": "none" });
    hint(shape("path", plot, { d, fill: "none", stroke: "transparent", "stroke-width": 12 }), lines);
  };

  const drawLoss = (plot, span, lines) => {
    way(plot, span, span.next, { stroke: "var(--steal)", "stroke-dasharray": "4 3" },
      [...lines.slice(0, 3), `goes on at ${time(span.next.begin)} on ${data.machines[span.next.machine].name}`]);
  };

  const drawMove = (plot, moved) => {
    const name = data.jobs[moved.job].name;
    const { came, expected } = moved;
    const machine = (at) => (at === null ? "?" : data.machines[at].name);
    const lines = [`${name} moves from ${machine(moved.from)} to ${machine(moved.to)}`];
    if (expected) lines.push(`expected: brings ${expected.benefit.toFixed(1)} CPU-seconds, costs ${expected.cost.toFixed(1)}, ${time(expected.standstill)} of standstill`);
    else lines.push("somebody asked for it");
    const own = spans.filter((span) => span.index === moved.job);
    if (!came) {
      lines.push(moved.failure === null ? "the run ended first" : `failed: ${moved.failure}`);
      const at = own.find((span) => span.begin <= moved.began && moved.began <= span.end);
      if (at) {
        const y = yOf(at);
        hint(shape("path", plot, { d: `M${xOf(moved.began)} ${y - 3}l-5 -6h10z`, fill: "var(--search)" }), lines);
      }
      return;
    }
    lines.push(`paused ${time(came.pausing)} after it was asked at ${time(moved.began)}, stood still for ${time(came.standstill)}, ${size(came.bytes)} of state`);
    const from = own.find((span) => span.why === "moved" && span.end >= moved.began && span.next);
    if (!from) return;
    const [left, right] = [xOf(moved.began), xOf(from.end)];
    if (right > left) {
      hint(shape("rect", plot, { x: left, y: yOf(from), width: right - left, height: LANE, fill: use("pausing") }), lines);
    }
    way(plot, from, from.next, { stroke: "var(--move)" }, lines);
  };

  const draw = () => {
    chart.replaceChildren();
    axis.replaceChildren();
    patterns(chart);
    for (const tick of view.ticks(plotWidth())) {
      const x = xOf(tick);
      shape("text", axis, { x, y: 11, "text-anchor": "middle", class: "faint" }, tick === 0 ? "0" : time(tick));
      shape("line", axis, { x1: x, x2: x, y1: 20, y2: AXIS, stroke: "var(--rule)" });
      shape("line", chart, { x1: x, x2: x, y1: 0, y2: height, stroke: "var(--rule)" });
    }
    const plot = shape("g", chart, { "clip-path": use("plot") });
    data.machines.forEach((machine, at) => drawMachine(plot, machine, blocks[at]));
    const visible = spans.filter((span) => span.end >= view.from && span.begin <= view.to);
    for (const [begin, end] of data.undriven) {
      hint(shape("rect", plot, { x: xOf(begin), y: 0, width: Math.max(1, xOf(end) - xOf(begin)), height, fill: use("undriven"), "fill-opacity": 0.5 }),
        ["nobody drove the run", `from ${time(begin)} to ${time(end)}`]);
    }
    for (const span of visible) drawSpan(plot, span);
    for (const span of visible) drawEnd(plot, span);
    for (const moved of data.moves) drawMove(plot, moved);
    data.machines.forEach((machine, at) => {
      const { top } = blocks[at];
      shape("text", chart, { x: 0, y: top + 10, "font-weight": 650 }, fitting(machine.name, GUTTER - 44));
      shape("text", chart, { x: 0, y: top + 28, class: "faint" }, fitting(machine.note, GUTTER - 44));
      for (const [share, y] of [[TOP, top + 6], [0, top + STRIP - 6]]) {
        shape("text", chart, { x: GUTTER - 8, y, "text-anchor": "end", class: "faint" }, percent(share));
      }
    });
  };

  const later = oncePerFrame(draw);
  const inside = (event) => event.clientX - chart.getBoundingClientRect().left;

  view.attach(chart, plotWidth, (event) => msOf(inside(event)),
    (event) => document.elementFromPoint(event.clientX, event.clientY)?.hint);
  new ResizeObserver(later).observe(main);
  draw();
})();
