/** What a credential may do, and what that means. */
export const scopes = {
  read: "read everything but the keys",
  browse: "read agents, tests, documents and states, but none of what follows",
  prompts: "browse, and read prompts",
  contacts: "browse, and read what contacts are and say",
  consumption: "browse, and read consumption and the plan",
  write: "read, and change things",
  simulate: "read, and hold chats and run tests",
  chat: "start chats and talk in them, from a page that anybody can open; it stands alone",
  admin: "everything, keys included",
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

/** Whether one of the scopes is the wanted one, or holds it. */
export function holds(held: readonly Scope[], wanted: Scope): boolean {
  return held.some((scope) => scope === wanted || holds(parts[scope] ?? [], wanted));
}

/** The scopes of a console session by a key: those of the key, but never admin. Empty for a key that cannot browse. */
export function sessionScopes(ofKey: readonly Scope[]): Scope[] {
  if (ofKey.includes("admin")) return ["read", "write", "simulate"];
  return holds(ofKey, "browse") ? [...ofKey] : [];
}
