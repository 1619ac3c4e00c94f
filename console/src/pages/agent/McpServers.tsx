import { useState, type FormEvent } from "react";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import { technicalName } from "../../logic/names";
import { Act } from "../../ui/Act";
import { ask } from "../../ui/asking";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { plural } from "../../ui/format";
import { Failure } from "../../ui/states";
import { toast } from "../../ui/toasts";
import styles from "./AgentConnections.module.css";
import type { Server } from "./connectable";

const CreateServer = graphql(`
  mutation CreateMcpServer($input: CreateMcpServerInput!) {
    createMcpServer(input: $input) { mcpServer { id } }
  }
`);
const RefreshServer = graphql(`
  mutation RefreshMcpServer($input: RefreshMcpServerInput!) {
    refreshMcpServer(input: $input) { mcpServer { id } changes { name kind } }
  }
`);
const DeleteServer = graphql(`
  mutation DeleteMcpServer($input: DeleteMcpServerInput!) {
    deleteMcpServer(input: $input) { deletedId }
  }
`);
const CreateMcpTool = graphql(`
  mutation CreateMcpTool($input: CreateToolInput!) {
    createTool(input: $input) { tool { id } }
  }
`);

interface ServersProps {
  servers: Server[] | undefined;
  refresh: () => void;
  connect: (toolId: string) => void;
}

/** The company's MCP servers. Tools that they offer are added to the company, and connected to the agent. */
export function McpServers({ servers, refresh, connect }: ServersProps) {
  const [isNew, setNew] = useState(false);
  return (
    <section className="card" aria-labelledby="mcp-title">
      <header>
        <h2 id="mcp-title">MCP servers</h2>
        <Act scope="write" onClick={() => setNew(true)}>
          Connect server
        </Act>
      </header>
      {isNew && (
        <NewServer
          onClose={() => {
            setNew(false);
            refresh();
          }}
        />
      )}
      <ul className={styles.items}>
        {servers?.map((server) => <ServerItem key={server.id} server={server} refresh={refresh} connect={connect} />)}
        {servers?.length === 0 && <li className="muted">No MCP servers.</li>}
      </ul>
    </section>
  );
}

function ServerItem({ server, refresh, connect }: { server: Server; refresh: () => void; connect: (toolId: string) => void }) {
  const renew = useAction(RefreshServer);
  const remove = useAction(DeleteServer);
  const add = useAction(CreateMcpTool);
  const [changes, setChanges] = useState<string>();
  const existing = new Set(server.tools.map((tool) => tool.mcpName));
  const missing = server.tools.filter((tool) => tool.missingSince).map((tool) => tool.mcpName);
  const error = renew.error ?? remove.error ?? add.error;
  const again = async () => {
    const answer = (await renew.run({ input: { mcpServerId: server.id } }))?.refreshMcpServer;
    if (answer) setChanges(answer.changes.map(({ name, kind }) => `${kind}: ${name}`).join(", ") || "Nothing has changed.");
    refresh();
  };
  const destroy = async () => {
    if (!(await ask({ title: `Disconnect ${server.name}?`, text: "Its stored headers will be deleted.", verb: "Disconnect", isDangerous: true }))) return;
    if (await remove.run({ input: { mcpServerId: server.id } })) toast(`Disconnected ${server.name}.`);
    refresh();
  };
  const use = async (name: string) => {
    const answer = await add.run({ input: { name, technicalName: technicalName(name), mcpServerId: server.id, mcpName: name } });
    if (answer?.createTool) connect(answer.createTool.tool.id);
    refresh();
  };
  return (
    <li>
      <div className="row between">
        <strong>{server.name}</strong>
        <span className="row">
          <Act scope="write" className="plain" disabled={renew.isBusy} onClick={() => void again()}>
            Refresh<span className="unseen"> {server.name}</span>
          </Act>
          <Act scope="write" className="plain" disabled={remove.isBusy} onClick={() => void destroy()}>
            Disconnect<span className="unseen"> {server.name}</span>
          </Act>
        </span>
      </div>
      <span className="muted small">{server.endpoint.url}</span>
      {error && <Failure error={error} />}
      {server.refreshError && <p className="note bad">The server did not list its tools: {server.refreshError}</p>}
      {missing.length > 0 && <p className="note bad">No longer offered: {missing.join(", ")}</p>}
      <p role="status" className="muted small">
        {changes}
      </p>
      <details>
        <summary className="small">Offers {plural(server.offers.length, "tool")}</summary>
        <ul className={styles.items}>
          {server.offers.map((offer) => (
            <li key={offer.name}>
              <div className="row between">
                <code>{offer.name}</code>
                {existing.has(offer.name) ? (
                  <span className="muted small">Added</span>
                ) : (
                  <Act scope="write" className="plain" disabled={add.isBusy || offer.fault !== null} onClick={() => void use(offer.name)}>
                    Add<span className="unseen"> {offer.name}</span>
                  </Act>
                )}
              </div>
              <p className="muted small">{offer.fault ? `Cannot be used: ${offer.fault}.` : offer.description}</p>
            </li>
          ))}
        </ul>
      </details>
    </li>
  );
}

const shown = ["name", "endpoint.url", "endpoint.headers"];

function NewServer({ onClose }: { onClose: () => void }) {
  const { run, error, isBusy } = useAction(CreateServer);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name)).trim();
    const token = text("token");
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const created = await run({ input: { name: text("name"), endpoint: { url: text("endpoint.url"), headers } } });
    if (created?.createMcpServer) onClose();
  };
  return (
    <Dialog title="Connect an MCP server" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <Field label="Name" path="name" error={error}>
          {(control) => <input {...control} required autoFocus />}
        </Field>
        <Field label="URL" path="endpoint.url" error={error} hint="The address for streamable HTTP.">
          {(control) => <input {...control} required type="text" inputMode="url" placeholder="https://" />}
        </Field>
        <Field label="Token" path="endpoint.headers" error={error} hint="Sent as a Bearer token, and never shown. Set other headers through the API.">
          {(control) => <input {...control} name="token" type="password" autoComplete="off" />}
        </Field>
        <FormFailure error={error} shown={shown} />
        <div>
          <button type="submit" className="primary" disabled={isBusy}>
            Connect
          </button>
        </div>
      </form>
    </Dialog>
  );
}
