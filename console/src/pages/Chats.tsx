import { Link, useSearchParams } from "wouter";
import { AgentPicker, useAgents } from "../ui/AgentPicker";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { Pick } from "../ui/Pick";
import { ChatList, type ChatState } from "./chat/ChatList";

const states: [ChatState, string][] = [["Open", "Open"], ["Replying", "Replying"], ["Approval", "Needs approval"], ["Ended", "Ended"]];

/** The simulated chats of one agent or of all. */
export default function Chats() {
  const [params, setParams] = useSearchParams();
  const agentId = params.get("agent") ?? undefined;
  const choice = useAgents(agentId);
  const status = states.find(([state]) => state === params.get("status"))?.[0];
  const set = (name: string, value: string) =>
    setParams((old) => {
      const next = new URLSearchParams(old);
      if (value) next.set(name, value);
      else next.delete(name);
      if (name !== "after") next.delete("after");
      return next;
    });
  return (
    <Page
      title="Chats"
      actions={
        <Link className="button primary" href={`/chats/new${agentId ? `?agent=${agentId}` : ""}`}>
          <Icon name="plus" />
          New chat
        </Link>
      }
    >
      <ChatList agentId={agentId} status={status} after={params.get("after")} showAfter={(after) => set("after", after)}>
        <AgentPicker choice={choice} agentId={agentId} none="All" pick={(id) => set("agent", id)} />
        <Pick label="Status" shown="State" options={[["", "Any"], ...states]} value={status ?? ""} set={(value) => set("status", value)} />
      </ChatList>
    </Page>
  );
}
