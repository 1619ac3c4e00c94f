/** The question of a dialog before an action that cannot be undone. */
export interface Question {
  /** Ends with a question mark. */
  title: string;
  text: string;
  /** The verb of the title, which the button repeats. */
  verb: string;
  /** Whether data is lost. The button is then red. */
  isDangerous?: boolean;
}

export interface Asked extends Question {
  answer: (isSure: boolean) => void;
}

let asked: Asked | undefined;
const listeners = new Set<() => void>();

/** Asks the user in a dialog. Resolves with whether they are sure. */
export function ask(question: Question): Promise<boolean> {
  asked?.answer(false);
  return new Promise((resolve) => {
    change({
      ...question,
      answer: (isSure) => {
        change(undefined);
        resolve(isSure);
      },
    });
  });
}

/** The question that waits for an answer. */
export function question(): Asked | undefined {
  return asked;
}

export function onQuestion(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: Asked | undefined): void {
  asked = next;
  for (const listener of listeners) listener();
}
