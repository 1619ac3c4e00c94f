import { useSearchParams } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { useAction, usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import Diff from "../../ui/Diff";
import { Failure, Loading } from "../../ui/states";
import { Time } from "../../ui/Time";
import type { AgentOfPage } from "../Agent";
import styles from "./AgentVersions.module.css";

const PromptVersionsQuery = graphql(`
  query PromptVersions($id: ID!, $first: Int!, $after: String) {
    agent(id: $id) {
      id
      promptVersions(first: $first, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { id version createdAt } }
    }
  }
`);

const PromptTexts = graphql(`
  query PromptTexts($ids: [ID!]!) {
    nodes(ids: $ids) { __typename ... on PromptVersion { id version prompt } }
  }
`);

const RestorePrompt = graphql(`
  mutation RestorePrompt($input: RestoreAgentPromptInput!) {
    restoreAgentPrompt(input: $input) { agent { id prompt promptVersion updatedAt } }
  }
`);

type Version = NonNullable<ResultOf<typeof PromptVersionsQuery>["agent"]>["promptVersions"]["nodes"][number];

/** All versions of the prompt, and the words in which two of them differ. */
export default function AgentVersions({ agent }: { agent: AgentOfPage }) {
  const [params, setParams] = useSearchParams();
  const answer = usePage(PromptVersionsQuery, { id: agent.id, first: 100, after: params.get("after") });
  const versions = answer.data?.agent?.promptVersions.nodes;
  const to = Number(params.get("to")) || agent.promptVersion;
  const from = Number(params.get("from")) || Math.max(1, to - 1);
  const pick = (change: Record<string, string>) => setParams((old) => ({ ...Object.fromEntries(old), ...change }), { replace: true });
  if (answer.error) return <Failure error={answer.error} retry={answer.refresh} />;
  if (!versions) return <Loading />;
  return (
    <div className={styles.split}>
      <section className="card" aria-labelledby="versions-title">
        <header>
          <h2 id="versions-title">Versions</h2>
        </header>
        <table className={styles.versions}>
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col">To</th>
              <th scope="col">Version</th>
              <th scope="col">Saved</th>
            </tr>
          </thead>
          <tbody>
            {versions.map((version) => (
              <tr key={version.id} aria-current={version.version === agent.promptVersion ? "true" : undefined}>
                {(["from", "to"] as const).map((side) => (
                  <td key={side}>
                    <input
                      type="radio"
                      name={side}
                      aria-label={`${side === "from" ? "From" : "To"} version ${version.version}`}
                      checked={version.version === (side === "from" ? from : to)}
                      onChange={() => pick({ [side]: String(version.version) })}
                    />
                  </td>
                ))}
                <th scope="row">
                  v{version.version} {version.version === agent.promptVersion && <span className="muted small">in use</span>}
                </th>
                <td>
                  <Time at={version.createdAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {answer.data?.agent?.promptVersions.pageInfo.hasNextPage && (
          <button type="button" className="plain" onClick={() => pick({ after: answer.data?.agent?.promptVersions.pageInfo.endCursor ?? "" })}>
            Earlier versions
          </button>
        )}
      </section>
      <Compared agent={agent} from={versions.find((v) => v.version === from)} to={versions.find((v) => v.version === to)} />
    </div>
  );
}

function Compared({ agent, from, to }: { agent: AgentOfPage; from: Version | undefined; to: Version | undefined }) {
  const ids = [from?.id, to?.id].filter((id) => id !== undefined);
  const answer = usePage(PromptTexts, { ids }, { pause: ids.length < 2 });
  const restore = useAction(RestorePrompt);
  const text = (version: Version | undefined) => {
    const node = answer.data?.nodes.find((n) => n?.__typename === "PromptVersion" && n.id === version?.id);
    return node?.__typename === "PromptVersion" ? node.prompt : undefined;
  };
  const [before, after] = [text(from), text(to)];
  return (
    <section className="card" aria-labelledby="diff-title">
      <header>
        <h2 id="diff-title">
          v{from?.version ?? "?"} → v{to?.version ?? "?"}
        </h2>
        <span className="small muted">
          <del>gone</del> <ins>new</ins>
        </span>
        <span className="push row">
          {[from, to].map(
            (version) =>
              version &&
              version.version !== agent.promptVersion && (
                <Act
                  key={version.id}
                  scope="write"
                  disabled={restore.isBusy}
                  onClick={() => void restore.run({ input: { agentId: agent.id, version: version.version } })}
                >
                  Restore v{version.version} as v{agent.promptVersion + 1}
                </Act>
              ),
          )}
        </span>
      </header>
      <div className="body stack">
        {restore.error && <Failure error={restore.error} />}
        {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
        {(!from || !to) && <p className="muted">One of the two versions does not exist.</p>}
        {before !== undefined && after !== undefined ? <Diff from={before} to={after} /> : from && to && !answer.error && <Loading />}
      </div>
    </section>
  );
}
