import { useState, type FormEvent } from "react";
import { askAs } from "../../api/session";
import { Dialog } from "../../ui/Dialog";
import { Confirmation, Secret } from "../keys/parts";
import { events, type Webhook } from "./webhook";

const create = "mutation CreateWebhook($input: CreateWebhookInput!) { createWebhook(input: $input) { secret webhook { id } } }";
const update = "mutation UpdateWebhook($input: UpdateWebhookInput!) { updateWebhook(input: $input) { webhook { id } } }";
const rotation = "mutation RotateWebhookSecret($input: RotateWebhookSecretInput!) { rotateWebhookSecret(input: $input) { secret } }";

interface Props {
  /** Undefined to create one. */
  webhook?: Webhook;
  rotate?: () => void;
  destroy?: () => void;
  onClose: () => void;
}

/** Creates a webhook and shows its secret once, or changes one. */
export function WebhookEditor({ webhook, rotate, destroy, onClose }: Props) {
  const [secret, setSecret] = useState<string>();
  const { problem, isBusy, attempt } = useAttempt();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const values = { url: String(form.get("url")).trim(), description: form.get("description"), events: form.getAll("event") };
    void attempt(async () => {
      const by = { "X-Api-Key": String(form.get("key")).trim() };
      if (webhook) {
        const isEnabled = form.has("isEnabled");
        await askAs(by, update, { input: { webhookId: webhook.id, ...values, isEnabled: isEnabled === webhook.isEnabled ? null : isEnabled } });
        onClose();
        return;
      }
      setSecret((await askAs<{ createWebhook: { secret: string } }>(by, create, { input: values })).createWebhook.secret);
    });
  };
  if (secret) return <TheSecret secret={secret} onClose={onClose} />;
  return (
    <Dialog title={webhook ? "Edit webhook" : "New webhook"} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div className="field">
          <label htmlFor="webhook-url">URL</label>
          <input id="webhook-url" name="url" type="url" required autoFocus={!webhook} spellCheck={false} defaultValue={webhook?.url} placeholder="https://ci.example.com/hooks/agents" />
        </div>
        <div className="field">
          <label htmlFor="webhook-description">Description</label>
          <input id="webhook-description" name="description" maxLength={500} defaultValue={webhook?.description} />
        </div>
        <fieldset className="stack tight">
          <legend>Events</legend>
          {Object.entries(events).map(([event, meaning]) => (
            <label key={event} className="check">
              <input type="checkbox" name="event" value={event} defaultChecked={webhook ? webhook.events.includes(event) : event.startsWith("AgentTest")} />
              <span>{meaning}</span>
            </label>
          ))}
        </fieldset>
        {webhook && (
          <label className="check">
            <input type="checkbox" name="isEnabled" defaultChecked={webhook.isEnabled} />
            <span>Enabled</span>
          </label>
        )}
        <Confirmation />
        <Problem text={problem} />
        <div className="row">
          <button type="submit" className="primary" disabled={isBusy}>
            {webhook ? "Save" : "Create webhook"}
          </button>
          {rotate && (
            <button type="button" className="push" onClick={rotate}>
              New secret
            </button>
          )}
          {destroy && (
            <button type="button" className="danger" onClick={destroy}>
              Delete
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

/** Gives a webhook a new secret, and shows it once. */
export function RotateSecret({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const [secret, setSecret] = useState<string>();
  const { problem, isBusy, attempt } = useAttempt();
  const replacePrevious = new Date(webhook.previousSecretUntil ?? 0) > new Date();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get("key")).trim();
    void attempt(async () => {
      const result = await askAs<{ rotateWebhookSecret: { secret: string } }>({ "X-Api-Key": key }, rotation, { input: { webhookId: webhook.id, replacePrevious } });
      setSecret(result.rotateWebhookSecret.secret);
    });
  };
  if (secret) return <TheSecret secret={secret} onClose={onClose} />;
  return (
    <Dialog title="New secret" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>For 24 hours messages are signed with both secrets, so that you can update the receiver without losing any.</p>
        {replacePrevious && <p className="note">The secret before the current one is still valid. It ends now.</p>}
        <Confirmation />
        <Problem text={problem} />
        <div>
          <button type="submit" className="primary" disabled={isBusy}>
            Rotate secret
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function TheSecret({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog title="Webhook secret">
      <div className="stack">
        <p>It is shown only once. The receiver verifies signatures with it.</p>
        <Secret secret={secret} onClose={onClose} />
      </div>
    </Dialog>
  );
}

function useAttempt() {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const attempt = async (action: () => Promise<void>) => {
    setProblem(undefined);
    setBusy(true);
    try {
      await action();
    } catch (error) {
      setProblem((error as Error).message);
    }
    setBusy(false);
  };
  return { problem, isBusy, attempt };
}

function Problem({ text }: { text: string | undefined }) {
  if (!text) return null;
  return (
    <p className="note bad" role="alert">
      {text}
    </p>
  );
}
