// A client that does nothing by itself, for testing a protocol message by message.
import assert from "node:assert/strict";
import WebSocket from "ws";

export const protocol = "graphql-transport-ws";

/** One end of a socket. It keeps the messages of the other end in order. */
export class Peer {
  static #all = new Set();
  #socket;
  #arrived = [];
  #waiting = [];

  /** Begins to open a socket to the gateway, with its key in the handshake. `opened` resolves with the peer. */
  constructor(gateway, { headers = { "x-api-key": gateway.key }, protocols = protocol } = {}) {
    this.#socket = new WebSocket(gateway.socketUrl, protocols, { headers });
    this.opened = new Promise((resolve, reject) => {
      this.#socket.once("open", () => resolve(this));
      this.#socket.once("error", reject);
    });
    this.opened.catch(() => {});
    this.#socket.on("error", () => {});
    this.#socket.on("message", (data) => this.#take(JSON.parse(data.toString())));
    this.#socket.on("close", (code, reason) => this.#take({ closed: code, reason: reason.toString() }));
    Peer.#all.add(this);
  }

  /** Opens a socket and waits for the acknowledgement. */
  static async ready(gateway) {
    const peer = await new Peer(gateway).opened;
    peer.send({ type: "connection_init" });
    assert.deepEqual(await peer.next(), { type: "connection_ack" });
    return peer;
  }

  /** Terminates every socket. */
  static endAll() {
    for (const peer of Peer.#all) peer.#socket.terminate();
    Peer.#all.clear();
  }

  get protocol() {
    return this.#socket.protocol;
  }

  #take(item) {
    const waiter = this.#waiting.shift();
    if (waiter) waiter(item);
    else this.#arrived.push(item);
  }

  send(message) {
    const raw = typeof message === "string" || Buffer.isBuffer(message);
    this.#socket.send(raw ? message : JSON.stringify(message));
  }

  subscribe(id, query, variables) {
    this.send({ id, type: "subscribe", payload: { query, variables } });
  }

  close(code) {
    this.#socket.close(code);
  }

  /** Resolves with the next message, or with {closed, reason} if the socket was closed. */
  next() {
    if (this.#arrived.length > 0) return Promise.resolve(this.#arrived.shift());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves with the next `count` messages. */
  async take(count) {
    const taken = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }

  /** Sends a ping and resolves with what arrives before its pong. */
  async untilPong() {
    this.send({ type: "ping", payload: { mark: "here" } });
    const before = [];
    for (;;) {
      const message = await this.next();
      assert.equal(message.closed, undefined, `closed with ${message.closed} ${message.reason}`);
      if (message.type === "pong") return before;
      before.push(message);
    }
  }

  /** Expects the socket to close next, with the code. */
  async endsWith(code) {
    const message = await this.next();
    assert.equal(message.closed, code, JSON.stringify(message));
  }

  /** Resolves with the code of the close, whatever comes before it. */
  async end() {
    for (;;) {
      const message = await this.next();
      if (message.closed !== undefined) return message.closed;
    }
  }
}
