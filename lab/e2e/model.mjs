// A stub model server for tests. `node model.mjs fixtures.json` serves the fixtures on a free loopback port to clients
// with the key "stub-key" and prints its address as the first line. It ends when its standard input closes, so that it
// never outlives the test that started it.
import { LLMock } from "@copilotkit/aimock";

const [fixtures] = process.argv.slice(2);
const model = new LLMock({
  host: "127.0.0.1",
  port: 0,
  strict: true,
  // Below 1 ms, a cut stream may lose the text before the cut as well.
  latency: 1,
  auth: { apiKeys: ["stub-key"] },
});
model.loadFixtureFile(fixtures);
console.log(await model.start());

process.stdin.resume();
process.stdin.on("end", () => model.stop().finally(() => process.exit(0)));
