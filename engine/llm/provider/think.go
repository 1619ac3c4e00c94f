package provider

import "strings"

// thinkTags are the tags around the thoughts of models such as DeepSeek R1 and Qwen, whose server does not separate
// them from the text.
var thinkTags = []string{"<think>", "<thinking>"}

// thinkFilter removes thoughts in tags from the beginning of a text that arrives in pieces.
type thinkFilter struct {
	// held is text that may be a part of a tag.
	held string
	// endTag ends the thoughts, while they last. isAfter is set after them, and hasBegun after the first words.
	endTag            string
	isAfter, hasBegun bool
}

// add returns the text that the next piece adds to the answer.
func (f *thinkFilter) add(piece string) string {
	if f.hasBegun {
		return piece
	}
	f.held += piece
	if f.endTag == "" && !f.isAfter {
		started := strings.TrimLeft(f.held, " \t\r\n")
		for _, tag := range thinkTags {
			if strings.HasPrefix(tag, started) {
				return "" // the tag may follow
			}
			if strings.HasPrefix(started, tag) {
				f.endTag = "</" + tag[1:]
			}
		}
	}
	if f.endTag != "" {
		end := strings.Index(f.held, f.endTag)
		if end < 0 {
			f.held = f.held[max(0, len(f.held)-len(f.endTag)):]
			return ""
		}
		f.held, f.endTag, f.isAfter = f.held[end+len(f.endTag):], "", true
	}
	if f.isAfter {
		f.held = strings.TrimLeft(f.held, " \t\r\n")
	}
	return f.flush()
}

// flush returns text that cannot be thoughts.
func (f *thinkFilter) flush() string {
	text := f.held
	if f.endTag != "" {
		text = "" // thoughts without an end
	}
	f.held, f.hasBegun = "", f.hasBegun || text != ""
	return text
}
