import { useState } from "react";
import { useAdmin } from "../ui/admin";
import { ask } from "../ui/asking";
import { Page } from "../ui/Page";
import { Empty } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import { Deliveries } from "./webhooks/Deliveries";
import { events, type Webhook } from "./webhooks/webhook";
import { RotateSecret, WebhookEditor } from "./webhooks/WebhookEditor";
import styles from "./webhooks/Webhooks.module.css";

const webhooksQuery = "query Webhooks { webhooks { id url description events isEnabled disabledReason failingSince previousSecretUntil } }";
const remove = "mutation DeleteWebhook($input: DeleteWebhookInput!) { deleteWebhook(input: $input) { deletedId } }";

/** The dialog that is open over the list. */
type Open = { what: "new" } | { what: "edit" | "rotate" | "deliveries"; webhook: Webhook };

/** The company's webhooks. The console's session may never see them, so the page asks for a key each time. */
export default function Webhooks() {
  const admin = useAdmin<{ webhooks: Webhook[] }>("webhooks", webhooksQuery);
  const [open, setOpen] = useState<Open>();
  const webhooks = admin.data?.webhooks;

  // A slow change must not close a dialog that was opened in the meantime.
  const closeThis = () => setOpen((now) => (now === open ? undefined : now));
  const destroy = async (webhook: Webhook) => {
    const isSure = await ask({ title: "Delete this webhook?", text: `Nothing more is sent to ${webhook.url}. Pending deliveries are lost.`, verb: "Delete webhook", isDangerous: true });
    if (isSure) void admin.change(remove, { webhookId: webhook.id }, closeThis);
  };
  const close = () => {
    closeThis();
    void admin.refresh();
  };
  return (
    <Page
      title="Webhooks"
      crumbs={[{ to: "/keys", text: "Keys" }]}
      actions={
        webhooks && (
          <button type="button" className="primary" onClick={() => setOpen({ what: "new" })}>
            New webhook
          </button>
        )
      }
    >
      {admin.problem}
      {webhooks ? (
        <WebhookTable webhooks={webhooks} open={setOpen} />
      ) : (
        admin.form(
          <>
            <p>
              A webhook is one of your URLs. agentgraph sends it a signed request when a test execution ends, tests start failing, the budget is nearly used up, or a document is indexed.
            </p>
            <p>This session cannot see webhooks, because their addresses may contain secrets.</p>
          </>,
        )
      )}
      {open?.what === "new" && <WebhookEditor onClose={close} />}
      {open?.what === "edit" && <WebhookEditor webhook={open.webhook} rotate={() => setOpen({ what: "rotate", webhook: open.webhook })} destroy={() => destroy(open.webhook)} onClose={close} />}
      {open?.what === "rotate" && <RotateSecret webhook={open.webhook} onClose={close} />}
      {open?.what === "deliveries" && admin.token && <Deliveries webhook={open.webhook} token={admin.token} onClose={close} />}
    </Page>
  );
}

function WebhookTable({ webhooks, open }: { webhooks: Webhook[]; open: (what: Open) => void }) {
  if (webhooks.length === 0) return <Empty title="No webhooks yet." />;
  return (
    <div className="card scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">URL</th>
            <th scope="col" className="wide">
              Events
            </th>
            <th scope="col" className="wide">
              State
            </th>
            <th scope="col">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {webhooks.map((webhook) => (
            <tr key={webhook.id}>
              <th scope="row">
                <span className={`mono small ${styles.text}`}>{webhook.url}</span>
                {webhook.description && <div className="muted small">{webhook.description}</div>}
                <div className="narrow">
                  <State of={webhook} />
                </div>
              </th>
              <td className="wide">{webhook.events.map((event) => events[event] ?? event).join(", ")}</td>
              <td className="wide">
                <State of={webhook} />
              </td>
              <td>
                <div className={styles.actions}>
                  <button type="button" onClick={() => open({ what: "deliveries", webhook })}>
                    Deliveries<span className="unseen"> to {webhook.url}</span>
                  </button>
                  <button type="button" onClick={() => open({ what: "edit", webhook })}>
                    Edit<span className="unseen"> {webhook.url}</span>
                  </button>
                </div>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ of }: { of: Webhook }) {
  if (of.disabledReason) return <span className="fault small">Disabled: {of.disabledReason}</span>;
  if (!of.isEnabled) return <span className="muted">disabled</span>;
  if (!of.failingSince) return <Status of="Active" />;
  return (
    <span className="fault small">
      failing since <Time at={of.failingSince} />
    </span>
  );
}
