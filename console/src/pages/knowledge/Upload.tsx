import { useState } from "react";
import { authorized } from "../../api/session";
import { gatewayURL } from "../../api/base";
import { uploadFault } from "../../logic/uploads";
import { may } from "../../ui/Act";
import { FileDrop } from "../../ui/FileDrop";
import { percent, size } from "../../ui/format";
import styles from "./Upload.module.css";

/** The gateway's default limit for the files of a request. */
const maxBytes = 25 * 1024 * 1024;
const atOnce = 3;

interface Sending {
  key: number;
  name: string;
  size: number;
  /** From 0 to 1, undefined before sending begins. */
  done?: number;
  problem?: string;
}

let lastKey = 0;

/** Takes dropped or chosen files, and sends three at a time. */
export function Upload({ datasetId, onAdded }: { datasetId: string; onAdded: () => void }) {
  const [sending, setSending] = useState<Sending[]>([]);
  const isAllowed = may("write");
  const change = (key: number, part: Partial<Sending>) => setSending((all) => all.map((s) => (s.key === key ? { ...s, ...part } : s)));

  const add = async (files: File[]) => {
    const queue = files.map((file) => ({ file, entry: { key: ++lastKey, name: file.name, size: file.size } as Sending }));
    setSending((all) => [...all, ...queue.map(({ entry }) => entry)]);
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { file, entry } = next;
        if (file.size > maxBytes) {
          change(entry.key, { problem: `larger than ${size(maxBytes)}` });
          continue;
        }
        try {
          await send(datasetId, file, (done) => change(entry.key, { done }));
          setSending((all) => all.filter((s) => s.key !== entry.key));
          onAdded();
        } catch (problem) {
          change(entry.key, { problem: (problem as Error).message });
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  };
  return (
    <section aria-label="Add documents" className={styles.target}>
      <FileDrop
        label="Documents"
        button="Choose files"
        isMultiple
        disabled={!isAllowed}
        hint={isAllowed ? `At most ${size(maxBytes)} each.` : "Your key lacks the scope write."}
        onFiles={(files) => void add(files)}
      />
      <ul className="stack tight" role="status">
        {sending.map((s) => (
          <li key={s.key} className="row">
            <bdi>{s.name}</bdi>
            {s.problem ? (
              <span className="note bad">{s.problem}</span>
            ) : (
              <>
                <progress value={s.done ?? 0} aria-label={`Upload progress of ${s.name}`} />
                <span className="muted">
                  {percent(s.done ?? 0)} of {size(s.size)}
                </span>
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Sends a file as a GraphQL multipart request. Only XMLHttpRequest reports the progress. */
function send(datasetId: string, file: File, onProgress: (done: number) => void): Promise<void> {
  const form = new FormData();
  const query = "mutation AddDocument($input: AddDocumentInput!) { addDocument(input: $input) { document { id name status } } }";
  form.append("operations", JSON.stringify({ query, variables: { input: { datasetId, name: file.name, upload: null } } }));
  form.append("map", JSON.stringify({ 0: ["variables.input.upload"] }));
  form.append("0", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", gatewayURL("graphql"));
    for (const [name, value] of Object.entries(authorized({ "GraphQL-Require-Preflight": "1" }))) request.setRequestHeader(name, value);
    request.upload.onprogress = (event) => onProgress(event.loaded / event.total);
    request.onerror = () => reject(new Error("The server is unreachable."));
    request.onload = () => {
      const fault = uploadFault(request.status, request.responseText);
      if (fault) reject(new Error(fault));
      else resolve();
    };
    request.send(form);
  });
}
