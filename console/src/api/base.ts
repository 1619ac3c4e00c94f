// Chunks are in assets/, right below the console. Vite would treat new URL("../", import.meta.url) as the address of
// a file, so the second argument is a constant.
const chunk = import.meta.url;

/** The console's address, with a slash at its end. It includes any prefix that a proxy strips. */
export const base = import.meta.env.DEV ? new URL("/console/", location.href) : new URL("../", chunk);

/** The address of a path of the gateway, such as "graphql". */
export function gatewayURL(path: string): URL {
  return new URL(`../${path}`, base);
}
