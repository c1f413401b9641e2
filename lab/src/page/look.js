// Opens a page in Chromium at three widths, light and dark, and on paper: says how long it takes to
// load, writes pictures, and fails where axe-core finds a serious fault or the page is too wide.
"use strict";
const { createRequire } = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

const [modules, browserPath, page, folder] = process.argv.slice(2);
const from = createRequire(path.join(modules, "package.json"));
const axe = from.resolve("axe-core/axe.min.js");

const WIDTHS = [[320, 720], [1280, 800], [3840, 2160]];
const SERIOUS = ["serious", "critical"];

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

const visit = async (browser, scheme, [width, height]) => {
  const tab = await browser.newPage();
  let wrong = 0;
  tab.on("pageerror", (error) => {
    wrong += 1;
    console.log(`  script: ${error.message}`);
  });
  await tab.setBypassCSP(true);
  await tab.setViewport({ width, height });
  await tab.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const begin = Date.now();
  await tab.goto(pathToFileURL(page).href, { waitUntil: "load", timeout: 120_000 });
  await drawn(tab);
  console.log(`${scheme}, ${width} px: loaded and drawn in ${Date.now() - begin} ms`);
  const shot = async (name, options = {}) => {
    await drawn(tab);
    await tab.screenshot({ path: path.join(folder, `${scheme}-${width}-${name}.png`), ...options });
  };
  await shot("whole");
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) {
    wrong += 1;
    console.log(`  the page is ${wide} px wide`);
  }
  await tab.addScriptTag({ path: axe });
  wrong += await faults(tab);
  // By keyboard alone to a task: its timeline has the focus, and the task fills the screen.
  await tab.focus("canvas.lanes");
  for (const key of ["n", "ArrowDown", "n", "n", "Enter"]) await tab.keyboard.press(key);
  await shot("task");
  wrong += await faults(tab);
  for (let i = 0; i < 10; i += 1) await tab.keyboard.press("-");
  await shot("near");
  if (width === 1280) {
    await tab.keyboard.press("0");
    await tab.pdf({ path: path.join(folder, `${scheme}.pdf`), format: "A4" });
  }
  await tab.close();
  return wrong;
};

(async () => {
  const { default: puppeteer } = await import(pathToFileURL(from.resolve("puppeteer-core")).href);
  const browser = await puppeteer.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
  let wrong = 0;
  try {
    for (const scheme of ["light", "dark"]) {
      for (const size of WIDTHS) wrong += await visit(browser, scheme, size);
    }
  } finally {
    await browser.close();
  }
  if (wrong > 0) console.log(`${wrong} faults`);
  process.exitCode = wrong > 0 ? 1 : 0;
})();
