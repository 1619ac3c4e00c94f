import { useState } from "react";
import { useAction } from "../../api/page";
import { Act } from "../../ui/Act";
import { Failure } from "../../ui/states";
import { asPerson, MarkVerdict, person } from "./mark";
import type { RunOfPage } from "./fields";

type Label = RunOfPage["labels"][number];

/** People's labels of a verdict of the judge, and buttons to label it as right or wrong. */
export function Mark({ run, criterion, passed }: { run: RunOfPage; criterion: string; passed: boolean }) {
  const [saved, setSaved] = useState<Label>();
  const [note, setNote] = useState("");
  const mark = useAction(MarkVerdict);
  const earlier = (run.rejudgeOf ?? run).labels.filter((label) => label.criterion === criterion && label.id !== saved?.id);
  const labels = saved ? [...earlier, saved] : earlier;
  const save = async (isRight: boolean) => {
    const result = await mark.run({ input: { runId: run.id, criterion, isRight, note: note || saved?.note, person: asPerson(person()), isSampled: false } });
    if (!result?.labelCriterionResult) return;
    setSaved(result.labelCriterionResult.label);
    setNote("");
  };
  return (
    <div className="stack tight">
      {labels.map((label) => (
        <span key={label.id} className="small">
          {label.person}: <b>{label.holds === passed ? "right" : "wrong"}</b>
          {label.note && `, “${label.note}”`}
        </span>
      ))}
      <span className="row tight">
        <input aria-label="Why the verdict is right or wrong" placeholder="Why (optional)" maxLength={1000} value={note} onChange={(event) => setNote(event.target.value)} />
        <Act scope="write" disabled={mark.isBusy} aria-label="The verdict is right" onClick={() => void save(true)}>
          Right
        </Act>
        <Act scope="write" disabled={mark.isBusy} aria-label="The verdict is wrong" onClick={() => void save(false)}>
          Wrong
        </Act>
      </span>
      {mark.error && <Failure error={mark.error} />}
    </div>
  );
}
