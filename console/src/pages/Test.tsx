import { Redirect, useParams } from "wouter";
import { graphql } from "../api/graphql";
import { usePage } from "../api/page";
import { Shown } from "../ui/states";

const AgentOfTest = graphql(`
  query AgentOfTest($id: ID!) {
    agentTest(id: $id) { __typename id agent { id } }
  }
`);

/** The address of a test leads to its editor, on the page of its agent's tests. */
export default function Test() {
  const { id = "" } = useParams<{ id: string }>();
  const answer = usePage(AgentOfTest, { id });
  return (
    <Shown answer={answer} missing={`test ${id}`}>
      {({ agentTest }) => agentTest && <Redirect replace to={`/tests?agent=${agentTest.agent.id}&edit=${agentTest.id}`} />}
    </Shown>
  );
}
