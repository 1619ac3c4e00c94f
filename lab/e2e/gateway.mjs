// A running gateway for a test file: a race-enabled build on a free loopback port, with a database of its own that has
// the demo company in it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import http from "node:http";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../bin/agentgraph-race", import.meta.url));

// By default these end the process without its "exit".
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

/**
 * Starts a gateway and resolves once it serves. The caller must stop() or kill() it.
 * @param {{directory?: string, environment?: Record<string, string>}} options `directory` keeps the
 *   data there, and lets several gateways share a database; without one nothing is kept.
 *   `environment` adds to the process's environment, from which model settings are left out.
 */
export async function startGateway({ directory, environment = {} } = {}) {
  assert.ok(existsSync(program), `there is no ${program}: run the tests by "make e2e", which builds it`);
  const place = directory ? ["--data-directory", directory] : ["--ephemeral"];
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(AGENTGRAPH_|OPENAI_|DATABASE_URL$)/.test(name)),
  );
  const child = spawn(program, ["dev", "--port", "0", ...place], {
    env: { ...inherited, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const gateway = new Gateway(child);
  const banner = await gateway.banner();
  return Object.assign(gateway, {
    url: banner.graphqlUrl,
    socketUrl: banner.graphqlUrl.replace(/^http/, "ws"),
    restUrl: banner.restUrl,
    key: banner.apiKey,
    model: banner.model,
  });
}

class Gateway {
  #child;
  #exited;
  #log = "";

  constructor(child) {
    this.#child = child;
    this.#exited = once(child, "close");
    child.stderr.setEncoding("utf8").on("data", (text) => (this.#log += text));
    // Nothing may outlive an interrupted test.
    process.once("exit", () => child.kill("SIGTERM"));
  }

  async banner() {
    const lines = createInterface({ input: this.#child.stdout });
    const ended = this.#exited.then(([code]) => assert.fail(`the gateway ended with ${code}:\n${this.#log}`));
    const [line] = await Promise.race([once(lines, "line"), ended]);
    return JSON.parse(line);
  }

  /** Stops the gateway and checks that it ends without complaints. */
  async stop() {
    this.#child.kill("SIGTERM");
    const [code, signal] = await this.#exited;
    assert.ok(!this.#log.includes("DATA RACE"), `the race detector found something:\n${this.#log}`);
    const faults = this.#log.split("\n").filter((line) => line.includes("level=ERROR"));
    assert.deepEqual(faults, [], "the gateway logged errors of its own");
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, this.#log);
  }

  /** Kills the gateway without warning, as in a crash. */
  async kill() {
    this.#child.kill("SIGKILL");
    await this.#exited;
    assert.ok(!this.#log.includes("DATA RACE"), `the race detector found something:\n${this.#log}`);
  }

  /**
   * Sends one HTTP request with only the given headers and the key. Fetch would add an Accept header and refuse some
   * methods. A header that is undefined is left out, even the key's.
   */
  request(method, path, { headers = {}, body } = {}) {
    // Without a length, Node would send the body of a DELETE unframed.
    const length = body === undefined ? undefined : Buffer.byteLength(body);
    const given = Object.entries({ "x-api-key": this.key, "content-length": length, ...headers }).filter(([, value]) => value !== undefined);
    return new Promise((resolve, reject) => {
      const request = http.request(new URL(path, this.restUrl), { method, headers: Object.fromEntries(given) });
      request.on("error", reject);
      request.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("error", reject);
        response.on("data", (piece) => (text += piece));
        response.on("end", () => resolve(new Answer(response.statusCode, response.headers, text)));
      });
      request.end(body);
    });
  }

  /** Posts a GraphQL request and returns the whole answer: data, errors or both. */
  async ask(query, variables) {
    const answer = await this.request("POST", "/graphql", {
      headers: { "content-type": "application/json", accept: "application/graphql-response+json" },
      body: JSON.stringify({ query, variables }),
    });
    return answer.json;
  }

  /** Posts a GraphQL request that must succeed and returns its data. */
  async graphql(query, variables) {
    const { data, errors } = await this.ask(query, variables);
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data;
  }

  /** Creates an agent with a greeting and the given fields, and returns its id. */
  async createAgent(given = {}) {
    const { createAgent } = await this.graphql(
      `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { agent { id } } }`,
      {
        input: {
          name: "Front desk", channel: "Web", direction: "Inbound", language: "en",
          prompt: "The desk is open from nine to five. Parking is behind the house.",
          inboundWelcomeMessage: "Hello, how can I help?",
          ...given,
        },
      },
    );
    return createAgent.agent.id;
  }

  /**
   * Starts a simulated chat, with a new agent unless one is given, and returns its id. The chat has the welcome message.
   */
  async startChat(agentId) {
    const { startSimulationChat } = await this.graphql(
      `mutation ($agentId: ID!) { startSimulationChat(input: { agentId: $agentId }) { simulationChat { id } } }`,
      { agentId: agentId ?? (await this.createAgent()) },
    );
    return startSimulationChat.simulationChat.id;
  }

  /** Sends the contact's message and returns the whole answer once the reply is complete. */
  send(chatId, text) {
    return this.ask(
      `mutation ($chatId: ID!, $text: String!) {
        sendSimulationMessage(input: { simulationChatId: $chatId, text: $text }) {
          simulationChat { status }
          newMessages { sequence role text isConversationEnded endReason }
        }
      }`,
      { chatId, text },
    );
  }

  /** Sends the contact's message, which must be answered, and returns the two new messages. */
  async say(chatId, text) {
    const { data, errors } = await this.send(chatId, text);
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data.sendSimulationMessage.newMessages;
  }
}

/** The response to a request. */
class Answer {
  constructor(status, headers, text) {
    Object.assign(this, { status, headers, text });
  }

  /** The media type without its parameters. */
  get type() {
    return (this.headers["content-type"] ?? "").split(";")[0];
  }

  get json() {
    return JSON.parse(this.text);
  }

  /** The codes of a GraphQL answer's errors. */
  get codes() {
    return (this.json.errors ?? []).map((error) => error.extensions.code);
  }
}
