// A model server for tests that decide when an answer comes, which fixtures cannot.
import http from "node:http";

/** A language model that says what a test tells it to, when the test tells it to. */
export class PromptedModel {
  #server = http.createServer((request, response) => this.#receive(request, response));
  #asked = [];
  #waiting = [];

  /** Starts the model on a free loopback port and returns the environment for a gateway that uses it. */
  async listen() {
    await new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return { OPENAI_BASE_URL: `http://127.0.0.1:${this.#server.address().port}/v1`, OPENAI_API_KEY: "any" };
  }

  #receive(request, response) {
    request.resume();
    if (request.method === "GET") {
      // The gateway asks at its start whether the key is good.
      response.writeHead(200, { "content-type": "application/json" }).end('{"object":"list","data":[]}');
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    const say = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    const answer = {
      dropped: new Promise((resolve) => response.once("close", resolve)),
      speak: (text) => say({ content: text }),
      call: (name, args) => {
        say({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: JSON.stringify(args) } }] });
        say({}, "tool_calls");
        response.end("data: [DONE]\n\n");
      },
      finish: () => {
        say({}, "stop");
        response.end("data: [DONE]\n\n");
      },
      breakOff: () => response.destroy(),
    };
    const waiter = this.#waiting.shift();
    if (waiter) waiter(answer);
    else this.#asked.push(answer);
  }

  /**
   * Resolves with the answer to the next request: speak(text), then finish(), call(name, args) or breakOff(). Its
   * `dropped` resolves when the connection is closed.
   */
  asked() {
    if (this.#asked.length > 0) return Promise.resolve(this.#asked.shift());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
