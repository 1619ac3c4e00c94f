import { useState, type ChangeEvent, type FormEvent } from "react";
import { graphql, type ResultOf } from "../../api/graphql";
import { useAction } from "../../api/page";
import { sampleArguments } from "../../logic/sampleArguments";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { checkObject, written, type ToolOfPage } from "./ToolForm";

const CallTool = graphql(`
  mutation CallTool($input: CallToolInput!) {
    callTool(input: $input) { result error durationMs isSample }
  }
`);

type Outcome = NonNullable<ResultOf<typeof CallTool>["callTool"]>;

/** Calls a tool as an agent would. */
export function TryTool({ tool, onClose }: { tool: ToolOfPage; onClose: () => void }) {
  const call = useAction(CallTool);
  const [outcome, setOutcome] = useState<Outcome>();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setOutcome(undefined);
    const text = String(new FormData(event.currentTarget).get("arguments"));
    const result = await call.run({ input: { toolId: tool.id, arguments: JSON.parse(text) as Record<string, unknown> } });
    if (result?.callTool) setOutcome(result.callTool);
  };
  const change = (event: ChangeEvent<HTMLTextAreaElement>) => {
    checkObject(event);
    call.reset();
  };
  return (
    <Dialog title={`Call ${tool.name}`} onClose={onClose} isWide>
      <form className="stack" onSubmit={submit}>
        <p className="muted">
          {tool.endpoint?.method ?? "MCP server"} <span className="mono">{tool.endpoint?.url ?? tool.mcpServer?.name}</span>. The call is real, and its effects are permanent.
        </p>
        <Field label="Arguments" path="arguments" error={call.error}>
          {(control) => <textarea {...control} rows={8} autoFocus required className="mono" spellCheck={false} defaultValue={written(sampleArguments(tool.parameters))} onChange={change} />}
        </Field>
        <FormFailure error={call.error} shown={["arguments"]} undone="called" />
        <div className="row">
          <button type="submit" className="primary" disabled={call.isBusy}>
            Call
          </button>
          <span role="status" className="muted">
            {call.isBusy && "Calling…"}
            {outcome && (outcome.isSample ? "A sample of the demo answered. Nothing was called." : `${outcome.error === null ? "Answered" : "Failed"} after ${outcome.durationMs} ms.`)}
          </span>
        </div>
        {outcome && (outcome.error !== null ? <p className="note bad">{outcome.error}</p> : <pre className="small">{readable(outcome.result ?? "")}</pre>)}
      </form>
    </Dialog>
  );
}

/** The result, indented if it is JSON. */
function readable(result: string): string {
  try {
    return written(JSON.parse(result));
  } catch {
    return result || "The result is empty.";
  }
}
