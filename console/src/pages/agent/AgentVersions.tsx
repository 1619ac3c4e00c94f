import { useSearchParams } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction, usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import Diff from "../../ui/Diff";
import { Failure, Loading } from "../../ui/states";
import { Time } from "../../ui/Time";
import type { AgentOfPage } from "./query";
import { useForeign } from "./AgentPrompt";
import styles from "./AgentVersions.module.css";
import { VersionNote } from "./VersionNote";

/** All versions without their texts, and the texts of two versions, by their distance from the newest. */
const PromptVersionsQuery = graphql(`
  query PromptVersions($id: ID!, $after: String, $from: Int!, $to: Int!) {
    agent(id: $id) {
      id
      promptVersions(first: 100, after: $after) { totalCount pageInfo { hasNextPage endCursor } nodes { id version note createdAt writtenBy } }
      from: promptVersions(first: 1, offset: $from) { nodes { id version prompt } }
      to: promptVersions(first: 1, offset: $to) { nodes { id version prompt } }
    }
  }
`);

const RestorePrompt = graphql(`
  mutation RestorePrompt($input: RestoreAgentPromptInput!) {
    restoreAgentPrompt(input: $input) { agent { id prompt promptVersion updatedAt } }
  }
`);

/** All versions of the prompt, and a comparison of two, word by word. */
export default function AgentVersions({ agent }: { agent: AgentOfPage }) {
  const [params, setParams] = useSearchParams();
  const to = Number(params.get("to")) || agent.promptVersion;
  const from = Number(params.get("from")) || Math.max(1, to - 1);
  const distance = (version: number) => Math.max(0, agent.promptVersion - version);
  const answer = usePage(PromptVersionsQuery, { id: agent.id, after: params.get("after"), from: distance(from), to: distance(to) }, { keeps: true });
  const versions = answer.data?.agent?.promptVersions.nodes;
  const textOf = (version: number) =>
    [...(answer.data?.agent?.from.nodes ?? []), ...(answer.data?.agent?.to.nodes ?? [])].find((node) => node.version === version)?.prompt;
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
                  <VersionNote version={version} />
                </th>
                <td>
                  <Time at={version.createdAt} />
                  <div className="muted small">{version.writtenBy ? `with the key ${version.writtenBy}` : "imported"}</div>
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
      <Compared agent={agent} onRestored={answer.refresh} isRead={!answer.isOld} from={{ version: from, text: textOf(from) }} to={{ version: to, text: textOf(to) }} />
    </div>
  );
}

interface Side {
  version: number;
  /** Undefined while the text loads, and if there is no such version. */
  text: string | undefined;
}

function Compared({ agent, onRestored, isRead, from, to }: { agent: AgentOfPage; onRestored: () => void; isRead: boolean; from: Side; to: Side }) {
  const restore = useAction(RestorePrompt);
  const restoreTo = async (version: number) => {
    // The new version has the variables of the one before, so urql does not read the list again.
    if (await restore.run({ input: { agentId: agent.id, version, expectedVersion: agent.promptVersion } })) onRestored();
  };
  const isForeign = useForeign(agent.id, restore.error);
  return (
    <section className="card" aria-labelledby="diff-title">
      <header>
        <h2 id="diff-title">
          v{from.version} → v{to.version}
        </h2>
        <span className="small muted">
          <del>gone</del> <ins>new</ins>
        </span>
        <span className="push row">
          {[from, to].map(
            ({ version, text }, i) =>
              text !== undefined &&
              version !== agent.promptVersion && (
                <Act key={i} scope="write" disabled={restore.isBusy} onClick={() => void restoreTo(version)}>
                  Restore v{version} as v{agent.promptVersion + 1}
                </Act>
              ),
          )}
        </span>
      </header>
      <div className="body stack">
        {isForeign && (
          <p className="note warn" role="alert">
            Somebody else saved v{agent.promptVersion} after you opened this page, so nothing was restored. Compare with that version, then restore again.
          </p>
        )}
        {restore.error && !isForeign && <Failure error={restore.error} />}
        {from.text !== undefined && to.text !== undefined && <Diff from={from.text} to={to.text} />}
        {(from.text === undefined || to.text === undefined) && (isRead ? <p className="muted">One of the two versions does not exist.</p> : <Loading lines={3} />)}
      </div>
    </section>
  );
}
