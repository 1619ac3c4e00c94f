import { useState, type FormEvent } from "react";
import { Link } from "wouter";
import { graphql } from "../../api/graphql";
import { useAction } from "../../api/page";
import type { ChatMessage } from "../../logic/chat";
import { Dialog } from "../../ui/Dialog";
import { Failure } from "../../ui/states";
import { Obstacles } from "../tests/Obstacles";

const MakeTest = graphql(`
  mutation TestFromChat($input: CreateTestFromSimulationChatInput!) {
    createTestFromSimulationChat(input: $input) { agentTest { id name obstacles } warnings }
  }
`);

/** Creates a test that continues from a message of the chat, with the chat's mocks and the answers of its tools. */
export function TestFromChat({ chatId, agent, messages, onClose }: {
  chatId: string;
  agent: { id: string; testFolders: readonly { id: string; name: string }[] };
  messages: readonly ChatMessage[];
  onClose: () => void;
}) {
  const make = useAction(MakeTest);
  const [made, setMade] = useState<{ id: string; name: string; obstacles: string[]; warnings: string[] }>();
  const said = messages.findLast((message) => message.role === "user")?.text ?? "";
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const result = await make.run({
      input: {
        simulationChatId: chatId,
        upToSequence: Number(text("upTo")),
        name: text("name"),
        folderId: text("folder") || null,
        scenario: text("scenario"),
        criteria: text("criteria").split("\n").map((line) => line.trim()).filter(Boolean),
      },
    });
    const payload = result?.createTestFromSimulationChat;
    if (payload) setMade({ ...payload.agentTest, warnings: payload.warnings });
  };
  if (made) {
    return (
      <Dialog title="The test is made" onClose={onClose}>
        <div className="stack">
          <p>“{made.name}” goes on from this chat, and nothing of it happens for real.</p>
          {made.warnings.map((warning) => (
            <p key={warning} className="note warn">
              {warning}
            </p>
          ))}
          <Obstacles of={made.obstacles} />
          <div className="row">
            <Link className="button primary" href={`/tests?agent=${agent.id}`}>
              To the tests
            </Link>
            {made.obstacles.length > 0 && (
              <Link className="button" href={`/tests?agent=${agent.id}&edit=${made.id}`}>
                Edit it
              </Link>
            )}
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Make a test of this chat" onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <div className="field">
          <label htmlFor="test-name">Name</label>
          <input id="test-name" name="name" required autoFocus defaultValue={said.slice(0, 80)} />
        </div>
        <div className="field">
          <label htmlFor="test-upto">It begins with what was said up to</label>
          <select id="test-upto" name="upTo" defaultValue={messages.at(-1)?.sequence}>
            {messages.map((message) => (
              <option key={message.sequence} value={message.sequence}>
                {message.sequence} {message.role === "user" ? "you" : "agent"}: {message.text.slice(0, 60)}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor="test-scenario">What the contact does then</label>
          <textarea id="test-scenario" name="scenario" required rows={3} placeholder="Thanks the agent and says goodbye." />
        </div>
        <div className="field">
          <label htmlFor="test-criteria">What must hold, one criterion in a line</label>
          <textarea id="test-criteria" name="criteria" required rows={3} defaultValue="ends the conversation" />
          <span className="muted small">
            Such as <code>says "two hours"</code>, <code>never says "refund"</code>, <code>calls book_appointment</code>.
          </span>
        </div>
        {agent.testFolders.length > 0 && (
          <div className="field">
            <label htmlFor="test-folder">Folder</label>
            <select id="test-folder" name="folder">
              <option value="">No folder</option>
              {agent.testFolders.map((folder) => (
                <option key={folder.id} value={folder.id}>
                  {folder.name}
                </option>
              ))}
            </select>
          </div>
        )}
        {make.error && <Failure error={make.error} />}
        <div>
          <button type="submit" className="primary" disabled={make.isBusy}>
            Make the test
          </button>
        </div>
      </form>
    </Dialog>
  );
}
