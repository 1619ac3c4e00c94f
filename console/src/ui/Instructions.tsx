import { useState } from "react";
import { graphql } from "../api/graphql";
import { usePage } from "../api/page";
import { may } from "./Act";
import { Failure, Loading } from "./states";

const InstructionsQuery = graphql(`
  query Instructions($id: ID!) {
    node(id: $id) {
      __typename id
      ... on SimulationChat { instructions }
      ... on AgentTestRun { instructions }
    }
  }
`);

/** The instructions that the gateway gives the model of a chat or a run. They are loaded when opened. */
export function Instructions({ id, title }: { id: string; title: string }) {
  const [isOpen, setOpen] = useState(false);
  const answer = usePage(InstructionsQuery, { id }, { pause: !isOpen });
  const read = answer.data?.node;
  const text = read && "instructions" in read ? read.instructions : undefined;
  if (!may("write")) return <p className="muted small">{title} is not shown: your key lacks the scope write.</p>;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      <div className="stack tight">
        {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
        {!read && !answer.error && <Loading lines={3} />}
        {text === null && <p className="muted">Not started yet.</p>}
        {text && <pre>{text}</pre>}
      </div>
    </details>
  );
}
