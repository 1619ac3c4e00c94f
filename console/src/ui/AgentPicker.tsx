import { useQuery } from "urql";
import { graphql } from "../api/graphql";

const AgentNames = graphql(`
  query AgentNames {
    agents(first: 100) { nodes { id name } }
  }
`);

/** Chooses an agent. `none` is the label of the choice of no agent. */
export function AgentPicker({ agentId, none, pick }: { agentId: string | undefined; none: string; pick: (id: string) => void }) {
  const [{ data }] = useQuery({ query: AgentNames, requestPolicy: "cache-first" });
  return (
    <select aria-label="Agent" value={agentId ?? ""} onChange={(event) => pick(event.target.value)}>
      <option value="">{none}</option>
      {data?.agents.nodes.map((agent) => (
        <option key={agent.id} value={agent.id}>
          {agent.name}
        </option>
      ))}
    </select>
  );
}
