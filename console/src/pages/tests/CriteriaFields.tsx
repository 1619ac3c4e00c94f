import type { CombinedError } from "@urql/core";
import { useState } from "react";
import type { CheckRow } from "../../logic/checks";
import { linesOf, weightsAfter, type TestValues } from "../../logic/testValues";
import { Field } from "../../ui/Field";
import { Weight } from "./CheckRows";

/** Examples of criteria that are judged without a model. */
export function CriteriaHint() {
  return (
    <>
      Examples: <code>says "two hours"</code>, <code>never says "refund"</code>, <code>calls book_appointment</code>.
    </>
  );
}

/** A check that could replace a criterion of the saved test. */
export interface Suggestion {
  criterion: string;
  /** The check in words. */
  description: string;
  row: CheckRow;
}

/** The criteria, one per line, and their weights. `accept` adds checks that replace a criterion. */
export function CriteriaFields({ values, suggested, accept, error }: {
  values: TestValues;
  suggested: readonly Suggestion[];
  accept: (rows: CheckRow[]) => void;
  error: CombinedError | undefined;
}) {
  const [text, setText] = useState(values.criteria?.join("\n") ?? "");
  const [weights, setWeights] = useState(() => Object.fromEntries((values.criteria ?? []).map((criterion, i) => [criterion, values.criteriaWeights?.[i] ?? null])));
  const criteria = linesOf(text);
  const isWeighted = criteria.some((criterion) => weights[criterion]);
  const edit = (next: string) => {
    setText(next);
    setWeights(weightsAfter(weights, criteria, linesOf(next)));
  };
  const replace = (criterion: string) => {
    setText(criteria.filter((each) => each !== criterion).join("\n"));
    accept(suggested.filter((each) => each.criterion === criterion).map(({ row }) => ({ ...row, weight: weights[criterion] ?? null })));
  };
  return (
    <>
      <Field label="Criteria, one per line" path="criteria" error={error} hint={<CriteriaHint />}>
        {(control) => <textarea {...control} rows={4} value={text} onChange={(event) => edit(event.target.value)} />}
      </Field>
      {criteria.filter((criterion) => suggested.some((each) => each.criterion === criterion)).map((criterion) => (
        <p key={criterion} className="row between">
          <span>
            The judge decides “{criterion}”. This check needs no judge: <strong>{suggested.filter((each) => each.criterion === criterion).map(({ description }) => description).join(", ")}</strong>
          </span>
          <button type="button" onClick={() => replace(criterion)}>
            Use the check
          </button>
        </p>
      ))}
      <input type="hidden" name="criteriaWeights" value={JSON.stringify(isWeighted ? criteria.map((criterion) => weights[criterion] ?? null) : [])} />
      <details open={isWeighted || values.passAt !== undefined && values.passAt !== 1}>
        <summary>Weights</summary>
        <div className="stack tight">
          {criteria.map((criterion, i) => (
            <div key={i} className="row between">
              <span dir="auto">{criterion}</span>
              <Weight label={`Weight of “${criterion}”`} value={weights[criterion] ?? null} change={(weight) => setWeights({ ...weights, [criterion]: weight })} />
            </div>
          ))}
          <Field label="Minimum score, 0 to 1" path="passAt" error={error} hint="The share of the weights that must pass. A criterion without a weight is required.">
            {(control) => <input {...control} type="number" min={0} max={1} step="any" defaultValue={values.passAt ?? 1} />}
          </Field>
        </div>
      </details>
    </>
  );
}
