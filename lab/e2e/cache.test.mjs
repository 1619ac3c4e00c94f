// A stock caching proxy in front of the gateway must not give one credential's answers to another.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startGateway } from "./gateway.mjs";

const missing = spawnSync("nginx", ["-v"], { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } }).error && "nginx is not installed";
const gateway = missing ? undefined : await startGateway();
after(() => gateway?.stop());

const freePort = () =>
  new Promise((resolve) => {
    const server = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts nginx with a cache that keeps every cacheable answer for a minute, whatever the key. */
async function startProxy(t, directives = "") {
  const directory = await mkdtemp(join(tmpdir(), "agentgraph-nginx-"));
  const port = await freePort();
  const configuration = `
    daemon off; master_process off; pid ${directory}/pid; error_log ${directory}/error.log;
    events {}
    http {
      access_log off;
      client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy; fastcgi_temp_path ${directory}/f;
      uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
      proxy_cache_path ${directory}/cache keys_zone=all:1m;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass ${new URL(gateway.url).origin};
          proxy_cache all; proxy_cache_valid 200 1m; ${directives}
          add_header X-Cache $upstream_cache_status always;
        }
      }
    }`;
  await writeFile(join(directory, "nginx.conf"), configuration);
  const child = spawn("nginx", ["-p", directory, "-e", join(directory, "error.log"), "-c", join(directory, "nginx.conf")], {
    env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: "ignore",
  });
  t.after(async () => {
    child.kill("SIGKILL");
    await rm(directory, { recursive: true, force: true });
  });
  const origin = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    try {
      await fetch(`${origin}/healthz`);
      return origin;
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(50);
    }
  }
}

const rest = () => new URL(gateway.restUrl).pathname.replace(/\/$/, "");
const paths = () => [
  `${rest()}/Dataset`,
  `${rest()}/Consumption/export?from=2026-03-01&to=2026-03-31&format=csv`,
  "/graphql?query=%7Bdatasets%7Bnodes%7Bid%20name%7D%7D%7D",
];

test("a proxy that caches responses is given none to keep", { skip: missing }, async (t) => {
  const origin = await startProxy(t);
  for (const path of paths()) {
    for (let times = 0; times < 2; times++) {
      const response = await fetch(origin + path, { headers: { "X-Api-Key": gateway.key } });
      assert.equal(response.status, 200, path);
      assert.equal(response.headers.get("cache-control"), "no-store", path);
      assert.notEqual(response.headers.get("x-cache"), "HIT", path);
    }
    assert.equal((await fetch(origin + path)).status, 401, `${path} without a key`);
  }
});

test("a proxy that caches all the same tells credentials apart", { skip: missing }, async (t) => {
  const origin = await startProxy(t, "proxy_ignore_headers Cache-Control;");
  for (const path of paths()) {
    for (const headers of [{ "X-Api-Key": gateway.key }, { Authorization: `Bearer ${gateway.key}` }]) {
      let response;
      // The proxy keeps an answer once it has it whole, which may be after the client has.
      for (let times = 0; times < 100 && response?.headers.get("x-cache") !== "HIT"; times++) {
        response = await fetch(origin + path, { headers });
        assert.equal(response.status, 200, path);
        await response.arrayBuffer();
      }
      assert.equal(response.headers.get("x-cache"), "HIT", "the proxy caches, so that this test can fail");
    }
    assert.equal((await fetch(origin + path)).status, 401, `${path} without a key`);
  }
});
