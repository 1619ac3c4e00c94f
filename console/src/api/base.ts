// Chunks are in assets/, right below the console. A literal would make Vite take the directory for a file.
const chunk = import.meta.url;

/** Where the console is, with a slash at its end, whatever prefix a proxy takes off. */
export const base = import.meta.env.DEV ? new URL("/console/", location.href) : new URL("../", chunk);

/** The address of something of the gateway, such as "graphql". */
export function gatewayURL(path: string): URL {
  return new URL(`../${path}`, base);
}
