import { useState } from "react";
import { Link } from "wouter";
import { useAdmin } from "../ui/admin";
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

const keysQuery = "query Keys { company { id apiKeys { id name prefix scopes lastUsedAt expiresAt revokedAt } } }";
const revoke = "mutation RevokeKey($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { apiKey { id revokedAt } } }";

/** The company's API keys. The console's session may never see them, so the page asks for a key each time. */
export default function Keys() {
  const admin = useAdmin<{ company: { apiKeys: ApiKey[] } }>("keys", keysQuery);
  const [made, setMade] = useState<"key" | "token">();
  const keys = admin.data?.company.apiKeys;

  const revokeKey = async (key: ApiKey) => {
    const text = "Programs that use it are refused immediately. If you signed in with this key, you are signed out.";
    const isSure = await ask({ title: `Revoke ${key.name}?`, text, verb: "Revoke key", isDangerous: true });
    if (isSure) void admin.change(revoke, { apiKeyId: key.id });
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
      {admin.problem}
      {keys ? <KeyTable keys={keys} revoke={revokeKey} /> : admin.form(<p>This session cannot manage keys.</p>)}
      {made === "token" && <NewToken onClose={() => setMade(undefined)} />}
      {made === "key" && (
        <NewKey
          onClose={() => {
            setMade(undefined);
            void admin.refresh();
          }}
        />
      )}
    </Page>
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
