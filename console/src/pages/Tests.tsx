import { Link, useSearchParams } from "wouter";
import { graphql } from "../api/graphql";
import { usePage } from "../api/page";
import { Avatar } from "../ui/Avatar";
import { Find } from "../ui/Find";
import { plural } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { pageAt, Pager } from "../ui/Pager";
import { Segment } from "../ui/Segment";
import { Empty, Failure, Loading } from "../ui/states";
import { TestSummary } from "../ui/TestSummary";
import styles from "./Agents.module.css";
import { RedTests } from "./tests/RedTests";
import TestsOf from "./tests/TestsOf";
import { testsPerPage } from "./tests/useTests";

const ExecutionsQuery = graphql(`
  query Executions($first: Int, $after: String, $last: Int, $before: String, $text: String) {
    agents(first: $first, after: $after, last: $last, before: $before, filter: { nameContains: $text }) {
      totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
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
  const [params, setParams] = useSearchParams();
  const isRed = params.get("view") === "red";
  const text = params.get("q") ?? "";
  const set = (changes: Record<string, string>) => {
    const next = Object.entries({ view: isRed ? "red" : "", q: text, ...changes }).filter(([, value]) => value);
    setParams(next, { replace: "q" in changes });
  };
  const list = { text, page: pageAt(params, testsPerPage) };
  return (
    <Page title="Tests" actions={
        <Link className="button" href="/schedules">
          <Icon name="clock" />
          Schedules
        </Link>
      }>
      <div className="toolbar" role="search">
        <Find key={String(isRed)} label={isRed ? "Find a test" : "Find an agent"} value={text} set={(q) => set({ q })} />
        <Segment
          label="View"
          options={[
            ["", "By agent"],
            ["red", "Red tests"],
          ]}
          value={isRed ? "red" : ""}
          set={(view) => set({ view, q: "" })}
        />
      </div>
      {isRed ? <RedTests {...list} /> : <ByAgent {...list} />}
    </Page>
  );
}

/** The last results of each agent, the newest agents first. */
function ByAgent({ text, page }: { text: string; page: ReturnType<typeof pageAt> }) {
  const answer = usePage(ExecutionsQuery, { ...page, text }, { onFocus: true, keeps: true });
  const agents = answer.data?.agents.nodes;
  const total = answer.data?.agents.totalCount ?? 0;
  return (
    <>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!agents && !answer.error && <Loading />}
      {agents?.length === 0 && text && !answer.isOld && <Empty icon="search" title="No agent has this name" />}
      {agents?.length === 0 && !text && !answer.isOld && (
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
          {agents.length} of {plural(total, "agent")}, newest first.
        </p>
      )}
      <p role="status" className="unseen">
        {text && !answer.isOld && plural(total, "agent")}
      </p>
      <Pager of={answer.data?.agents} size={testsPerPage} isOld={answer.isOld} />
    </>
  );
}
