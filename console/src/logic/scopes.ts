/** The scopes, with their meanings. */
export const scopes = {
  read: "read everything except keys",
  browse: "read agents, tests, documents and states, without the data below",
  prompts: "browse, and read prompts",
  contacts: "browse, and read contacts and conversations",
  consumption: "browse, and read consumption and the plan",
  write: "read and change everything except keys",
  simulate: "read, chat and run tests",
  mutate: "let assistants run mutations",
  chat: "chat from a public page; cannot be combined with other scopes",
  admin: "everything, including keys",
} as const;

export type Scope = keyof typeof scopes;

const parts: Partial<Record<Scope, Scope[]>> = {
  admin: ["write", "simulate", "chat"],
  write: ["read"],
  simulate: ["read"],
  read: ["prompts", "contacts", "consumption"],
  prompts: ["browse"],
  contacts: ["browse"],
  consumption: ["browse"],
};

/** Whether one of the scopes is the wanted one, or includes it. */
export function holds(held: readonly Scope[], wanted: Scope): boolean {
  return held.some((scope) => scope === wanted || holds(parts[scope] ?? [], wanted));
}

/** The scopes of a console session: the key's scopes without admin. Empty for a key that cannot browse. */
export function sessionScopes(ofKey: readonly Scope[]): Scope[] {
  if (ofKey.includes("admin")) return ["read", "write", "simulate"];
  return holds(ofKey, "browse") ? [...ofKey] : [];
}
