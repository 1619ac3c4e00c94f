import { useSearchParams } from "wouter";
import { usePage } from "../../api/page";
import { Shown } from "../../ui/states";
import { AgentTests, TestsQuery } from "./AgentTests";
import { testsPerPage } from "./useTests";

/** The tests of an agent, as a page of their own or as a tab of the agent's page. */
export default function TestsOf({ agentId, isTab = false }: { agentId: string; isTab?: boolean }) {
  const [params] = useSearchParams();
  const answer = usePage(TestsQuery, { agentId, folderId: params.get("folder"), first: testsPerPage, after: null }, { keeps: true });
  return (
    <Shown answer={answer} missing={`agent ${agentId}`}>
      {({ agent }) => agent && <AgentTests agent={agent} isTab={isTab} refresh={answer.refresh} />}
    </Shown>
  );
}
