import { Tabs } from "../../ui/Page";

/** The tabs of a red test: one of its runs, and what broke it. */
export function TestTabs({ runId, testId, current }: { runId: string | null; testId: string; current: "run" | "blame" }) {
  const tabs = [...(runId ? [{ key: "run", to: `/runs/${runId}`, text: "Transcript" }] : []), { key: "blame", to: `/tests/${testId}/blame`, text: "What broke it" }];
  return <Tabs label="Test" tabs={tabs} current={current} />;
}
