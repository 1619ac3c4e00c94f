import type { CombinedError } from "@urql/core";
import { useRef, useState, type RefObject } from "react";
import { useClient } from "urql";
import { graphql } from "../../api/graphql";
import { newKey, useHere } from "../../api/page";
import { authorized } from "../../api/session";
import { contactsOf, duplicatesByLine, faultsByLine, pageSize, type Contact, type Contacts, type LineFault } from "../../logic/contacts";
import { readCSV } from "../../logic/csv";
import { decodeText } from "../../logic/encoding";
import { faultsOf } from "../../logic/faults";
import { Dialog } from "../../ui/Dialog";
import { FileDrop } from "../../ui/FileDrop";
import { count, plural } from "../../ui/format";
import { Failure } from "../../ui/states";
import styles from "./AddContacts.module.css";

const AddItems = graphql(`
  mutation AddContacts($input: AddCampaignItemsInput!) {
    addCampaignItems(input: $input) { items { id } duplicates { index firstIndex } }
  }
`);

export interface CampaignOfContacts {
  id: string;
  name: string;
  agent: { channel: string };
  defaultRegion: string | null;
  fields: { name: string; isMandatory: boolean; isSystem: boolean }[];
}

/** The maximum numbers of lines that the preview and the list of faults show. */
const [previewed, faultsShown] = [5, 50];

interface Progress {
  left: Contact[];
  faults: LineFault[];
  duplicates: LineFault[];
  added: number;
}

/** Adds contacts from a CSV file: previews them, sends them in pages, and names the refused lines. */
export function AddContacts({ campaign, onClose, onAdded }: { campaign: CampaignOfContacts; onClose: () => void; onAdded: () => void }) {
  const [read, setRead] = useState<Contacts>();
  const [problem, setProblem] = useState("");
  const [readings, setReadings] = useState(0);
  const [isBusy, setBusy] = useState(false);
  const isStopped = useRef(false);
  const close = () => {
    isStopped.current = true;
    if (!isBusy) onClose();
  };
  const choose = async (file: File | undefined) => {
    setRead(undefined);
    setReadings(readings + 1);
    setProblem("");
    if (!file) return;
    try {
      const records = readCSV(decodeText(new Uint8Array(await file.arrayBuffer())));
      if (records.length < 2) throw new Error("This file has no contacts: its first line names the columns, and each further line is a contact.");
      setRead(contactsOf(records, campaign.fields, campaign.agent.channel !== "Web", campaign.defaultRegion));
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const fields = campaign.fields.filter((field) => !field.isSystem);
  return (
    <Dialog title={`Add contacts to ${campaign.name}`} onClose={close} question={isBusy ? stop : undefined}>
      <div className="stack">
        <div className="field">
          <p>A CSV file with the columns</p>
          <p className={styles.columns}>
            <code>phoneNumber</code>
            {fields.map((field) => (
              <code key={field.name}>
                {field.name}
                {field.isMandatory && "*"}
              </code>
            ))}
          </p>
          <FileDrop label="A CSV file of contacts" accept=".csv,.tsv,.txt,text/csv" disabled={isBusy} onFiles={([file]) => void choose(file)} />
          <span className="muted small">Each line needs a value for *. Other columns are ignored. Nothing is sent until you confirm.</span>
        </div>
        {problem && (
          <p className="note bad" role="alert">
            {problem}
          </p>
        )}
        {read && <Sending key={readings} campaign={campaign} read={read} isBusy={isBusy} setBusy={setBusy} isStopped={isStopped} onClose={onClose} onAdded={onAdded} />}
      </div>
    </Dialog>
  );
}

const stop = { title: "Stop adding contacts?", text: "The contacts that were already added stay in the campaign.", verb: "Stop", isDangerous: true };

interface SendingProps {
  campaign: CampaignOfContacts;
  read: Contacts;
  isBusy: boolean;
  setBusy: (isBusy: boolean) => void;
  /** Set when the user stops: no further page is sent. */
  isStopped: RefObject<boolean>;
  onClose: () => void;
  onAdded: () => void;
}

function Sending({ campaign, read, isBusy, setBusy, isStopped, onClose, onAdded }: SendingProps) {
  const client = useClient();
  const isHere = useHere();
  const [{ left, faults, duplicates, added }, setProgress] = useState<Progress>({ left: read.contacts, faults: read.faults, duplicates: [], added: 0 });
  const key = useRef(newKey());
  const [error, setError] = useState<CombinedError>();
  const send = async () => {
    setBusy(true);
    setError(undefined);
    isStopped.current = false;
    let rest = left;
    while (rest.length > 0 && isHere.current && !isStopped.current) {
      const page = rest.slice(0, pageSize);
      const items = page.map(({ phoneNumber, dataBag }) => ({ phoneNumber, dataBag }));
      const headers = authorized({ "Idempotency-Key": key.current });
      const result = await client.mutation(AddItems, { input: { campaignId: campaign.id, items } }, { fetchOptions: { headers } });
      const refused = faultsByLine(faultsOf(result.error), page);
      if (refused.length > 0) {
        const lines = new Set(refused.map((fault) => fault.line));
        setProgress((old) => ({ ...old, left: rest.filter((contact) => !lines.has(contact.line)), faults: [...old.faults, ...refused] }));
      }
      // If a page's response is lost, the page is sent again with the same key, so that it is not added twice.
      if (!result.error?.networkError) key.current = newKey();
      if (result.error) {
        if (refused.length === 0) setError(result.error);
        break;
      }
      rest = rest.slice(pageSize);
      const now = rest;
      const { items: made = [], duplicates: doubled = [] } = result.data?.addCampaignItems ?? {};
      const skipped = duplicatesByLine(doubled, page);
      setProgress((old) => ({ ...old, left: now, duplicates: [...old.duplicates, ...skipped], added: old.added + made.length }));
      onAdded();
    }
    setBusy(false);
  };
  const sent = added + duplicates.length;
  const isDone = sent > 0 && left.length === 0;
  return (
    <>
      {faults.length > 0 && <Lines lines={faults} kind="bad" what="left out" />}
      {duplicates.length > 0 && <Lines lines={duplicates} kind="warn" what="skipped, so that nobody is called twice" />}
      {read.unused.length > 0 && <p className="muted small">Ignored columns, without a field of that name: {read.unused.join(", ")}. To import them, add fields in the agent's settings.</p>}
      {left.length > 0 && sent === 0 && <Preview contacts={left} />}
      {error && <Failure error={error} />}
      {isBusy && <progress value={sent} max={sent + left.length} aria-label="Progress" />}
      <p role="status">
        {isBusy ? `${count(sent)} of ${plural(sent + left.length, "contact")}` : added > 0 && `${plural(added, "contact")} added.`}
        {!isBusy && added > 0 && left[0] && ` ${laterOf(read, left[0])}`}
        {left.length === 0 && sent === 0 && "No contacts can be added. Fix the file and choose it again."}
      </p>
      {isDone && (
        <div>
          <button type="button" className="primary" onClick={onClose}>
            Done
          </button>
        </div>
      )}
      {left.length > 0 && (
        <div>
          <button type="button" className="primary" disabled={isBusy} onClick={() => void send()}>
            {isBusy ? "Adding…" : `Add ${faults.length + duplicates.length + added > 0 ? "the other " : ""}${plural(left.length, "contact")}`}
          </button>
        </div>
      )}
    </>
  );
}

/** How to add the contacts that are left once the dialog is closed. Contacts without numbers would be added twice. */
function laterOf(read: Contacts, next: Contact): string {
  if (read.contacts.some(({ phoneNumber }) => !phoneNumber)) return `To add the others later, import a file with the lines from ${count(next.line)} on.`;
  return "To add the others later, import the file again: numbers that wait for a call are skipped.";
}

function Lines({ lines, kind, what }: { lines: LineFault[]; kind: "bad" | "warn"; what: string }) {
  return (
    <section className={`note ${kind} stack tight`} role={kind === "bad" ? "alert" : "status"} aria-label={kind === "bad" ? "Faults" : "Duplicates"}>
      <strong>
        {plural(lines.length, "line is", "lines are")} {what}:
      </strong>
      <ul className={styles.faults}>
        {lines
          .toSorted((a, b) => a.line - b.line)
          .slice(0, faultsShown)
          .map((fault, i) => (
            <li key={i}>
              line {fault.line}: {fault.text}
            </li>
          ))}
      </ul>
      {lines.length > faultsShown && <span>and {count(lines.length - faultsShown)} more</span>}
    </section>
  );
}

function Preview({ contacts }: { contacts: Contact[] }) {
  const fields = [...new Set(contacts.slice(0, previewed).flatMap((contact) => Object.keys(contact.dataBag)))];
  return (
    <div className="card scroll" role="region" aria-label="Preview" tabIndex={0}>
      <table className="small">
        <thead>
          <tr>
            <th scope="col">Line</th>
            <th scope="col">Number</th>
            {fields.map((field) => (
              <th key={field} scope="col">
                {field}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {contacts.slice(0, previewed).map((contact) => (
            <tr key={contact.line}>
              <td>{contact.line}</td>
              <td className="nowrap">{contact.phoneNumber}</td>
              {fields.map((field) => (
                <td key={field}>{contact.dataBag[field]}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {contacts.length > previewed && <p className={`muted small ${styles.more}`}>and {count(contacts.length - previewed)} more</p>}
    </div>
  );
}
