export interface Webhook {
  id: string;
  url: string;
  description: string;
  events: string[];
  isEnabled: boolean;
  disabledReason: string | null;
  failingSince: string | null;
  previousSecretUntil: string | null;
}

/** The label of each event that a webhook can receive. */
export const events: Record<string, string> = {
  AgentTestExecutionEnded: "finished test executions",
  AgentTestsTurnedRed: "tests that start failing",
  AgentTestScheduleFailed: "schedules that cannot start",
  BudgetWarned: "budget warnings",
  DocumentReady: "indexed documents",
  DocumentFailed: "documents that failed",
};
