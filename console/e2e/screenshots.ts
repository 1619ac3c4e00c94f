// Writes each page in both themes and two widths to the directory OUT, for people to look at.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launch } from "./browser";
import { startGateway } from "./gateway";
import { pagesOf } from "./pages";

const out = process.env.OUT ?? "shots";
const only = process.env.ONLY?.split(",");

await mkdir(out, { recursive: true });
const gateway = await startGateway();
const browser = await launch();
try {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && console.log(message.text()));
  await page.goto(gateway.consoleUrl);
  await page.getByRole("heading", { level: 1 }).waitFor();
  const base = gateway.consoleUrl.split("#")[0] ?? "";
  for (const [name, path] of Object.entries(await pagesOf(gateway))) {
    if (only && !only.includes(name)) continue;
    await page.goto(base + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.waitForLoadState("networkidle");
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 800 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: join(out, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      }
    }
  }
} finally {
  await browser.close();
  await gateway.stop();
}
