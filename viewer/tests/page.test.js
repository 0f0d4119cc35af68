// Contract: the report opens from disk in a real browser without a complaint and without asking for
// anything; its replay does what its controls say; what it shows is what the trace has.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openEpisode } from "../episode.js";
import { rejudge } from "../shield.js";
import { launched, opened, overflow, shown } from "./browser.js";
import { embedded, REPORT, traceOf } from "./run.js";

/** @import { Browser, Page } from "playwright-core" */

/** @type {Browser} */
let browser;
before(async () => {
  browser = await launched();
});
after(() => browser?.close());

const { films, roads, choices } = embedded();

/** A choice whose shielded episode has several interventions, and its trace. */
function busy() {
  for (const choice of choices) {
    const film = films[Object.fromEntries(choice.films).cpss];
    const trace = traceOf(film.file);
    const refused = trace.steps.flatMap((/** @type {any} */ step, /** @type {number} */ place) =>
      step.verdict === "admit" ? [] : [place]);
    if (refused.length >= 3 && refused.length < 40) return { choice, film, trace, refused };
  }
  throw new Error("no episode of the run has three interventions");
}

/** The shielded one of the stages. @param {Page} page */
async function shielded(page) {
  const { stages } = await shown(page);
  const stage = stages.find(({ arm }) => arm === "cpss");
  assert.ok(stage);
  return stage;
}

test("play advances time and pause stops it", () => opened(browser, REPORT, {}, async (page) => {
  assert.equal((await shown(page)).time, 0);
  await page.click('[data-part="play"]');
  await page.waitForFunction(() => Number(document.getElementById("player")?.dataset.time) > 0.5);
  await page.click('[data-part="play"]');
  const { time } = await shown(page);
  await page.waitForTimeout(300);
  assert.equal((await shown(page)).time, time);
}));

test("time passes as fast as it is told to", () => opened(browser, REPORT, {}, async (page) => {
  const passed = async (/** @type {string} */ speed) => {
    await page.selectOption('[data-part="speed"]', speed);
    await page.evaluate(() => document.getElementById("player")?.focus());
    await page.keyboard.press("Home");
    await page.click('[data-part="play"]');
    await page.waitForTimeout(600);
    await page.click('[data-part="play"]');
    return (await shown(page)).time;
  };
  const [slow, fast] = [await passed("0.25"), await passed("4")];
  assert.ok(slow > 0 && fast > 4 * slow, `${slow} ${fast}`);
}));

test("the cursor moves in all plots of all stages", () => opened(browser, REPORT, {}, async (page) => {
  const at = async (/** @type {number} */ share) => {
    await page.locator('[data-part="scrubber"]').evaluate((element, to) => {
      const scrubber = /** @type {HTMLInputElement} */ (element);
      scrubber.value = String(Number(scrubber.max) * to);
      scrubber.dispatchEvent(new Event("input"));
    }, share);
    return (await shown(page)).stages.flatMap(({ cursors }) => cursors);
  };
  const [start, middle, end] = [await at(0), await at(0.5), await at(1)];
  assert.equal(start.length, 8, "four plots on each of two stages");
  for (const [place, x] of middle.entries()) {
    // The scrubber moves in steps of a twentieth of a decision.
    assert.ok(Math.abs(x - (start[place] + end[place]) / 2) < 2.5, `plot ${place}: ${start[place]} ${x} ${end[place]}`);
    assert.ok(end[place] - start[place] > 200);
  }
}));

test("the plots of a long episode turn their pages", async () => {
  const long = choices
    .flatMap((/** @type {any} */ { id, films: told }) => told.map((/** @type {[string, number]} */ [arm, place]) =>
      ({ id, arm, duration: openEpisode(films[place], roads).duration })))
    .reduce((/** @type {any} */ a, /** @type {any} */ b) => b.duration > a.duration ? b : a);
  assert.ok(long.duration > 100, `the longest episode lasts ${long.duration} s`);
  await opened(browser, REPORT, { hash: `#episode=${long.id}&show=${long.arm}` }, async (page) => {
    const labels = new Set();
    for (const share of [0, 0.03, 0.5, 0.999, 1]) {
      await page.locator('[data-part="scrubber"]').evaluate((element, to) => {
        const scrubber = /** @type {HTMLInputElement} */ (element);
        scrubber.value = String(Number(scrubber.max) * to);
        scrubber.dispatchEvent(new Event("input"));
      }, share);
      const [stage] = (await shown(page)).stages;
      const width = await page.locator(".plot").first().evaluate((plot) => plot.clientWidth);
      for (const x of stage.cursors) assert.ok(x >= 70 && x <= width - 30, `at ${share}: ${x} of ${width}`);
      labels.add(await page.locator('.tick.moment').last().textContent());
    }
    assert.ok(labels.size >= 3, [...labels].join());
    await page.selectOption('[data-part="axis"]', "whole");
    const last = Number.parseFloat(await page.locator('.tick.moment').last().textContent() ?? "");
    assert.ok(last > 0.6 * long.duration && last <= long.duration, `${last} of ${long.duration}`);
  });
});

test("a plot can be dragged", () => opened(browser, REPORT, {}, async (page) => {
  const plot = page.locator('.stage[data-arm="cpss"] [data-panel="cost"] svg.plot');
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 80, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 40, { steps: 4 });
  const { time } = await shown(page);
  await page.mouse.up();
  await page.mouse.move(box.x + 90, box.y + 40);
  assert.ok(time > 0);
  assert.equal((await shown(page)).time, time, "it goes on after the mouse was released");
}));

test("next and previous go to the interventions of the trace", async () => {
  const { choice, trace, refused } = busy();
  const dt = trace.header.decision_time;
  await opened(browser, REPORT, { hash: `#episode=${choice.id}` }, async (page) => {
    const first = refused[0] === 0 ? 1 : 0;
    for (const step of refused.slice(first)) {
      await page.click('[data-part="next"]');
      const stage = await shielded(page);
      assert.equal(stage.step, step);
      assert.ok(Math.abs(stage.time - step * dt) < 1e-9);
      assert.match(stage.words, /Refused/);
    }
    const last = await shielded(page);
    await page.click('[data-part="next"]');
    assert.equal((await shielded(page)).step, last.step, "after the last one there is none");
    await page.click('[data-part="previous"]');
    assert.equal((await shielded(page)).step, refused[refused.length - 2]);
    const listed = await page.locator('[data-part="interventions"] button').evaluateAll((buttons) =>
      buttons.map((button) => Number(/** @type {HTMLElement} */ (button).dataset.step)));
    assert.deepEqual(listed, refused);
  });
});

test("the words of a step are the numbers of the trace", async () => {
  const { choice, trace, refused } = busy();
  const step = refused[1];
  const { costs, proposal, tau, verdict } = trace.steps[step];
  const time = step * trace.header.decision_time;
  await opened(browser, REPORT, { hash: `#episode=${choice.id}&t=${time}` }, async (page) => {
    const panel = page.locator('.stage[data-arm="cpss"] [data-panel="cost"] output');
    const values = await panel.evaluateAll((outputs) =>
      outputs.map((output) => Number(/** @type {HTMLElement} */ (output).dataset.value)));
    assert.deepEqual(values.slice(0, 2), [tau[0], costs[proposal]]);
    const { words } = await shielded(page);
    assert.ok(words.includes(`Step ${step + 1} of ${trace.steps.length}`), words);
    assert.ok(words.includes(`cap ${tau[1]}`), words);
    const [hazard] = trace.steps[step].conflict;
    const blamed = hazard === "road" ? "The road itself: risk " : /(Car|Obstacle) \d+: risk [\d.e-]+, .* without it/;
    assert.match(words, new RegExp(blamed));
    const told = await page.textContent('.stage[data-arm="cpss"] .risks');
    assert.equal(told?.match(/[a-z]+ [\d.]/g)?.length, trace.steps[step].risks.length, told ?? "");
    assert.match(told ?? "", /^Risk: .* Unavoidable: /);
    const row = page.locator('.stage[data-arm="cpss"] [data-panel="interventions"] title');
    assert.ok((await row.allTextContents()).includes(`${verdict} at step ${step + 1}`));
  });
});

test("the certificate is the trace's, and its account adds up", async () => {
  const { choice, trace } = busy();
  const { certificate, record } = trace.end;
  await opened(browser, REPORT, { hash: `#episode=${choice.id}` }, async (page) => {
    const card = page.locator('.stage[data-arm="cpss"] .certificate');
    assert.equal(await card.locator(".badge").getAttribute("data-kept"), String(certificate.budget_kept));
    const values = await card.locator("dd").evaluateAll((parts) =>
      parts.map((part) => Number(/** @type {HTMLElement} */ (part).dataset.value)));
    assert.deepEqual(values.slice(0, 4), certificate.account);
    assert.ok(Math.abs(values[4] - Number(record.crashed || record.off_road)) < 1e-9);
    const promised = await card.locator(".promise").textContent();
    const [start, , , arriving] = certificate.account;
    const most = Number(/is at most ([\d.e-]+)/.exec(promised ?? "")?.[1]);
    const exact = start + arriving + trace.header.shield.budget;
    assert.ok(Math.abs(most - exact) <= 0.06 * exact, `${promised}, ${exact}`);
    assert.match(await card.textContent() ?? "", new RegExp(`${record.by_ledger} of ${record.interventions} refusals`));
    // One who only watched promised nothing.
    const shadow = page.locator('.stage[data-arm="dqn"] .certificate');
    assert.match(await shadow.textContent() ?? "", /Nothing was promised: the shield only watched/);
  });
});

test("the plot of the budget shows risk being spent", async () => {
  const { choice, trace } = busy();
  await opened(browser, REPORT, { hash: `#episode=${choice.id}` }, async (page) => {
    await page.evaluate(() => document.getElementById("player")?.focus());
    const read = () => page.locator('.stage[data-arm="cpss"] [data-panel="budget"] output').evaluateAll((outputs) =>
      outputs.map((output) => Number(/** @type {HTMLElement} */ (output).dataset.value)));
    const { budget } = trace.header.shield;
    assert.deepEqual(await read(), [0, 0, budget]);
    await page.keyboard.press("End");
    const [, spent, , , envelope] = trace.steps[trace.steps.length - 1].ledger;
    assert.deepEqual(await read(), [spent, envelope, budget]);
  });
});

test("side by side stays in step", () => opened(browser, REPORT, {}, async (page) => {
  await page.selectOption('[data-part="speed"]', "4");
  await page.click('[data-part="play"]');
  for (let look = 0; look < 12; look += 1) {
    const { time, stages } = await shown(page);
    assert.deepEqual(stages.map(({ arm }) => arm), ["dqn", "cpss"]);
    for (const stage of stages) assert.equal(stage.time, time);
    const [x, y] = stages.map(({ cursors }) => cursors[0]);
    assert.equal(x, y, "the plots have one time axis");
    await page.waitForTimeout(60);
  }
  assert.ok((await shown(page)).time > 0);
}));

test("nothing on a stage lies over anything else", () => opened(browser, REPORT, {}, async (page) => {
  const stages = await page.locator(".stage").evaluateAll((all) => all.map((stage) =>
    [...stage.querySelectorAll(":scope > :not(.plots), .panel")].map((part) => {
      const { top, bottom } = part.getBoundingClientRect();
      return { name: part.className, top, bottom };
    })));
  assert.equal(stages.length, 2);
  for (const parts of stages) {
    assert.equal(parts.length, 10);
    parts.slice(1).forEach(({ name, top }, place) => assert.ok(top >= parts[place].bottom - 0.5, name));
  }
}));

test("a link opens at its moment, and the address follows", async () => {
  const { choice, trace } = busy();
  const dt = trace.header.decision_time;
  const hash = `#episode=${choice.id}&t=${2 * dt}&show=cpss`;
  await opened(browser, REPORT, { hash }, async (page) => {
    const { time, episode, stages } = await shown(page);
    assert.deepEqual([time, episode, stages.length], [2 * dt, choice.id, 1]);
    await page.click('[data-part="forward"]');
    const address = await page.evaluate(() => location.hash);
    assert.equal(address, `#episode=${choice.id}&t=${Number((3 * dt).toFixed(2))}&show=cpss`);
    // A link to a place on the page leaves the episode, its moment and its arm alone.
    const before = await shown(page);
    await page.evaluate(() => new Promise((done) => {
      addEventListener("hashchange", done, { once: true });
      location.hash = "#result";
    }).then(() => {}));
    assert.deepEqual(await shown(page), before);
    const other = choices.find((/** @type {any} */ one) => one.task !== choice.task);
    await page.evaluate((id) => { location.hash = `#episode=${id}`; }, other.id);
    await page.waitForFunction((id) => document.getElementById("player")?.dataset.episode === id, other.id);
    assert.equal((await shown(page)).stages.length, 2);
  });
});

test("the keyboard does all of it", async () => {
  const { choice, trace, refused } = busy();
  const dt = trace.header.decision_time;
  await opened(browser, REPORT, { hash: `#episode=${choice.id}` }, async (page) => {
    await page.evaluate(() => document.getElementById("player")?.focus());
    const press = async (/** @type {string} */ key) => {
      await page.keyboard.press(key);
      return shown(page);
    };
    assert.equal((await press("ArrowRight")).time, dt);
    assert.equal((await press("ArrowLeft")).time, 0);
    const { time: end, stages } = await press("End");
    assert.equal(Math.max(...stages.map(({ step }) => step)), Math.round(end / dt));
    assert.equal((await press("p")).time, refused[refused.length - 1] * dt);
    assert.equal((await press("Home")).time, 0);
    assert.equal((await press("n")).time, (refused[0] || refused[1]) * dt);
    await press(" ");
    await page.waitForFunction((from) => Number(document.getElementById("player")?.dataset.time) > from,
      (refused[0] || refused[1]) * dt);
    await press(" ");
    const { time } = await shown(page);
    await page.waitForTimeout(200);
    assert.equal((await shown(page)).time, time);
  });
});

test("every task, regime and episode can be chosen", () => opened(browser, REPORT, {}, async (page) => {
  for (const choice of choices) {
    await page.selectOption('[data-part="task"]', choice.task);
    await page.selectOption('[data-part="regime"]', choice.regime);
    await page.selectOption('[data-part="episode"]', choice.id);
    const { episode, time } = await shown(page);
    assert.deepEqual([episode, time], [choice.id, 0]);
    assert.equal(await page.isVisible('[data-part="banner"]'), false);
  }
}));

test("the budget slider says what the shield would have said, and that it is no more", async () => {
  const { choice, film } = busy();
  const episode = openEpisode(film, roads);
  await opened(browser, REPORT, { hash: `#episode=${choice.id}` }, async (page) => {
    const slide = async (/** @type {number} */ to) => {
      await page.locator('[data-part="budget"]').evaluate((element, power) => {
        /** @type {HTMLInputElement} */ (element).value = String(power);
        element.dispatchEvent(new Event("input"));
      }, to);
      const words = await page.textContent('[data-part="verdicts"]');
      const count = await page.getAttribute('[data-part="verdicts"]', "data-count");
      return { words: words ?? "", count: Number(count), lines: await page.locator(".plot .judged").count() };
    };
    const recorded = await slide(0);
    assert.deepEqual([recorded.count, recorded.lines], [episode.interventions.length, 0]);
    for (const power of [-6, -2, 4]) {
      const { words, count, lines } = await slide(power);
      assert.equal(count, rejudge(episode, episode.shield.budget * 2 ** power).interventions.length);
      assert.match(words, /would have refused/);
      assert.equal(lines, 4, "a line in two plots of two stages");
    }
    await page.click('[data-part="recorded"]');
    assert.equal(await page.locator(".plot .judged").count(), 0);
    assert.match(await page.textContent(".what-if .note") ?? "", /not what would have happened/);
  });
});

test("at phone width, and at any other, nothing is wider than the page", async () => {
  for (const width of [320, 375, 768, 1024]) {
    await opened(browser, REPORT, { width, height: 700, phone: width < 500 }, async (page) => {
      assert.equal(await overflow(page), 0);
      for (const details of await page.locator("details").all()) {
        await details.evaluate((element) => { /** @type {HTMLDetailsElement} */ (element).open = true; });
      }
      assert.equal(await overflow(page), 0, "with everything unfolded");
      const play = page.locator('[data-part="play"]');
      await (width < 500 ? play.tap() : play.click());
      await page.waitForFunction(() => Number(document.getElementById("player")?.dataset.time) > 0.2);
    });
  }
});

test("dark and print have looks of their own", () => opened(browser, REPORT, { dark: true }, async (page) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const scene = () => page.evaluate(() => {
    const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector("canvas.scene"));
    return canvas.toDataURL();
  });
  const [dark, darkScene] = [await ground(), await scene()];
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, dark);
  // The scene is drawn anew: when the browser tells the page, which may be after the style has changed.
  await page.waitForFunction((before) => {
    const canvas = /** @type {HTMLCanvasElement} */ (document.querySelector("canvas.scene"));
    return canvas.toDataURL() !== before;
  }, darkScene);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.isVisible(".controls"), false);
  assert.ok((await page.pdf()).length > 100_000);
}));

test("everything that can be operated has a name", () => opened(browser, REPORT, {}, async (page) => {
  const nameless = await page.evaluate(() => {
    const all = [...document.querySelectorAll("button, select, input, a, canvas, svg[role=img], summary")];
    const name = (/** @type {any} */ element) =>
      element.getAttribute("aria-label") || element.labels?.[0]?.textContent?.trim() ||
      element.querySelector("title")?.textContent || element.textContent?.trim();
    return all.filter((element) => !name(element)).map((element) => element.outerHTML.slice(0, 120));
  });
  assert.deepEqual(nameless, []);
  const label = await page.getAttribute('.stage[data-arm="cpss"] canvas', "aria-label");
  assert.match(label ?? "", /Step 1 of/);
  const headings = await page.locator("h1, h2, h3, h4").evaluateAll((all) =>
    all.map((heading) => Number(heading.tagName[1])));
  assert.equal(headings.filter((level) => level === 1).length, 1);
  headings.slice(1).forEach((level, place) => assert.ok(level - headings[place] <= 2));
}));
