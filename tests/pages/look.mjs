// Opens pages in Chromium as a phone and as a desk would, dark and light; axe-core looks for what shuts people out.
//
//   node look.mjs CHROMIUM FOLDER NAME=URL...
//
// Prints a line per thing that is wrong and leaves FOLDER/NAME-phone-dark.png and so on. Exit code 1: something is wrong.
// Run in the folder where its packages are (tests/.cache/pages, by tests/services). No page is changed: axe is put in from
// outside, since the pages themselves let no script run.
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const [program, folder, ...pages] = process.argv.slice(2);
// A telephone that people have, and a screen at a desk.
const SIZES = {
  phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true },
  desktop: { viewport: { width: 1280, height: 900 } },
};
const SCHEMES = ["light", "dark"];
// What WCAG 2.2 AA says, and what axe calls good practice.
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

const wrong = [];

async function look(page, label) {
  // Everything that is folded away is looked at too.
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => one.setAttribute("open", "")));
  await page.evaluate(axe);
  const found = await page.evaluate((rules) => window.axe.run({ runOnly: rules }), RULES);
  for (const { id, impact, help, nodes } of found.violations) {
    for (const node of nodes.slice(0, 5)) {
      wrong.push(`${label}: ${id} (${impact}): ${help}: ${node.target.join(" ")}: ${node.failureSummary}`);
    }
  }
  if (found.passes.length < 10) {
    wrong.push(`${label}: axe looked at next to nothing: ${found.passes.length} rules passed`);
  }
  // A phone lays a page that is too wide out on a wider screen: what counts is its own.
  const wide = await page.evaluate((most) => {
    const over = [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > most + 1);
    return over.filter((one) => !one.classList.contains("skip")).map((one) => `${one.tagName} ${one.className}`);
  }, page.viewportSize().width);
  if (wide.length > 0) {
    wrong.push(`${label}: wider than the screen: ${wide.slice(0, 5).join(", ")}`);
  }
}

async function visit(browser, name, url, size, scheme) {
  const label = `${name}-${size}-${scheme}`;
  const context = await browser.newContext({ ...SIZES[size], colorScheme: scheme, locale: "en-GB" });
  const page = await context.newPage();
  page.on("console", (line) => line.type() === "error" && wrong.push(`${label}: console: ${line.text()}`));
  page.on("request", (sent) => {
    const { origin } = new URL(url);
    if (!sent.url().startsWith(`${origin}/`)) wrong.push(`${label}: asks for ${sent.url()}`);
  });
  const answer = await page.goto(url);
  if (answer.status() !== 200) wrong.push(`${label}: status ${answer.status()}`);
  await page.screenshot({ path: join(folder, `${label}.png`) });
  if (scheme === "light") await page.screenshot({ path: join(folder, `${label}-whole.png`), fullPage: true });
  await look(page, label);
  await context.close();
}

mkdirSync(folder, { recursive: true });
// Chromium has no sandbox for root; it sees nothing but the pages of this test.
const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: program, args });
try {
  for (const page of pages) {
    const cut = page.indexOf("=");
    const ways = Object.keys(SIZES).flatMap((size) => SCHEMES.map((scheme) => [size, scheme]));
    await Promise.all(ways.map((way) => visit(browser, page.slice(0, cut), page.slice(cut + 1), ...way)));
  }
} finally {
  await browser.close();
}
wrong.forEach((line) => console.log(line));
console.log(`${pages.length} pages, ${pages.length * 4} times: ${wrong.length} things are wrong`);
process.exit(wrong.length > 0 ? 1 : 0);
