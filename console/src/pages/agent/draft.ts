/** An unsaved prompt, and the version that it is based on. */
export interface Draft {
  text: string;
  of: number;
}

/** The unsaved prompt of the agent in this tab. */
export function keptDraft(agentId: string): Draft | undefined {
  return keptIn<Draft>("prompt", agentId);
}

export function keepDraft(agentId: string, draft: Draft | undefined): void {
  keepIn("prompt", agentId, draft);
}

/** What is unsaved of a part of the agent in this tab. Signing out removes it. */
export function keptIn<Unsaved>(part: "prompt" | "settings", agentId: string): Unsaved | undefined {
  const kept = sessionStorage.getItem(nameOf(part, agentId));
  return kept ? (JSON.parse(kept) as Unsaved) : undefined;
}

export function keepIn<Unsaved>(part: "prompt" | "settings", agentId: string, unsaved: Unsaved | undefined): void {
  if (unsaved) sessionStorage.setItem(nameOf(part, agentId), JSON.stringify(unsaved));
  else sessionStorage.removeItem(nameOf(part, agentId));
}

function nameOf(part: string, agentId: string): string {
  return `agentgraph:${part}:${agentId}`;
}
