// How is the README's picture made?
//
//   CPSS_BROWSER=chromium node viewer/tests/picture.js out/report.html \
//     '#episode=merge-v0/average/1/2110004&t=12.35' docs/replay.png
//
// One moment of one episode of a report, without the controls.

import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const [report, moment, picture] = process.argv.slice(2);
if (!picture) throw new Error("give a report, a moment (#episode=...&t=...) and where to write the picture");
const browser = await chromium.launch({
  executablePath: process.env.CPSS_BROWSER ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
const page = await browser.newPage({ viewport: { width: 1180, height: 1400 }, colorScheme: "light" });
await page.goto(pathToFileURL(report).href + moment);
await page.waitForSelector("#player[data-ready]");
await page.addStyleTag({ content: ".controls { position: static !important; } .stages { padding: 10px; }" });
await page.waitForTimeout(500);
await page.locator(".stages").screenshot({ path: picture });
await browser.close();
