import type { GraphiQLPlugin } from "@graphiql/react";
import { useGraphiQL, useGraphiQLActions } from "@graphiql/react";
import { createContext, use } from "react";
import { examples, type Example, type Known } from "./examples";
import styles from "./Explorer.module.css";

/** Ids for the examples' variables; undefined until they are read. */
export const KnownContext = createContext<Known | undefined>(undefined);

function ExampleList() {
  const { addTab } = useGraphiQLActions();
  const { queryEditor, variableEditor } = useGraphiQL((state) => state);
  const known = use(KnownContext);
  const open = ({ query, variables }: Example) => {
    addTab();
    queryEditor?.setValue(query);
    variableEditor?.setValue(variables && known ? JSON.stringify(variables(known), undefined, 2) : "");
    queryEditor?.focus();
  };
  return (
    <section aria-label="Examples" className={styles.examples}>
      <h2>Examples</h2>
      <p>Each example opens in a new tab, with ids of your company.</p>
      <ul>
        {examples.map((example) => (
          <li key={example.name}>
            <button type="button" disabled={!known || !queryEditor || !variableEditor} onClick={() => open(example)}>
              {example.name}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function ExamplesIcon() {
  return (
    <svg viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.5" aria-hidden="true">
      <path d="M9 6h11M9 12h11M9 18h11M4 6h.01M4 12h.01M4 18h.01" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

export const ExamplesPlugin: GraphiQLPlugin = { title: "Examples", icon: ExamplesIcon, content: ExampleList };
