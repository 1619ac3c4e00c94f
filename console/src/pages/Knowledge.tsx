import { Link } from "wouter";
import { graphql, type ResultOf } from "../api/graphql";
import { usePage } from "../api/page";
import { Act } from "../ui/Act";
import { count, plural } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Page } from "../ui/Page";
import { Empty, Shown } from "../ui/states";
import { useNew } from "../ui/useNew";
import { NewDataset } from "./knowledge/NewDataset";
import { NewKnowledgeBaseChat } from "./knowledge/NewKnowledgeBaseChat";

const KnowledgeQuery = graphql(`
  query Knowledge {
    datasets(first: 100) { totalCount nodes { id name description chunkMethod documentCount chunkCount } }
    knowledgeBaseChats(first: 100) { totalCount nodes { id name datasetNames connectedAgentCount promptSettings { showQuote } } }
  }
`);

type All = ResultOf<typeof KnowledgeQuery>;

/** The datasets of documents, and the knowledge base chats that combine them. */
export default function Knowledge() {
  const answer = usePage(KnowledgeQuery, {}, { onFocus: true });
  const [made, setNew] = useNew();
  const close = () => setNew();
  return (
    <Shown answer={answer} missing="knowledge">
      {({ datasets, knowledgeBaseChats: chats }) => (
        <Page title="Knowledge">
          <Chats chats={chats} make={() => setNew("chat")} />
          <Datasets datasets={datasets} make={() => setNew("dataset")} />
          {made === "dataset" && <NewDataset onClose={close} />}
          {made === "chat" && <NewKnowledgeBaseChat datasets={datasets.nodes} onClose={close} />}
        </Page>
      )}
    </Shown>
  );
}

function Chats({ chats, make }: { chats: All["knowledgeBaseChats"]; make: () => void }) {
  return (
    <section className="card" aria-labelledby="chats-title">
      <header>
        <h2 id="chats-title">
          Knowledge base chats <span className="muted small">{count(chats.totalCount)}</span>
        </h2>
        <span className="muted small">agents answer from these; try a question on their pages</span>
        <Act scope="write" className="push" onClick={make}>
          <Icon name="plus" />
          New knowledge base chat
        </Act>
      </header>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Datasets</th>
              <th scope="col" className="number">
                Agents
              </th>
              <th scope="col" className="wide">
                Sources
              </th>
            </tr>
          </thead>
          <tbody>
            {chats.nodes.map((chat) => (
              <tr key={chat.id} data-go>
                <th scope="row">
                  <Link href={`/knowledge/chats/${chat.id}`}>{chat.name}</Link>
                </th>
                <td>{chat.datasetNames.join(", ") || <span className="muted">none</span>}</td>
                <td className="number">{chat.connectedAgentCount}</td>
                <td className="wide">{chat.promptSettings.showQuote ? "cited in answers" : "not cited"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {chats.nodes.length < chats.totalCount && <p className="body muted small">{`The newest ${chats.nodes.length} of ${plural(chats.totalCount, "knowledge base chat")}.`}</p>}
      {chats.totalCount === 0 && <p className="body muted">None yet. Create a dataset, drop files on its page, then create a chat that answers from it.</p>}
    </section>
  );
}

function Datasets({ datasets, make }: { datasets: All["datasets"]; make: () => void }) {
  return (
    <section className="card" aria-labelledby="datasets-title">
      <header>
        <h2 id="datasets-title">
          Datasets <span className="muted small">{count(datasets.totalCount)}</span>
        </h2>
        <span className="muted small">documents to answer from</span>
        <Act scope="write" className="push" onClick={make}>
          <Icon name="plus" />
          New dataset
        </Act>
      </header>
      <div className="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Chunk method</th>
              <th scope="col" className="number">
                Documents
              </th>
              <th scope="col" className="number wide">
                Chunks
              </th>
            </tr>
          </thead>
          <tbody>
            {datasets.nodes.map((dataset) => (
              <tr key={dataset.id} data-go>
                <th scope="row">
                  <Link href={`/knowledge/datasets/${dataset.id}`}>{dataset.name}</Link>
                  <div className="muted small">{dataset.description}</div>
                </th>
                <td>{dataset.chunkMethod}</td>
                <td className="number">{count(dataset.documentCount)}</td>
                <td className="number wide">{count(dataset.chunkCount)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {datasets.nodes.length < datasets.totalCount && <p className="body muted small">{`The newest ${datasets.nodes.length} of ${plural(datasets.totalCount, "dataset")}.`}</p>}
      {datasets.totalCount === 0 && (
        <div className="body">
          <Empty icon="knowledge" title="No datasets yet">Create one, then drop files on its page.</Empty>
        </div>
      )}
    </section>
  );
}
