import { useCallback, useEffect, useRef, useState } from "react";
import { askAs } from "../../api/session";
import { Dialog } from "../../ui/Dialog";
import { Empty, Loading } from "../../ui/states";
import { Status } from "../../ui/Status";
import { Time } from "../../ui/Time";
import type { Webhook } from "./webhook";
import styles from "./Webhooks.module.css";

interface Delivery {
  id: string;
  type: string;
  status: string;
  payload: Record<string, unknown>;
  nextAttemptAt: string | null;
  createdAt: string;
  attempts: { at: string; status: number | null; durationMs: number; error: string | null }[];
}

interface PageOfDeliveries {
  nodes: Delivery[];
  totalCount: number;
  pageInfo: { hasNextPage: boolean; endCursor: string | null };
}

const deliveriesQuery = `query Deliveries($id: ID!, $after: String) {
  webhook(id: $id) {
    deliveries(first: 20, after: $after) {
      totalCount pageInfo { hasNextPage endCursor }
      nodes { id type status payload nextAttemptAt createdAt attempts { at status durationMs error } }
    }
  }
}`;
const ping = "mutation SendTestWebhook($input: SendTestWebhookInput!) { sendTestWebhook(input: $input) { delivery { id } } }";
const again = "mutation RedeliverWebhook($input: RedeliverWebhookInput!) { redeliverWebhook(input: $input) { delivery { id } } }";

/** How long after a change the deliveries are read again, in milliseconds: messages are sent within a second. */
const soon = 1_500;

/** The deliveries of a webhook, newest first. */
export function Deliveries({ webhook, token, onClose }: { webhook: Webhook; token: string; onClose: () => void }) {
  const [page, setPage] = useState<PageOfDeliveries>();
  const [after, setAfter] = useState<string | null>(null);
  const [problem, setProblem] = useState<string>();
  const asked = useCallback(
    async function <Data>(query: string, variables: Record<string, unknown>): Promise<Data | undefined> {
      try {
        return await askAs<Data>({ Authorization: `Bearer ${token}` }, query, variables);
      } catch (error) {
        setProblem((error as Error).message);
        return undefined;
      }
    },
    [token],
  );
  const wanted = useRef(after);
  const read = useCallback(async () => {
    const answer = await asked<{ webhook: { deliveries: PageOfDeliveries } }>(deliveriesQuery, { id: webhook.id, after });
    // The user may have chosen another page by now.
    if (answer && wanted.current === after) setPage(answer.webhook.deliveries);
  }, [asked, webhook.id, after]);
  useEffect(() => {
    wanted.current = after;
    void read();
  }, [read, after]);
  const change = async (query: string, input: Record<string, string>) => {
    setProblem(undefined);
    if (!(await asked(query, { input }))) return;
    await read();
    setTimeout(() => void read(), soon);
  };
  return (
    <Dialog title="Deliveries" onClose={onClose}>
      <div className="stack">
        <div className="row">
          <span className={`mono small ${styles.text}`}>{webhook.url}</span>
          <button type="button" className="push" disabled={!webhook.isEnabled} onClick={() => void change(ping, { webhookId: webhook.id })}>
            Send test event
          </button>
        </div>
        {problem && (
          <p className="note bad" role="alert">
            {problem}
          </p>
        )}
        {!page && !problem && <Loading />}
        {page?.nodes.length === 0 && <Empty title="No deliveries yet." />}
        {page?.nodes.map((delivery) => (
          <One key={delivery.id} delivery={delivery} redeliver={webhook.isEnabled ? () => void change(again, { deliveryId: delivery.id }) : undefined} />
        ))}
        {page && (
          <div className="row">
            {after && (
              <button type="button" onClick={() => setAfter(null)}>
                Newest
              </button>
            )}
            {page.pageInfo.hasNextPage && (
              <button type="button" onClick={() => setAfter(page.pageInfo.endCursor)}>
                Older
              </button>
            )}
          </div>
        )}
      </div>
    </Dialog>
  );
}

function One({ delivery, redeliver }: { delivery: Delivery; redeliver: (() => void) | undefined }) {
  return (
    <details>
      <summary>
        <Status of={delivery.status} /> <span className="mono small">{delivery.type}</span> <Time at={delivery.createdAt} />
      </summary>
      <div className="stack tight">
        {delivery.attempts.map((attempt) => (
          <div key={attempt.at} className="small">
            <Time at={attempt.at} /> {attempt.status ?? "no answer"} in {attempt.durationMs} ms
            {attempt.error && <div className={`fault ${styles.text}`}>{attempt.error}</div>}
          </div>
        ))}
        {delivery.nextAttemptAt && (
          <div className="muted small">
            next attempt after <Time at={delivery.nextAttemptAt} />
          </div>
        )}
        <pre className="note small scroll">{JSON.stringify(delivery.payload, null, 2)}</pre>
        <div className="muted small mono">{delivery.id}</div>
        {redeliver && (
          <div>
            <button type="button" onClick={redeliver}>
              Deliver again
            </button>
          </div>
        )}
      </div>
    </details>
  );
}
