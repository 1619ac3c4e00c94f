import { Icon } from "./Icon";
import type { IconName } from "./icons";

const channelIcons: Record<string, IconName> = { Phone: "phone", SMS: "sms", Web: "web", WhatsApp: "whatsapp" };

/** A channel as icon and words, with the direction: "Phone in". */
export function Channel({ channel, direction }: { channel: string; direction?: string }) {
  return (
    <span className="chan">
      <Icon name={channelIcons[channel] ?? "chat"} />
      {channel}
      {direction && (direction === "Inbound" ? " in" : " out")}
    </span>
  );
}
