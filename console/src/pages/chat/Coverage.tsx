import { plural } from "../../ui/format";
import { Status } from "../../ui/Status";
import styles from "./Coverage.module.css";

export interface Covered {
  kind: string;
  targetId: string | null;
  technicalName: string;
  path: string[];
  effect: string;
}

/** The effect of each call that the agent and its sub-agents can make, and how often each was made. */
export function Coverage({ calls, counts }: { calls: readonly Covered[]; counts?: ReadonlyMap<string, number> }) {
  const own = calls.filter((call) => call.path.length === 0);
  const others = calls.filter((call) => call.path.length > 0);
  const tools = own.filter((call) => call.kind === "Tool" || call.kind === "CallTransfer");
  const isMocked = tools.length > 0 && tools.every((call) => call.effect === "Mocked");
  return (
    <section className={styles.coverage} aria-labelledby="coverage-title">
      <header>
        <h2 id="coverage-title">Tools</h2>
        {isMocked && <span className="muted small">all mocked</span>}
      </header>
      <Calls calls={own} counts={counts} isMocked={isMocked} />
      {others.length > 0 && (
        <details>
          <summary className="muted small">
            {others.length} more through sub-agents, {plural(others.filter(isReal).length, "real call")}
          </summary>
          <Calls calls={others} counts={counts} isMocked={false} />
        </details>
      )}
      {calls.length === 0 && <p className="muted">No calls are possible.</p>}
    </section>
  );
}

/** Whether the call reaches something outside. Retrievals and delegations do not. */
export function isReal(call: Covered): boolean {
  return effectOf(call) === "Real";
}

function effectOf(call: Covered): string {
  if (call.effect !== "Real") return call.effect;
  return { Retrieval: "Reads", SubAgent: "Delegates" }[call.kind] ?? "Real";
}

function Calls({ calls, counts, isMocked }: { calls: readonly Covered[]; counts: ReadonlyMap<string, number> | undefined; isMocked: boolean }) {
  return (
    <ul>
      {calls.map((call) => {
        const count = counts?.get(call.technicalName) ?? 0;
        return (
          <li key={`${call.kind} ${call.path.join("/")} ${call.technicalName}`}>
            <span>
              {call.path.length > 0 && <span className="muted small">{call.path.join(" › ")} › </span>}
              <code className={count > 0 ? undefined : "muted"}>{call.technicalName}</code>
            </span>
            {count > 0 && <span className="muted small nowrap">{plural(count, "call")}</span>}
            {(!isMocked || call.effect !== "Mocked") && <Status of={effectOf(call)} />}
          </li>
        );
      })}
    </ul>
  );
}
