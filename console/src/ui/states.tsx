import type { CombinedError } from "@urql/core";
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import type { Answer } from "../api/page";
import { Icon } from "./Icon";
import type { IconName } from "./icons";
import { Blank, Page } from "./Page";
import styles from "./states.module.css";

/** Placeholder lines. They appear only if loading takes longer than 150 ms. */
export function Loading({ lines = 6 }: { lines?: number }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className={styles.skeleton} role="status" data-shown={isLate}>
      <span className="unseen">Loading</span>
      {Array.from({ length: lines }, (_, i) => (
        <div key={i} className={styles.bones}>
          <i />
          <i />
          <i />
        </div>
      ))}
    </div>
  );
}

/** The server's error, with the details that support needs to find it. */
export function Failure({ error, retry }: { error: CombinedError; retry?: () => void }) {
  if (isForbidden(error)) return <Forbidden error={error} />;
  const first = error.graphQLErrors[0];
  const trace = first?.extensions.traceId as string | undefined;
  return (
    <div className="note bad row" role="alert">
      <Icon name="failed" />
      <span>{errorText(error)}</span>
      {trace && <Trace id={trace} />}
      {retry && (
        <button type="button" className="push" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The missing scopes, without a retry button. */
function Forbidden({ error }: { error: CombinedError }) {
  const scopes = new Set(error.graphQLErrors.map((e) => /the scope (\w+)$/.exec(e.message)?.[1]));
  const named = [...scopes].filter((scope) => scope !== undefined);
  return (
    <p className="note row" role="status">
      <Icon name="key" />
      {named.length > 0 ? `Your key lacks the scope ${named.join(", ")}, which this needs.` : errorText(error)}
    </p>
  );
}

function isForbidden(error: CombinedError): boolean {
  return !error.networkError && error.graphQLErrors.length > 0 && error.graphQLErrors.every((e) => e.extensions.code === "FORBIDDEN");
}

/** The id of the error in the gateway's log. Browsers allow the clipboard only on encrypted or local pages. */
function Trace({ id }: { id: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <span className="small">
      trace <span className="mono">{id}</span>{" "}
      {window.isSecureContext && (
        <button type="button" className="plain" onClick={() => void navigator.clipboard.writeText(id).then(() => setCopied(true))}>
          {isCopied ? "Copied" : "Copy"}
        </button>
      )}
    </span>
  );
}

/** The server's messages, each once, with its code. */
export function errorText(error: CombinedError): string {
  if (error.networkError) return "The server is unreachable. What you see may be out of date.";
  const messages = error.graphQLErrors.map((e) => (typeof e.extensions.code === "string" ? `${e.message} (${e.extensions.code})` : e.message));
  return [...new Set(messages)].join(" · ");
}

/** Whether the object of a page does not exist. For a text that cannot be an id, the gateway reports a fault of the id. */
export function isNotFound(error: CombinedError | undefined): boolean {
  const isMissing = ({ code, fields }: Record<string, unknown>) => code === "NOT_FOUND" || Boolean((fields as { id?: unknown } | undefined)?.id);
  return error?.graphQLErrors.some((e) => isMissing(e.extensions) && (e.path?.length ?? 0) <= 1) ?? false;
}

/** The result of a page's query: its data, a placeholder while it loads, and errors above partial data. */
export function Shown<Data>({ answer, missing, lines, children }: {
  answer: Answer<Data>;
  missing: string;
  lines?: number;
  children: (data: Data) => ReactNode;
}) {
  if (isNotFound(answer.error)) return <NotFound what={missing} />;
  const content = answer.data && children(answer.data);
  if (!content && answer.error) {
    return (
      <Page title={isForbidden(answer.error) ? "Missing scope" : "This page could not be loaded"}>
        <Failure error={answer.error} retry={answer.refresh} />
      </Page>
    );
  }
  if (!answer.data) {
    return (
      <Blank>
        <Loading lines={lines} />
      </Blank>
    );
  }
  return (
    <>
      {answer.error && (
        <div className={styles.beside}>
          <Failure error={answer.error} retry={answer.refresh} />
        </div>
      )}
      {content}
    </>
  );
}

export function NotFound({ what = "page at this address" }: { what?: string }) {
  return (
    <Page title="Not found">
      <Empty title={`There is no ${what} in this company.`}>
        It may have been deleted, or belong to another company. <Link href="/agents">Agents</Link> and{" "}
        <Link href="/tests">tests</Link> list what exists.
      </Empty>
    </Page>
  );
}

/** An empty state: an icon, the fact, what the thing is for, and a button for the next step. */
export function Empty({ title, icon, action, children }: { title: string; icon?: IconName; action?: ReactNode; children?: ReactNode }) {
  return (
    <div className={styles.empty}>
      {icon && <Icon name={icon} />}
      <h2>{title}</h2>
      {children && <div className="muted">{children}</div>}
      {action}
    </div>
  );
}
