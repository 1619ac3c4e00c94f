package knowledge

import (
	"context"
	"strconv"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

type rtf struct {
	rest []byte
	text Text
	// from names the encoding of bytes, which are not decoded yet.
	from  encoding.Encoding
	bytes []byte
	line  strings.Builder
	cells []string
	// groups are the open groups, the innermost last.
	groups []group
	// fallback counts the characters to skip after a Unicode character.
	fallback int
}

type group struct {
	// isSkipped is set for content that is not text, isHidden for hidden text, and isDeleted for text with a tracked
	// deletion.
	isSkipped, isHidden, isDeleted bool
	// fallbacks is the number of fallback characters after each Unicode character, for programs without Unicode.
	fallbacks int
}

// readRTF reads the paragraphs and table rows of a document in the Rich Text Format, without hidden and deleted text.
func readRTF(ctx context.Context, content []byte) (Text, error) {
	r := &rtf{rest: content, text: newText(content), from: charmap.Windows1252, groups: []group{{fallbacks: 1}}}
	for n := 0; len(r.rest) > 0 && !r.text.isFull(); n++ {
		if n%10_000 == 0 && ctx.Err() != nil {
			return Text{}, ctx.Err()
		}
		next := r.rest[0]
		r.rest = r.rest[1:]
		switch next {
		case '{':
			if len(r.groups) > maxDepth {
				return Text{}, unreadable("the RTF is nested more than 1,000 groups deep")
			}
			r.groups = append(r.groups, *r.group())
		case '}':
			if len(r.groups) > 1 {
				r.groups = r.groups[:len(r.groups)-1]
			}
		case '\\':
			r.control()
		case '\r', '\n':
		default:
			r.write(next)
		}
	}
	r.paragraph()
	return r.text, nil
}

func (g *group) leavesOut() bool { return g.isSkipped || g.isHidden || g.isDeleted }

func (r *rtf) group() *group { return &r.groups[len(r.groups)-1] }

// write adds a byte in the document's encoding.
func (r *rtf) write(next byte) {
	switch {
	case r.fallback > 0:
		r.fallback--
	case !r.group().leavesOut():
		r.bytes = append(r.bytes, next)
		r.text.reserve(1)
	}
}

// writeText adds text, after the pending bytes.
func (r *rtf) writeText(text string) {
	if r.group().leavesOut() {
		text = ""
	}
	decoded, err := r.from.NewDecoder().Bytes(r.bytes)
	if err == nil {
		r.line.Write(decoded)
	}
	r.bytes = r.bytes[:0]
	r.line.WriteString(text)
	r.text.reserve(len(text))
}

// control reads a control symbol, or a control word with its number, after a backslash.
func (r *rtf) control() {
	if len(r.rest) == 0 {
		return
	}
	letters := 0
	for letters < len(r.rest) && letters < 32 && ('a' <= r.rest[letters] && r.rest[letters] <= 'z' ||
		'A' <= r.rest[letters] && r.rest[letters] <= 'Z') {
		letters++
	}
	if letters == 0 {
		r.controlSymbol()
		return
	}
	end := letters
	for end < len(r.rest) && end < letters+11 && (r.rest[end] == '-' && end == letters || '0' <= r.rest[end] &&
		r.rest[end] <= '9') {
		end++
	}
	word := string(r.rest[:letters])
	number, _ := strconv.Atoi(string(r.rest[letters:end]))
	if r.rest = r.rest[end:]; len(r.rest) > 0 && r.rest[0] == ' ' {
		r.rest = r.rest[1:]
	}
	if word == "bin" {
		r.rest = r.rest[min(max(number, 0), len(r.rest)):]
		return
	}
	switch isOn := end == letters || number != 0; word {
	case "v":
		r.group().isHidden = isOn
	case "deleted":
		r.group().isDeleted = isOn
	case "plain":
		r.group().isHidden, r.group().isDeleted = false, false
	default:
		r.word(word, number)
	}
}

func (r *rtf) controlSymbol() {
	sign := r.rest[0]
	r.rest = r.rest[1:]
	switch sign {
	case '\'':
		if len(r.rest) >= 2 {
			code, err := strconv.ParseUint(string(r.rest[:2]), 16, 8)
			if r.rest = r.rest[2:]; err == nil {
				r.write(byte(code))
			}
		}
	case '*':
		// Skip destinations that only some programs know, such as settings.
		r.group().isSkipped = true
	case '~':
		r.write(' ')
	case '_':
		r.write('-')
	case '\\', '{', '}':
		r.write(sign)
	}
}

func (r *rtf) word(word string, number int) {
	switch word {
	case "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer", "headerl", "headerr",
		"footerl", "footerr", "footnote", "fldinst":
		r.group().isSkipped = true
	case "ansicpg":
		if from, _ := charset.Lookup("windows-" + strconv.Itoa(number)); from != nil {
			r.from = from
		} else if multibyte := map[int]string{932: "shift_jis", 936: "gb18030", 949: "euc-kr",
			950: "big5"}[number]; multibyte != "" {
			r.from, _ = charset.Lookup(multibyte)
		}
	case "uc":
		r.group().fallbacks = max(number, 0)
	case "u":
		r.writeText(string(rune(uint16(number))))
		r.fallback = r.group().fallbacks
	case "par", "sect", "page":
		r.paragraph()
	case "line":
		r.writeText("\n")
	case "tab":
		r.writeText("\t")
	case "emdash", "endash":
		r.writeText("–")
	case "lquote", "rquote":
		r.writeText("’")
	case "ldblquote", "rdblquote":
		r.writeText("\"")
	case "bullet":
		r.writeText("•")
	case "cell":
		r.writeText("")
		r.cells = append(r.cells, strings.Join(strings.Fields(r.line.String()), " "))
		r.text.reserve(cellCost)
		r.line.Reset()
	case "row":
		r.text.pendingSize = 0
		r.text.addRow(nil, r.cells)
		r.cells = nil
	}
}

// paragraph ends a paragraph. The paragraphs of a cell stay together.
func (r *rtf) paragraph() {
	r.writeText("")
	if len(r.cells) > 0 {
		r.line.WriteByte(' ')
		return
	}
	r.text.pendingSize = 0
	r.text.addBlock(Block{Text: r.line.String()})
	r.line.Reset()
}
