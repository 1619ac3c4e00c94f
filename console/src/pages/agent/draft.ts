/** An unsaved prompt, and the version that it is based on. */
export interface Draft {
  text: string;
  of: number;
}

/** The unsaved prompt of the agent in this tab. */
export function keptDraft(agentId: string): Draft | undefined {
  const kept = sessionStorage.getItem(nameOf(agentId));
  return kept ? (JSON.parse(kept) as Draft) : undefined;
}

export function keepDraft(agentId: string, draft: Draft | undefined): void {
  if (draft) sessionStorage.setItem(nameOf(agentId), JSON.stringify(draft));
  else sessionStorage.removeItem(nameOf(agentId));
}

function nameOf(agentId: string): string {
  return `agentgraph:prompt:${agentId}`;
}
