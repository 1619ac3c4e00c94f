import { useState, type FormEvent } from "react";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction, usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { Time } from "../../ui/Time";
import type { ExecutionOfMatrix } from "./Matrix";

const JudgesQuery = graphql(`
  query Judges { server { judgeModels } }
`);

const RejudgeExecution = graphql(`
  mutation RejudgeExecution($input: RejudgeAgentTestExecutionInput!) {
    rejudgeAgentTestExecution(input: $input) { execution { id rejudgeOfId leftOutTests { testId testName } } }
  }
`);

/** Judges the conversations of an execution again. The first verdicts are kept. */
export function Rejudge({ executionId, onStarted }: { executionId: string; onStarted: (executionId: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Act scope="simulate" onClick={() => setOpen(true)}>
        Judge again
      </Act>
      {isOpen && <RejudgeDialog executionId={executionId} onStarted={onStarted} onClose={() => setOpen(false)} />}
    </>
  );
}

function RejudgeDialog({ executionId, onStarted, onClose }: { executionId: string; onStarted: (executionId: string) => void; onClose: () => void }) {
  const models = usePage(JudgesQuery, {}).data?.server.judgeModels ?? [];
  const rejudge = useAction(RejudgeExecution);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const made = await rejudge.run({
      input: {
        executionId, model: String(form.get("model") ?? "") || null, votes: Number(form.get("votes")),
        criteria: form.get("criteria") === "Present" ? "Present" : "AsRun",
      },
    });
    if (!made?.rejudgeAgentTestExecution) return;
    onClose();
    onStarted(made.rejudgeAgentTestExecution.execution.id);
  };
  return (
    <Dialog title="Judge again" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p className="muted">Conversations and verdicts are kept; the new verdicts are added. Only the judge costs credits.</p>
        <Field label="The judge" path="model" error={rejudge.error}>
          {(control) => (
            <select {...control}>
              {models.map((model) => (
                <option key={model}>{model}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label="Criteria" path="criteria" error={rejudge.error}>
          {(control) => (
            <select {...control}>
              <option value="AsRun">as in the original execution</option>
              <option value="Present">the tests' current criteria</option>
            </select>
          )}
        </Field>
        <Field label="Votes per criterion" path="votes" error={rejudge.error}>
          {(control) => (
            <select {...control}>
              {[1, 3, 5].map((votes) => (
                <option key={votes}>{votes}</option>
              ))}
            </select>
          )}
        </Field>
        <FormFailure error={rejudge.error} shown={["model", "criteria", "votes"]} />
        <div>
          <Act scope="simulate" type="submit" className="primary" disabled={rejudge.isBusy}>
            Judge again
          </Act>
        </div>
      </form>
    </Dialog>
  );
}

/** The agreement of a rejudged execution with the first verdicts, or links to executions that judged this one again. */
export function Rejudged({ execution, show }: { execution: ExecutionOfMatrix; show: (executionId: string) => void }) {
  const { agreement, rejudgements } = execution;
  return (
    <>
      {execution.rejudgeOfId && (
        <span className="row">
          <span className="muted">
            judged again by {execution.judgeModel}
            {agreement && `: ${agreement.sameRuns} of ${agreement.runs} runs the same, ${agreement.sameCriteria} of ${agreement.criteria} criteria`}
          </span>
          <Link href={`/compare?base=${execution.rejudgeOfId}&head=${execution.id}`}>Agreement with the first verdicts</Link>
        </span>
      )}
      {rejudgements.length > 0 && (
        <span className="row">
          <span className="muted">Judged again:</span>
          {rejudgements.map((again) => (
            <button key={again.id} type="button" className="plain" title={`By ${again.startedBy ?? "somebody"}`} onClick={() => show(again.id)}>
              {again.judgeModel}, <Time at={again.createdAt} />
            </button>
          ))}
        </span>
      )}
    </>
  );
}
