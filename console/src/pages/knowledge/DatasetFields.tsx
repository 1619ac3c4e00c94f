import type { CombinedError } from "@urql/core";
import { Field } from "../../ui/Field";

/** The chunk methods, with the documents that they suit. */
const methods = [
  ["naive", "any text"],
  ["manual", "manuals with headings"],
  ["qa", "questions with answers"],
  ["table", "tables"],
  ["book", "books"],
  ["laws", "laws"],
  ["paper", "papers"],
  ["presentation", "presentations"],
  ["email", "e-mails"],
  ["one", "one chunk per document"],
  ["picture", "pictures"],
  ["tag", "tags"],
] as const;

/** The languages whose words are stemmed. */
const languages = [
  "ar", "ca", "da", "de", "el", "en", "es", "eu", "fi", "fr", "ga", "hi", "hu", "hy", "id", "it", "lt", "ne", "nl", "no", "pt", "ro", "ru", "sr", "sv", "ta", "tr",
  "yi",
];
const names = new Intl.DisplayNames(["en"], { type: "language" });

interface Saved {
  language: string;
  name: string;
  description: string | null;
  chunkMethod: string;
}

/** The controls of a dataset: name, description, chunk method and language. */
export function DatasetFields({ dataset, error, hint }: { dataset?: Saved; error: CombinedError | undefined; hint: string }) {
  return (
    <>
      <Field label="Name" path="name" error={error}>
        {(control) => <input {...control} required autoFocus defaultValue={dataset?.name} />}
      </Field>
      <Field label="Description" path="description" error={error}>
        {(control) => <textarea {...control} rows={3} defaultValue={dataset?.description ?? ""} />}
      </Field>
      <Field label="Chunk method" path="chunkMethod" error={error} hint={hint}>
        {(control) => (
          <select {...control} defaultValue={dataset?.chunkMethod}>
            {methods.map(([method, text]) => (
              <option key={method} value={method}>
                {text === method ? text : `${text} (${method})`}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Language" path="language" error={error} hint="Search also finds other forms of a word, such as plurals, by the rules of this language.">
        {(control) => (
          <select {...control} defaultValue={dataset?.language ?? "auto"}>
            <option value="auto">detected per document</option>
            {languages.map((language) => (
              <option key={language} value={language}>
                {names.of(language)}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}
