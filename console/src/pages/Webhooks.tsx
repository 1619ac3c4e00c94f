import { useState, type FormEvent } from "react";
import { askAs, createToken } from "../api/session";
import { AdminKeys } from "../ui/AdminKeys";
import { ask } from "../ui/asking";
import { Page } from "../ui/Page";
import { Empty } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import { Deliveries } from "./webhooks/Deliveries";
import { events, type Webhook } from "./webhooks/webhook";
import { RotateSecret, WebhookEditor } from "./webhooks/WebhookEditor";
import styles from "./webhooks/Webhooks.module.css";

/** The lifetime of this page's token, in seconds. It is kept in memory only. */
const adminSeconds = 600;

const webhooksQuery = "query Webhooks { webhooks { id url description events isEnabled disabledReason failingSince previousSecretUntil } }";
const remove = "mutation DeleteWebhook($input: DeleteWebhookInput!) { deleteWebhook(input: $input) { deletedId } }";

/** The dialog that is open over the list. */
type Open = { what: "new" } | { what: "edit" | "rotate" | "deliveries"; webhook: Webhook };

/** The company's webhooks. The console's session may never see them, so the page asks for a key each time. */
export default function Webhooks() {
  const [token, setToken] = useState<string>();
  const [webhooks, setWebhooks] = useState<Webhook[]>();
  const [problem, setProblem] = useState<string>();
  const [open, setOpen] = useState<Open>();

  const attempt = async (action: () => Promise<void>) => {
    setProblem(undefined);
    try {
      await action();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const read = async (by: string) => {
    const answer = await askAs<{ webhooks: Webhook[] }>({ Authorization: `Bearer ${by}` }, webhooksQuery);
    setToken(by);
    setWebhooks(answer.webhooks);
  };
  /** Asks for a key again, because the token has expired. */
  const forget = () => {
    setToken(undefined);
    setWebhooks(undefined);
  };
  const show = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get("key")).trim();
    void attempt(async () => {
      const made = await createToken(key, ["admin"], adminSeconds);
      if (!made.token) throw new Error(made.code === "FORBIDDEN" ? "This key cannot manage webhooks: it lacks the scope admin." : (made.message ?? "No token."));
      await read(made.token);
      setTimeout(forget, adminSeconds * 1_000);
    });
  };
  const destroy = async (webhook: Webhook) => {
    const isSure = await ask({ title: "Delete this webhook?", text: `Nothing more is sent to ${webhook.url}. Pending deliveries are lost.`, verb: "Delete webhook", isDangerous: true });
    if (!token || !isSure) return;
    void attempt(async () => {
      await askAs({ Authorization: `Bearer ${token}` }, remove, { input: { webhookId: webhook.id } });
      setOpen((now) => (now === open ? undefined : now));
      await read(token);
    });
  };
  const close = () => {
    setOpen((now) => (now === open ? undefined : now));
    if (token) void attempt(() => read(token));
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
      {problem && (
        <p className="note bad" role="alert">
          {problem}
        </p>
      )}
      {webhooks ? <WebhookTable webhooks={webhooks} open={setOpen} /> : <Ask show={show} />}
      {open?.what === "new" && <WebhookEditor onClose={close} />}
      {open?.what === "edit" && <WebhookEditor webhook={open.webhook} rotate={() => setOpen({ what: "rotate", webhook: open.webhook })} destroy={() => destroy(open.webhook)} onClose={close} />}
      {open?.what === "rotate" && <RotateSecret webhook={open.webhook} onClose={close} />}
      {open?.what === "deliveries" && token && <Deliveries webhook={open.webhook} token={token} onClose={close} />}
    </Page>
  );
}

function Ask({ show }: { show: (event: FormEvent<HTMLFormElement>) => void }) {
  return (
    <form className="card" onSubmit={show}>
      <div className="body stack">
        <p>
          A webhook is one of your URLs. agentgraph sends it a signed request when a test execution ends, tests start failing, the budget is nearly used up, or a document is indexed.
        </p>
        <p>This session cannot see webhooks, because their addresses may contain secrets. Enter a key with the scope admin to see them for ten minutes. <AdminKeys /></p>
        <div className="field">
          <label htmlFor="admin-key">API key</label>
          <input id="admin-key" name="key" type="password" autoComplete="current-password" required spellCheck={false} />
        </div>
        <div>
          <button type="submit" className="primary">
            Show webhooks for 10 minutes
          </button>
        </div>
      </div>
    </form>
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
