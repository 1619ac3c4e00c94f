import type { CombinedError } from "@urql/core";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { usePage } from "../../api/page";

const RunToTalkOnQuery = graphql(`
  query RunToTalkOn($id: ID!) {
    agentTestRun(id: $id) {
      id testName
      messages { role text }
      test { __typename id ... on SimulationTest { variables } }
    }
  }
`);

/** The parts of a run that a chat continues from. */
export interface RunToTalkOn {
  id: string;
  testName: string;
  messages: { role: "assistant" | "user"; text: string }[];
  variables: Record<string, unknown>;
}

interface Reading {
  data: RunToTalkOn | undefined;
  error: CombinedError | undefined;
  refresh: () => void;
  /** Undefined without a run. */
  isRead: boolean | undefined;
}

/** Reads the run that a chat continues, if any. */
export function useRunOf(id: string | null): Reading {
  const { data, error, refresh } = usePage(RunToTalkOnQuery, { id: id ?? "" }, { pause: !id });
  const run = data?.agentTestRun;
  const variables = run?.test?.__typename === "SimulationTest" ? run.test.variables : {};
  return { data: run ? { ...run, variables } : undefined, error, refresh, isRead: id ? Boolean(data) : undefined };
}

/** The conversation of the run, up to the agent's message that is chosen. */
export function Beginning({ run }: { run: RunToTalkOn }) {
  // A chat begins with at most a hundred messages, and the last one is the agent's.
  const ends = run.messages.map((message, at) => ({ ...message, at })).filter(({ role, at }) => role === "assistant" && at < 100);
  return (
    <section className="card" aria-labelledby="beginning-title">
      <header>
        <h2 id="beginning-title">Earlier messages</h2>
        <Link href={`/runs/${run.id}`}>{run.testName}</Link>
      </header>
      <div className="body field">
        <label htmlFor="upTo">Continue after message</label>
        <select id="upTo" name="upTo" defaultValue={ends.at(-1)?.at}>
          {ends.map(({ at, text }) => (
            <option key={at} value={at}>
              {at} agent: {text.slice(0, 70)}
            </option>
          ))}
        </select>
      </div>
    </section>
  );
}
