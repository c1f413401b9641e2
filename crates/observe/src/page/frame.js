"use strict";
// The frame of a page: a bar with legend and tools, an axis of time that is moved and zoomed,
// drawings, and a tip at the pointer.
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("timelines");

const element = (tag, parent, text) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
};
const classed = (made, name) => {
  made.className = name;
  return made;
};

// An element of a drawing, with attributes.
const shape = (tag, parent, attributes, text) => {
  const made = document.createElementNS(parent.namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
};
// A drawing, empty at first.
const drawing = (parent) => {
  parent.insertAdjacentHTML("beforeend", "<svg></svg>");
  return parent.lastElementChild;
};

const bar = classed(element("div", main), "bar");
const legend = classed(element("div", bar), "legend");
const tip = element("div", document.body);
tip.id = "tip";

// Calls `draw` once in the next frame, no matter how often it is asked to.
const oncePerFrame = (draw) => {
  let due = false;
  return () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      draw();
    });
  };
};

// The stretch of an axis from 0 to `end` that is on the screen; `redraw` is called when it changes.
const timeAxis = (end, narrowest, redraw) => {
  const view = { from: 0, to: end };
  view.show = (from, to) => {
    const width = Math.min(end, Math.max(narrowest, to - from));
    view.from = Math.min(Math.max(0, from), end - width);
    view.to = view.from + width;
    redraw();
  };
  view.zoom = (factor, around = (view.from + view.to) / 2) =>
    view.show(around - (around - view.from) * factor, around + (view.to - around) * factor);
  const move = (parts) => {
    const shift = (view.to - view.from) * parts;
    view.show(view.from + shift, view.to + shift);
  };
  // The round times to mark on an axis of that many pixels.
  view.ticks = (pixels) => {
    const wanted = (view.to - view.from) / Math.max(2, pixels / 110);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= wanted);
    const marks = [];
    for (let index = Math.ceil(view.from / step); index * step <= view.to; index += 1) {
      marks.push(Number((index * step).toPrecision(12)));
    }
    return marks;
  };
  const keys = {
    "+": () => view.zoom(0.5),
    "-": () => view.zoom(2),
    "0": () => view.show(0, end),
    ArrowLeft: () => move(-1 / 4),
    ArrowRight: () => move(1 / 4),
    Home: () => view.show(0, view.to - view.from),
    End: () => view.show(end - (view.to - view.from), end),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    // A table that is scrolled by its own keys keeps them.
    if (event.target.closest?.(".wide, .decisions")) return;
    if (keys[event.key]) keys[event.key]();
  });
  // The buttons of all pages, and more as [text, title, name, act].
  view.addTools = (more = []) => {
    const tools = classed(element("span", legend), "tools");
    for (const [text, title, name, act] of [
      ["←", "earlier (arrow key)", "earlier", keys.ArrowLeft],
      ["→", "later (arrow key)", "later", keys.ArrowRight],
      ["−", "zoom out (key -)", "zoom out", keys["-"]],
      ["+", "zoom in (key +)", "zoom in", keys["+"]],
      ["whole run", "show everything (key 0)", "whole run", keys["0"]],
      ...more,
    ]) {
      const button = element("button", tools, text);
      button.type = "button";
      button.title = title;
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
    }
  };
  // Makes a chart move and zoom with the pointer, and show a tip. `plotWidth` is in pixels,
  // `timeAt` the time under the pointer, `linesAt` the lines of the tip there, if any.
  view.attach = (chart, plotWidth, timeAt, linesAt) => {
    let held = null;
    chart.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, from: view.from, to: view.to };
      chart.setPointerCapture(event.pointerId);
      chart.classList.add("held");
    });
    chart.addEventListener("pointermove", (event) => {
      if (held) {
        const moved = ((held.x - event.clientX) / plotWidth()) * (held.to - held.from);
        view.show(held.from + moved, held.to + moved);
      }
      showTip(event, linesAt(event));
    });
    for (const name of ["pointerup", "pointercancel"]) {
      chart.addEventListener(name, () => {
        held = null;
        chart.classList.remove("held");
      });
    }
    chart.addEventListener("pointerleave", () => showTip(null, null));
    chart.addEventListener("dblclick", (event) => view.zoom(0.5, timeAt(event)));
    chart.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      view.zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
    }, { passive: false });
  };
  return view;
};

const showTip = (event, lines) => {
  tip.style.display = lines ? "block" : "none";
  if (!lines) return;
  tip.replaceChildren();
  element("b", tip, lines[0]);
  for (const line of lines.slice(1)) element("div", tip, line);
  const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18;
  const fits = below + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${fits ? below : event.clientY - tip.offsetHeight - 12}px`;
};
