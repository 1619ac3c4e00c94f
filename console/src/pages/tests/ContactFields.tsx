import type { CombinedError } from "@urql/core";
import type { TestValues } from "../../logic/testValues";
import { Field } from "../../ui/Field";

const moods = ["Friendly", "Hurried", "Anxious", "Confused", "Angry", "Sceptical"];

/** The contact's persona and scripted messages. Open if either is set. */
export function ContactFields({ values, error }: { values: TestValues; error: CombinedError | undefined }) {
  const { persona, contactSays } = values;
  if (!persona || !contactSays) return null;
  return (
    <details open={contactSays.length > 0 || Object.keys(persona).length > 0}>
      <summary>Persona</summary>
      <div className="stack">
        <div className="row top">
          <Field label="Mood" path="persona.mood" error={error}>
            {(control) => (
              <select {...control} defaultValue={persona.mood ?? ""}>
                <option value="">as the scenario says</option>
                {moods.map((mood) => (
                  <option key={mood}>{mood}</option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Language" path="persona.language" error={error}>
            {(control) => <input {...control} placeholder="as in the conversation" maxLength={50} defaultValue={persona.language} />}
          </Field>
          <Field label="Unhelpful replies it accepts" path="persona.patience" error={error}>
            {(control) => <input {...control} type="number" min={1} max={10} defaultValue={persona.patience} />}
          </Field>
        </div>
        <Field label="Knowledge that it shares when asked" path="persona.knowledge" error={error}>
          {(control) => <textarea {...control} rows={3} maxLength={5000} defaultValue={persona.knowledge} />}
        </Field>
        {contactSays.some((said) => said?.includes("\n")) ? (
          <span className="muted small">These scripted messages contain line breaks. Edit them over the API or in files.</span>
        ) : (
          <Field label="Scripted messages, one line per turn" path="contactSays" error={error} hint="On a line with –, and after the last line, the model plays the contact.">
            {(control) => <textarea {...control} rows={2} defaultValue={contactSays.map((said) => said ?? "–").join("\n")} />}
          </Field>
        )}
      </div>
    </details>
  );
}

const sights = { Prompt: "the agent's prompt", Documents: "whole passages that the agent found", Date: "the date" };

/** The judge's inputs besides the conversation. */
export function JudgeSees({ chosen }: { chosen: readonly string[] }) {
  return (
    <fieldset className="row">
      <legend>The judge also sees</legend>
      {Object.entries(sights).map(([sight, label]) => (
        <label key={sight} className="check">
          <input type="checkbox" name="judgeSees" value={sight} defaultChecked={chosen.includes(sight)} /> {label}
        </label>
      ))}
    </fieldset>
  );
}
