// Writes docs/images/blame.gif, the README's picture: a test is red, the lost sentence is found and restored, and the
// test is green. Each frame is a screenshot of the demo, shown for a time. This needs ffmpeg.
import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { launch } from "./browser";
import { startGateway } from "./gateway";

const target = fileURLToPath(new URL("../../docs/images/blame.gif", import.meta.url));
const size = { width: 1120, height: 700 };

const folder = await mkdtemp(join(tmpdir(), "film-"));
const frames: string[] = [];
const gateway = await startGateway();
const browser = await launch();
try {
  const page = await browser.newPage({ viewport: size, colorScheme: "light", reducedMotion: "reduce" });
  await page.goto(gateway.consoleUrl);
  await page.getByText("Says where to park").first().waitFor();
  await play(page);
} finally {
  await browser.close();
  await gateway.stop();
}
await encode();
await rm(folder, { recursive: true });

async function play(page: Page): Promise<void> {
  const red = page.getByRole("listitem").filter({ hasText: "Says where to park" });
  await shoot(page, 1.6);
  await press(page, red.getByRole("link", { name: /what broke it/i }).first());

  const find = page.getByRole("button", { name: /Find the cause/ }).first();
  await find.waitFor();
  await page.waitForLoadState("networkidle");
  await shoot(page, 2.6);
  await press(page, find);

  const restore = page.getByRole("button", { name: /Restore this sentence/ });
  for (let i = 0; i < 40 && !(await restore.isVisible()); i++) {
    await page.waitForTimeout(120);
    await shoot(page, 0.25);
  }
  await restore.waitFor();
  await shoot(page, 2.4);
  await press(page, restore);

  const save = page.getByRole("button", { name: /Save as v/ });
  await page.getByText(/^8 of 8 pass/).waitFor();
  await shoot(page, 1.4);
  await press(page, save);
  await page.getByText(/^Saved as v/).waitFor();
  await shoot(page, 1);
  await press(page, page.getByRole("button", { name: "Run the test" }));
  await page.waitForURL(/execution=/);
  await page.waitForTimeout(2000);
  await page.waitForLoadState("networkidle");
  await shoot(page, 2.4);
}

/** Adds what the page shows now as a frame, for some seconds. */
async function shoot(page: Page, seconds: number): Promise<void> {
  const path = join(folder, `${frames.length}.png`);
  await page.screenshot({ path });
  frames.push(`file '${path}'\nduration ${seconds}`);
}

/** Shows a dot where it clicks, then clicks. */
async function press(page: Page, button: Locator): Promise<void> {
  const box = await button.boundingBox();
  if (!box) throw new Error("the button has no place on the page");
  await page.evaluate(
    ([x, y]) => {
      const dot = document.createElement("div");
      dot.id = "press";
      Object.assign(dot.style, {
        position: "fixed", left: `${x - 14}px`, top: `${y - 14}px`, width: "28px", height: "28px", borderRadius: "50%",
        background: "rgb(82 75 220 / .35)", border: "2px solid #524bdc", zIndex: "9999", pointerEvents: "none",
      });
      document.body.append(dot);
    },
    [box.x + box.width / 2, box.y + box.height / 2] as const,
  );
  await shoot(page, 0.5);
  await page.evaluate(() => document.getElementById("press")?.remove());
  await button.click();
}

/** Makes a GIF of the frames. Nearly all of two frames is equal, so only what differs is stored. */
async function encode(): Promise<void> {
  const last = frames.at(-1)?.split("\n")[0] ?? "";
  const list = join(folder, "frames.txt");
  await writeFile(list, [...frames, last].join("\n"));
  const filter = "fps=10,scale=960:-1:flags=lanczos,split[a][b];[a]palettegen=max_colors=128:stats_mode=diff[p];[b][p]paletteuse=dither=none:diff_mode=rectangle";
  execFileSync("ffmpeg", ["-y", "-v", "error", "-f", "concat", "-safe", "0", "-i", list, "-vf", filter, "-loop", "0", target], { stdio: "inherit" });
}
