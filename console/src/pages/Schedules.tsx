import { useState } from "react";
import { Link, useSearchParams } from "wouter";
import { usePage } from "../api/page";
import { repeatsText } from "../logic/stopping";
import { Act } from "../ui/Act";
import { plural } from "../ui/format";
import { Page } from "../ui/Page";
import { Empty, Failure, Loading } from "../ui/states";
import { Status } from "../ui/Status";
import { TestSummary } from "../ui/TestSummary";
import { Time } from "../ui/Time";
import { SchedulesQuery, type Schedule } from "./schedules/query";
import { ScheduleEditor } from "./schedules/ScheduleEditor";
import styles from "./schedules/Schedules.module.css";

/** The test schedules of an agent or, without one, of the company. */
export default function Schedules() {
  const [params] = useSearchParams();
  const agentId = params.get("agent");
  const answer = usePage(SchedulesQuery, { agentId }, { onFocus: true, isFresh: true });
  const [edited, setEdited] = useState<Schedule | "new">();
  const schedules = answer.data?.agentTestSchedules.nodes;
  const total = answer.data?.agentTestSchedules.totalCount ?? 0;
  const close = (of: Schedule | "new") => {
    setEdited((now) => (now === of ? undefined : now));
    answer.refresh();
  };
  return (
    <Page
      title="Schedules"
      crumbs={[{ to: agentId ? `/tests?agent=${agentId}` : "/tests", text: "Tests" }]}
      actions={
        <Act scope="simulate" className="primary" onClick={() => setEdited("new")}>
          New schedule
        </Act>
      }
    >
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!schedules && !answer.error && <Loading />}
      {schedules?.length === 0 && <Empty title="No scheduled tests.">A schedule runs tests at set times, such as every night, or after each change of the prompt.</Empty>}
      {schedules && schedules.length > 0 && <ScheduleTable schedules={schedules} edit={setEdited} />}
      {schedules && schedules.length < total && (
        <p className="muted small">
          The newest {schedules.length} of {plural(total, "schedule")}.{!agentId && " For an agent's schedules, open More on its tests."}
        </p>
      )}
      {edited && <ScheduleEditor schedule={edited === "new" ? undefined : edited} agentId={agentId} onClose={() => close(edited)} />}
    </Page>
  );
}

function ScheduleTable({ schedules, edit }: { schedules: Schedule[]; edit: (schedule: Schedule) => void }) {
  return (
    <div className="card scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="wide">
              Runs
            </th>
            <th scope="col" className="wide">
              Next
            </th>
            <th scope="col">Last</th>
            <th scope="col">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {schedules.map((schedule) => (
            <tr key={schedule.id}>
              <th scope="row">
                {schedule.name}
                <div className={`muted small ${styles.times}`}>{timesOf(schedule)}</div>
                {schedule.disabledReason && <div className="fault small">Disabled: {schedule.disabledReason}</div>}
              </th>
              <td className="wide">
                {whatOf(schedule)}
                {repeatsText(schedule.repeats, schedule.stopRepeating)}
              </td>
              <td className="wide">
                <Next of={schedule} />
              </td>
              <td>
                {schedule.lastExecution && schedule.agentId ? (
                  <>
                    <TestSummary agentId={schedule.agentId} execution={schedule.lastExecution} />
                    {schedule.baselineId && <Link href={`/compare?base=${schedule.baselineId}&head=${schedule.lastExecution.id}`}>Compare</Link>}
                  </>
                ) : (
                  !schedule.lastError && <span className="muted">{schedule.lastExecution ? <Status of={schedule.lastExecution.verdict ?? schedule.lastExecution.status} /> : "never run"}</span>
                )}
                {schedule.lastError && (
                  <div className="fault small">
                    Failed {schedule.lastFailedAt && <Time at={schedule.lastFailedAt} />}: {schedule.lastError}
                  </div>
                )}
              </td>
              <td>
                <Act scope="simulate" onClick={() => edit(schedule)}>
                  Edit<span className="unseen"> {schedule.name}</span>
                </Act>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Next({ of }: { of: Schedule }) {
  if (!of.isEnabled) return <span className="muted">disabled</span>;
  return of.nextRunAt ? <Time at={of.nextRunAt} /> : <span className="muted">after each change of the prompt</span>;
}

function timesOf({ cron, timeZone, afterPromptChange }: Schedule): string {
  const times = cron ? [`${cron} (${timeZone})`] : [];
  if (afterPromptChange) times.push("after each change of the prompt");
  return times.join(", ");
}

function whatOf({ agent, folder, testIds }: Schedule) {
  if (testIds) return testIds.length === 1 ? "1 test" : `${testIds.length} tests`;
  const of = agent ? <Link href={`/tests?agent=${agent.id}`}>{agent.name}</Link> : "a deleted agent";
  return folder ? (
    <>
      {folder.name} of {of}
    </>
  ) : (
    <>All tests of {of}</>
  );
}
