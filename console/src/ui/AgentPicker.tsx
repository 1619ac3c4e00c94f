import { useQuery } from "urql";
import { graphql } from "../api/graphql";
import { Pick } from "./Pick";

const AgentNames = graphql(`
  query AgentNames {
    agents(first: 100) { nodes { id name } }
  }
`);

export function useAgentNames(): readonly { id: string; name: string }[] {
  const [{ data }] = useQuery({ query: AgentNames, requestPolicy: "cache-first" });
  return data?.agents.nodes ?? [];
}

/** Chooses an agent. `none` is the label of the choice of no agent. */
export function AgentPicker({ agentId, none, pick }: { agentId: string | undefined; none: string; pick: (id: string) => void }) {
  const agents = useAgentNames().map(({ id, name }) => [id, name] as const);
  // The list has the newest hundred agents. The chosen one may be another, and must not look like no choice.
  const other = agentId && !agents.some(([id]) => id === agentId) ? [[agentId, "Another agent"] as const] : [];
  return <Pick label="Agent" options={[["", none], ...other, ...agents]} value={agentId ?? ""} set={pick} />;
}
