import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { usePage } from "../../api/page";
import { Avatar } from "../../ui/Avatar";
import { plural } from "../../ui/format";
import { Pager, type pageAt } from "../../ui/Pager";
import { Empty, Failure, Loading } from "../../ui/states";
import { Status } from "../../ui/Status";
import styles from "../Agents.module.css";
import { testsPerPage } from "./useTests";

const RedQuery = graphql(`
  query RedTests($first: Int, $after: String, $last: Int, $before: String, $text: String) {
    agentTests(first: $first, after: $after, last: $last, before: $before, filter: { lastRunStatuses: [Failed, Error], nameContains: $text }) {
      totalCount
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      nodes { __typename id name lastRunId lastRunStatus agent { id name } }
    }
  }
`);

/** The tests of all agents whose last run did not pass. */
export function RedTests({ text, page }: { text: string; page: ReturnType<typeof pageAt> }) {
  const answer = usePage(RedQuery, { ...page, text }, { onFocus: true, keeps: true });
  const tests = answer.data?.agentTests;
  return (
    <>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!tests && !answer.error && <Loading />}
      {tests?.nodes.length === 0 && !answer.isOld && <Empty title={text ? "No red test has this name" : "No test is red"} icon="passed" />}
      {tests && tests.nodes.length > 0 && (
        <div className="card scroll">
          <table>
            <thead>
              <tr>
                <th scope="col">Test</th>
                <th scope="col">Agent</th>
                <th scope="col">Last run</th>
              </tr>
            </thead>
            <tbody>
              {tests.nodes.map(({ id, name, agent, lastRunId, lastRunStatus }) => (
                <tr key={id} data-go>
                  <th scope="row">
                    <Link href={lastRunId ? `/runs/${lastRunId}` : `/tests?agent=${agent.id}&edit=${id}`}>{name}</Link>
                  </th>
                  <td>
                    <span className={styles.name}>
                      <Avatar agent={agent} />
                      <Link className="quiet" href={`/tests?agent=${agent.id}`}>
                        {agent.name}
                      </Link>
                    </span>
                  </td>
                  <td className="nowrap">
                    <Status of={lastRunStatus ?? "Failed"} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p role="status" className="unseen">
        {text && tests && !answer.isOld && plural(tests.totalCount, "red test")}
      </p>
      <Pager of={tests} size={testsPerPage} isOld={answer.isOld} />
    </>
  );
}
