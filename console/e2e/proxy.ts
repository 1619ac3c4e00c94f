import { createServer, request, type Server } from "node:http";
import { connect, type AddressInfo } from "node:net";

/** Starts a proxy that strips a prefix from each path, as many reverse proxies do. It proxies sockets too. */
export async function startProxy(prefix: string, port: number): Promise<{ url: string; server: Server }> {
  const strip = (path = "") => path.slice(prefix.length) || "/";
  const server = createServer((incoming, outgoing) => {
    if (!incoming.url?.startsWith(prefix)) {
      outgoing.writeHead(404).end();
      return;
    }
    const passed = request({ port, path: strip(incoming.url), method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.writeHead(502).end());
    incoming.pipe(passed);
  });
  server.on("upgrade", (incoming, socket, head) => {
    const passed = connect(port, "127.0.0.1", () => {
      const headers = incoming.rawHeaders.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("");
      passed.write(`${incoming.method} ${strip(incoming.url)} HTTP/1.1\r\n${headers}\r\n`);
      passed.write(head);
      passed.pipe(socket).pipe(passed);
    });
    passed.on("error", () => socket.destroy());
    socket.on("error", () => passed.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`, server };
}
