/** A call of a chat. Only delegations matter here. */
export interface MadeCall {
  id: string;
  kind: string;
  technicalName: string;
  delegationId: string | null;
}

interface Delegator {
  id: string;
  subAgents: readonly { id: string; technicalName: string; agent: { id: string } }[];
}

/**
 * The delegations of a chat in their order, as the connections that they used: from the chat's agent, or from a
 * sub-agent. A call that is given twice counts once.
 */
export function delegations(agents: readonly Delegator[], agentId: string, calls: readonly MadeCall[]): { connection: string; to: string }[] {
  const byId = new Map(agents.map((agent) => [agent.id, agent]));
  const agentOf = new Map<string, string>();
  const found: { connection: string; to: string }[] = [];
  for (const call of calls) {
    if (call.kind !== "SubAgent" || agentOf.has(call.id)) continue;
    const from = call.delegationId ? agentOf.get(call.delegationId) : agentId;
    const sub = from === undefined ? undefined : byId.get(from)?.subAgents.find(({ technicalName }) => technicalName === call.technicalName);
    if (!sub) continue;
    agentOf.set(call.id, sub.agent.id);
    found.push({ connection: sub.id, to: sub.agent.id });
  }
  return found;
}

/** The width of a line in pixels, from 1.25 for one that was never used to 4 for the most used one. */
export function widthOf(uses: number, most: number): number {
  return uses === 0 || most === 0 ? 1.25 : 1.75 + 2.25 * Math.sqrt(uses / most);
}

interface ListedChat {
  status: string;
  lastMessage?: { timestamp: string } | null;
}

/** How long after its last message an open chat counts as running, in milliseconds. */
const pause = 60_000;

/** The chat whose agent is answering or, while the contact reads and writes, the one with the newest message. */
export function liveChat<Chat extends ListedChat>(chats: readonly Chat[], now: number): Chat | undefined {
  const said = ({ lastMessage }: Chat) => Date.parse(lastMessage?.timestamp ?? "") || 0;
  const isRunning = (chat: Chat) => chat.status === "Replying" || (chat.status === "Open" && now - said(chat) < pause);
  const rank = (chat: Chat) => (chat.status === "Replying" ? Infinity : said(chat));
  return chats.filter(isRunning).toSorted((a, b) => (rank(a) === rank(b) ? 0 : rank(b) - rank(a)))[0];
}
