// How is a page opened in a real browser, and what does it do behind the reader's back?
//
// Debian's chromium, without a window, with an empty profile of its own. Everything that the page
// asks for and every complaint in the console is written down; a test that opens a page with
// `opened` fails if there is any.

import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

import { BROWSER } from "./run.js";

/** @import { Browser, Page } from "playwright-core" */

export async function launched() {
  return chromium.launch({
    executablePath: BROWSER,
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
}

/**
 * Opens a page from disk, does something with it, and sees that it behaved.
 * @param {Browser} browser
 * @param {string} file
 * @param {{hash?: string, width?: number, height?: number, dark?: boolean, phone?: boolean}} how
 * @param {(page: Page) => Promise<void>} act
 */
export async function opened(browser, file, how, act) {
  const { hash = "", width = 1280, height = 900, dark = false, phone = false } = how;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    hasTouch: phone,
    isMobile: phone,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  /** @type {string[]} */
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    const isOwn = url.startsWith(pathToFileURL(file).href) || /^(data|blob):/.test(url);
    if (!isOwn) complaints.push(`asks for ${url}`);
  });
  try {
    await page.goto(pathToFileURL(file).href + hash);
    await page.waitForSelector("#player[data-ready]");
    // Once it is laid out: two frames.
    await page.evaluate(() => new Promise((done) => {
      requestAnimationFrame(() => requestAnimationFrame(() => done(null)));
    }));
    await act(page);
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** What the player shows, as numbers. @param {Page} page */
export async function shown(page) {
  // Read within a frame: a look from outside may come while the page is in the middle of showing one.
  return page.evaluate(async () => {
    await new Promise((done) => { requestAnimationFrame(done); });
    const player = /** @type {HTMLElement} */ (document.querySelector("#player"));
    const stages = [...player.querySelectorAll(".stage")].map((element) => {
      const stage = /** @type {HTMLElement} */ (element);
      const cursors = [...stage.querySelectorAll(".cursor")];
      return {
        arm: stage.dataset.arm,
        time: Number(stage.dataset.time),
        step: Number(stage.dataset.step),
        words: stage.querySelector(".says")?.textContent ?? "",
        cursors: cursors.map((cursor) => Number(cursor.getAttribute("x1"))),
      };
    });
    return { time: Number(player.dataset.time), episode: player.dataset.episode, stages };
  });
}

/** Whether anything on the page is wider than the page. @param {Page} page */
export async function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}
