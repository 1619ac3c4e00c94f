/**
 * Wraps a client of graphql-ws so that a subscription which reconnects goes on behind the last result that it has. The
 * client itself sends its first variables again, and the gateway would begin anew. docs/guides/graphql-clients.md shows it.
 * @param {{variable: string, last: (data: object) => number | undefined}} options `variable` is the operation's variable
 *   for the number, and `last` reads the number of a result.
 */
export function resuming(client, { variable, last }) {
  return {
    ...client,
    subscribe(payload, sink) {
      let variables = payload.variables;
      // The payload is read each time that it is sent.
      const again = { ...payload, get variables() { return variables; } };
      return client.subscribe(again, {
        ...sink,
        next(result) {
          const number = last(result.data ?? {});
          if (number !== undefined) variables = { ...variables, [variable]: number };
          sink.next(result);
        },
      });
    },
  };
}
