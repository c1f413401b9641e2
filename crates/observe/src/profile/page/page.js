// Draws the curve: speed-up by workers, both on axes of powers of two, between its bounds.
(() => {
  const { points, workers, measured } = data;
  if (points.length === 0) return;
  const [LEFT, RIGHT, TOP, BOTTOM] = [34, 18, 8, 32];
  const HEIGHT = 206;
  const last = points[points.length - 1];
  const most = Math.max(2, measured ?? 1, ...points.map((point) => point.at_most));
  const top = 2 ** Math.ceil(Math.log2(most * 1.15));
  const chart = drawing(main);
  chart.setAttribute("height", HEIGHT);
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `speed-up of 1 to ${last.workers} workers: at most ${last.at_most.toFixed(1)}, at least ${last.at_least.toFixed(1)}`);

  const LINES = [
    ["at_most", "at most", { stroke: "var(--most)", "stroke-width": 2 }],
    ["expected", "expected", { stroke: "var(--most)", "stroke-width": 1.6, "stroke-dasharray": "5 3" }],
    ["at_least", "at least", { stroke: "var(--most)", "stroke-width": 1, "stroke-opacity": 0.7 }],
    ["whole_program", "whole program", { stroke: "var(--whole)", "stroke-width": 1.8 }],
  ];
  const entry = (text, paint) => {
    const made = element("span", legend);
    paint(drawing(made));
    element("span", made, text);
  };
  for (const [, text, look] of LINES) {
    entry(text, (svg) => shape("line", svg, { x1: 0, x2: 26, y1: 6, y2: 6, ...look }));
  }
  if (measured) entry("measured", (svg) => shape("circle", svg, { cx: 13, cy: 6, r: 4, fill: "var(--hot)" }));

  const draw = () => {
    chart.replaceChildren();
    const width = Math.max(60, chart.clientWidth - LEFT - RIGHT);
    const height = HEIGHT - TOP - BOTTOM;
    const x = (count) => LEFT + (Math.log2(count) / Math.log2(last.workers)) * width;
    const y = (speedup) => TOP + height - (Math.log2(Math.max(speedup, 0.5) * 2) / Math.log2(top * 2)) * height;
    for (let power = 0, step = width < 330 ? 2 : 1; 2 ** power <= last.workers; power += step) {
      shape("line", chart, { x1: x(2 ** power), x2: x(2 ** power), y1: TOP, y2: TOP + height, stroke: "var(--rule)" });
      shape("text", chart, { x: x(2 ** power), y: HEIGHT - 19, "text-anchor": "middle" }, 2 ** power);
    }
    for (let power = 0, step = top > 64 ? 2 : 1; 2 ** power <= top; power += step) {
      shape("line", chart, { x1: LEFT, x2: LEFT + width, y1: y(2 ** power), y2: y(2 ** power), stroke: "var(--rule)" });
      shape("text", chart, { x: LEFT - 6, y: y(2 ** power) + 4, "text-anchor": "end" }, 2 ** power);
    }
    shape("text", chart, { x: LEFT + width, y: HEIGHT - 4, "text-anchor": "end" }, "workers");
    const path = (name, back) => (back ? [...points].reverse() : points)
      .map((point, at) => `${at === 0 && !back ? "M" : "L"}${x(point.workers)} ${y(point[name])}`).join("");
    shape("path", chart, { d: `${path("at_most")}${path("at_least", true)}z`, fill: "var(--most)", "fill-opacity": 0.12 });
    for (const [name, , look] of LINES) shape("path", chart, { d: path(name), fill: "none", ...look });
    if (measured) shape("circle", chart, { cx: x(Math.min(workers, last.workers)), cy: y(measured), r: 4.5, fill: "var(--hot)" });
  };

  chart.addEventListener("pointermove", (event) => {
    const inside = event.clientX - chart.getBoundingClientRect().left - LEFT;
    const width = Math.max(60, chart.clientWidth - LEFT - RIGHT);
    const wanted = last.workers ** Math.min(1, Math.max(0, inside / width));
    const near = points.reduce((best, point) =>
      (Math.abs(Math.log(point.workers / wanted)) < Math.abs(Math.log(best.workers / wanted)) ? point : best));
    const lines = LINES.map(([name, text]) => `${text}: ${near[name].toFixed(1)}`);
    if (measured && near.workers === workers) lines.push(`measured: ${measured.toFixed(1)}`);
    showTip(event, [near.workers === 1 ? "1 worker" : `${near.workers} workers`, ...lines]);
  });
  chart.addEventListener("pointerleave", () => showTip(null, null));
  new ResizeObserver(oncePerFrame(draw)).observe(main);
  draw();
})();
