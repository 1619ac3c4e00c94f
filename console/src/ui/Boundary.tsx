import { Component, type ReactNode } from "react";
import { Page } from "./Page";
import { Empty } from "./states";

interface Props {
  /** The address. A page that fails at one may work at another. */
  at: string;
  children: ReactNode;
}

/** Shows what the user can do when a page fails. */
export class Boundary extends Component<Props, { fault?: Error | undefined }> {
  override state: { fault?: Error | undefined } = {};

  static getDerivedStateFromError(fault: Error) {
    return { fault };
  }

  override componentDidUpdate(before: Props) {
    if (before.at !== this.props.at && this.state.fault) this.setState({ fault: undefined });
  }

  override render() {
    const { fault } = this.state;
    if (!fault) return this.props.children;
    return (
      <Page title="This page failed">
        <Empty title="This is a bug in the console.">
          <p className="mono">{fault.message}</p>
          <button type="button" onClick={() => location.reload()}>
            Reload page
          </button>
        </Empty>
      </Page>
    );
  }
}
