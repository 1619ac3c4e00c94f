import { useState, type FormEvent } from "react";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import type { ChatMessage } from "../../logic/chat";
import { Dialog } from "../../ui/Dialog";
import { Field, FormFailure } from "../../ui/Field";
import { CriteriaHint } from "../tests/CriteriaFields";
import { FolderChoice } from "../tests/TestFields";
import { Obstacles } from "../tests/Obstacles";

const MakeTest = graphql(`
  mutation TestFromChat($input: CreateTestFromSimulationChatInput!) {
    createTestFromSimulationChat(input: $input) { agentTest { id name obstacles } warnings }
  }
`);

interface Props {
  chatId: string;
  agent: { id: string; testFolders: readonly { id: string; name: string }[] };
  messages: readonly ChatMessage[];
  onClose: () => void;
}

interface MadeTest {
  id: string;
  name: string;
  obstacles: string[];
  warnings: string[];
}

/** Creates a test that continues from a message of the chat, with the chat's mocks and the results of its tools. */
export function TestFromChat(props: Props) {
  const [made, setMade] = useState<MadeTest>();
  return (
    <Dialog title={made ? "Test created" : "Create test from this chat"} onClose={props.onClose}>
      {made ? <Made test={made} agentId={props.agent.id} /> : <Form {...props} onMade={setMade} />}
    </Dialog>
  );
}

function Made({ test, agentId }: { test: MadeTest; agentId: string }) {
  return (
    <div className="stack">
      <p>“{test.name}” continues this chat without real calls.</p>
      {test.warnings.map((warning) => (
        <p key={warning} className="note warn">
          {warning}
        </p>
      ))}
      <Obstacles of={test.obstacles} />
      <div className="row">
        <Link className="button primary" href={`/tests?agent=${agentId}`}>
          Show all tests
        </Link>
        {test.obstacles.length > 0 && (
          <Link className="button" href={`/tests?agent=${agentId}&edit=${test.id}`}>
            Edit test
          </Link>
        )}
      </div>
    </div>
  );
}

/** The fields that show their own faults. */
const shown = ["name", "upToSequence", "scenario", "criteria", "folderId"];

function Form({ chatId, agent, messages, onMade }: Props & { onMade: (test: MadeTest) => void }) {
  const make = useAction(MakeTest);
  const said = messages.findLast((message) => message.role === "user")?.text ?? "";
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const result = await make.run({
      input: {
        simulationChatId: chatId,
        upToSequence: Number(text("upToSequence")),
        name: text("name"),
        folderId: text("folderId") || null,
        scenario: text("scenario"),
        criteria: text("criteria").split("\n").map((line) => line.trim()).filter(Boolean),
      },
    });
    const payload = result?.createTestFromSimulationChat;
    if (payload) onMade({ ...payload.agentTest, warnings: payload.warnings });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <Field label="Name" path="name" error={make.error}>
        {(control) => <input {...control} required autoFocus defaultValue={said.slice(0, 80)} />}
      </Field>
      <Field label="Continue after message" path="upToSequence" error={make.error}>
        {(control) => (
          <select {...control} defaultValue={messages.at(-1)?.sequence}>
            {messages.map((message) => (
              <option key={message.sequence} value={message.sequence}>
                {message.sequence} {message.role === "user" ? "you" : "agent"}: {message.text.slice(0, 60)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Scenario from here" path="scenario" error={make.error}>
        {(control) => <textarea {...control} required rows={3} placeholder="Thanks the agent and says goodbye." />}
      </Field>
      <Field label="Criteria, one per line" path="criteria" error={make.error} hint={<CriteriaHint />}>
        {(control) => <textarea {...control} required rows={3} defaultValue="ends the conversation" />}
      </Field>
      {agent.testFolders.length > 0 && (
        <Field label="Folder" path="folderId" error={make.error}>
          {(control) => <FolderChoice control={control} folders={agent.testFolders} />}
        </Field>
      )}
      <FormFailure error={make.error} shown={shown} />
      <div>
        <button type="submit" className="primary" disabled={make.isBusy}>
          Create test
        </button>
      </div>
    </form>
  );
}
