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

/** Parts of an agent, and of a chat: the message that is being written, and the one that could not be sent. */
type Part = "prompt" | "settings" | "message" | "unsent";

/** What is unsaved of a part of the agent or chat in this tab. Signing out removes it. */
export function keptIn<Unsaved>(part: Part, id: string): Unsaved | undefined {
  const kept = sessionStorage.getItem(nameOf(part, id));
  return kept ? (JSON.parse(kept) as Unsaved) : undefined;
}

export function keepIn<Unsaved>(part: Part, id: string, unsaved: Unsaved | undefined): void {
  if (unsaved) sessionStorage.setItem(nameOf(part, id), JSON.stringify(unsaved));
  else sessionStorage.removeItem(nameOf(part, id));
}

function nameOf(part: Part, id: string): string {
  return `agentgraph:${part}:${id}`;
}
