import type { CombinedError } from "@urql/core";
import { useState, type FormEvent } from "react";
import { graphql, type ResultOf } from "../../api/graphql";
import { useAction, usePage } from "../../api/page";
import { stoppingName, stoppingOf, stoppings, usualRates, type StoppingName } from "../../logic/stopping";
import { Act } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { FindAgent } from "../../ui/FindAgent";
import type { Schedule } from "./query";

const TargetsQuery = graphql(`
  query ScheduleTargets($text: String, $chosen: ID!, $hasChosen: Boolean!) {
    agents(first: 100, filter: { nameContains: $text }) { totalCount pageInfo { hasNextPage } nodes { id name testFolders { id name } } }
    agent(id: $chosen) @include(if: $hasChosen) { id name testFolders { id name } }
  }
`);

type TargetAgent = ResultOf<typeof TargetsQuery>["agents"]["nodes"][number];

const CreateSchedule = graphql(`
  mutation CreateSchedule($input: CreateAgentTestScheduleInput!) {
    createAgentTestSchedule(input: $input) { schedule { id } }
  }
`);

const UpdateSchedule = graphql(`
  mutation UpdateSchedule($input: UpdateAgentTestScheduleInput!) {
    updateAgentTestSchedule(input: $input) { schedule { id } }
  }
`);

const DeleteSchedule = graphql(`
  mutation DeleteSchedule($input: DeleteAgentTestScheduleInput!) {
    deleteAgentTestSchedule(input: $input) { deletedId }
  }
`);

/** Suggested times. Any other cron expression can be typed. */
const usual = [
  ["0 3 * * *", "daily at 03:00"],
  ["0 3 * * 1-5", "on workdays at 03:00"],
  ["0 * * * *", "every hour"],
  ["0 6 * * 1", "on Mondays at 06:00"],
] as const;

/** Creates or changes a schedule. Its tests cannot be changed later: all tests of an agent, or of a folder. */
export function ScheduleEditor({ schedule, agentId, onClose }: { schedule: Schedule | undefined; agentId: string | null; onClose: () => void }) {
  const create = useAction(CreateSchedule);
  const update = useAction(UpdateSchedule);
  const remove = useAction(DeleteSchedule);
  const error = create.error ?? update.error ?? remove.error;
  const [stopping, setStopping] = useState<StoppingName>(stoppingName(schedule?.stopRepeating));
  const [cron, setCron] = useState(schedule ? (schedule.cron ?? "") : usual[0][0]);
  const [isAfterChange, setAfterChange] = useState(schedule?.afterPromptChange ?? false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const values = {
      name: String(form.get("name")),
      cron: cron.trim(),
      timeZone: String(form.get("timeZone")).trim(),
      afterPromptChange: form.has("afterPromptChange"),
      isEnabled: form.has("isEnabled"),
      repeats: Number(form.get("repeats")),
    };
    const stopRepeating = stoppingOf(stopping, { good: Number(form.get("stopRepeating.good")), bad: Number(form.get("stopRepeating.bad")) });
    if (schedule) {
      if (await update.run({ input: { scheduleId: schedule.id, ...values, ...(stopRepeating ? { stopRepeating } : { removeStopRepeating: true }), baselineId: String(form.get("baselineId")).trim() } })) onClose();
      return;
    }
    const [kind, id] = String(form.get("target")).split(" ");
    const baselineId = String(form.get("baselineId")).trim() || null;
    if (await create.run({ input: { ...values, stopRepeating, baselineId, [kind === "folder" ? "folderId" : "agentId"]: id } })) onClose();
  };
  const destroy = async () => {
    if (!schedule || !(await ask({ title: `Delete ${schedule.name}?`, text: "The executions of the schedule are kept.", verb: "Delete schedule", isDangerous: true }))) return;
    if (await remove.run({ input: { scheduleId: schedule.id } })) onClose();
  };
  return (
    <Dialog title={schedule ? "Edit schedule" : "New schedule"} onClose={onClose}>
      <form className="stack" onSubmit={(event) => void submit(event)}>
        <Field label="Name" path="name" error={error}>
          {(control) => <input {...control} required autoFocus={!schedule} defaultValue={schedule?.name} placeholder="Nightly" />}
        </Field>
        {!schedule && <Target agentId={agentId} />}
        <div className="row top">
          <Field label="When" path="cron" error={error} hint={cron || isAfterChange ? (usual.find(([text]) => text === cron)?.[1] ?? "minute, hour, day, month, day of the week") : 'or check "A minute after each change of the prompt"'}>
            {(control) => <input {...control} required={!isAfterChange} className="mono" list="usual-times" value={cron} onChange={(event) => setCron(event.target.value)} />}
          </Field>
          <Field label="Time zone" path="timeZone" error={error}>
            {(control) => <input {...control} required defaultValue={schedule?.timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone} />}
          </Field>
          <Field label="Runs of each test" path="repeats" error={error}>
            {(control) => <input {...control} type="number" min={1} max={20} required defaultValue={schedule?.repeats ?? 1} />}
          </Field>
        </div>
        <div className="row top">
          <Field label="Repeat" path="stopRepeating" error={error}>
            {(control) => (
              <select {...control} value={stopping} onChange={(event) => setStopping(event.target.value as StoppingName)}>
                {stoppings.map(([name, text]) => (
                  <option key={name} value={name}>
                    {text}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {stopping === "decided" && <Rates of={schedule?.stopRepeating} error={error} />}
        </div>
        <datalist id="usual-times">
          {usual.map(([text, meaning]) => (
            <option key={text} value={text}>
              {meaning}
            </option>
          ))}
        </datalist>
        <label className="check">
          <input type="checkbox" name="afterPromptChange" checked={isAfterChange} onChange={(event) => setAfterChange(event.target.checked)} />
          <span>A minute after each change of the prompt</span>
        </label>
        <Field label="Compare with execution" path="baselineId" error={error} hint="Id of a finished execution; empty for none">
          {(control) => <input {...control} className="mono" defaultValue={schedule?.baselineId ?? ""} placeholder="execution_…" />}
        </Field>
        <label className="check">
          <input type="checkbox" name="isEnabled" defaultChecked={schedule?.isEnabled ?? true} />
          <span>Enabled</span>
        </label>
        <p className="muted small">A scheduled execution costs as much as a manual one.</p>
        <FormFailure error={error} shown={["name", "cron", "timeZone", "repeats", "stopRepeating", "stopRepeating.good", "stopRepeating.bad", "baselineId"]} />
        <div className="row">
          <Act scope="simulate" type="submit" className="primary" disabled={create.isBusy || update.isBusy}>
            {schedule ? "Save" : "Create schedule"}
          </Act>
          {schedule && (
            <Act scope="simulate" className="danger push" disabled={remove.isBusy} onClick={() => void destroy()}>
              Delete
            </Act>
          )}
        </div>
      </form>
    </Dialog>
  );
}

/** Fields for the pass rates of a good and a bad test. Repetition stops once the runs clearly favor the good rate. */
function Rates({ of, error }: { of: Schedule["stopRepeating"] | undefined; error: CombinedError | undefined }) {
  return (
    <>
      <Field label="Pass rate of a good test" path="stopRepeating.good" error={error}>
        {(control) => <input {...control} type="number" min={0} max={0.999} step="any" required defaultValue={of?.good ?? usualRates.good} />}
      </Field>
      <Field label="Pass rate of a bad test" path="stopRepeating.bad" error={error}>
        {(control) => <input {...control} type="number" min={0.001} max={1} step="any" required defaultValue={of?.bad ?? usualRates.bad} />}
      </Field>
    </>
  );
}

/** Chooses all tests of an agent, or of a folder. */
function Target({ agentId }: { agentId: string | null }) {
  const [text, setText] = useState("");
  const { data } = usePage(TargetsQuery, { text, chosen: agentId ?? "", hasChosen: agentId !== null }, { keeps: true });
  const [target, setTarget] = useState(agentId ? `agent ${agentId}` : "");
  /** The agent of the target, which a search must not remove. */
  const [owner, setOwner] = useState<TargetAgent>();
  const found = data?.agents.nodes ?? [];
  const kept = owner ?? data?.agent;
  const agents = kept && !found.some(({ id }) => id === kept.id) ? [kept, ...found] : found;
  const choose = (value: string) => {
    setTarget(value);
    setOwner(agents.find((agent) => [agent, ...agent.testFolders].some(({ id }) => value.endsWith(` ${id}`))));
  };
  return (
    <div className="field">
      <label htmlFor="schedule-target">Tests</label>
      <FindAgent hasMore={data?.agents.pageInfo.hasNextPage} text={text} found={data?.agents.totalCount} set={setText} />
      <select id="schedule-target" name="target" required value={target} onChange={(event) => choose(event.target.value)}>
        {/* The page's agent is selected even before its name is read. */}
        {!data && agentId && <option value={`agent ${agentId}`}>Loading agents…</option>}
        <option value="" disabled>
          Choose
        </option>
        {agents.map((agent) => (
          <optgroup key={agent.id} label={agent.name}>
            <option value={`agent ${agent.id}`}>All of {agent.name}</option>
            {agent.testFolders.map((folder) => (
              <option key={folder.id} value={`folder ${folder.id}`}>
                {folder.name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </div>
  );
}
