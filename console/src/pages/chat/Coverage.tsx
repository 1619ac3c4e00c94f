import { plural } from "../../ui/format";
import { Status } from "../../ui/Status";

export interface Covered {
  kind: string;
  targetId: string | null;
  technicalName: string;
  path: string[];
  effect: string;
}

/** The effect of each call that the agent and its sub-agents can make. */
export function Coverage({ calls }: { calls: readonly Covered[] }) {
  const own = calls.filter((call) => call.path.length === 0);
  const others = calls.filter((call) => call.path.length > 0);
  return (
    <section className="card" aria-labelledby="coverage-title">
      <header>
        <h2 id="coverage-title">Tool behavior</h2>
      </header>
      <Calls calls={own} />
      {others.length > 0 && (
        <details className="body">
          <summary>
            {others.length} more through sub-agents, {plural(others.filter(isReal).length, "real call")}
          </summary>
          <Calls calls={others} />
        </details>
      )}
      {calls.length === 0 && <p className="body muted">No calls are possible.</p>}
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

function Calls({ calls }: { calls: readonly Covered[] }) {
  return (
    <table>
      <tbody>
        {calls.map((call) => (
          <tr key={`${call.kind} ${call.path.join("/")} ${call.technicalName}`}>
            <th scope="row">
              {call.path.length > 0 && <span className="muted small">{call.path.join(" › ")} › </span>}
              <code>{call.technicalName}</code>
            </th>
            <td>
              <Status of={effectOf(call)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
