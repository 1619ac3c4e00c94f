package api

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// screen shows a chat.
type screen interface {
	begin(id string, warnings []string)
	// prompt prompts for the contact's next message.
	prompt()
	event(chatEvent)
	message(chatMessage)
	// showError shows why there is no answer.
	showError(error)
	// printEnd shows that the chat has ended, or why ending it failed.
	printEnd(error)
}

// lines writes messages, approvals, finished calls, warnings and errors as lines of JSON.
type lines struct{ out io.Writer }

func (s *lines) write(name string, value any) {
	encoder := json.NewEncoder(cli.JSONWriter(s.out))
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(map[string]any{name: value})
}

func (s *lines) begin(id string, warnings []string) {
	s.write("chat", id)
	for _, warning := range warnings {
		s.write("warning", warning)
	}
}

func (s *lines) prompt() {}

func (s *lines) event(e chatEvent) {
	if e.Typename == "ToolApprovalChanged" {
		s.write("approval", map[string]any{
			"toolCallId": e.ID, "technicalName": e.TechnicalName, "arguments": e.Arguments, "approval": e.Approval,
		})
	}
	if e.Typename == "ToolCallFinished" {
		s.write("call", map[string]any{
			"technicalName": e.TechnicalName, "result": e.Result, "error": e.Error, "mocked": e.Mocked,
			"durationMs": e.DurationMs,
		})
	}
}

func (s *lines) message(m chatMessage) { s.write("message", m) }
func (s *lines) showError(err error)   { s.write("error", err.Error()) }

func (s *lines) printEnd(err error) {
	if err != nil {
		s.showError(err)
	}
}

// terminal shows the agent's text while it is written, interleaved with calls.
type terminal struct {
	out   io.Writer
	style client.Style
	agent string
	// turn is the id of the attempt to answer whose text is on the open line. written is that text.
	turn    string
	written string
	// line wraps the text of the agent.
	line wrapper
}

func (s *terminal) print(text string) { _, _ = io.WriteString(s.out, text) }

func (s *terminal) begin(id string, warnings []string) {
	s.writeNotice(id + "; Ctrl-D ends the chat")
	for _, warning := range warnings {
		s.writeNotice("! " + stripControls(warning))
	}
}

func (s *terminal) prompt() { s.print(s.style.Bold("You: ")) }

// writeNotice shows text that is not part of the conversation.
func (s *terminal) writeNotice(text string) { s.print(wrapped(text, cli.Width(s.out), s.style.Dim)) }

func (s *terminal) beginAgentLine() {
	s.print(s.style.Cyan(s.agent+":") + " ")
	s.line = wrapper{out: s.out, width: cli.Width(s.out), column: cli.Columns(s.agent + ": ")}
}

func (s *terminal) closeLine() {
	if s.written != "" {
		s.line.endLine()
	}
	s.turn, s.written = "", ""
}

func (s *terminal) event(e chatEvent) {
	switch e.Typename {
	case "MessageDelta":
		if e.TurnID != s.turn {
			s.closeLine()
			s.turn = e.TurnID
			s.beginAgentLine()
		}
		// Dropped deltas leave a gap. The complete message fills it.
		s.line.write(stripControls(e.Text))
		s.written += e.Text
	case "ToolCallStarted":
		s.closeLine()
		s.call("→", e.TechnicalName+" "+string(e.Arguments))
	case "ToolApprovalChanged":
		s.closeLine()
		if e.Approval == "Pending" {
			s.print("  Approve " + client.Printable(e.TechnicalName+" "+string(e.Arguments)) + "? [y/N] ")
		}
	case "ToolCallFinished":
		s.closeLine()
		outcome := "nothing"
		switch {
		case e.Error != nil:
			outcome = "error: " + *e.Error
		case e.Result != nil:
			outcome = *e.Result
		}
		mocked := ""
		if e.Mocked {
			mocked = ", mocked"
		}
		s.call("←", fmt.Sprintf("%s (%d ms%s) %s", e.TechnicalName, e.DurationMs, mocked, outcome))
	case "TurnFailed":
		s.closeLine()
	}
}

func (s *terminal) call(arrow, text string) {
	line := "  " + arrow + " " + client.Printable(text)
	s.print(s.style.Dim(truncate(line, cli.Width(s.out))) + "\n")
}

// message shows the part of the message that is not on the screen yet.
func (s *terminal) message(m chatMessage) {
	if m.Role == "user" {
		return // The user has typed this message, so it is on the screen.
	}
	rest, isShown := strings.CutPrefix(m.Text, s.written)
	if s.written == "" || !isShown {
		s.closeLine()
		s.beginAgentLine()
		rest = m.Text
	}
	s.line.write(stripControls(rest))
	s.line.endLine()
	s.turn, s.written = "", ""
	for _, citation := range m.Citations {
		s.writeNotice(fmt.Sprintf("[%d] %s", citation.Number, client.Printable(citation.DocumentName)))
	}
	if m.IsConversationEnded {
		why := ""
		if m.EndReason != nil {
			why = ": " + client.Printable(*m.EndReason)
		}
		s.writeNotice("The agent ended the conversation" + why)
	}
}

func (s *terminal) showError(err error) {
	s.closeLine()
	s.print(wrapped("No answer: "+stripControls(err.Error()), cli.Width(s.out), s.style.Red))
}

func (s *terminal) printEnd(err error) {
	s.print("\n")
	s.turn, s.written = "", ""
	if err != nil {
		s.print(wrapped("The chat remains open on the server: "+stripControls(err.Error()), cli.Width(s.out), s.style.Red))
		return
	}
	s.writeNotice("The chat has ended")
}

// stripControls returns text with its line breaks, but without other characters that a terminal would interpret.
func stripControls(text string) string {
	return strings.Map(func(r rune) rune {
		if client.IsControl(r) && r != '\n' {
			return -1
		}
		return r
	}, text)
}

// wrapper writes text that arrives in pieces, and wraps it at words to the width of a terminal. It holds the last word
// back until the word is complete.
type wrapper struct {
	out   io.Writer
	width int
	// column is the width of the unfinished line.
	column    int
	gap, word string
}

func (w *wrapper) write(text string) {
	for _, r := range text {
		switch r {
		case '\n':
			w.flush()
			_, _ = io.WriteString(w.out, "\n")
			w.column, w.gap = 0, ""
		case ' ':
			w.flush()
			w.gap += " "
		default:
			w.word += string(r)
		}
	}
}

func (w *wrapper) flush() {
	if w.word == "" {
		return
	}
	columns := cli.Columns(w.gap + w.word)
	if w.column > 0 && w.column+columns > w.width {
		_, _ = io.WriteString(w.out, "\n")
		w.column, w.gap = 0, ""
		columns = cli.Columns(w.word)
	}
	_, _ = io.WriteString(w.out, w.gap+w.word)
	// The terminal itself breaks a word that is wider than its lines.
	if w.column += columns; w.column > w.width {
		w.column %= max(w.width, 1)
	}
	w.gap, w.word = "", ""
}

// endLine writes the last word and ends the line, unless it is empty.
func (w *wrapper) endLine() {
	w.flush()
	if w.column > 0 {
		_, _ = io.WriteString(w.out, "\n")
	}
	w.column, w.gap = 0, ""
}

// wrapped returns text wrapped at words, with the style applied to each line.
func wrapped(text string, width int, style func(string) string) string {
	var all strings.Builder
	for _, line := range cli.Wrap(text, width) {
		all.WriteString(style(line) + "\n")
	}
	return all.String()
}
