import { graphql, type ResultOf } from "../../api/graphql";

/** The tools, chats and servers that can be connected to an agent. */
export const Connectable = graphql(`
  query Connectable {
    tools(first: 100) { nodes { id name technicalName } }
    agents(first: 100) { pageInfo { hasNextPage } nodes { id name } }
    knowledgeBaseChats(first: 100) { nodes { id name } }
    mcpServers { id name endpoint { url headerNames } refreshError offers { name description fault } tools { id mcpName missingSince } }
  }
`);

/** Agents to delegate to, by a part of their names. */
export const FoundAgents = graphql(`
  query FoundAgents($text: String!) {
    agents(first: 100, filter: { nameContains: $text }) { totalCount nodes { id name } }
  }
`);

/** An MCP server of the company. */
export type Server = ResultOf<typeof Connectable>["mcpServers"][number];
