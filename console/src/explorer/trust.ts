import type { Environment } from "monaco-editor";
import DOMPurify from "monaco-editor/esm/vs/base/browser/dompurify/dompurify.js";
import editorWorker from "monaco-editor/esm/vs/editor/editor.worker.js?worker&url";
import jsonWorker from "monaco-editor/esm/vs/language/json/json.worker.js?worker&url";
import graphqlWorker from "monaco-graphql/esm/graphql.worker.js?worker&url";

interface Policy {
  createScriptURL: (url: string) => string;
}

interface Factory {
  createPolicy: (name: string, rules: Partial<Policy> & { createHTML?: (html: string) => string }) => Policy;
}

/** Undefined in browsers without Trusted Types, which accept plain strings. */
const types = (globalThis as { trustedTypes?: Factory }).trustedTypes;

// GraphiQL writes the schema's descriptions as HTML. The document's policy allows HTML only through this function.
types?.createPolicy("default", { createHTML: (html) => DOMPurify.sanitize(html) });

const workers = types?.createPolicy("workers", { createScriptURL: (url) => url }) ?? { createScriptURL: (url: string) => url };

const files: Record<string, string> = { json: jsonWorker, graphql: graphqlWorker };

(globalThis as { MonacoEnvironment?: Environment }).MonacoEnvironment = {
  getWorker: (_id, label) => {
    const file = new URL(files[label] ?? editorWorker, import.meta.url).href;
    return new Worker(workers.createScriptURL(file), { type: "module" });
  },
};
