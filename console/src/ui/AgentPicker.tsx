import { useState, type ReactNode } from "react";
import { useQuery } from "urql";
import { graphql } from "../api/graphql";
import { FindAgent } from "./FindAgent";
import { Pick } from "./Pick";

const AgentNames = graphql(`
  query AgentNames($text: String, $chosen: ID!, $hasChosen: Boolean!) {
    agents(first: 100, filter: { nameContains: $text }) { totalCount pageInfo { hasNextPage } nodes { id name } }
    agent(id: $chosen) @include(if: $hasChosen) { id name }
  }
`);

interface AgentName {
  id: string;
  name: string;
}

export interface AgentChoice {
  /** The newest agents, at most a hundred, that match the search. */
  agents: readonly AgentName[];
  total: number;
  /** The name of the chosen agent, which may be none of the newest. */
  name: string | undefined;
  /** A search field, if there are more agents than the list has. */
  find: ReactNode;
}

/** The agents to choose from, and the chosen one. */
export function useAgents(chosen: string | undefined): AgentChoice {
  const [text, setText] = useState("");
  const [{ data }] = useQuery({ query: AgentNames, variables: { text, chosen: chosen ?? "", hasChosen: Boolean(chosen) }, requestPolicy: "cache-first" });
  const agents = data?.agents.nodes ?? [];
  return {
    agents,
    total: data?.agents.totalCount ?? 0,
    name: [...agents, data?.agent].find((agent) => agent?.id === chosen)?.name,
    find: <FindAgent hasMore={data?.agents.pageInfo.hasNextPage} text={text} found={data?.agents.totalCount} set={setText} />,
  };
}

/** Chooses an agent, after a search if there are many. `none` is the label of the choice of no agent. */
export function AgentPicker({ choice, agentId, none, pick }: { choice: AgentChoice; agentId: string | undefined; none: string; pick: (id: string) => void }) {
  const agents = choice.agents.map(({ id, name }) => [id, name] as const);
  // The chosen agent may not be in the list, and must not look like no choice.
  const other = agentId && !agents.some(([id]) => id === agentId) ? [[agentId, choice.name ?? "Another agent"] as const] : [];
  return (
    <>
      {choice.find}
      <Pick label="Agent" options={[["", none], ...other, ...agents]} value={agentId ?? ""} set={pick} />
    </>
  );
}
