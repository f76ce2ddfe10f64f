// Draws a message of Slack from its Block Kit JSON, for people who read about it without Slack. The drawing is ours: where
// what stands, and in which words, is the message's; colours and letters are near to Slack's and not its own.
//
//   nightshift destinations preview soc CASE | node slack.mjs CHROMIUM FOLDER
//
// Leaves FOLDER/slack-phone-dark.png and FOLDER/slack-desktop-light.png. Exit code 1: a block has a form that is not known
// here, or a text of the message is not on the page. Run in the folder where its packages are (see look.mjs).
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const { chromium } = require("playwright-core");
const [program, folder] = process.argv.slice(2);
const message = JSON.parse(readFileSync(0, "utf8"));
const LOOKS = [
  ["phone-dark", { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, colorScheme: "dark" }],
  ["desktop-light", { viewport: { width: 760, height: 900 }, colorScheme: "light" }],
];
const STYLE = `
:root { --back: #fff; --text: #1d1c1d; --soft: #616061; --line: #dddddd; --box: #f8f8f8; --press: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --back: #1a1d21; --text: #e4e4e6; --soft: #ababad; --line: #4a4d52; --box: #232529; --press: #1a1d21; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.46 Lato, "Noto Sans", "DejaVu Sans", sans-serif; }
.top { padding: 12px 16px; border-bottom: 1px solid var(--line); font-weight: 900; font-size: 17px; }
.post { display: grid; grid-template-columns: 36px 1fr; gap: 8px; padding: 14px 16px; }
.face { width: 36px; height: 36px; border-radius: 6px; background: #2b3f63; color: #fff; display: grid; place-items: center; font-weight: 900; }
.who { font-weight: 900; } .who small { font-weight: 400; color: var(--soft); margin-left: 4px; }
.tag { font-size: 10px; font-weight: 700; background: var(--line); border-radius: 2px; padding: 1px 3px; margin-left: 4px; vertical-align: 1px; }
.body { min-width: 0; overflow-wrap: anywhere; }
h2 { font-size: 18px; line-height: 1.3; margin: 6px 0; }
p { margin: 0; min-height: 1em; } p, li { white-space: pre-wrap; } ul { margin: 0; padding-left: 22px; } ul.deep { margin-left: 24px; list-style: circle; }
pre { margin: 4px 0; padding: 8px; border: 1px solid var(--line); border-radius: 4px; background: var(--box); white-space: pre-wrap;
  font: 12px/1.5 Menlo, "DejaVu Sans Mono", monospace; }
.rich { margin: 8px 0; } .fields { display: grid; grid-template-columns: 1fr; gap: 6px 16px; margin: 8px 0; white-space: pre-line; }
.context { color: var(--soft); font-size: 12px; margin: 6px 0; }
.acts { display: flex; flex-wrap: wrap; gap: 8px; margin: 10px 0; }
.acts span { border: 1px solid var(--line); border-radius: 4px; background: var(--press); padding: 4px 12px; font-weight: 700; font-size: 14px; }
@media (min-width: 600px) { .fields { grid-template-columns: 1fr 1fr; } }
`;

// Runs in the page: puts the blocks into it, and gives what it did not know.
function draw(blocks) {
  const unknown = [];
  const put = (parent, name, text, kind) => {
    const made = parent.appendChild(document.createElement(name));
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const runs = (parent, elements) => {
    for (const one of elements) {
      if (!["text", "date"].includes(one.type)) unknown.push(one.type);
      put(parent, one.style?.bold ? "b" : "span", one.text ?? one.fallback);
    }
  };
  const rich = (parent, one) => {
    if (one.type === "rich_text_section") runs(put(parent, "p"), one.elements);
    else if (one.type === "rich_text_preformatted") runs(put(parent, "pre"), one.elements);
    else if (one.type === "rich_text_list") {
      const list = put(parent, "ul", undefined, one.indent ? "deep" : "");
      for (const line of one.elements) runs(put(list, "li"), line.elements);
    } else unknown.push(one.type);
  };
  const all = document.querySelector(".body");
  for (const block of blocks) {
    if (block.type === "header") put(all, "h2", block.text.text);
    else if (block.type === "section") {
      const fields = put(all, "div", undefined, "fields");
      for (const field of block.fields) put(fields, "div", field.text);
    } else if (block.type === "context") for (const one of block.elements) put(all, "p", one.text, "context");
    else if (block.type === "actions") {
      const acts = put(all, "div", undefined, "acts");
      for (const button of block.elements) put(acts, "span", button.text.text);
    } else if (block.type === "rich_text") {
      const text = put(all, "div", undefined, "rich");
      for (const one of block.elements) rich(text, one);
    } else unknown.push(block.type);
  }
  return unknown;
}

// Every text that stands somewhere in the message.
function texts(value) {
  if (Array.isArray(value)) return value.flatMap(texts);
  if (value === null || typeof value !== "object") return [];
  const own = ["text", "fallback"].map((key) => value[key]).filter((text) => typeof text === "string");
  return [...own, ...Object.values(value).flatMap(texts)];
}

mkdirSync(folder, { recursive: true });
const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const browser = await chromium.launch({ executablePath: program, args });
const wrong = [];
try {
  for (const [name, look] of LOOKS) {
    const page = await (await browser.newContext(look)).newPage();
    await page.setContent(
      `<!doctype html><html lang="en"><title>A message</title><style>${STYLE}</style><div class="top"># soc</div>` +
        '<div class="post"><div class="face">N</div><div class="body"><div class="who">Nightshift<span class="tag">APP</span>' +
        "<small>03:14</small></div></div></div>",
    );
    for (const kind of await page.evaluate(draw, message.blocks)) wrong.push(`${name}: no ${kind} is known here`);
    const shown = await page.evaluate(() => document.body.textContent);
    for (const text of texts(message.blocks)) if (!shown.includes(text)) wrong.push(`${name}: not shown: ${text}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    if (wide) wrong.push(`${name}: wider than the screen`);
    await page.screenshot({ path: join(folder, `slack-${name}.png`) });
    await page.screenshot({ path: join(folder, `slack-${name}-whole.png`), fullPage: true });
  }
} finally {
  await browser.close();
}
wrong.forEach((line) => console.log(line));
console.log(`${message.blocks.length} blocks, drawn ${LOOKS.length} times: ${wrong.length} things are wrong`);
process.exit(wrong.length > 0 ? 1 : 0);
