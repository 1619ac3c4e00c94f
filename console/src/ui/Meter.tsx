/** A bar of parts, in the order given. The words beside it say the numbers. */
export function Meter({ total, parts }: { total: number; parts: readonly (readonly [state: "passed" | "failed" | "error" | "plain" | "pale", part: number])[] }) {
  let x = 0;
  return (
    <svg className="meter" viewBox={`0 0 ${Math.max(total, 1)} 1`} preserveAspectRatio="none" aria-hidden="true">
      {parts.map(([state, part]) => (part > 0 ? <rect key={state} data-s={state} x={(x += part) - part} width={part} height="1" /> : null))}
    </svg>
  );
}
