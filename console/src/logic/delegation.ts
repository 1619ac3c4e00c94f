/** An agent in the graph of delegations. */
export interface Delegating {
  id: string;
  subAgents: readonly { agent: { id: string } }[];
}

/** The ids within `steps` steps of an id, including the id itself. */
function reached(from: string, next: (id: string) => readonly string[], steps: number): Set<string> {
  const found = new Set([from]);
  let last = [from];
  for (let step = 0; step < steps && last.length > 0; step++) {
    last = last.flatMap(next).filter((id) => !found.has(id) && found.add(id));
  }
  return found;
}

/** Whether a delegation is part of a cycle. */
export function isCycle(agents: readonly Delegating[], from: string, to: string): boolean {
  const subs = new Map(agents.map((agent) => [agent.id, agent.subAgents.map((sub) => sub.agent.id)]));
  return reached(to, (id) => subs.get(id) ?? [], agents.length).has(from);
}

/** The agents within `steps` delegations of an agent, in either direction. */
export function around<Agent extends Delegating>(agents: readonly Agent[], id: string, steps: number): Agent[] {
  const near = new Map<string, string[]>(agents.map((agent) => [agent.id, []]));
  for (const agent of agents) {
    for (const sub of agent.subAgents) {
      near.get(agent.id)?.push(sub.agent.id);
      near.get(sub.agent.id)?.push(agent.id);
    }
  }
  const found = reached(id, (of) => near.get(of) ?? [], steps);
  return agents.filter((agent) => found.has(agent.id));
}
