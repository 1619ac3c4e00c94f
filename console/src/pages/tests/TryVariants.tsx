import { useState } from "react";
import { useLocation } from "wouter";
import { graphql, type ResultOf } from "../../api/graphql";
import { usePage } from "../../api/page";
import { Act } from "../../ui/Act";
import { Dialog } from "../../ui/Dialog";
import { plural } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { Pick } from "../../ui/Pick";
import { Failure, Loading } from "../../ui/states";
import { keptDraft } from "../agent/draft";
import { RunAnyway, inputOf, useRun, type Chosen } from "./RunButtons";

const ChoicesQuery = graphql(`
  query VariantChoices($agentId: ID!) {
    agent(id: $agentId) {
      id promptVersion model promptVersions(first: 50) { nodes { id version } }
      knowledgeBaseChat { id llmSettings { temperature } promptSettings { topN } }
    }
    server { model models { name } }
  }
`);

const most = 12;

interface Variant {
  label: string;
  /** The number of a version, "draft" for the unsaved prompt of this tab, or empty for the current prompt. */
  version: string;
  /** The name of a model, "default" with a colon before it, or empty for the agent's own. */
  model: string;
  /** Numbers as they are typed, or empty for the values of the agent's knowledge base chat. */
  temperature: string;
  topN: string;
}

const unchanged: Variant = { label: "", version: "", model: "", temperature: "", topN: "" };

/** Chooses the variants of a new execution, and starts it. */
export function TryVariants({ onClose, ...chosen }: Chosen & { onClose: () => void }) {
  const answer = usePage(ChoicesQuery, { agentId: chosen.agentId });
  const [variants, setVariants] = useState<Variant[]>([{ ...unchanged, label: "now" }, unchanged]);
  const [, go] = useLocation();
  const run = useRun((id) => go(`/compare?variants=${id}`));
  const draft = keptDraft(chosen.agentId);
  const set = (at: number, change: Partial<Variant>) => setVariants(variants.map((each, i) => (i === at ? { ...each, ...change } : each)));
  const labels = variants.map((variant) => variant.label.trim() || usualLabel(variant));
  const isUnique = new Set(labels).size === labels.length;
  const { agent, server } = answer.data ?? {};
  const same = agent && server && sameVariants(variants.map((variant) => whatRuns(variant, agent, server.model)));
  const input = {
    ...inputOf(chosen),
    variants: variants.map(({ version, model, temperature, topN }, i) => ({
      label: labels[i] ?? "",
      ...(version === "draft" ? { prompt: draft?.text } : { promptVersion: version ? Number(version) : null }),
      model: model === ":default" ? "" : model || null,
      llmSettings: temperature ? { temperature: Number(temperature) } : null,
      promptSettings: topN ? { topN: Number(topN) } : null,
    })),
  };
  return (
    <Dialog title="Compare prompts and models" isWide onClose={onClose}>
      {answer.error && <Failure error={answer.error} retry={answer.refresh} />}
      {!answer.data && !answer.error && <Loading />}
      {agent && server && !run.unconfirmed && (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault();
            void run.ask(input);
          }}
        >
          <p className="muted">Every variant runs the same tests, {plural(chosen.choice.repeats, "time")} each. The others are compared with the first.</p>
          {variants.map((variant, i) => (
            <div key={i} className="row">
              <input
                type="text"
                aria-label={`Label of variant ${i + 1}`}
                placeholder={usualLabel(variant)}
                maxLength={60}
                size={14}
                value={variant.label}
                onChange={(event) => set(i, { label: event.target.value })}
              />
              <Pick
                label={`Prompt of variant ${i + 1}`}
                shown="Prompt"
                options={[
                  ["", `v${agent.promptVersion}, current`],
                  ...(draft ? [["draft", `Draft of v${draft.of}`] as const] : []),
                  ...agent.promptVersions.nodes.map(({ version }) => [String(version), `v${version}`] as const),
                ]}
                value={variant.version}
                set={(version) => set(i, { version })}
              />
              <Pick
                label={`Model of variant ${i + 1}`}
                shown="Model"
                options={[["", agent.model ?? server.model], ...(agent.model ? [[":default", server.model] as const] : []), ...server.models.map(({ name }) => [name, name] as const)]}
                value={variant.model}
                set={(model) => set(i, { model })}
              />
              <label className="row tight">
                Temperature
                <input
                  type="number"
                  aria-label={`Temperature of variant ${i + 1}`}
                  placeholder={String(agent.knowledgeBaseChat?.llmSettings.temperature ?? "")}
                  min={0}
                  max={2}
                  step="any"
                  value={variant.temperature}
                  onChange={(event) => set(i, { temperature: event.target.value })}
                />
              </label>
              {agent.knowledgeBaseChat && (
                <label className="row tight">
                  Chunks
                  <input
                    type="number"
                    aria-label={`Chunks of variant ${i + 1}`}
                    placeholder={String(agent.knowledgeBaseChat.promptSettings.topN)}
                    min={1}
                    max={100}
                    value={variant.topN}
                    onChange={(event) => set(i, { topN: event.target.value })}
                  />
                </label>
              )}
              {variants.length > 2 && (
                <button type="button" className="quiet only" aria-label={`Remove variant ${i + 1}`} title="Remove" onClick={() => setVariants(variants.filter((_, other) => other !== i))}>
                  <Icon name="close" />
                </button>
              )}
            </div>
          ))}
          {!isUnique && <p className="note warn">Each variant needs its own label.</p>}
          {same && (
            <p className="note">
              Variants {same[0]} and {same[1]} are the same. Any difference between them is chance.
            </p>
          )}
          <div className="row">
            <button type="button" disabled={variants.length === most} onClick={() => setVariants([...variants, unchanged])}>
              <Icon name="plus" />
              Add variant
            </button>
            <span className="push" />
            <Act scope="simulate" type="submit" className="primary" disabled={run.isBusy || !isUnique}>
              <Icon name="play" />
              Run {plural(variants.length, "variant")}
            </Act>
          </div>
        </form>
      )}
      {run.unconfirmed && <RunAnyway coverage={run.unconfirmed.coverage} run={() => void run.confirm()} close={run.dismiss} />}
    </Dialog>
  );
}

type Choices = NonNullable<ResultOf<typeof ChoicesQuery>["agent"]>;

/** What a variant runs, with the agent's own prompt, model and settings where it changes none. */
function whatRuns({ version, model, temperature, topN }: Variant, agent: Choices, usualModel: string): string {
  const { llmSettings, promptSettings } = agent.knowledgeBaseChat ?? {};
  return JSON.stringify([
    version || String(agent.promptVersion),
    (model === ":default" ? "" : model || agent.model) || usualModel,
    Number(temperature || llmSettings?.temperature),
    Number(topN || promptSettings?.topN),
  ]);
}

/** The numbers, from 1, of the first two variants that run the same, if any do. */
function sameVariants(runs: readonly string[]): [number, number] | undefined {
  const second = runs.findIndex((each, i) => runs.indexOf(each) < i);
  return second < 0 ? undefined : [runs.indexOf(runs[second] ?? "") + 1, second + 1];
}

/** The label of a variant that the user has not named. */
function usualLabel({ version, model, temperature, topN }: Variant): string {
  const changes = [version === "draft" ? version : version && `v${version}`, model.replace(":", ""), temperature && `temperature ${temperature}`, topN && `${topN} chunks`];
  return changes.filter(Boolean).join(" ") || "as it is";
}
