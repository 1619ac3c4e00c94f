import { icons, type IconName } from "./icons";

/** An icon in the color of the text. It is hidden from screen readers, so use it beside words or inside a labeled element. */
export function Icon({ name, className = "" }: { name: IconName; className?: string }) {
  return (
    <svg className={`icon ${className}`} data-icon={name} viewBox="0 0 16 16" aria-hidden="true">
      <path d={icons[name]} />
    </svg>
  );
}
