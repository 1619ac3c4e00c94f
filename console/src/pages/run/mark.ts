import { graphql } from "../../api/graphql";

export const LabelFields = graphql(`
  fragment LabelFields on CriterionLabel @_unmask {
    id criterion holds person note
  }
`);

export const MarkVerdict = graphql(`
  mutation MarkVerdict($input: LabelCriterionResultInput!) {
    labelCriterionResult(input: $input) { label { ...LabelFields } }
  }
`, [LabelFields]);

const setting = "agentgraph:person";

/** Who marks verdicts in this browser; empty for the name of the API key. */
export function person(): string {
  return localStorage.getItem(setting) ?? "";
}

export function setPerson(name: string): void {
  localStorage.setItem(setting, name);
}

/** The person as an argument of an operation; undefined for an empty name. */
export function asPerson(name: string): string | undefined {
  return name.trim() || undefined;
}
