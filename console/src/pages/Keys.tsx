import { useState, type FormEvent } from "react";
import { Link } from "wouter";
import { askAs, createToken } from "../api/session";
import { AdminKeys } from "../ui/AdminKeys";
import { ask } from "../ui/asking";
import { Page } from "../ui/Page";
import { Empty } from "../ui/states";
import { Status } from "../ui/Status";
import { Time } from "../ui/Time";
import { NewKey } from "./keys/NewKey";
import { NewToken } from "./keys/NewToken";

export interface ApiKey {
  id: string;
  name: string;
  prefix: string;
  scopes: string[];
  lastUsedAt: string | null;
  expiresAt: string | null;
  revokedAt: string | null;
}

/** The lifetime of this page's token, in seconds. It is kept in memory only. */
const adminSeconds = 600;

const keysQuery = "query Keys { company { id apiKeys { id name prefix scopes lastUsedAt expiresAt revokedAt } } }";
const revoke = "mutation RevokeKey($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id revokedAt } } }";

/** The company's API keys. The console's session may never see them, so the page asks for a key each time. */
export default function Keys() {
  const [token, setToken] = useState<string>();
  const [keys, setKeys] = useState<ApiKey[]>();
  const [problem, setProblem] = useState<string>();
  const [made, setMade] = useState<"key" | "token">();

  const attempt = async (action: () => Promise<void>) => {
    setProblem(undefined);
    try {
      await action();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const read = async (by: string) => {
    const { company } = await askAs<{ company: { apiKeys: ApiKey[] } }>({ Authorization: `Bearer ${by}` }, keysQuery);
    setToken(by);
    setKeys(company.apiKeys);
  };
  /** Asks for a key again, because the token has expired. */
  const forget = () => {
    setToken(undefined);
    setKeys(undefined);
  };
  const show = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get("key")).trim();
    void attempt(async () => {
      const made = await createToken(key, ["admin"], adminSeconds);
      if (!made.token) throw new Error(made.code === "FORBIDDEN" ? "This key cannot manage keys: it lacks the scope admin." : (made.message ?? "No token."));
      await read(made.token);
      setTimeout(forget, adminSeconds * 1_000);
    });
  };
  const revokeKey = async (key: ApiKey) => {
    const text = "Programs that use it are refused immediately. If you signed in with this key, you are signed out.";
    const isSure = await ask({ title: `Revoke ${key.name}?`, text, verb: "Revoke key", isDangerous: true });
    if (!isSure || !token) return;
    void attempt(async () => {
      await askAs({ Authorization: `Bearer ${token}` }, revoke, { input: { apiKeyId: key.id } });
      await read(token);
    });
  };
  return (
    <Page
      title="Keys"
      actions={
        <>
          <Link href="/webhooks">Webhooks</Link>
          <button type="button" onClick={() => setMade("token")}>
            Short-lived token
          </button>
          {keys && (
            <button type="button" className="primary" onClick={() => setMade("key")}>
              New key
            </button>
          )}
        </>
      }
    >
      {problem && (
        <p className="note bad" role="alert">
          {problem}
        </p>
      )}
      {keys ? <KeyTable keys={keys} revoke={revokeKey} /> : <Ask show={show} />}
      {made === "token" && <NewToken onClose={() => setMade(undefined)} />}
      {made === "key" && (
        <NewKey
          onClose={() => {
            setMade(undefined);
            if (token) void attempt(() => read(token));
          }}
        />
      )}
    </Page>
  );
}

function Ask({ show }: { show: (event: FormEvent<HTMLFormElement>) => void }) {
  return (
    <form className="card" onSubmit={show}>
      <div className="body stack">
        <p>
          This session cannot manage keys. Enter a key with the scope admin to manage them for ten minutes. <AdminKeys />
        </p>
        <div className="field">
          <label htmlFor="admin-key">API key</label>
          <input id="admin-key" name="key" type="password" autoComplete="current-password" required spellCheck={false} />
        </div>
        <div>
          <button type="submit" className="primary">
            Show keys for 10 minutes
          </button>
        </div>
      </div>
    </form>
  );
}

function KeyTable({ keys, revoke }: { keys: ApiKey[]; revoke: (key: ApiKey) => void }) {
  if (keys.length === 0) return <Empty title="There are no keys." />;
  return (
    <div className="card scroll">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col" className="wide">
              Prefix
            </th>
            <th scope="col" className="wide">
              Scopes
            </th>
            <th scope="col" className="wide">
              Last used
            </th>
            <th scope="col">Expires</th>
            <th scope="col">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                {key.name}
                <span className="narrow muted small">{key.scopes.join(", ")}</span>
              </th>
              <td className="wide">
                <code>{key.prefix}</code>
              </td>
              <td className="wide">{key.scopes.join(", ")}</td>
              <td className="wide">{key.lastUsedAt ? <Time at={key.lastUsedAt} /> : <span className="muted">never</span>}</td>
              <td>
                <End of={key} />
              </td>
              <td>
                {!key.revokedAt && (
                  <button type="button" className="danger" onClick={() => revoke(key)}>
                    Revoke<span className="unseen"> {key.name}</span>
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** How long before its expiry a key is marked, in milliseconds. */
const soon = 30 * 86_400_000;

function End({ of: { revokedAt, expiresAt } }: { of: ApiKey }) {
  const [now] = useState(Date.now);
  if (revokedAt) return "revoked";
  if (!expiresAt) return "never";
  const left = new Date(expiresAt).getTime() - now;
  return (
    <>
      <Time at={expiresAt} /> {left <= 0 ? <Status of="Expired" /> : left < soon && <Status of="Soon" />}
    </>
  );
}
