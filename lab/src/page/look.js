// Opens pages in Chromium at several widths, light and dark, and on paper: says how long each takes
// to load, writes pictures, and fails where a script or the console tells of an error, axe-core
// finds a serious fault, the page is too wide, or the first screen of a profile does not say why.
"use strict";
const { createRequire } = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const [modules, browserPath, folder, ...pages] = process.argv.slice(2);
const from = createRequire(path.join(modules, "package.json"));
const axe = from.resolve("axe-core/axe.min.js");

const WIDTHS = [[320, 720], [768, 1024], [1280, 720], [3840, 2160]];
const SERIOUS = ["serious", "critical"];
// The parts of a profile that say why, and that are to be seen without scrolling at 1280 x 720.
const WHY = [".verdict", ".why .spans li", ".why .time ul", ".why .advice li"];

// The faults of the page as it is now, and of those the ones that count.
const faults = async (tab) => {
  const { violations } = await tab.evaluate(() => window.axe.run());
  for (const { impact, id, help, nodes } of violations) {
    console.log(`  ${impact}: ${id}: ${help}`);
    for (const node of nodes.slice(0, 3)) console.log(`    ${node.html.slice(0, 120)}`);
  }
  return violations.filter(({ impact }) => SERIOUS.includes(impact)).length;
};

// Waits for two frames: one may be under way already.
const drawn = (tab) =>
  tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

// The elements that reach beyond the screen, though nothing around them scrolls.
const tooWide = (tab) => tab.evaluate(() => {
  const width = document.documentElement.clientWidth;
  const scrolls = (element) => element && (getComputedStyle(element).overflowX !== "visible" || scrolls(element.parentElement));
  return [...document.body.querySelectorAll("*")]
    .filter((element) => element.getBoundingClientRect().right > width + 0.5 && !scrolls(element))
    .map((element) => `${element.outerHTML.slice(0, 100)}, to ${element.getBoundingClientRect().right.toFixed(0)} px`);
});

const visit = async (browser, page, scheme, [width, height]) => {
  const tab = await browser.newPage();
  let wrong = 0;
  const fault = (text) => {
    wrong += 1;
    console.log(`  ${text}`);
  };
  tab.on("pageerror", (error) => fault(`script: ${error.message}`));
  tab.on("console", (message) => message.type() === "error" && fault(`console: ${message.text()}`));
  await tab.setBypassCSP(true);
  await tab.setViewport({ width, height });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const begin = Date.now();
  await tab.goto(pathToFileURL(page).href, { waitUntil: "load", timeout: 120_000 });
  await drawn(tab);
  const name = path.basename(page, ".html");
  console.log(`${name}, ${scheme}, ${width} px: loaded and drawn in ${Date.now() - begin} ms`);
  const shot = async (what, options = {}) => {
    await drawn(tab);
    await tab.screenshot({ path: path.join(folder, `${name}-${scheme}-${width}-${what}.png`), ...options });
  };
  await shot("screen");
  const [wide, room] = await tab.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  if (wide > room) {
    fault(`the page is ${wide} px wide, and there is room for ${room}`);
    for (const element of (await tooWide(tab)).slice(0, 5)) console.log(`    ${element}`);
  }
  if (width === 1280 && await tab.$(".why .advice")) {
    for (const part of WHY) {
      const bottom = await tab.$eval(part, (element) => element.getBoundingClientRect().bottom);
      if (bottom > height) fault(`${part} ends at ${bottom.toFixed(0)} px, below the first screen`);
    }
  }
  await tab.addScriptTag({ path: axe });
  wrong += await faults(tab);
  if (await tab.$("canvas.lanes")) {
    // By keyboard alone to a task: its timeline has the focus, and the task fills the screen.
    await tab.focus("canvas.lanes");
    for (const key of ["n", "ArrowDown", "n", "n", "Enter"]) await tab.keyboard.press(key);
    await shot("task");
    wrong += await faults(tab);
    for (let i = 0; i < 10; i += 1) await tab.keyboard.press("-");
    await shot("near");
    await tab.keyboard.press("0");
  } else {
    await shot("whole", { fullPage: true });
  }
  if (width === 1280) await tab.pdf({ path: path.join(folder, `${name}-${scheme}.pdf`), format: "A4" });
  await tab.close();
  return wrong;
};

(async () => {
  const { default: puppeteer } = await import(pathToFileURL(from.resolve("puppeteer-core")).href);
  // Scroll bars take room on most systems, so they are not hidden.
  const browser = await puppeteer.launch({ executablePath: browserPath, args: ["--no-sandbox"], ignoreDefaultArgs: ["--hide-scrollbars"] });
  let wrong = 0;
  try {
    for (const page of pages) {
      for (const scheme of ["light", "dark"]) {
        for (const size of WIDTHS) wrong += await visit(browser, page, scheme, size);
      }
    }
  } finally {
    await browser.close();
  }
  if (wrong > 0) console.log(`${wrong} faults`);
  process.exitCode = wrong > 0 ? 1 : 0;
})();
