import { Client, fetchExchange, mapExchange, subscriptionExchange } from "@urql/core";
import { cacheExchange, type KeyGenerator, type UpdatesConfig } from "@urql/exchange-graphcache";
import { gatewayURL } from "./base";
import { graphql } from "./graphql";
import { liveClient } from "./live";
import { endSession, type Session } from "./session";

/** Types whose field id does not identify the object itself. */
const withoutIdentity = new Set(["CampaignItemTag", "CampaignItemConversation"]);

/** Objects without an id belong to the object that contains them. */
const keys = new Proxy({} as Record<string, KeyGenerator>, {
  get: (_, type: string): KeyGenerator => (data) => (withoutIdentity.has(type) ? null : ((data.id as string | undefined) ?? null)),
});

const RunAtAGlance = graphql("fragment RunAtAGlance on AgentTestRunSummary { id status durationMs }");

/** A run's event also updates its summary, which the cache stores under another type. */
const updates: UpdatesConfig = {
  Subscription: {
    agentTestRunUpdated: ({ agentTestRunUpdated: run }, _arguments, cache) => cache.writeFragment(RunAtAGlance, { ...(run as object), __typename: "AgentTestRunSummary" } as never),
  },
};

/** Returns a client for the session, with a cache that keeps one object for each id. */
export function newClient(session: Session): Client {
  const live = liveClient(session.token);
  return new Client({
    url: gatewayURL("graphql").href,
    preferGetMethod: false,
    requestPolicy: "cache-and-network",
    fetchOptions: { headers: { Authorization: `Bearer ${session.token}` } },
    exchanges: [
      cacheExchange({ keys, updates }),
      mapExchange({
        onError: (error) => {
          if (error.graphQLErrors.some((e) => e.extensions.code === "UNAUTHENTICATED")) endSession();
        },
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: (request) => ({
          subscribe: (sink) => ({
            unsubscribe: live.subscribe({ query: request.query ?? "", variables: request.variables }, sink),
          }),
        }),
      }),
    ],
  });
}
