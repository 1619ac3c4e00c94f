interface Point {
  x: number;
  y: number;
}

interface Label extends Point {
  text: string;
}

interface Size {
  width: number;
  height: number;
}

const height = 20;
const gap = 4;

/** How far a label is moved from the middle of its line, nearest first. */
const moves = [0, 1, -1, 2, -2].map((steps) => steps * (height + gap));

/**
 * Gives the labels of lines a width, and moves those up or down that would cover another label or a box. Labels for
 * which there is no room stay where they are, and labels without text take up no room.
 */
export function placed(labels: readonly Label[], boxes: readonly Point[] = [], box: Size = { width: 0, height: 0 }): (Label & Size)[] {
  const taken: (Point & Size)[] = boxes.map((each) => ({ ...each, ...box }));
  return labels.map((label) => {
    const own = { ...label, width: label.text.length * 6.2 + 16, height };
    if (!label.text) return own;
    const isFree = (y: number) =>
      !taken.some((other) => Math.abs(own.x - other.x) < (own.width + other.width) / 2 + gap && Math.abs(y - other.y) < (height + other.height) / 2 + gap / 2);
    own.y += moves.find((move) => isFree(own.y + move)) ?? 0;
    taken.push(own);
    return own;
  });
}
