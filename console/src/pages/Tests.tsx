import { Link, useSearchParams } from "wouter";
import { graphql } from "../api/graphql";
import { usePage } from "../api/page";
import { Avatar } from "../ui/Avatar";
import { plural } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { Empty, Failure, Loading } from "../ui/states";
import { TestSummary } from "../ui/TestSummary";
import styles from "./Agents.module.css";
import TestsOf from "./tests/TestsOf";

const ExecutionsQuery = graphql(`
  query Executions {
    agents(first: 100) {
      totalCount
      nodes {
        id name
        tests(first: 1) { totalCount }
        testExecutions(first: 3, filter: { isDraft: false }) { nodes { id status verdict repeats finishedAt counts { total passed failed error } } }
      }
    }
  }
`);

/** The tests of an agent or, without one, the results of all agents' tests. */
export default function Tests() {
  const [params] = useSearchParams();
  const agentId = params.get("agent");
  return agentId ? <TestsOf key={agentId} agentId={agentId} /> : <AllTests />;
}

function AllTests() {
  const answer = usePage(ExecutionsQuery, {}, { onFocus: true });
  const agents = answer.data?.agents.nodes;
  const total = answer.data?.agents.totalCount ?? 0;
  return (
    <Page title="Tests" actions={
        <Link className="button" href="/schedules">
          <Icon name="clock" />
          Schedules
        </Link>
      }>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!agents && !answer.error && <Loading />}
      {agents?.length === 0 && (
        <Empty icon="tests" title="No agent to test" action={<Link className="button" href="/agents?new=agent">New agent</Link>}>
          A test talks to an agent and checks what it says.
        </Empty>
      )}
      {agents && agents.length > 0 && (
        <div className="card scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Agent</th>
                <th scope="col" className="number">
                  Tests
                </th>
                <th scope="col">Last execution</th>
                <th scope="col" className="wide">
                  Before
                </th>
              </tr>
            </thead>
            <tbody>
              {agents.map((agent) => {
                const [last, ...earlier] = agent.testExecutions.nodes;
                return (
                  <tr key={agent.id} data-go>
                    <th scope="row">
                      <span className={styles.name}>
                        <Avatar agent={agent} />
                        <Link href={`/tests?agent=${agent.id}`}>{agent.name}</Link>
                      </span>
                    </th>
                    <td className="number">{agent.tests.totalCount}</td>
                    <td>{last ? <TestSummary agentId={agent.id} execution={last} /> : <span className="muted">–</span>}</td>
                    <td className="wide">
                      {earlier.map((execution) => (
                        <TestSummary key={execution.id} agentId={agent.id} execution={execution} />
                      ))}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      {agents && agents.length < total && (
        <p className="muted small">
          The newest {agents.length} of {plural(total, "agent")}. The page <Link href="/agents">Agents</Link> lists all of them, with links to their tests.
        </p>
      )}
    </Page>
  );
}
