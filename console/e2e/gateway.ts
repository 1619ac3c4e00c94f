import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** A running "agentgraph dev". */
export interface Gateway {
  consoleUrl: string;
  graphqlUrl: string;
  apiKey: string;
  /** Calls the API directly, with the demo's key. */
  ask: <Data>(query: string, variables?: Record<string, unknown>) => Promise<Data>;
  stop: (signal?: NodeJS.Signals) => Promise<void>;
}

const binary = fileURLToPath(new URL("../../bin/agentgraph", import.meta.url));

/** Starts the built program with a demo company. By default its data is deleted at the end. */
export async function startGateway(args: string[] = ["--ephemeral"], environment: Record<string, string> = {}): Promise<Gateway> {
  const port = args.includes("--port") ? [] : ["--port", "0"];
  const child = spawn(binary, ["dev", "--log-level", "error", ...port, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...environment },
  });
  let text = "";
  for await (const piece of child.stdout) {
    text += String(piece);
    if (text.includes("\n")) break;
  }
  const banner = JSON.parse(text) as { consoleUrl: string; graphqlUrl: string; apiKey: string };
  const ask = async <Data>(query: string, variables = {}) => {
    const response = await fetch(banner.graphqlUrl, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Api-Key": banner.apiKey },
      body: JSON.stringify({ query, variables }),
    });
    const answer = (await response.json()) as { data: Data; errors?: unknown };
    if (answer.errors) throw new Error(JSON.stringify(answer.errors));
    return answer.data;
  };
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  };
  return { ...banner, ask, stop };
}
