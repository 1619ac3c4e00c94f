/**
 * Why an upload failed; undefined if it succeeded. Proxies answer with pages instead of JSON, for example if a file is
 * too large for them.
 */
export function uploadFault(status: number, body: string): string | undefined {
  try {
    const answer = JSON.parse(body) as { errors?: { message: string }[] };
    return answer.errors?.[0]?.message;
  } catch {
    return status === 413 ? "The server refused the file, because it is too large." : `The server answered with the status ${status}.`;
  }
}
