// Draws the curve: speed-up by workers, both on axes of powers of two. Of each line the data has
// its name, its look, and its points as [workers, speed-up].
(() => {
  const { lines, between, measured } = data.curve;
  if (lines.length === 0) return;
  const [LEFT, RIGHT, TOP, BOTTOM] = [34, 18, 8, 32];
  const HEIGHT = 206;
  const LOOKS = {
    bound: { stroke: "var(--most)", "stroke-width": 2 },
    expected: { stroke: "var(--most)", "stroke-width": 1.6, "stroke-dasharray": "5 3" },
    least: { stroke: "var(--most)", "stroke-width": 1, "stroke-opacity": 0.7 },
    whole: { stroke: "var(--whole)", "stroke-width": 1.8 },
  };
  const most_workers = Math.max(2, ...lines.flatMap(({ points }) => points.map(([count]) => count)));
  const most = Math.max(2, measured?.[1] ?? 1, ...lines.flatMap(({ points }) => points.map(([, value]) => value)));
  const top = 2 ** Math.ceil(Math.log2(most * 1.15));
  const chart = drawing(main);
  chart.setAttribute("height", HEIGHT);
  chart.setAttribute("role", "img");
  const ends = lines.map(({ name, points }) => `${name} ${points[points.length - 1][1].toFixed(1)}`);
  chart.setAttribute("aria-label", `speed-up of 1 to ${most_workers} workers: ${ends.join(", ")}`);

  const entry = (text, paint) => {
    const made = element("span", legend);
    paint(drawing(made));
    element("span", made, text);
  };
  for (const { name, look } of lines) {
    entry(name, (svg) => shape("line", svg, { x1: 0, x2: 26, y1: 6, y2: 6, ...LOOKS[look] }));
  }
  if (measured) entry("measured", (svg) => shape("circle", svg, { cx: 13, cy: 6, r: 4, fill: "var(--hot)" }));

  const draw = () => {
    chart.replaceChildren();
    const width = Math.max(60, chart.clientWidth - LEFT - RIGHT);
    const height = HEIGHT - TOP - BOTTOM;
    const x = (count) => LEFT + (Math.log2(count) / Math.log2(most_workers)) * width;
    const y = (speedup) => TOP + height - (Math.log2(Math.max(speedup, 0.5) * 2) / Math.log2(top * 2)) * height;
    for (let power = 0, step = width < 330 ? 2 : 1; 2 ** power <= most_workers; power += step) {
      shape("line", chart, { x1: x(2 ** power), x2: x(2 ** power), y1: TOP, y2: TOP + height, stroke: "var(--rule)" });
      shape("text", chart, { x: x(2 ** power), y: HEIGHT - 19, "text-anchor": "middle" }, 2 ** power);
    }
    for (let power = 0, step = top > 64 ? 2 : 1; 2 ** power <= top; power += step) {
      shape("line", chart, { x1: LEFT, x2: LEFT + width, y1: y(2 ** power), y2: y(2 ** power), stroke: "var(--rule)" });
      shape("text", chart, { x: LEFT - 6, y: y(2 ** power) + 4, "text-anchor": "end" }, 2 ** power);
    }
    shape("text", chart, { x: LEFT + width, y: HEIGHT - 4, "text-anchor": "end" }, "workers");
    const path = ({ points }, back) => (back ? [...points].reverse() : points)
      .map(([count, value], at) => `${at === 0 && !back ? "M" : "L"}${x(count)} ${y(value)}`).join("");
    if (between) {
      const [upper, lower] = between.map((at) => lines[at]);
      shape("path", chart, { d: `${path(upper)}${path(lower, true)}z`, fill: "var(--most)", "fill-opacity": 0.12 });
    }
    for (const line of lines) shape("path", chart, { d: path(line), fill: "none", ...LOOKS[line.look] });
    if (measured) shape("circle", chart, { cx: x(Math.min(measured[0], most_workers)), cy: y(measured[1]), r: 4.5, fill: "var(--hot)" });
  };

  const nearest = (points, wanted) => points.reduce((best, point) =>
    (Math.abs(Math.log(point[0] / wanted)) < Math.abs(Math.log(best[0] / wanted)) ? point : best));
  chart.addEventListener("pointermove", (event) => {
    const inside = event.clientX - chart.getBoundingClientRect().left - LEFT;
    const width = Math.max(60, chart.clientWidth - LEFT - RIGHT);
    const wanted = most_workers ** Math.min(1, Math.max(0, inside / width));
    // The line with the fewest points says at which numbers of workers there are figures.
    const fewest = lines.reduce((one, other) => (other.points.length < one.points.length ? other : one));
    const [workers] = nearest(fewest.points, wanted);
    const told = lines.map(({ name, points }) => `${name}: ${nearest(points, workers)[1].toFixed(1)}`);
    if (measured && measured[0] === workers) told.push(`measured: ${measured[1].toFixed(1)}`);
    showTip(event, [workers === 1 ? "1 worker" : `${workers} workers`, ...told]);
  });
  chart.addEventListener("pointerleave", () => showTip(null, null));
  new ResizeObserver(oncePerFrame(draw)).observe(main);
  draw();
})();
